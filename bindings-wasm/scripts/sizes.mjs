// What a page loads, compressed with brotli: a line `BYTES NAME` each.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");

function compressed(bytes) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return brotliCompressSync(bytes, { params }).length;
}

/** The program of a page that uses all of an entry point, as a bundler makes it. */
async function bundle(entry) {
  const options = { entryPoints: [join(dist, entry)], bundle: true, minify: true, format: "esm", write: false, logLevel: "error" };
  const { outputFiles } = await build(options);
  return outputFiles[0].contents;
}

for (const [name, entry, module] of [
  ["client", "client_browser.js", "client.wasm"],
  ["client and server", "browser.js", "full.wasm"],
]) {
  const [javascript, wasm] = [compressed(await bundle(entry)), compressed(readFileSync(join(dist, module)))];
  console.log(`${javascript} wasm ${name}, JavaScript`);
  console.log(`${wasm} wasm ${name}, module`);
  console.log(`${javascript + wasm} wasm ${name}, all`);
}
