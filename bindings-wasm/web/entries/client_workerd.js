// The runtime has compiled the module before the program starts.
import module from "./client.wasm";
import { initSync } from "./client.js";

initSync(module);

export * from "./client.js";
