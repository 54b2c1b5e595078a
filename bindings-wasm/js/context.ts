/** What a handler gets beside its input. */
import { nextTurn } from "./driver.js";
import { Cancelled, fromRpc, UsageError } from "./errors.js";
import { parse, stringify } from "./json.js";
import { jsonSchema, type Output, type Schema, validate } from "./schema.js";
import type { Serving } from "./serving.js";
import type { CallInfo, ElicitRequest, ElicitResult, LogLevel, Root, SampleRequest, SampleResult } from "./types.js";

interface Ask {
  resolve(result: any): void;
  reject(error: unknown): void;
}

/** A handler that awaits so many reports without waiting for anything else lets others run. */
const TURN = 32;
const DONE = Promise.resolve();

/** One running call. */
export class Context {
  readonly #serving: Serving;
  /** @internal The connection it came on. */
  readonly stream: number;
  /** @internal The core's number for it. */
  readonly call: number;
  /** What is called, such as "tools/call forecast". */
  readonly key: string;
  /** Whether the call has ended: answered, or cancelled by the client. */
  over = false;
  #controller: AbortController | undefined;
  #reason: Cancelled | undefined;
  #asked = 0;
  #reported = 0;
  #asks: Map<string, Ask> | undefined;
  #info: CallInfo | undefined;

  /** @internal */
  constructor(serving: Serving, stream: number, call: number, key: string) {
    this.#serving = serving;
    this.stream = stream;
    this.call = call;
    this.key = key;
  }

  /** Aborts when the client cancels the call or goes away. Made when first asked for. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Who calls, with which capabilities. Ask before the call has ended. */
  get info(): CallInfo {
    return (this.#info ??= JSON.parse(this.#serving.callInfo(this.call)) as CallInfo);
  }

  /**
   * Tells how far the call is; dropped when the client did not ask for it, or does not read. Awaiting it is for handlers
   * that report much: it lets others run, waits for a client that reads slowly, and throws Cancelled after the call was
   * cancelled.
   */
  progress(progress: number, more?: { total?: number; message?: string }): Promise<void> {
    const told = stringify(more === undefined ? { progress } : { progress, ...more });
    if (this.#open) this.#serving.act((flat, now) => flat.progress(this.call, told, now));
    return this.#sent();
  }

  /** Sends a log message; `data` is anything that has JSON. Dropped and awaited like progress. */
  log(level: LogLevel, data: unknown, logger?: string): Promise<void> {
    const entry = stringify({ level, logger, data });
    if (this.#open) this.#serving.act((flat, now) => flat.log(this.call, entry, now));
    return this.#sent();
  }

  #sent(): Promise<void> {
    if (this.#reason !== undefined) {
      const over = Promise.reject(this.#reason);
      over.catch(() => {}); // when nobody awaits it
      return over;
    }
    if (this.#serving.full(this.stream)) return this.#serving.room(this.stream);
    this.#reported += 1;
    return this.#reported % TURN === 0 ? nextTurn() : DONE;
  }

  get #open(): boolean {
    return !this.over && !this.#serving.full(this.stream);
  }

  /** Asks the user to fill in a form. With a library's schema an accepted `content` is checked and typed. */
  async elicit<S extends Schema>(form: { message: string; schema: S; [member: string]: unknown }): Promise<ElicitResult<Output<S>>>;
  /** Asks the user to visit a page, or any elicitation by its wire names. */
  async elicit(request: ElicitRequest): Promise<ElicitResult>;
  async elicit(request: ElicitRequest & { schema?: Schema }): Promise<ElicitResult> {
    const { schema, ...params } = request;
    if (schema !== undefined) params.requestedSchema = jsonSchema(schema, "input");
    const result = (await this.ask("elicitation/create", params)) as ElicitResult<any>;
    if (result.action === "accept" && schema !== undefined) {
      result.content = await validate(schema, result.content ?? {}, "the user's answer");
    }
    return result;
  }

  /** Asks the client's model. A text stands for one user message. */
  async sample(request: SampleRequest | string): Promise<SampleResult> {
    const params: SampleRequest =
      typeof request === "string"
        ? { messages: [{ role: "user", content: { type: "text", text: request } }], maxTokens: 1024 }
        : request;
    return this.ask("sampling/createMessage", params) as Promise<SampleResult>;
  }

  /** The folders that the client works in. */
  async roots(): Promise<Root[]> {
    return ((await this.ask("roots/list", {})) as { roots: Root[] }).roots;
  }

  /** Any request to the client inside this call. Rejects with PeerError when it refuses, Cancelled when the call ends. */
  ask(method: string, params: unknown): Promise<unknown> {
    if (this.over) return Promise.reject(this.#reason ?? new UsageError("this call has ended"));
    // Numbered in the order of asking: a handler that is run again asks the same again.
    const key = String(++this.#asked);
    const request = stringify({ method, params });
    return new Promise((resolve, reject) => {
      this.#asks ??= new Map();
      this.#asks.set(key, { resolve, reject });
      try {
        this.#serving.act((flat, now) => flat.ask(this.call, key, request, now));
      } catch (error) {
        this.#asks.delete(key);
        reject(error);
      }
    });
  }

  /** @internal */
  answered(key: string, text: string): void {
    const ask = this.#asks?.get(key);
    if (ask === undefined) return;
    this.#asks?.delete(key);
    try {
      const outcome = parse(text, this.#serving.bigint) as { result?: unknown; error?: { code: number; message: string } };
      if (outcome.error !== undefined) ask.reject(fromRpc(outcome.error));
      else ask.resolve(outcome.result);
    } catch (error) {
      ask.reject(error);
    }
  }

  /** @internal */
  cancel(reason: string): void {
    this.over = true;
    this.#reason = new Cancelled(reason === "" ? "the client cancelled the call" : reason);
    this.#controller?.abort(this.#reason);
    for (const ask of this.#asks?.values() ?? []) ask.reject(this.#reason);
    this.#asks = undefined;
  }

  /** @internal */
  finish(): void {
    this.over = true;
  }
}
