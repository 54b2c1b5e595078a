// Prints how many bytes the component has, plain and compressed: `BYTES WHAT` lines.
import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

const component = readFileSync(new URL("../dist/keel-mcp.wasm", import.meta.url));
for (const [what, { length }] of [
  ["component", component],
  ["component, gzip", gzipSync(component, { level: 9 })],
  ["component, brotli", brotliCompressSync(component)],
]) {
  console.log(`${length} ${what}`);
}
