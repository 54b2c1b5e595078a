/** Web standard requests and responses over a server; for edge runtimes, and frameworks that speak them. */
import { FULL, joined } from "./driver.js";
import type { HttpSink, Serving } from "./serving.js";

const NO_BODY = new Set([101, 204, 205, 304]);

export async function fetchHandler(serving: Serving, request: Request): Promise<Response> {
  const url = new URL(request.url);
  let head = `${request.method} ${url.pathname}${url.search}`;
  // Hosts leave the Host header out of the request; the url has it.
  if (!request.headers.has("host")) head += `\nhost: ${url.host}`;
  for (const [name, value] of request.headers) head += `\n${name}: ${value}`;
  const body = new Uint8Array(await request.arrayBuffer());
  return new Promise((resolve) => {
    const answer = new Answer(resolve, serving, () => stream);
    const stream = serving.request(head, body, answer);
    if (request.signal.aborted) answer.drop();
    else request.signal.addEventListener("abort", () => answer.drop(), { once: true });
  });
}

/** Becomes a Response with a fixed body when all of it comes in one turn, else one with a stream. */
class Answer implements HttpSink {
  readonly #resolve: (response: Response) => void;
  readonly #serving: Serving;
  readonly #stream: () => number;
  #status = 0;
  #headers: [string, string][] = [];
  #chunks: Uint8Array[] = [];
  #last = false;
  #over = false;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(resolve: (response: Response) => void, serving: Serving, stream: () => number) {
    this.#resolve = resolve;
    this.#serving = serving;
    this.#stream = stream;
  }

  get full(): boolean {
    return (this.#controller?.desiredSize ?? 1) <= 0;
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
    this.#last ||= last;
  }

  /** The client no longer listens. */
  drop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#serving.gone(this.#stream());
    this.#resolve(new Response(null, { status: 499 }));
  }

  flush(): void {
    if (this.#status === 0 || this.#over) return;
    this.#over = this.#last;
    if (this.#controller === undefined) {
      if (this.#last) return this.#whole();
      const source = {
        start: (controller: ReadableStreamDefaultController<Uint8Array>) => {
          this.#controller = controller;
        },
        pull: () => this.#serving.drained(),
        cancel: () => this.drop(),
      };
      const stream = new ReadableStream<Uint8Array>(source, new ByteLengthQueuingStrategy({ highWaterMark: FULL }));
      this.#resolve(new Response(stream, { status: this.#status, headers: this.#headers }));
    }
    for (const chunk of this.#chunks.splice(0)) this.#controller?.enqueue(chunk);
    if (this.#last) this.#controller?.close();
  }

  #whole(): void {
    const body = NO_BODY.has(this.#status) ? null : (joined(this.#chunks) as BodyInit);
    this.#resolve(new Response(body, { status: this.#status, headers: this.#headers }));
  }
}
