// Builds the package: the addon with cargo, the bundles with esbuild, the types with tsc.
//   node scripts/build.mjs [--release] [--skip-addon] [--skip-types]
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const flag = (name) => process.argv.includes(name);
const run = (command, args, options = {}) =>
  execFileSync(command, args, { cwd: here, stdio: ["ignore", "inherit", "inherit"], ...options });

/** The part of an addon's file name that names the machine it is for. */
function triple() {
  const libc = process.report.getReport().header.glibcVersionRuntime ? "gnu" : "musl";
  const tail = { linux: `-${libc}`, win32: "-msvc" }[process.platform] ?? "";
  return `${process.platform}-${process.arch}${tail}`;
}

function addon() {
  const args = ["build", "-p", "mcp-keel-node", "--message-format=json-render-diagnostics"];
  if (flag("--release")) args.push("--release");
  const lines = run("cargo", args, { stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28 }).toString().split("\n");
  const built = lines
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
    .find((message) => message.reason === "compiler-artifact" && message.target.name === "mcp_keel_node");
  const library = built.filenames.find((name) => /\.(so|dylib|dll)$/.test(name));
  const target = join(here, `mcp-keel.${triple()}.node`);
  // Copied beside and moved: a process that has the old one mapped keeps it.
  copyFileSync(library, `${target}.part`);
  renameSync(`${target}.part`, target);
}

async function bundles() {
  const { build } = require("esbuild");
  rmSync(join(here, "dist"), { recursive: true, force: true });
  const shared = {
    absWorkingDir: here,
    entryPoints: ["ts/index.ts"],
    bundle: true,
    platform: "node",
    target: "node20",
    logLevel: "warning",
  };
  await build({ ...shared, format: "esm", outfile: "dist/index.mjs" });
  // The addon is found from the bundle's own place; CommonJS has no import.meta.
  const define = { "import.meta.url": "__moduleUrl" };
  const banner = { js: 'const __moduleUrl = require("node:url").pathToFileURL(__filename).href;' };
  await build({ ...shared, format: "cjs", outfile: "dist/index.cjs", define, banner });
}

function types() {
  run(process.execPath, [require.resolve("typescript/bin/tsc"), "-p", "tsconfig.build.json"]);
  copyFileSync(join(here, "addon.d.ts"), join(here, "dist/types/bindings-node/addon.d.ts"));
  // The same types once more as CommonJS: TypeScript holds the two kinds of module apart.
  cpSync(join(here, "dist/types"), join(here, "dist/types-cjs"), { recursive: true });
  writeFileSync(join(here, "dist/types-cjs/package.json"), '{ "type": "commonjs" }\n');
  writeFileSync(join(here, "dist/index.d.ts"), 'export * from "./types/bindings-node/ts/index.js";\n');
  writeFileSync(join(here, "dist/index.d.cts"), 'export * from "./types-cjs/bindings-node/ts/index.js";\n');
}

if (!flag("--skip-addon")) addon();
await bundles();
if (!flag("--skip-types")) types();
const { version } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
console.log(`mcp-keel ${version} built for ${triple()}`);
