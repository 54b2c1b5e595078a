/** Model Context Protocol for browsers and edge runtimes: `Client` and `Server` on one core that every language shares. */
import * as glue from "../dist/glue/full/keel_bg.js";
import { loader } from "./engine.js";

export * from "../js/index.js";
export { Client, type Target } from "./client.js";
export type { ModuleSource } from "./engine.js";
export type { Port } from "./port_link.js";
export { Server } from "./server.js";
export const { init, initSync, locate } = loader(glue);
