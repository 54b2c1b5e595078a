// The corpus host in a page: `answer(text)` gives the answers to the lines of a text.
import { corpusHost } from "/corpus/corpus.mjs";
import { classes, imports } from "/seam/tests/classes.mjs";

const { instance } = await WebAssembly.instantiateStreaming(fetch("/keel/full.wasm"), imports);
const host = corpusHost(classes(instance));
globalThis.answer = (text) => text.split("\n").slice(0, -1).map((line) => `${JSON.stringify(host(line))}\n`).join("");
