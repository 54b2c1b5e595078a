/** Web standard requests and responses over a server; for edge runtimes, and frameworks that speak them. */
import { FULL, joined } from "./driver.js";
import { now } from "./flat.js";
import type { HttpSink, Serving } from "./serving.js";

const NO_BODY = new Set([101, 204, 205, 304]);

/** Milliseconds between the signs of life of a request on an edge runtime, and after how many it is taken for gone. */
const PULSE = 1000;
const GONE = 4 * PULSE;

/** The part of an edge runtime's context that is used. */
export interface FetchContext {
  waitUntil?(work: Promise<unknown>): void;
}

export async function fetchHandler(serve: () => Serving, request: Request, context?: FetchContext): Promise<Response> {
  const url = new URL(request.url);
  let head = `${request.method} ${url.pathname}${url.search}`;
  // Hosts leave the Host header out of the request; the url has it.
  if (!request.headers.has("host")) head += `\nhost: ${url.host}`;
  for (const [name, value] of request.headers) head += `\n${name}: ${value}`;
  const body = new Uint8Array(await request.arrayBuffer());
  const serving = serve();
  const answer = new Answer(serving);
  const stream = serving.request(head, body, answer);
  const drop = (): void => {
    answer.drop();
    serving.gone(stream);
  };
  if (request.signal.aborted) drop();
  else request.signal.addEventListener("abort", drop, { once: true });
  if (typeof context?.waitUntil !== "function") return answer.response(drop, () => {});
  const stop = beat(serving, stream);
  // A handler that asked the user goes on when the answer comes, which is another request.
  return answer.response(drop, () => context.waitUntil?.(serving.settled(stream).finally(stop)));
}

/**
 * Edge runtimes end a request without a word when its client has left, and one that waits for another request alone.
 * So each shows that it lives, which is some work of its own too, and the next one cancels what no longer does.
 */
function beat(serving: Serving, stream: number): () => void {
  const { pulses } = serving;
  const time = now();
  for (const [other, last] of [...pulses]) {
    if (time - last < GONE) continue;
    pulses.delete(other);
    serving.gone(other);
  }
  pulses.set(stream, time);
  const timer = setInterval(() => pulses.set(stream, now()), PULSE);
  return () => {
    clearInterval(timer);
    pulses.delete(stream);
  };
}

/**
 * Becomes a Response with a fixed body when all of it comes in one turn, else one with a stream. What comes for it may
 * come while another request is handled, and edge runtimes let each request touch only its own streams: so it is put
 * down here, and taken by what the answered request awaits.
 */
class Answer implements HttpSink {
  readonly #serving: Serving;
  #status = 0;
  #headers: [string, string][] = [];
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #last = false;
  #dropped = false;
  #flushed = false;
  #wake: () => void = () => {};

  constructor(serving: Serving) {
    this.#serving = serving;
  }

  get full(): boolean {
    return this.#bytes >= FULL;
  }

  head(status: number, headers: string): void {
    this.#status = status;
    this.#headers = headers.split("\n").flatMap((line): [string, string][] => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()]];
    });
  }

  body(bytes: Uint8Array, last: boolean): void {
    if (bytes.length > 0) this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    this.#last ||= last;
  }

  /** The client no longer listens. */
  drop(): void {
    this.#dropped = true;
    this.#wake();
  }

  flush(): void {
    if (this.#status === 0) return;
    this.#flushed = true;
    this.#wake();
  }

  /** `over` is called when all is delivered, or nothing will be. */
  async response(drop: () => void, over: () => void): Promise<Response> {
    while (!this.#flushed && !this.#dropped) await this.#news();
    if (this.#dropped || this.#last) over();
    if (this.#dropped) return new Response(null, { status: 499 });
    const init = { status: this.#status, headers: this.#headers };
    if (this.#last) return new Response(NO_BODY.has(this.#status) ? null : (joined(this.#take()) as BodyInit), init);
    const source = {
      pull: async (controller: ReadableStreamDefaultController<Uint8Array>) => {
        await this.#pull(controller);
        if (this.#dropped || this.#last) over();
      },
      cancel: () => {
        drop();
        over();
      },
    };
    return new Response(new ReadableStream<Uint8Array>(source, { highWaterMark: 0 }), init);
  }

  #news(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#chunks.length === 0 && !this.#last && !this.#dropped) await this.#news();
    if (this.#dropped) return;
    const { full } = this;
    for (const chunk of this.#take()) controller.enqueue(chunk);
    if (this.#last) controller.close();
    if (full) this.#serving.drained();
  }

  #take(): Uint8Array[] {
    this.#bytes = 0;
    return this.#chunks.splice(0);
  }
}
