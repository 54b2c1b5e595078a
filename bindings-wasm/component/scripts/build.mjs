// Makes of the module that cargo built a component, and of the component what Node needs:
//   node scripts/build.mjs MODULE GENERATOR
// dist/keel-mcp.wasm: the component; dist/component: the same as JavaScript and core modules; dist/*.mjs: the Node package on
// it, and the bare core.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transpileBytes } from "@bytecodealliance/jco-transpile";
import { build } from "esbuild";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(here, "dist");
const component = join(dist, "keel-mcp.wasm");
const [module, generator] = process.argv.slice(2);

/** Optimised for size, encoded and validated; left alone when it was made of the same module. */
function encode() {
  const made = join(dist, "made-of");
  const hash = createHash("sha256").update(readFileSync(module)).digest("hex");
  if (existsSync(component) && existsSync(made) && readFileSync(made, "utf8") === hash) return;
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  const small = join(dist, "module.wasm");
  const optimise = join(here, "node_modules/binaryen/bin/wasm-opt");
  const options = { stdio: "inherit" };
  execFileSync(process.execPath, [optimise, "-Oz", "--strip-debug", "--strip-producers", module, "-o", small], options);
  execFileSync(generator, ["component", small, component], options);
  rmSync(small);
  writeFileSync(made, hash);
}

/** The component as JavaScript: instantiated when asked to, and an error of the WIT told from all other exceptions. */
async function transpile() {
  const options = { name: "keel-mcp", instantiation: "async", noComponentErrorWrapping: false, nodejsCompat: false };
  const { files } = await transpileBytes(readFileSync(component), options);
  for (const [name, bytes] of Object.entries(files)) {
    const file = join(dist, "component", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
}

/** Node's package asks for its addon in one place. */
const onComponent = {
  name: "the component in place of the addon",
  setup({ onResolve }) {
    const path = join(here, "js/addon.ts");
    onResolve({ filter: /^\.\/addon\.js$/ }, ({ importer }) => (importer.includes("bindings-node") ? { path } : undefined));
  },
};

encode();
await transpile();
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
  plugins: [onComponent],
});
