/** The running part of a server: feeds one flat object, performs its records, runs handlers. */
import { Context } from "./context.js";
import { Deadline, Flusher, isPromise, Outlet, type Sink } from "./driver.js";
import { fromCore, words } from "./errors.js";
import { FIELDS, type FlatServer, hostEngine, now, randomSeed, type Records } from "./flat.js";
import { stringify } from "./json.js";
import type { Trace } from "./trace.js";

/** What runs for one handler key. */
export interface Handler {
  /** Gives the handler's value, or a promise of it. */
  run(text: string, context: Context): unknown;
  /** The outcome's JSON for that value. */
  shape(value: unknown): string;
  /** The outcome's JSON for what the handler threw. */
  failure(error: unknown): string;
}

/** The answer to one request of a host with its own HTTP stack. */
export interface HttpSink {
  head(status: number, headers: string): void;
  body(bytes: Uint8Array, last: boolean): void;
  flush(): void;
  /** Whether the client reads too slowly to be sent more. */
  readonly full: boolean;
}

export interface ServingOptions {
  bigint: boolean;
  /** A handler threw. */
  onError?: ((error: unknown, key: string) => void) | undefined;
  /** A client broke a rule. */
  onViolation?: ((code: string, message: string) => void) | undefined;
  /** Sees every message. */
  trace?: Trace | undefined;
  /** A notification of a client that is worth telling. */
  onNotice?: ((method: string, params: any) => void) | undefined;
}

export class Serving {
  readonly #flat: FlatServer;
  /** Whether integers beyond 2^53 become BigInt. */
  readonly bigint: boolean;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #options: ServingOptions;
  readonly #outlets = new Map<number, Outlet>();
  readonly #answers = new Map<number, HttpSink>();
  readonly #calls = new Map<number, Context>();
  /** Calls whose handlers are still to be started, in order. */
  #waiting: [Context, string][] = [];
  #starting = false;
  /** Who waits for clients to read on. */
  #rooms: (() => void)[] = [];
  /** Who waits for the handlers of a stream to end. */
  readonly #settling = new Map<number, () => void>();
  /** When requests of an edge runtime were last seen to live. */
  readonly pulses = new Map<number, number>();
  readonly #deadline: Deadline;
  readonly #flusher = new Flusher();
  #streams = 0;

  constructor(config: string, catalog: string, handlers: ReadonlyMap<string, Handler>, options: ServingOptions) {
    this.bigint = options.bigint;
    try {
      this.#flat = hostEngine().server(config, randomSeed());
    } catch (error) {
      throw fromCore(error);
    }
    this.#handlers = handlers;
    this.#options = options;
    this.#deadline = new Deadline((time) => this.#feed((flat) => flat.timeout(time)));
    this.setCatalog(catalog);
  }

  setCatalog(catalog: string): void {
    this.act((flat, time) => flat.setCatalog(catalog, time));
  }

  /** A connection: "pipe" or "http1". Returns its stream number. */
  open(transport: "pipe" | "http1", sink: Sink): number {
    const stream = ++this.#streams;
    this.#outlets.set(stream, new Outlet(sink));
    this.act((flat, time) => flat.open(stream, transport, time));
    return stream;
  }

