/** Clients alone, on a module that has no servers. */
import * as glue from "../dist/glue/client/keel_bg.js";
import { loader } from "./engine.js";

export type { ClientOptions, HttpTarget, RequestOptions } from "../js/client.js";
export { ToolResult } from "../js/client.js";
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
} from "../js/errors.js";
export type { Exchange, HttpLink, Link, LinkEvents, PipeLink } from "../js/link.js";
export type * from "../js/types.js";
export { Client, type Target } from "./client.js";
export type { ModuleSource } from "./engine.js";
export type { Port } from "./port_link.js";
export const { init, initSync, locate } = loader(glue);
