// Has programs that ask for `mcp-keel` run on this package: `node --import …/on_wasm.mjs PROGRAM`.
import { register } from "node:module";

const place = JSON.stringify(new URL("../dist/node.js", import.meta.url).href);
register(`data:text/javascript,${encodeURIComponent(`
  export const resolve = (name, context, next) =>
    name === "mcp-keel" ? { url: ${place}, shortCircuit: true } : next(name, context);
`)}`);
