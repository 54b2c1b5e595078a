// The runtime has compiled the module before the program starts.
import module from "./full.wasm";
import { initSync } from "./full.js";

initSync(module);

export * from "./full.js";
