// The package in workerd, the runtime of a widely used edge network.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as keel from "mcp-keel-wasm";
import { edge } from "./edge.mjs";
import { ALL, checked, ERAS, here } from "./support.mjs";

let worker;
before(async () => (worker = await edge(here("worker.mjs"))));
after(() => worker.close());

async function connected(options, body) {
  const client = await keel.Client.connect(worker.url, options);
  try {
    return await body(client);
  } finally {
    await client.close();
  }
}

/** Asks until the call of `wait` with that key has come so far; the runner's time limit bounds it. */
async function reached(client, key, state) {
  while ((await client.callTool("state", { key })).text !== state);
}

for (const mode of [...ERAS, "auto"]) {
  test(`${mode}: all checks against a server in the runtime`, async () => {
    assert.deepEqual(await checked(keel, mode, worker.url), ALL);
  });

  test(`${mode}: all checks by a client in the runtime`, async () => {
    const asked = new URL(`/check?era=${mode}&target=${worker.url}`, worker.url);
    const lines = (await (await fetch(asked)).text()).trim().split("\n");
    assert.deepEqual(lines.filter((line) => line.includes('"ok":false')), []);
    assert.equal(lines.length, ALL.held);
  });
}

for (const mode of ERAS) {
  test(`${mode}: what happens in one request is heard in another`, () =>
    connected({ mode }, async (client) => {
      const heard = [];
      for await (const { method } of client.listen({ toolsListChanged: true })) {
        heard.push(method);
        if (method === "notifications/tools/list_changed") break;
        await client.callTool("grow");
      }
      assert.ok(heard.includes("notifications/tools/list_changed"));
    }));

  test(`${mode}: many questions at once, each answered by its own client`, async () => {
    const names = ["Ada", "Alan", "Grace", "Edsger", "Barbara"];
    const greet = (name) =>
      connected({ mode, onElicit: () => ({ name }) }, async (client) => (await client.callTool("ask_name")).text);
    assert.deepEqual(await Promise.all(names.map(greet)), names.map((name) => `Hello, ${name}!`));
  });

  test(`${mode}: a handler that has work to do after the answer`, () =>
    connected({ mode, onElicit: () => ({ name: "Ada" }) }, async (client) => {
      assert.equal((await client.callTool("ask_and_wait")).text, "Hello at last, Ada!");
    }));

  test(`${mode}: a handler that reports much, and answers late`, () =>
    connected({ mode }, async (client) => {
      let last = 0;
      const result = await client.callTool("count", { to: 2000 }, { onProgress: ({ progress }) => (last = progress) });
      assert.deepEqual([result.text, last], ["counted to 2000", 2000]);
      assert.equal((await client.callTool("slow", { ms: 20 })).text, "done");
    }));

  test(`${mode}: a long answer`, () =>
    connected({ mode }, async (client) => {
      const text = "x".repeat(3 << 20);
      assert.equal((await client.callTool("echo", { text })).text, text);
    }));
}

// Where a client says that it leaves. Elsewhere it just closes the connection, which this runtime tells nobody.
test("a cancelled call is cancelled in the runtime", () =>
  connected({ mode: "legacy" }, async (client) => {
    const controller = new AbortController();
    const call = client.callTool("wait", { key: "call" }, { signal: controller.signal });
    await reached(client, "call", "started");
    controller.abort();
    await assert.rejects(call, keel.Cancelled);
    await reached(client, "call", "cancelled");
  }));

test("a client that goes away cancels its calls", async () => {
  const key = "gone";
  const client = await keel.Client.connect(worker.url, { mode: "legacy" });
  const call = assert.rejects(client.callTool("wait", { key }));
  await reached(client, key, "started");
  await client.close();
  await call;
  await connected({ mode: "legacy" }, (other) => reached(other, key, "cancelled"));
});

test("the example", async () => {
  const running = await edge(here("../examples/edge.mjs"));
  const client = await keel.Client.connect(running.url);
  const steps = [];
  const result = await client.callTool("forecast", { city: "Oslo" }, { onProgress: ({ message }) => steps.push(message) });
  assert.deepEqual([result.data, steps], [{ city: "Oslo", sky: "clear" }, ["asked for Oslo"]]);
  await client.close();
  await running.close();
});
