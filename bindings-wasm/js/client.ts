/** What users of a server see. Hosts add their own links in a subclass. */
import { Connection, type Opened } from "./connection.js";
import { Cancelled, PeerError, UsageError, words } from "./errors.js";
import { FetchLink } from "./fetch_link.js";
import { parse, stringify } from "./json.js";
import type { Link } from "./link.js";
import { MemoryLink } from "./memory_link.js";
import { rpcFailure } from "./outcomes.js";
import type { Server } from "./server.js";
import { type Trace, tracer } from "./trace.js";
import type {
  CallToolResult,
  CompletionRequest,
  CompletionValues,
  ContentBlock,
  ElicitRequest,
  ElicitResult,
  GetPromptResult,
  Implementation,
  Limits,
  ListenFilter,
  LogLevel,
  Meta,
  Notice,
  Progress,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  Root,
  SampleRequest,
  SampleResult,
  Tool,
} from "./types.js";

type Maybe<T> = T | Promise<T>;

export interface ClientOptions {
  /** Which kind of server to expect; "auto" finds out. */
  mode?: "auto" | "legacy" | "modern";
  /** The one revision to speak. */
  revision?: string;
  /** Milliseconds that a request may take, unless it says otherwise; progress starts it anew. */
  timeout?: number;
  /** Gives up connecting when it aborts. */
  signal?: AbortSignal;
  /** Fills in forms: a result, the content of the form (accepted), or null (declined). */
  onElicit?: (request: ElicitRequest, signal: AbortSignal) => Maybe<ElicitResult | { [name: string]: unknown } | null>;
  /** Asks a model for the server: a text, or a whole result. */
  onSample?: (request: SampleRequest, signal: AbortSignal) => Maybe<SampleResult | string>;
  /** The folders that this client works in; from a function, they may change: see `rootsChanged`. */
  roots?: Root[] | (() => Maybe<Root[]>);
  /** Called for notifications of the server, log messages among them. */
  onNotice?: (notice: Notice) => void;
  /** Called when the server breaks a rule of the protocol. */
  onViolation?: (code: string, message: string) => void;
  /** Sees every message as JSON text, ">" sent and "<" received. */
  trace?: Trace;
  /** Integers beyond 2^53 are BigInt rather than an error. */
  bigint?: boolean;
  name?: string;
  version?: string;
  info?: Partial<Implementation>;
  capabilities?: { [name: string]: unknown };
  limits?: Limits;
  /** Sends the requests, in place of what the host has for that. */
  fetch?: typeof fetch;
}

/** An HTTP server, by its MCP endpoint. */
export interface HttpTarget {
  url: string | URL;
  headers?: { [name: string]: string };
}

export type Target = string | URL | HttpTarget | Server | Link;

export interface RequestOptions {
  signal?: AbortSignal;
  /** Milliseconds. */
  timeout?: number;
  onProgress?: (progress: Progress) => void;
  /** Log messages about this request from this level on. */
  logLevel?: LogLevel;
  meta?: Meta;
}

/** What a tool call gave. */
export class ToolResult {
  /** The result as it came. */
  readonly raw: CallToolResult;

  constructor(raw: CallToolResult) {
    this.raw = raw;
  }

  get content(): ContentBlock[] {
    return this.raw.content ?? [];
  }

  get structured(): any {
    return this.raw.structuredContent;
  }

  /** Whether the tool failed; `text` says how. */
  get isError(): boolean {
    return this.raw.isError === true;
  }

  get meta(): Meta {
    return this.raw._meta ?? {};
  }

  /** All text blocks, one after the other. */
  get text(): string {
    return this.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  }

  /** The structured content, or what is in it when that is one `result`; else the text. */
  get data(): any {
    const found = this.structured;
    if (found === undefined) return this.text;
    if (typeof found !== "object" || found === null || Array.isArray(found)) return found;
    const keys = Object.keys(found);
    return keys.length === 1 && keys[0] === "result" ? found.result : found;
  }
}

/** One connection to one server. */
export class Client {
  readonly #options: ClientOptions;
  readonly #connection: Connection;
  #opened!: Opened;

