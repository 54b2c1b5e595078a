// The module is fetched when it is first needed, from beside this file.
import { locate } from "./client.js";

locate(() => new URL("./client.wasm", import.meta.url));

export * from "./client.js";
