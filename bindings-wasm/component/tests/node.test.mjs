// The component in Node.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { instantiate } from "../dist/component/keel-mcp.js";
import { Instance, adapt } from "../dist/core.mjs";

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const CONFIG = '{"info":{"name":"adder","version":"1.0"}}';

/** An instance of its own, and what its core modules export. */
async function fresh() {
  const memories = [];
  const module = async (name) => WebAssembly.compile(await readFile(path(`../dist/component/${name}`)));
  const core = async (compiled, imports) => {
    const made = await WebAssembly.instantiate(compiled, imports);
    if (made.exports.memory !== undefined) memories.push(made.exports.memory);
    return made;
  };
  const { flat } = await instantiate(module, {}, core);
  return { flat, memory: memories[0] };
}

const argument = (value) => {
  if (typeof value === "number") return BigInt(value);
  return typeof value === "object" ? Buffer.from(value.utf8) : value;
};

/** A record as the session has it: what is 0 or empty is left out. */
function plain({ payload, ...record }) {
  const shown = { ...record, payload: payload.tag === "bytes" ? { utf8: Buffer.from(payload.val).toString() } : payload.val };
  for (const [name, value] of Object.entries(shown)) {
    if (typeof value === "bigint") shown[name] = Number(value);
    if (!value) delete shown[name];
  }
  return shown;
}

test("a session of each era", async () => {
  const { flat } = await fresh();
  const server = flat.Server.new(CONFIG, new Uint8Array(32));
  for (const step of JSON.parse(readFileSync(path("session.json")))) {
    const name = step.call.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    let answer;
    try {
      answer = server[name](...step.args.map(argument));
    } catch ({ payload }) {
      assert.equal(payload?.code, step.error, step.call);
      continue;
    }
    assert.deepEqual(Array.isArray(answer) ? answer.map(plain) : answer, step.records ?? step.text, step.call);
  }
});

test("it needs nothing of its host", async () => {
  const asked = [];
  const imports = new Proxy({}, { get: (_, name) => asked.push(name) && undefined, has: (_, name) => asked.push(name) && false });
  const module = async (name) => WebAssembly.compile(await readFile(path(`../dist/component/${name}`)));
  const exported = await instantiate(module, imports);
  assert.deepEqual(asked, []);
  assert.deepEqual(Object.keys(exported.flat).sort(), ["Client", "Http1", "Server"]);
});

test("a trap stays in its instance", async () => {
  const [short, other] = [await fresh(), await fresh()];
  const { FlatServer, FlatClient } = adapt(short.flat, new Instance());
  const server = new FlatServer(CONFIG, new Uint8Array(32));
  const client = new FlatClient('{"link":"pipe","info":{"name":"a","version":"1"}}', new Uint8Array(32));
  const survivor = other.flat.Server.new(CONFIG, new Uint8Array(32));
  server.open(1, "pipe", 1);
  survivor.open(1n, "pipe", 1n);
  // All that a memory can have, without a page for its allocator: the message does not fit.
  short.memory.grow(65536 - short.memory.buffer.byteLength / 65536);
  assert.throws(() => server.receive(1, Buffer.alloc(3_000_000, "["), 2), { code: "internal_error", message: /trapped/ });
  // The instance is used up, whatever of it is called.
  assert.throws(() => server.timeout(3), { code: "internal_error", message: /refuses/ });
  assert.throws(() => client.start(3), { code: "internal_error", message: /refuses/ });
  assert.equal(survivor.end(1n, 3n).at(-1).kind, "wait");
});

test("numbers that are not whole are refused before they cross", async () => {
  const { flat } = await fresh();
  const { FlatServer } = adapt(flat);
  const server = new FlatServer(CONFIG, new Uint8Array(32));
  for (const number of [-1, 0.5, NaN, 2 ** 53]) assert.throws(() => server.open(number, "pipe", 1), { code: "usage" });
  assert.throws(() => new FlatServer("{", new Uint8Array(32)), { code: "config_invalid" });
  assert.throws(() => new FlatServer(CONFIG, new Uint8Array(31)), { code: "usage" });
});

test("the example", () => {
  const printed = execFileSync(process.execPath, [path("../examples/node/host.mjs")], { timeout: 60_000 }).toString();
  assert.equal(printed, "connected to adder\nit is 5\nclosed\n");
});
