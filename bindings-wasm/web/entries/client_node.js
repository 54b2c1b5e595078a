// The module is a file beside this one.
import { readFileSync } from "node:fs";
import { initSync } from "./client.js";

initSync(readFileSync(new URL("./client.wasm", import.meta.url)));

export * from "./client.js";
