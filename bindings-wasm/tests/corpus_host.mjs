// One object of the module, driven by JSON lines: `cargo xtask corpus --host wasm`.
import { readFileSync } from "node:fs";
import { corpusHost, lineCutter } from "../../bindings-node/tests/corpus.mjs";
import * as glue from "../dist/glue/full/keel.js";

glue.initSync({ module: readFileSync(new URL("../dist/full.wasm", import.meta.url)) });
const answer = lineCutter(corpusHost(glue));
for await (const chunk of process.stdin) process.stdout.write(answer(chunk));
