// Builds the package: two modules with cargo, their JavaScript with the generator, bundles with esbuild, types with tsc.
//   node scripts/build.mjs [--generator PROGRAM] [--skip-module] [--skip-types]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(here, "dist");
const require = createRequire(import.meta.url);
const flag = (name) => process.argv.includes(name);
const option = (name) => (flag(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);
const run = (command, args, options = {}) =>
  execFileSync(command, args, { cwd: here, stdio: ["ignore", "inherit", "inherit"], ...options });

const MODULES = [
  { name: "full", features: [], classes: ["FlatClient", "FlatServer"] },
  { name: "client", features: ["--no-default-features"], classes: ["FlatClient"] },
];

/**
 * Small after compression: the passes that are left out fold repeats which compress better as they are. Nothing of the
 * module stands below address 1024 but the end of its stack.
 */
const OPTIMIZER = [
  ...["-Oz", "--converge", "--low-memory-unused", "--strip-producers", "--strip-target-features"],
  // What belongs together stands together; then names have done their work.
  ...["--reorder-functions-by-name", "--strip-debug"],
  ...["memory-packing", "local-cse", "simplify-locals"].map((pass) => `--skip-pass=${pass}`),
];

function cargo(features) {
  const profile = ["--target", "wasm32-unknown-unknown", "--profile", "wasm-release"];
  const args = ["build", "-p", "mcp-keel-wasm", ...profile, ...features, "--message-format=json-render-diagnostics"];
  const lines = run("cargo", args, { stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28 }).toString().split("\n");
  const built = lines
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
    .find((message) => message.reason === "compiler-artifact" && message.target.name === "mcp_keel_wasm");
  return built.filenames.find((name) => name.endsWith(".wasm"));
}

function generate(input, output) {
  const generator = option("--generator");
  const words = generator === undefined ? ["cargo", "run", "--quiet", "-p", "keel-generate", "--"] : [generator];
  run(words[0], [...words.slice(1), "web", input, output]);
}

function declarations(classes) {
  const lines = ["__wbg_set_wasm", ...classes].map((name) => `export declare const ${name}: Required<Glue>["${name}"];\n`);
  return `import type { Glue } from "../../../web/engine.js";\n${lines.join("")}`;
}

/** Both steps take longer than all others: they run when the module has changed. */
function module({ name, features, classes }) {
  const made = cargo(features);
  const hash = createHash("sha256").update(OPTIMIZER.join()).update(readFileSync(made)).digest("hex");
  const glue = join(dist, "glue", name);
  const stamp = join(glue, "stamp");
  const target = join(dist, `${name}.wasm`);
  const all = [stamp, target, join(glue, "keel_bg.js")];
  if (all.every((file) => existsSync(file)) && readFileSync(stamp, "utf8") === hash) return;
  rmSync(glue, { recursive: true, force: true });
  mkdirSync(glue, { recursive: true });
  generate(made, glue);
  // Types of what the generator wrote, for `web/engine.ts`.
  writeFileSync(join(glue, "keel_bg.d.ts"), declarations(classes));
  const optimizer = join(dirname(require.resolve("binaryen/package.json")), "bin/wasm-opt");
  run(process.execPath, [optimizer, ...OPTIMIZER, join(glue, "keel_bg.wasm"), "-o", target]);
  writeFileSync(stamp, hash);
}

async function bundles() {
  const { build } = require("esbuild");
  await build({
    absWorkingDir: here,
    entryPoints: { full: "web/index.ts", client: "web/only_client.ts" },
    outdir: dist,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    logLevel: "warning",
  });
  const entries = join(here, "web/entries");
  for (const name of readdirSync(entries)) copyFileSync(join(entries, name), join(dist, name));
}

function types() {
  run(process.execPath, [require.resolve("typescript/bin/tsc"), "-p", "tsconfig.build.json"]);
  // Types that are written by hand are not copied by it.
  copyFileSync(join(here, "web/seam.d.ts"), join(dist, "types/web/seam.d.ts"));
  writeFileSync(join(dist, "index.d.ts"), 'export * from "./types/web/index.js";\n');
  writeFileSync(join(dist, "client.d.ts"), 'export * from "./types/web/only_client.js";\n');
}

mkdirSync(dist, { recursive: true });
if (!flag("--skip-module")) for (const one of MODULES) module(one);
await bundles();
if (!flag("--skip-types")) types();
const { version } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
console.log(`mcp-keel-wasm ${version} built`);
