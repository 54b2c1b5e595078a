/** What users register, and the fetch handler. Hosts add their own transports in a subclass. */
import type { Context } from "./context.js";
import type { Sink } from "./driver.js";
import { InvalidError, UsageError } from "./errors.js";
import { type FetchContext, fetchHandler } from "./fetch_handler.js";
import { parse, stringify } from "./json.js";
import {
  failure,
  promptResult,
  type PromptOutput,
  resourceResult,
  type ResourceOutput,
  structuredResult,
  toolFailure,
  type ToolOutput,
  toolResult,
  wholeResult,
} from "./outcomes.js";
import { isPromise } from "./driver.js";
import { jsonSchema, type JsonSchema, type Output, type Schema, validate } from "./schema.js";
import { type Handler, Serving } from "./serving.js";
import { type Trace, tracer } from "./trace.js";
import type {
  CompletionRequest,
  CompletionValues,
  Implementation,
  Limits,
  Prompt,
  PromptArgument,
  Resource,
  ResourceTemplate,
  Tool,
} from "./types.js";

/** Where HTTP is served, and whom the server believes: `hosts` and `origins` null = any. */
export interface HttpRules {
  path?: string;
  hosts?: string[] | null;
  origins?: string[] | null;
}

export interface ServerOptions extends Implementation {
  /** For the client's model: how to use this server. */
  instructions?: string;
  /** Integers beyond 2^53 in inputs are BigInt rather than an error. */
  bigint?: boolean;
  http?: HttpRules;
  limits?: Limits;
  /** Entries on one page of a list. */
  pageSize?: number;
  /** How long clients may keep lists and resources. */
  cache?: { ttlMs: number; scope: "private" | "public" };
  capabilities?: { [name: string]: unknown };
  /** Called for what a handler throws; the client gets its message. */
  onError?: (error: unknown, key: string) => void;
  /** Called when a client breaks a rule of the protocol. */
  onViolation?: (code: string, message: string) => void;
  /** Sees every message as JSON text, ">" sent and "<" received. */
  trace?: Trace;
  /** Called for notifications such as a change of the client's roots. */
  onNotice?: (method: string, params: any) => void;
}

export type ToolOptions<In extends Schema = Schema> = Omit<Tool, "name" | "inputSchema" | "outputSchema"> & {
  /** Schema of the arguments; without one, any. */
  input?: In;
  /** Schema of the structured result. */
  output?: Schema;
};

export type PromptOptions<In extends Schema = Schema> = Omit<Prompt, "name" | "arguments"> & {
  arguments?: PromptArgument[];
  /** In place of `arguments`: an object schema whose members are strings. */
  input?: In;
};

export type ResourceOptions = Omit<Resource, "uri" | "name"> & Omit<ResourceTemplate, "uriTemplate" | "name"> & { name?: string };

type Maybe<T> = T | Promise<T>;
type Compute<In> = (input: In, context: Context) => Maybe<ToolOutput>;
type Read = (uri: string, variables: { [name: string]: string }, context: Context) => Maybe<ResourceOutput>;

