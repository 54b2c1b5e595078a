// Edge runtimes that end a request without a word: simulated, because the one that the other tests run in cannot be made
// to do so. Time and intervals are the test's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as keel from "mcp-keel-wasm";

const { now } = performance;
const { setInterval: every } = globalThis;

test("a request that shows no life any more is cancelled by the next one", async () => {
  let time = now.call(performance);
  const intervals = [];
  performance.now = () => time;
  globalThis.setInterval = (run) => intervals.push({ run });
  const pass = (milliseconds, alive) => {
    for (const end = time + milliseconds; time < end; time += 1000) for (const interval of alive) interval.run();
  };
  try {
    const aborted = [];
    const server = new keel.Server({ name: "edge", version: "1" });
    server.tool("wait", {}, ({ key }, { signal }) => {
      signal.addEventListener("abort", () => aborted.push(key));
      return new Promise(() => {});
    });
    server.tool("echo", {}, ({ text }) => text);
    const work = [];
    const byHandler = (url, init) => server.fetch(new Request(url, init), {}, { waitUntil: (promise) => work.push(promise) });
    const client = await keel.Client.connect("http://localhost/mcp", { mode: "modern", fetch: byHandler });
    const calls = [];
    for (const key of ["gone", "alive"]) calls.push(client.callTool("wait", { key }, { timeout: 600_000 }).catch((error) => error));
    await client.callTool("echo", { text: "both have begun" });
    const [gone, alive] = intervals.slice(-3);
    assert.ok(gone !== undefined && alive !== undefined);

    pass(10_000, [alive]);
    await client.callTool("echo", { text: "the next one" });
    assert.deepEqual(aborted, ["gone"]);
    pass(10_000, [alive]);
    await client.callTool("echo", { text: "and another" });
    assert.deepEqual(aborted, ["gone"]);

    await client.close();
    await server.close();
    await Promise.all(calls);
    await Promise.all(work);
  } finally {
    performance.now = now;
    globalThis.setInterval = every;
  }
});
