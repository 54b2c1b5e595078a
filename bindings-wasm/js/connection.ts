/** The running part of a client: feeds one flat object, performs its records, keeps who waits for what. */
import { Deadline, Flusher, Outlet } from "./driver.js";
import { Disconnected, fromCore, fromRecord, type KeelError, RequestTimeout, words } from "./errors.js";
import { FIELDS, type FlatClient, hostEngine, now, randomSeed, type Records } from "./flat.js";
import { parse, stringify } from "./json.js";
import type { HttpLink, Link, LinkEvents } from "./link.js";
import type { Trace } from "./trace.js";

/** What the server said of itself when the connection was opened. */
export interface Opened {
  revision: string;
  server: any;
  capabilities: { [name: string]: any };
  instructions: string | null;
  era: "legacy" | "modern";
}

/** What the connection asks of its client. */
export interface ConnectionHost {
  bigint: boolean;
  trace?: Trace | undefined;
  /** The outcome for a request of the server, as JSON. */
  input(method: string, params: string, signal: AbortSignal): Promise<string>;
  notice(method: string, params: any): void;
  violation(code: string, message: string): void;
}

interface Pending {
  resolve(result: any): void;
  reject(error: unknown): void;
  progress: ((told: any) => void) | undefined;
  notices: ((method: string, params: any) => void) | undefined;
}

/** Who hears what comes before the result of a request. */
export interface Observers {
  progress?: ((told: any) => void) | undefined;
  /** Notifications that are for a listening request. */
  notices?: ((method: string, params: any) => void) | undefined;
}

export class Connection implements LinkEvents {
  readonly #flat: FlatClient;
  readonly #link: Link;
  readonly #host: ConnectionHost;
  readonly #outlet: Outlet | undefined;
  readonly #flusher = new Flusher();
  readonly #deadline: Deadline;
  readonly #pending = new Map<number, Pending>();
  readonly #inputs = new Map<number, AbortController>();
  #handles = 0;
  #over: Disconnected | undefined;
  #closing: Promise<void> | undefined;
  readonly #ready: Promise<Opened>;
  #opened!: { resolve(opened: Opened): void; reject(error: unknown): void };
  readonly #closed: Promise<void>;
  #ended!: () => void;

  constructor(link: Link, config: string, host: ConnectionHost) {
    try {
      this.#flat = hostEngine().client(config, randomSeed());
    } catch (error) {
      throw fromCore(error);
    }
    this.#link = link;
    this.#host = host;
    this.#deadline = new Deadline((time) => this.#do(this.#flat.timeout(time)));
    this.#ready = new Promise((resolve, reject) => (this.#opened = { resolve, reject }));
    this.#ready.catch(() => {});
    this.#closed = new Promise((resolve) => (this.#ended = resolve));
    if (link.kind === "pipe") {
      this.#outlet = new Outlet({ write: (bytes) => link.write(bytes), close: () => link.close() });
    }
  }

