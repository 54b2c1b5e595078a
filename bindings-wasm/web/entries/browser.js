// The module is fetched when it is first needed, from beside this file.
import { locate } from "./full.js";

locate(() => new URL("./full.wasm", import.meta.url));

export * from "./full.js";
