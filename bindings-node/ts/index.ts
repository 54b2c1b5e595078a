/** Model Context Protocol for Node: `Server` and `Client` on one core that every language shares. */
import "./addon.js";
import "./journal.js";

export * from "../../bindings-wasm/js/index.js";
export type { CommandTarget } from "./child.js";
export { Client, type Target } from "./client.js";
export type { HttpHandle, HttpOptions } from "./http.js";
export { Server } from "./server.js";
