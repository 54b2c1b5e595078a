// The package as its users load it: both kinds of module, types, the addon's own rules, the programs beside it.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as esm from "mcp-keel";
import { opening, path, run } from "./support.mjs";

const require = createRequire(import.meta.url);
const addon = require(path(`../${readdirSync(path("..")).find((name) => /^mcp-keel\..*\.node$/.test(name))}`));
const seed = new Uint8Array(32);
const config = JSON.stringify({ info: { name: "a", version: "1" } });

test("import and require give the same names", async () => {
  const cjs = require("mcp-keel");
  assert.deepEqual(Object.keys(cjs).sort(), Object.keys(esm).sort());
  const server = new cjs.Server({ name: "a", version: "1" }).tool("t", {}, () => "from CommonJS");
  const client = await cjs.Client.connect(server);
  assert.equal((await client.callTool("t")).text, "from CommonJS");
  await client.close();
});

test("the package depends on nothing", () => {
  const { dependencies, exports } = JSON.parse(readFileSync(path("../package.json"), "utf8"));
  assert.equal(dependencies, undefined);
  assert.deepEqual(Object.keys(exports), [".", "./package.json"]);
});

test("types, as both kinds of module", async () => {
  const tsc = require.resolve("typescript/bin/tsc");
  const { code, stdout } = await run(process.execPath, [tsc, "-p", path("types/tsconfig.json")]);
  assert.equal(code, 0, stdout);
});

test("an idle import keeps no process alive and loads no addon", async () => {
  const source = 'await import("mcp-keel"); console.log(process.report.getReport().sharedObjects.some((o) => o.endsWith(".node")))';
  const { code, stdout } = await run(process.execPath, ["--input-type=module", "--eval", source]);
  assert.deepEqual([code, stdout], [0, "false\n"]);
});

test("the examples run", async () => {
  const { code, stdout, stderr } = await run(process.execPath, [
    path("../examples/client.mjs"),
    process.execPath,
    path("../examples/server.mjs"),
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^forecast\nasked for Oslo\n\{ city: 'Oslo', days: 3, sky: 'clear' \}\n$/);
});

test("the addon refuses with stable codes", () => {
  const code = (wanted) => (error) => error instanceof Error && error.code === wanted;
  assert.throws(() => new addon.FlatServer(config, new Uint8Array(31)), code("usage"));
  assert.throws(() => new addon.FlatServer("{", seed), (error) => typeof error.code === "string");
  const server = new addon.FlatServer(config, seed);
  for (const stream of [-1, 1.5, NaN, Infinity, 2 ** 53]) {
    assert.throws(() => server.open(stream, "pipe", 0), code("usage"), String(stream));
  }
  assert.throws(() => server.receive(1, "no bytes", 0), Error);
  assert.throws(() => addon.FlatServer.prototype.close.call({}, 0), Error);
});

test("records are flat, with bytes for what is written", () => {
  const server = new addon.FlatServer(config, seed);
  server.open(1, "pipe", 0);
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  const records = server.receive(1, bytes, 5);
  assert.equal(records.length, 12);
  assert.deepEqual(records.slice(0, 4), ["write", 1, 0, ""]);
  assert.ok(Buffer.isBuffer(records[4]));
  assert.deepEqual(JSON.parse(records[4].toString()), { jsonrpc: "2.0", id: 1, result: {} });
  assert.equal(records[6], "wait");
});

test("large texts cross whole", async () => {
  const text = "ü🦀".repeat(200_000);
  const server = new addon.FlatServer(config, seed);
  server.setCatalog(JSON.stringify({ tools: [{ name: "t", inputSchema: { type: "object" } }] }), 0);
  server.open(1, "pipe", 0);
  const say = (message) => server.receive(1, Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`), 0);
  say({ id: 1, method: "initialize", params: await opening() });
  say({ method: "notifications/initialized" });
  const records = say({ id: 2, method: "tools/call", params: { name: "t", arguments: { text } } });
  const at = records.indexOf("call");
  assert.equal(JSON.parse(records[at + 4]).text, text);
  const outcome = { result: { content: [{ type: "text", text }] } };
  const answer = server.respond(records[at + 2], JSON.stringify(outcome), 0);
  assert.equal(JSON.parse(answer[4].toString()).result.content[0].text, text);
});

test("the corpus host speaks its protocol", async () => {
  const lines = [
    { op: "new", object: "server", config: JSON.stringify({ info: { name: "a", version: "1" } }), seed: "00".repeat(32) },
    { op: "call", method: "open", args: [1, "pipe", 0] },
    { op: "call", method: "receive", args: [1, { utf8: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n' }, 1000] },
    { op: "call", method: "call_info", args: [7] },
    { op: "new", object: "http1" },
    { op: "call", method: "target", args: ["http://localhost:8000/x"] },
    { op: "new", object: "client", config: "{}", seed: "00".repeat(32) },
  ];
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const { stdout } = await run(process.execPath, [path("corpus_host.mjs")], { input });
  const said = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(said[0], { ok: true });
  assert.deepEqual(said[2].records[0], ["write", 1, 0, "", '{"jsonrpc":"2.0","id":1,"result":{}}\n', 0]);
  assert.equal(said[3].error.code, "unknown_call");
  assert.deepEqual(JSON.parse(said[5].text), { tls: false, host: "localhost", port: 8000 });
  assert.equal(typeof said[6].error.code, "string");
});
