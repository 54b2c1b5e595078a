/** Everything that every host's entry point offers. */
export { Client, type ClientOptions, type HttpTarget, type RequestOptions, type Target, ToolResult } from "./client.js";
export { Context } from "./context.js";
export type { Sink } from "./driver.js";
export {
  Cancelled,
  Disconnected,
  InvalidError,
  KeelError,
  LimitError,
  PeerError,
  RequestTimeout,
  type RpcError,
  UsageError,
} from "./errors.js";
export type { Exchange, HttpLink, Link, LinkEvents, PipeLink } from "./link.js";
export { base64, type PromptOutput, type ResourceOutput, type ToolOutput } from "./outcomes.js";
export type { JsonSchema, Output, Schema, StandardSchema } from "./schema.js";
export { type HttpRules, type PromptOptions, type ResourceOptions, Server, type ServerOptions, type ToolOptions } from "./server.js";
export type { Trace } from "./trace.js";
export type * from "./types.js";