  /** @internal Use `Client.connect`. */
  constructor(link: Link, options: ClientOptions) {
    this.#options = options;
    const trace = tracer("client", options.trace);
    const config = stringify({
      link: link.kind,
      ...(link.kind === "http" ? { url: link.url, headers: link.headers } : {}),
      info: { name: options.name ?? "mcp-keel", version: options.version ?? "0", ...options.info },
      capabilities: {
        elicitation: options.onElicit && {},
        sampling: options.onSample && {},
        roots: options.roots && (typeof options.roots === "function" ? { listChanged: true } : {}),
        ...options.capabilities,
      },
      mode: options.mode,
      revision: options.revision,
      timeoutMs: options.timeout,
      limits: options.limits,
      trace: trace !== undefined,
    });
    this.#connection = new Connection(link, config, {
      bigint: options.bigint ?? false,
      trace,
      input: (method, params, signal) => this.#input(method, params, signal),
      notice: (method, params) => options.onNotice?.({ method, params }),
      violation: (code, message) => options.onViolation?.(code, message),
    });
  }

  /** Opens a connection to a URL, a link, or a server in this process. */
  static async connect(target: Target, options: ClientOptions = {}): Promise<Client> {
    return Client.over(Client.link(target, options), options);
  }

  /** @internal `http` makes the links to URLs. */
  static link(target: Target, options: ClientOptions, http = byFetch): Link {
    if (typeof target === "string" || target instanceof URL) return http(String(target), undefined, options);
    if (typeof target === "object" && target !== null && "kind" in target) return target;
    // By what it does: a page that only has clients need not carry the class.
    if (typeof target === "object" && target !== null && "pipe" in target) return new MemoryLink(target);
    if (typeof target === "object" && target !== null && "url" in target) return http(String(target.url), target.headers, options);
    throw new UsageError("a server is a URL, a description with `url` or `command`, a `Server`, or a link of your own", "usage");
  }

  /** @internal */
  static async over(link: Link, options: ClientOptions): Promise<Client> {
    const { signal } = options;
    if (signal?.aborted) throw new Cancelled(words(signal.reason));
    const client = new Client(link, options);
    const abort = (): void => void client.close();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      client.#opened = await client.#connection.start();
    } catch (error) {
      await client.close();
      throw signal?.aborted ? new Cancelled(words(signal.reason)) : error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    return client;
  }

  /** Which kind of server it is. */
  get era(): "legacy" | "modern" {
    return this.#opened.era;
  }

  get revision(): string {
    return this.#opened.revision;
  }

  /** Who the server says it is, if it does. */
  get serverInfo(): Implementation | null {
    return this.#opened.server as Implementation | null;
  }

  get capabilities(): { [name: string]: any } {
    return this.#opened.capabilities;
  }

  get instructions(): string | null {
    return this.#opened.instructions;
  }

  /** Any request by its wire name; `all` walks the pages of a list. */
  async request(method: string, params: object = {}, options: RequestOptions & { all?: boolean } = {}): Promise<any> {
    return this.#request(method, params, options);
  }

  async #request(
    method: string,
    params: object,
    options: RequestOptions & { all?: boolean },
    notices?: (method: string, params: any) => void,
  ): Promise<any> {
    const { signal, timeout, onProgress, logLevel, meta, all } = options;
    if (signal?.aborted) throw new Cancelled(words(signal.reason));
    const wanted = { timeoutMs: timeout, progress: onProgress && true, all, logLevel, meta };
    const { handle, outcome } = this.#connection.request(method, params, wanted, { progress: onProgress, notices });
    if (signal === undefined) return outcome;
    const abort = (): void => this.#connection.cancel(handle, words(signal.reason));
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await outcome;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async callTool(name: string, args: object = {}, options?: RequestOptions): Promise<ToolResult> {
    return new ToolResult((await this.request("tools/call", { name, arguments: args }, options)) as CallToolResult);
  }

  /** All tools of all pages. */
  async listTools(options?: RequestOptions): Promise<Tool[]> {
    return ((await this.request("tools/list", {}, { ...options, all: true })) as { tools: Tool[] }).tools;
  }

  /** Tools, fetched page by page as they are asked for. */
  tools(options?: RequestOptions): AsyncIterableIterator<Tool> {
    return this.#pages("tools/list", "tools", options);
  }

  async listResources(options?: RequestOptions): Promise<Resource[]> {
    return ((await this.request("resources/list", {}, { ...options, all: true })) as { resources: Resource[] }).resources;
  }

  resources(options?: RequestOptions): AsyncIterableIterator<Resource> {
    return this.#pages("resources/list", "resources", options);
  }

  async listResourceTemplates(options?: RequestOptions): Promise<ResourceTemplate[]> {
    const result = await this.request("resources/templates/list", {}, { ...options, all: true });
    return (result as { resourceTemplates: ResourceTemplate[] }).resourceTemplates;
  }

  async readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult> {
    return (await this.request("resources/read", { uri }, options)) as ReadResourceResult;
  }

  async listPrompts(options?: RequestOptions): Promise<Prompt[]> {
    return ((await this.request("prompts/list", {}, { ...options, all: true })) as { prompts: Prompt[] }).prompts;
  }

  prompts(options?: RequestOptions): AsyncIterableIterator<Prompt> {
    return this.#pages("prompts/list", "prompts", options);
  }

  async getPrompt(name: string, args: { [name: string]: string } = {}, options?: RequestOptions): Promise<GetPromptResult> {
    return (await this.request("prompts/get", { name, arguments: args }, options)) as GetPromptResult;
  }

  /** Proposals for an argument of a prompt or a variable of a template. */
  async complete(request: CompletionRequest, options?: RequestOptions): Promise<CompletionValues> {
    return ((await this.request("completion/complete", request, options)) as { completion: CompletionValues }).completion;
  }

  /** Tells the server that `roots` gives another list now. */
  rootsChanged(): void {
    this.#connection.notify("notifications/roots/list_changed", {});
  }

  /**
   * Changes that the server tells, until the loop is left or the server ends them. The first says which of them the
   * server agreed to. Each loop gets what it asked for.
   */
  async *listen(filter: ListenFilter, options: RequestOptions = {}): AsyncGenerator<Notice, void, undefined> {
    const queue: Notice[] = [];
    const state: { over?: true; error?: unknown; wake(): void } = { wake() {} };
    const hear = (method: string, params: any): void => {
      queue.push({ method, params });
      state.wake();
    };
    const stop = new AbortController();
    const abort = (): void => stop.abort(options.signal?.reason);
    if (options.signal?.aborted) abort();
    options.signal?.addEventListener("abort", abort);
    const end = (error?: unknown): void => {
      state.over = true;
      state.error = error;
      state.wake();
    };
    const asked = this.#request("subscriptions/listen", { notifications: filter }, { ...options, signal: stop.signal }, hear);
    const running = asked.then(() => end(), end);
    try {
      for (;;) {
        while (queue.length > 0) yield queue.shift()!;
        if (state.over) break;
        await new Promise<void>((resolve) => (state.wake = resolve));
      }
      if (state.error !== undefined) throw state.error;
    } finally {
      options.signal?.removeEventListener("abort", abort);
      stop.abort(new Cancelled("no longer listening"));
      await running;
    }
  }

  /** Ends the connection. Requests that still wait reject with Disconnected. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *#pages(method: string, member: string, options?: RequestOptions): AsyncGenerator<any, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = (await this.request(method, { cursor }, options)) as { nextCursor?: string; [member: string]: any };
      yield* page[member] as unknown[];
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  async #input(method: string, text: string, signal: AbortSignal): Promise<string> {
    try {
      const params: any = parse(text, this.#options.bigint ?? false);
      return stringify({ result: await this.#answer(method, params, signal) });
    } catch (error) {
      return rpcFailure(error, -32603);
    }
  }

  async #answer(method: string, params: any, signal: AbortSignal): Promise<unknown> {
    const { onElicit, onSample, roots } = this.#options;
    switch (method) {
      case "elicitation/create":
        if (onElicit !== undefined) return elicited(await onElicit(params as ElicitRequest, signal));
        break;
      case "sampling/createMessage":
        if (onSample !== undefined) return sampled(await onSample(params as SampleRequest, signal));
        break;
      case "roots/list":
        if (roots !== undefined) return { roots: typeof roots === "function" ? await roots() : roots };
    }
    throw new PeerError(`this client does not answer ${method}`, { rpcCode: -32601 });
  }
}

function byFetch(url: string, headers: { [name: string]: string } | undefined, options: ClientOptions): Link {
  return new FetchLink(url, headers, options.fetch);
}

const ACTIONS: unknown[] = ["accept", "decline", "cancel"];

function elicited(answer: ElicitResult | { [name: string]: unknown } | null): unknown {
  if (answer === null) return { action: "decline" };
  return ACTIONS.includes(answer["action"]) ? answer : { action: "accept", content: answer };
}

function sampled(answer: SampleResult | string): unknown {
  if (typeof answer !== "string") return answer;
  return { role: "assistant", content: { type: "text", text: answer }, model: "unknown" };
}
