// The corpus host in a page: `answer(text)` gives the answers to the lines of a text.
import { corpusHost } from "/corpus/corpus.mjs";
import init, * as glue from "/keel/glue/full/keel.js";

await init({ module_or_path: "/keel/full.wasm" });
const host = corpusHost(glue);
globalThis.answer = (text) => text.split("\n").slice(0, -1).map((line) => `${JSON.stringify(host(line))}\n`).join("");
