// Starts workerd with a worker: bundled, with the module beside it.
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import workerd from "workerd";

const here = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "network", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "full.wasm", wasm = embed "full.wasm"),
  ],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ["enable_request_signal"],
  globalOutbound = "network",
);
`;

/** Runs the worker in `source` on that port (0: any); its url, and what ends it. */
export async function edge(source, port = 0) {
  const folder = mkdtempSync(join(tmpdir(), "keel-edge-"));
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [source],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    conditions: ["workerd"],
    external: ["*.wasm"],
    logLevel: "warning",
  });
  copyFileSync(here("../dist/full.wasm"), join(folder, "full.wasm"));
  writeFileSync(join(folder, "config.capnp"), CONFIG);
  const words = ["serve", "config.capnp", `--socket-addr=http=127.0.0.1:${port}`, "--control-fd=3"];
  const child = spawn(workerd.default, words, { cwd: folder, stdio: ["ignore", "inherit", "inherit", "pipe"] });
  const exit = new Promise((resolve) => child.once("exit", resolve));
  process.once("exit", () => child.kill("SIGKILL"));
  void exit.then(() => rmSync(folder, { recursive: true, force: true }));
  const bound = await listening(child, exit);
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}/mcp`,
    exit,
    close() {
      // Asked politely it first waits for requests whose clients have left long ago.
      child.kill("SIGKILL");
      return exit;
    },
  };
}

async function listening(child, exit) {
  let said = "";
  void exit.then(() => child.stdio[3].destroy());
  for await (const bytes of child.stdio[3]) {
    said += bytes;
    for (const line of said.split("\n").slice(0, -1)) {
      const event = JSON.parse(line);
      if (event.event === "listen") {
        return event.port;
      }
    }
  }
  throw new Error("the runtime ended before it listened");
}