  receive(stream: number, bytes: Uint8Array): void {
    if (this.#outlets.has(stream)) this.#feed((flat, time) => flat.receive(stream, bytes, time));
  }

  end(stream: number): void {
    if (this.#outlets.has(stream)) this.#feed((flat, time) => flat.end(stream, time));
  }

  /** Nothing can be delivered on that connection or request any more. */
  gone(stream: number): void {
    if (!this.#outlets.delete(stream) && !this.#answers.delete(stream)) return;
    this.#feed((flat, time) => flat.gone(stream, time));
    // Calls that wait for their client to read will not see it read.
    this.drained();
  }

  request(head: string, body: Uint8Array, sink: HttpSink): number {
    const stream = ++this.#streams;
    this.#answers.set(stream, sink);
    this.#deadline.renew();
    this.act((flat, time) => flat.request(stream, head, body, time));
    return stream;
  }

  /** Resolves when no handler runs for that stream any more, be its answer sent or not. */
  async settled(stream: number): Promise<void> {
    while ([...this.#calls.values()].some((context) => context.stream === stream)) {
      await new Promise<void>((resolve) => this.#settling.set(stream, resolve));
    }
    this.#settling.delete(stream);
  }

  /** One command to the core; what it refuses is thrown as UsageError. */
  act(command: (flat: FlatServer, now: number) => Records): void {
    let records;
    try {
      records = command(this.#flat, now());
    } catch (error) {
      throw fromCore(error);
    }
    this.#do(records);
  }

  callInfo(call: number): string {
    try {
      return this.#flat.callInfo(call);
    } catch (error) {
      throw fromCore(error);
    }
  }

  close(): void {
    this.act((flat, time) => flat.close(time));
    this.#deadline.stop();
  }

  /** Whether the client of that stream reads too slowly to be sent more. */
  full(stream: number): boolean {
    return (this.#outlets.get(stream) ?? this.#answers.get(stream))?.full ?? false;
  }

  /** The client of a full stream has read on. */
  drained(): void {
    for (const go of this.#rooms.splice(0)) go();
    this.#start();
    this.#flusher.schedule();
  }

  /** Resolves when that stream may be sent more, or is gone. */
  async room(stream: number): Promise<void> {
    while (this.full(stream)) await new Promise<void>((resolve) => this.#rooms.push(resolve));
  }

  /** Performs all records first: user code that runs after it may come back into the core. */
  #do(records: Records): void {
    for (let at = 0; at < records.length; at += FIELDS) {
      if (records[at] === "call") {
        const context = new Context(this, records[at + 1] as number, records[at + 2] as number, records[at + 3] as string);
        this.#calls.set(context.call, context);
        this.#waiting.push([context, records[at + 4] as string]);
      } else {
        this.#perform(records, at);
      }
    }
    if (this.#waiting.length > 0) this.#start();
    this.#flusher.schedule();
  }

  /** Starts handlers, except those whose client does not read its answers. Answers may bring more calls. */
  #start(): void {
    if (this.#starting) return;
    this.#starting = true;
    const parked: [Context, string][] = [];
    try {
      while (this.#waiting.length > 0) {
        const turn = this.#waiting;
        this.#waiting = [];
        for (const call of turn) {
          if (this.full(call[0].stream)) parked.push(call);
          else this.#run(...call);
        }
      }
    } finally {
      this.#waiting = parked;
      this.#starting = false;
    }
  }

  #perform(records: Records, at: number): void {
    const stream = records[at + 1] as number;
    const id = records[at + 2] as number;
    const name = records[at + 3] as string;
    const text = records[at + 4] as string;
    switch (records[at]) {
      case "wait":
        return this.#deadline.set(records[at + 5] as number);
      case "write":
        return this.#outlet(stream)?.push(records[at + 4] as Uint8Array);
      case "close":
        this.#outlet(stream)?.close();
        this.#outlets.delete(stream);
        return;
      case "head":
        return this.#answer(stream)?.head(id, text);
      case "body": {
        const last = records[at + 5] === 1;
        this.#answer(stream)?.body(records[at + 4] as Uint8Array, last);
        if (last) this.#answers.delete(stream);
        return;
      }
      case "answer":
        return this.#calls.get(id)?.answered(name, text);
      case "cancelled":
        this.#calls.get(id)?.cancel(text);
        return this.#forget(id);
      case "trace":
        return this.#tell(() => this.#options.trace?.(name as ">" | "<", text, id));
      case "notice":
        return this.#tell(() => this.#options.onNotice?.(name, JSON.parse(text || "{}")));
      case "violation":
        return this.#tell(() => this.#options.onViolation?.(name, text));
    }
  }

  #outlet(stream: number): Outlet | undefined {
    const outlet = this.#outlets.get(stream);
    if (outlet !== undefined) this.#flusher.mark(outlet);
    return outlet;
  }

  #answer(stream: number): HttpSink | undefined {
    const sink = this.#answers.get(stream);
    if (sink !== undefined) this.#flusher.mark(sink);
    return sink;
  }

  #run(context: Context, text: string): void {
    if (context.over) return;
    const handler = this.#handlers.get(context.key);
    if (handler === undefined) return this.#respond(context, failure(`no handler for ${context.key}`));
    const settle = (value: unknown): void => this.#settle(context, handler, value);
    const fail = (error: unknown): void => this.#fail(context, handler, error);
    try {
      const value = handler.run(text, context);
      if (isPromise(value)) void value.then(settle, fail);
      else settle(value);
    } catch (error) {
      fail(error);
    }
  }

  #settle(context: Context, handler: Handler, value: unknown): void {
    if (context.over) return;
    let outcome: string;
    try {
      outcome = handler.shape(value);
    } catch (error) {
      return this.#fail(context, handler, error);
    }
    this.#respond(context, outcome);
  }

  #fail(context: Context, handler: Handler, error: unknown): void {
    if (context.over) return;
    this.#tell(() => this.#options.onError?.(error, context.key));
    let outcome: string;
    try {
      outcome = handler.failure(error);
    } catch (worse) {
      // What was thrown cannot be told; the call must get an answer all the same.
      outcome = failure(words(worse));
    }
    this.#respond(context, outcome);
  }

  #respond(context: Context, outcome: string): void {
    context.finish();
    this.#forget(context.call);
    try {
      this.act((flat, time) => flat.respond(context.call, outcome, time));
    } catch (error) {
      // The core takes no such outcome; the call must get an answer all the same.
      this.#tell(() => this.#options.onError?.(error, context.key));
      this.#feed((flat, time) => flat.respond(context.call, failure(words(error)), time));
    }
  }

  #forget(call: number): void {
    const stream = this.#calls.get(call)?.stream;
    this.#calls.delete(call);
    if (this.#settling.size > 0 && stream !== undefined) this.#settling.get(stream)?.();
  }

  /** Input of a transport. What goes wrong with it is nobody's call: it ends the connections, not the process. */
  #feed(input: (flat: FlatServer, now: number) => Records): void {
    let records;
    try {
      records = input(this.#flat, now());
    } catch (error) {
      this.#tell(() => this.#options.onError?.(fromCore(error), "core"));
      this.#deadline.stop();
      for (const outlet of this.#outlets.values()) outlet.sink.close();
      this.#outlets.clear();
      return;
    }
    this.#do(records);
  }

  #tell(observer: () => void): void {
    try {
      observer();
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function failure(message: string): string {
  return stringify({ error: { code: -32603, message } });
}
