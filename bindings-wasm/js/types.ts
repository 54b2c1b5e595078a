/** Payloads as they are on the wire. Members that a newer revision adds are kept although no type names them. */
import type { JsonSchema } from "./schema.js";

export type Role = "user" | "assistant";
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
export type Meta = { [key: string]: unknown };

export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

/** Who a client or server is. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  icons?: Icon[];
  websiteUrl?: string;
}

export interface Annotations {
  audience?: Role[];
  priority?: number;
  lastModified?: string;
}

export interface TextContent {
  type: "text";
  text: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** `data` is base64. */
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** `data` is base64. */
export interface AudioContent {
  type: "audio";
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Has `text`, or `blob` with base64. */
export interface ResourceContents {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  _meta?: Meta;
}

export interface EmbeddedResource {
  type: "resource";
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: Meta;
}

interface Described {
  name: string;
  title?: string;
  description?: string;
  icons?: Icon[];
  _meta?: Meta;
}

export interface Resource extends Described {
  uri: string;
  mimeType?: string;
  size?: number;
  annotations?: Annotations;
}

export interface ResourceLink extends Resource {
  type: "resource_link";
}

export interface ResourceTemplate extends Described {
  uriTemplate: string;
  mimeType?: string;
  annotations?: Annotations;
}

export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** Hints for clients; no promises. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

export interface Tool extends Described {
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
}

export interface CallToolResult {
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

export interface Prompt extends Described {
  arguments?: PromptArgument[];
}

export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

export interface GetPromptResult {
  description?: string;
  messages: PromptMessage[];
  _meta?: Meta;
}

export interface ReadResourceResult {
  contents: ResourceContents[];
  _meta?: Meta;
}

/** What a completion is for: an argument of a prompt, or a variable of a resource template. */
export type CompletionReference = { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };

export interface CompletionRequest {
  ref: CompletionReference;
  argument: { name: string; value: string };
  context?: { arguments?: { [name: string]: string } };
}

export interface CompletionValues {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

export interface Root {
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** A form to fill in, or a page to visit. */
export interface ElicitRequest {
  mode?: "form" | "url";
  message: string;
  requestedSchema?: JsonSchema;
  url?: string;
  [member: string]: unknown;
}

export interface ElicitResult<Content = { [name: string]: any }> {
  action: "accept" | "decline" | "cancel";
  /** What was filled in; there when accepted. */
  content?: Content;
}

export interface SamplingMessage {
  role: Role;
  content: any;
}

export interface SampleRequest {
  messages: SamplingMessage[];
  maxTokens: number;
  systemPrompt?: string;
  temperature?: number;
  stopSequences?: string[];
  modelPreferences?: { [member: string]: unknown };
  [member: string]: unknown;
}

export interface SampleResult {
  role: Role;
  content: any;
  model: string;
  stopReason?: string;
}

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** A notification of the server. */
export interface Notice {
  method: string;
  params: { [member: string]: any };
}

/** Which changes a client wants to hear of. */
export interface ListenFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** Uris of resources. */
  resourceSubscriptions?: string[];
}

/** Bounds on what a peer may do; each has a safe default. Bytes and counts. */
export type Limits = { [name: string]: number };

/** What is known about a running call. */
export interface CallInfo {
  client: Implementation | null;
  capabilities: { [name: string]: any };
  revision: string;
  meta: Meta | null;
  /** Whether the client asked for progress. */
  progress: boolean;
  logLevel: LogLevel | null;
  stream: number;
}
