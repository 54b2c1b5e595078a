// Makes of the component what Node needs:
//   node scripts/build.mjs COMPONENT
// dist/component: the component as JavaScript and its core modules; dist/*.mjs: the Node package on it, and the bare core.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transpileBytes } from "@bytecodealliance/jco-transpile";
import { build } from "esbuild";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(here, "dist");
const component = readFileSync(process.argv[2]);

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
writeFileSync(join(dist, "keel-mcp.wasm"), component);
// Instantiated when asked to; and an error of the WIT is an exception with a payload, to be told from all others.
const options = { name: "keel-mcp", instantiation: "async", noComponentErrorWrapping: false, nodejsCompat: false };
const { files } = await transpileBytes(component, options);
for (const [name, bytes] of Object.entries(files)) {
  const file = join(dist, "component", name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}

const addon = join(here, "js/addon.ts");
await build({
  absWorkingDir: here,
  entryPoints: { core: "js/core.ts", node: "../../bindings-node/ts/index.ts", memory: "js/memory.ts" },
  bundle: true,
  // What is loaded once is so for all of them.
  splitting: true,
  outdir: dist,
  outExtension: { ".js": ".mjs" },
  format: "esm",
  platform: "node",
  target: "node20",
  logLevel: "warning",
  plugins: [
    {
      name: "the component in place of the addon",
      setup: ({ onResolve }) => {
        onResolve({ filter: /^\.\/addon\.js$/ }, ({ importer }) => (importer.includes("bindings-node") ? { path: addon } : undefined));
      },
    },
  ],
});
