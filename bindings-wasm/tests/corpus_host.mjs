// One object of the module, driven by JSON lines: `cargo xtask corpus --host wasm`.
import { readFileSync } from "node:fs";
import { corpusHost, lineCutter } from "../../bindings-node/tests/corpus.mjs";
import { classes, imports } from "./classes.mjs";

const module = new WebAssembly.Module(readFileSync(new URL("../dist/full.wasm", import.meta.url)));
const answer = lineCutter(corpusHost(classes(new WebAssembly.Instance(module, imports))));
for await (const chunk of process.stdin) process.stdout.write(answer(chunk));