export class Server {
  readonly #options: ServerOptions;
  readonly #handlers = new Map<string, Handler>();
  readonly #tools = new Map<string, Tool>();
  readonly #resources = new Map<string, Resource>();
  readonly #templates = new Map<string, ResourceTemplate>();
  readonly #prompts = new Map<string, Prompt>();
  #serving: Serving | undefined;
  #changed = false;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /**
   * A tool. The handler returns a text, an object (structured content), content blocks or a whole result. What it
   * throws becomes a result with `isError`; a PeerError becomes that protocol error.
   */
  tool<In extends Schema = JsonSchema>(name: string, options: ToolOptions<In>, handler: Compute<Output<In>>): this {
    const { input, output, ...more } = options;
    const tool: Tool = { name, ...more, inputSchema: input === undefined ? { type: "object" } : jsonSchema(input, "input") };
    if (output !== undefined) tool.outputSchema = jsonSchema(output, "output");
    this.#tools.set(name, tool);
    return this.#add(`tools/call ${name}`, {
      run: (text, context) => this.#call(handler, input, output, text, context),
      shape: output === undefined ? (value) => toolResult(value as ToolOutput) : declaredResult,
      failure: toolFailure,
    });
  }

  /** A resource, or with a `{variable}` in its uri a template of resources. */
  resource(uri: string, options: ResourceOptions, read: Read): this {
    const name = options.name ?? uri;
    if (uri.includes("{")) this.#templates.set(uri, { uriTemplate: uri, name, ...options });
    else this.#resources.set(uri, { uri, name, ...options });
    return this.#add(`resources/read ${uri}`, {
      run: (text, context) => {
        const asked = JSON.parse(text) as { uri: string; variables?: { [name: string]: string } };
        const value = read(asked.uri, asked.variables ?? {}, context);
        const shape = (read: ResourceOutput): string => resourceResult(read, asked.uri, options.mimeType);
        return isPromise(value) ? value.then((read) => shape(read as ResourceOutput)) : shape(value);
      },
      shape: (value) => value as string,
      failure,
    });
  }

  /** A prompt. The handler returns the text of one user message, messages, or a whole result. */
  prompt<In extends Schema = JsonSchema>(
    name: string,
    options: PromptOptions<In>,
    handler: (input: Output<In>, context: Context) => Maybe<PromptOutput>,
  ): this {
    const { input, arguments: listed, ...more } = options;
    const prompt: Prompt = { name, ...more };
    const args = listed ?? (input === undefined ? undefined : promptArguments(jsonSchema(input, "input")));
    if (args !== undefined) prompt.arguments = args;
    this.#prompts.set(name, prompt);
    return this.#add(`prompts/get ${name}`, {
      run: (text, context) => this.#call(handler, input, undefined, text, context),
      shape: (value) => promptResult(value as PromptOutput),
      failure,
    });
  }

  /** Completes arguments of prompts and variables of templates. To be set before the server runs. */
  completion(handler: (request: CompletionRequest, context: Context) => Maybe<string[] | CompletionValues>): this {
    if (this.#serving !== undefined) throw new UsageError("completion() comes before the server runs");
    return this.#add("completion/complete", {
      run: (text, context) => handler(JSON.parse(text) as CompletionRequest, context),
      shape: (value) => stringify({ result: { completion: Array.isArray(value) ? { values: value } : value } }),
      failure,
    });
  }

  /** Takes a tool, prompt, resource or template off the lists. */
  remove(kind: "tool" | "prompt" | "resource", nameOrUri: string): void {
    const lists = { tool: [this.#tools], prompt: [this.#prompts], resource: [this.#resources, this.#templates] }[kind];
    for (const list of lists) list.delete(nameOrUri);
    this.#handlers.delete(`${{ tool: "tools/call", prompt: "prompts/get", resource: "resources/read" }[kind]} ${nameOrUri}`);
    this.#announce();
  }

  /** Tells those who subscribed that a resource has changed. */
  resourceUpdated(uri: string): void {
    this.#serving?.act((flat, now) => flat.publish(stringify({ resource: uri }), now));
  }

  /** A log message that is not about one call. */
  log(level: string, data: unknown, logger?: string): void {
    this.#serving?.act((flat, now) => flat.log(0, stringify({ level, logger, data }), now));
  }

  /**
   * Handles one HTTP request: `export default { fetch: server.fetch }`. Edge runtimes hand in their context, by which a
   * handler that waits for the user's answer outlives the request that started it.
   */
  readonly fetch = (request: Request, _environment?: unknown, context?: FetchContext): Promise<Response> =>
    fetchHandler(() => this.running(), request, context);

  /** Serves one byte stream of newline-delimited messages. */
  pipe(sink: Sink): { receive(bytes: Uint8Array): void; end(): void; gone(): void; drained(): void } {
    const serving = this.running();
    const stream = serving.open("pipe", sink);
    return {
      receive: (bytes) => serving.receive(stream, bytes),
      end: () => serving.end(stream),
      gone: () => serving.gone(stream),
      drained: () => serving.drained(),
    };
  }

  /** Cancels what runs, answers it with an error, and closes every connection. */
  async close(): Promise<void> {
    this.#serving?.close();
    this.#serving = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal The running part; made when first needed. */
  running(http?: HttpRules): Serving {
    if (this.#serving !== undefined) {
      if (http !== undefined && Object.keys(http).length > 0) {
        throw new UsageError("rules for HTTP come before the server runs");
      }
      return this.#serving;
    }
    const { name, version, title, description, icons, websiteUrl, onError, onViolation, onNotice, trace, bigint, ...config } = this.#options;
    const told = tracer("server", trace);
    const text = stringify({
      ...config,
      trace: told !== undefined,
      info: { name, version, title, description, icons, websiteUrl },
      completions: this.#handlers.has("completion/complete") || undefined,
      http: { ...config.http, ...http },
    });
    this.#serving = new Serving(text, this.#catalog(), this.#handlers, {
      bigint: bigint ?? false,
      onError,
      onViolation,
      onNotice,
      trace: told,
    });
    return this.#serving;
  }

  #call(handler: Compute<any>, input: Schema | undefined, output: Schema | undefined, text: string, context: Context): unknown {
    const value = validate(input, parse(text, this.#options.bigint ?? false), "invalid arguments");
    const made = isPromise(value) ? value.then((ready) => handler(ready, context)) : handler(value, context);
    if (output === undefined) return made;
    const check = (value: unknown): unknown => (wholeResult(value) !== undefined ? value : validate(output, value, "invalid result"));
    return isPromise(made) ? made.then(check) : check(made);
  }

  #add(key: string, handler: Handler): this {
    this.#handlers.set(key, handler);
    this.#announce();
    return this;
  }

  /** Changes of one turn are announced together. */
  #announce(): void {
    if (this.#serving === undefined || this.#changed) return;
    this.#changed = true;
    queueMicrotask(() => {
      this.#changed = false;
      this.#serving?.setCatalog(this.#catalog());
    });
  }

  #catalog(): string {
    return stringify({
      tools: [...this.#tools.values()],
      resources: [...this.#resources.values()],
      resourceTemplates: [...this.#templates.values()],
      prompts: [...this.#prompts.values()],
    });
  }
}

/** The result for a value of a tool with an output schema: its structured content, unless it is a whole result. */
function declaredResult(value: unknown): string {
  const whole = wholeResult(value);
  return whole === undefined ? structuredResult(value) : stringify({ result: whole });
}

function promptArguments(schema: JsonSchema): PromptArgument[] {
  const { properties, required = [] } = schema as { properties?: { [name: string]: { description?: string } }; required?: string[] };
  if (properties === undefined) throw new InvalidError("the input of a prompt is an object schema");
  return Object.entries(properties).map(([name, { description }]) => ({
    name,
    ...(description === undefined ? {} : { description }),
    required: required.includes(name),
  }));
}