  async start(): Promise<Opened> {
    await this.#link.open(this);
    if (this.#over !== undefined) throw this.#over;
    this.#deadline.hold(true);
    this.#do(this.#flat.start(now()));
    try {
      return await this.#ready;
    } finally {
      this.#deadline.hold(this.#pending.size > 0);
    }
  }

  /** Sends a request. Its handle, for `cancel`, and its outcome. */
  request(method: string, params: unknown, options: object, { progress, notices }: Observers = {}): { handle: number; outcome: Promise<any> } {
    if (this.#over !== undefined) throw this.#over;
    const handle = ++this.#handles;
    const [paramsText, optionsText] = [stringify(params), stringify(options)];
    const outcome = new Promise<any>((resolve, reject) => {
      this.#pending.set(handle, { resolve, reject, progress, notices });
      try {
        this.#deadline.hold(true);
        this.#do(this.#flat.request(handle, method, paramsText, optionsText, now()));
      } catch (error) {
        this.#take(handle);
        reject(fromCore(error));
      }
    });
    return { handle, outcome };
  }

  cancel(handle: number, reason: string): void {
    if (this.#pending.has(handle)) this.#do(this.#flat.cancel(handle, reason, now()));
  }

  notify(method: string, params: unknown): void {
    if (this.#over !== undefined) throw this.#over;
    try {
      this.#do(this.#flat.notify(method, stringify(params), now()));
    } catch (error) {
      throw fromCore(error);
    }
  }

  /** Ends the connection, bounded in time, whatever state it is in. */
  close(): Promise<void> {
    return (this.#closing ??= this.#shut());
  }

  async #shut(): Promise<void> {
    this.#feed((flat, time) => flat.close(time));
    this.#flusher.schedule();
    await withinSeconds(2, this.#closed);
    await this.#link.closed();
    this.#finish(new Disconnected("the client was closed"));
  }

  // What links tell.

  receive(bytes: Uint8Array): void {
    this.#feed((flat, time) => flat.receive(bytes, time));
  }

  ended(reason: string): void {
    this.#feed((flat, time) => flat.ended(reason, time));
  }

  response(stream: number, status: number, headers: string): void {
    this.#feed((flat, time) => flat.response(stream, status, headers, time));
  }

  body(stream: number, bytes: Uint8Array): void {
    this.#feed((flat, time) => flat.body(stream, bytes, time));
  }

  end(stream: number): void {
    this.#feed((flat, time) => flat.end(stream, time));
  }

  failed(stream: number, reason: string): void {
    this.#feed((flat, time) => flat.failed(stream, reason, time));
  }

  /** Input that comes after the end changes nothing; an internal error ends everything that waits. */
  #feed(input: (flat: FlatClient, now: number) => Records): void {
    if (this.#over !== undefined && this.#pending.size === 0) return;
    let records;
    try {
      records = input(this.#flat, now());
    } catch (error) {
      this.#host.violation((error as { code?: string }).code ?? "error", String(error));
      if ((error as { code?: string }).code === "internal_error") this.#finish(fromCore(error) as KeelError);
      return;
    }
    this.#do(records);
  }

  #do(records: Records): void {
    let told: (() => void)[] | undefined;
    for (let at = 0; at < records.length; at += FIELDS) {
      const later = this.#perform(records, at);
      if (later !== undefined) (told ??= []).push(later);
    }
    this.#flusher.schedule();
    for (const tell of told ?? []) tell();
  }

  /** Performs one record; what runs user code comes back, to be run after all others. */
  #perform(records: Records, at: number): (() => void) | undefined {
    const stream = records[at + 1] as number;
    const id = records[at + 2] as number;
    const name = records[at + 3] as string;
    const text = records[at + 4] as string;
    switch (records[at]) {
      case "wait":
        return void this.#deadline.set(records[at + 5] as number);
      case "write":
        this.#outlet!.push(records[at + 4] as Uint8Array);
        return void this.#flusher.mark(this.#outlet!);
      case "close":
        this.#outlet?.close();
        return void (this.#outlet && this.#flusher.mark(this.#outlet));
      case "fetch":
        return void (this.#link as HttpLink).fetch(stream, name, text);
      case "abort":
        return void (this.#link as HttpLink).abort(stream);
      case "ready":
        return void this.#opened.resolve({ revision: name, ...JSON.parse(text) } as Opened);
      case "result":
        return void this.#settle(id, text);
      case "error":
        return void this.#take(id)?.reject(fromRecord(text));
      case "progress": {
        // Taken now: the result may be in the same list.
        const progress = this.#pending.get(id)?.progress;
        return progress && (() => this.#tell(() => progress(parse(text, this.#host.bigint)), id));
      }
      case "input":
        return () => void this.#ask(id, name, text);
      case "input_cancelled":
        this.#inputs.get(id)?.abort();
        return void this.#inputs.delete(id);
      case "notice": {
        const notices = this.#pending.get(id)?.notices;
        return () => {
          this.#tell(() => notices?.(name, parse(text || "{}", this.#host.bigint)), id);
          this.#tell(() => this.#host.notice(name, parse(text || "{}", this.#host.bigint)), 0);
        };
      }
      case "trace":
        return () => this.#tell(() => this.#host.trace?.(name as ">" | "<", text, 1), 0);
      case "violation":
        return () => this.#host.violation(name, text);
      case "closed":
        return void this.#finish(name === "timeout" ? new RequestTimeout(text) : new Disconnected(text, name || undefined));
    }
    return undefined;
  }

  #settle(handle: number, text: string): void {
    const pending = this.#take(handle);
    if (pending === undefined) return;
    try {
      pending.resolve(parse(text, this.#host.bigint));
    } catch (error) {
      pending.reject(error);
    }
  }

  #take(handle: number): Pending | undefined {
    const pending = this.#pending.get(handle);
    this.#pending.delete(handle);
    this.#deadline.hold(this.#pending.size > 0);
    return pending;
  }

  /** An observer that throws fails its own request; the others go on. */
  #tell(observer: () => void, handle: number): void {
    try {
      observer();
    } catch (error) {
      const pending = this.#pending.get(handle);
      if (pending === undefined) return this.#host.violation("observer", String(error));
      pending.reject(error);
      this.cancel(handle, "the progress handler failed");
    }
  }

  async #ask(token: number, method: string, text: string): Promise<void> {
    const controller = new AbortController();
    this.#inputs.set(token, controller);
    const outcome = await this.#host.input(method, text || "{}", controller.signal);
    if (!this.#inputs.delete(token)) return;
    try {
      this.#do(this.#flat.answer(token, outcome, now()));
    } catch (error) {
      // The core takes no such outcome; the server must get an answer all the same.
      const failure = stringify({ error: { code: -32603, message: words(error) } });
      this.#feed((flat, time) => flat.answer(token, failure, time));
    }
  }

  #finish(error: KeelError): void {
    this.#over ??= error instanceof Disconnected ? error : new Disconnected(error.message, error.code);
    this.#deadline.stop();
    this.#opened.reject(error);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
    for (const controller of this.#inputs.values()) controller.abort();
    this.#inputs.clear();
    this.#ended();
  }
}

async function withinSeconds(seconds: number, promise: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, seconds * 1000)));
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
