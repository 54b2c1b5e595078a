/** Loads the addon when it is first needed, and gives it to the shared part as its engine. */
import { createRequire } from "node:module";
import type * as Addon from "../addon.js";
import { type Engine, useEngine } from "../../bindings-wasm/js/flat.js";
import { KeelError } from "../../bindings-wasm/js/errors.js";
import { counting } from "./memory.js";

let loaded: typeof Addon | undefined;

export function addon(): typeof Addon {
  if (loaded !== undefined) return loaded;
  const name = `mcp-keel.${triple()}.node`;
  try {
    // From dist/, where the bundles are, the addon is one folder up.
    loaded = createRequire(import.meta.url)(`../${name}`) as typeof Addon;
  } catch (error) {
    throw new KeelError(`cannot load ${name}, the part for this machine: ${(error as Error).message}`, "addon_missing");
  }
  return loaded;
}

/** The part of the addon's file name that names the machine. */
function triple(): string {
  const tail = { linux: musl() ? "-musl" : "-gnu", win32: "-msvc" }[process.platform as string] ?? "";
  return `${process.platform}-${process.arch}${tail}`;
}

function musl(): boolean {
  if (process.platform !== "linux") return false;
  const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}

let engine: Engine | undefined;
const loadedEngine = (): Engine => (engine ??= counting(addon()));

useEngine({
  server: (config, seed) => loadedEngine().server(config, seed),
  client: (config, seed) => loadedEngine().client(config, seed),
});
