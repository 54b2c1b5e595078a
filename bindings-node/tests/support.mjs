// What the tests share.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Client, Server } from "mcp-keel";

export const ERAS = ["legacy", "modern"];
export const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
export const FIXTURE = { command: process.execPath, args: [path("../fixture/server.mjs"), "--stdio"] };

/** Runs `body` with a client of `server` in this process, and closes both. */
export async function connected(server, options, body) {
  const client = await Client.connect(server, options);
  try {
    return await body(client);
  } finally {
    await client.close();
    await server.close();
  }
}

export function makeServer(options = {}) {
  return new Server({ name: "test", version: "1.0.0", ...options });
}

/** A promise with its two ends. */
export function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** Runs a program to its end. */
export async function run(command, args, { input, env, cwd = path(".") } = {}) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env } });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (bytes) => (stdout += bytes));
  child.stderr.on("data", (bytes) => (stderr += bytes));
  if (input !== undefined) child.stdin.end(input);
  const [code, signal] = await once(child, "close");
  return { code, signal, stdout, stderr };
}

/** The fixture server on HTTP: its process and its url. */
export async function fixtureHttp() {
  const child = spawn(process.execPath, [path("../fixture/server.mjs"), "--http", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const bytes of child.stdout) {
    said += bytes;
    if (said.includes("\n")) break;
  }
  const port = /listening (\d+)/.exec(said)[1];
  return { child, url: `http://127.0.0.1:${port}/mcp` };
}

/** A server program in a string, as the target of a client. */
export function program(source) {
  return { command: process.execPath, args: ["--input-type=module", "--eval", source], cwd: path(".") };
}

/** The params of a legacy `initialize`, in the newest revision that has one. */
export async function opening() {
  const client = await Client.connect(makeServer(), { mode: "legacy" });
  const { revision: protocolVersion } = client;
  await client.close();
  return { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } };
}
