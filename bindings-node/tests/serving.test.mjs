// What the running part does when the core itself fails, on an engine that fails.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { path } from "./support.mjs";

const { build } = createRequire(import.meta.url)("esbuild");
const { outputFiles } = await build({
  stdin: {
    contents: 'export * from "./server.js"; export * from "./client.js"; export * from "./flat.js";',
    resolveDir: path("../../bindings-wasm/js"),
    loader: "ts",
  },
  bundle: true,
  format: "esm",
  write: false,
});
const shared = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);

const internal = () => {
  throw Object.assign(new Error("internal error: a bug"), { code: "internal_error" });
};
/** Objects whose methods answer nothing, but for the given ones. */
const flat = (methods) => new Proxy(methods, { get: (known, name) => known[name] ?? (() => []) });

test("a server whose core fails closes its connections", () => {
  shared.useEngine({ server: () => flat({ receive: internal }) });
  const errors = [];
  const server = new shared.Server({ name: "a", version: "1", onError: (error, key) => errors.push([key, error.code]) });
  let closed = 0;
  const pipe = server.pipe({ write() {}, close: () => (closed += 1) });
  pipe.receive(new Uint8Array(1));
  pipe.receive(new Uint8Array(1));
  assert.deepEqual([closed, errors], [1, [["core", "internal_error"]]]);
});

test("a client whose core fails rejects what waits", async () => {
  let events;
  const ready = ["ready", 0, 0, "revision", '{"server":null,"capabilities":{},"instructions":null,"era":"modern"}', 0];
  shared.useEngine({ client: () => flat({ start: () => ready, receive: internal }) });
  const link = { kind: "pipe", open: (told) => void (events = told), write() {}, close() {}, closed: async () => {} };
  const client = await shared.Client.connect(link);
  const waiting = assert.rejects(client.callTool("t"), (error) => error.code === "internal_error");
  events.receive(new Uint8Array(1));
  await waiting;
  await assert.rejects(client.callTool("t"), (error) => error.code === "internal_error");
  await client.close();
});
