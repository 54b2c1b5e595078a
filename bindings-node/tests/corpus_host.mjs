// One object of the addon, driven by JSON lines: `cargo xtask corpus --host node`.
import { createRequire } from "node:module";
import { readdirSync } from "node:fs";
import { corpusHost, lineCutter } from "./corpus.mjs";

const require = createRequire(import.meta.url);
const addon = readdirSync(new URL("..", import.meta.url)).find((name) => /^mcp-keel\..*\.node$/.test(name));
const answer = lineCutter(corpusHost(require(`../${addon}`)));
for await (const chunk of process.stdin) process.stdout.write(answer(chunk));
