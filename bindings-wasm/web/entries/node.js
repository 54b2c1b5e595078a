// The module is a file beside this one.
import { readFileSync } from "node:fs";
import { initSync } from "./full.js";

initSync(readFileSync(new URL("./full.wasm", import.meta.url)));

export * from "./full.js";
