// HTTP: our own server and client, the fetch handler, and raw sockets.
import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import { Cancelled, Client, Disconnected, UsageError } from "mcp-keel";
import { deferred, ERAS, fixtureHttp, makeServer, opening, path, run } from "./support.mjs";

const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const ping = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: await opening(),
});

for (const era of [...ERAS, "auto"]) {
  test(`${era}: fixture client and server`, async () => {
    const { child, url } = await fixtureHttp();
    try {
      const { code, stdout } = await run(process.execPath, [path("../fixture/client.mjs"), "--era", era, "--http", url]);
      assert.ok(!stdout.includes('"ok":false'), stdout);
      assert.equal(code, 0);
    } finally {
      child.kill();
    }
  });
}

for (const mode of ERAS) {
  test(`${mode}: the fetch handler serves a whole client`, async () => {
    const stopped = deferred();
    const started = deferred();
    const server = makeServer()
      .tool("echo", {}, ({ text }) => text)
      .tool("count", {}, async (_, ctx) => {
        for (let step = 1; step <= 3; step += 1) ctx.progress(step);
        return "counted";
      })
      .tool("ask", {}, async (_, ctx) => (await ctx.elicit({ message: "?", schema: { type: "object", properties: {} } })).action)
      .tool("slow", {}, (_, ctx) => {
        ctx.signal.addEventListener("abort", () => stopped.resolve());
        started.resolve();
        return new Promise(() => {});
      });
    const byHandler = (url, init) => server.fetch(new Request(url, init));
    const client = await Client.connect("http://localhost/mcp", { mode, fetch: byHandler, onElicit: () => null });
    assert.equal(client.era, mode);
    assert.equal((await client.callTool("echo", { text: "grüß" })).text, "grüß");
    const steps = [];
    await client.callTool("count", {}, { onProgress: ({ progress }) => steps.push(progress) });
    assert.deepEqual(steps, [1, 2, 3]);
    assert.equal((await client.callTool("ask")).text, "decline");
    const controller = new AbortController();
    const call = client.callTool("slow", {}, { signal: controller.signal });
    await started.promise;
    controller.abort();
    await assert.rejects(call, Cancelled);
    await stopped.promise;
    for await (const { method } of client.listen({ toolsListChanged: true })) {
      if (method === "notifications/tools/list_changed") break;
      server.tool("later", {}, () => "later");
    }
    await client.close();
    await server.close();
  });

  test(`${mode}: a client that goes away cancels its call`, async () => {
    const started = deferred();
    const stopped = deferred();
    const server = makeServer().tool("slow", {}, (_, ctx) => {
      ctx.signal.addEventListener("abort", () => stopped.resolve());
      started.resolve();
      return new Promise(() => {});
    });
    const handle = await server.http();
    const client = await Client.connect(handle.url, { mode });
    const call = assert.rejects(client.callTool("slow"));
    await started.promise;
    await client.close();
    await call;
    await server.close();
    await stopped.promise;
    await handle.close();
  });

  test(`${mode}: a killed server ends every pending call at once`, async () => {
    const { child, url } = await fixtureHttp();
    const client = await Client.connect(url, { mode });
    const call = client.callTool("slow", { ms: 60000 });
    await client.callTool("echo", { text: "the other is with the server by now" });
    const ended = assert.rejects(call, Disconnected);
    child.kill("SIGKILL");
    await ended;
    await client.close();
  });
}

test("closing the handle answers running calls", async () => {
  const started = deferred();
  const aborted = deferred();
  const server = makeServer().tool("wait", {}, (_, { signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    started.resolve();
    return new Promise(() => {});
  });
  const handle = await server.http();
  const client = await Client.connect(handle.url);
  const call = client.callTool("wait");
  await started.promise;
  const closed = handle.close();
  await assert.rejects(call, (error) => error.rpcCode === -32603);
  await aborted.promise;
  await closed;
  await assert.rejects(fetch(handle.url));
  await client.close();
});

test("SIGTERM answers what runs, and ends the process", async () => {
  for (const mode of ERAS) {
    const { child, url } = await fixtureHttp();
    const exit = once(child, "exit");
    const client = await Client.connect(url, { mode });
    const { promise: running, resolve: onProgress } = deferred();
    const call = client.callTool("count", { to: 2_000_000 }, { onProgress });
    await running;
    child.kill("SIGTERM");
    await assert.rejects(call, (error) => error.rpcCode === -32603);
    assert.deepEqual(await exit, [0, null]);
    await client.close();
  }
});

test("connections beyond the limit are told", async () => {
  const server = makeServer().tool("echo", {}, () => "");
  const handle = await server.http({ maxConnections: 2 });
  const open = () => connect(handle.port, "127.0.0.1");
  const held = [open(), open()];
  await Promise.all(held.map((socket) => once(socket, "connect")));
  let said = "";
  for await (const bytes of open()) said += bytes;
  assert.match(said, /^HTTP\/1\.1 503 /);
  for (const socket of held) socket.destroy();
  await handle.close();
});

for (const mode of ERAS) {
  test(`${mode}: a handler that reports without end`, async () => {
    const started = deferred();
    const ended = deferred();
    const server = makeServer()
      .tool("echo", {}, () => "here")
      .tool("runaway", {}, async (_, ctx) => {
        started.resolve();
        try {
          for (let step = 0; ; step += 1) {
            await ctx.progress(step);
            await ctx.log("debug", step);
          }
        } catch (error) {
          ended.resolve(error);
        }
      });
    const handle = await server.http();
    const client = await Client.connect(handle.url, { mode });
    const controller = new AbortController();
    const call = client.callTool("runaway", {}, { signal: controller.signal });
    await started.promise;
    assert.equal((await client.callTool("echo")).text, "here");
    controller.abort();
    await assert.rejects(call, Cancelled);
    assert.ok((await ended.promise) instanceof Cancelled);
    assert.equal((await client.callTool("echo")).text, "here");
    await client.close();
    await handle.close();
  });
}

test("strange hosts and origins are refused, unless told", async () => {
  const ask = (port, headers) =>
    new Promise((resolve, reject) => {
      const sent = request({ port, path: "/mcp", method: "POST", agent: false, headers: { ...json, ...headers } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject);
      sent.end(ping);
    });
  const strict = makeServer();
  const handle = await strict.http();
  assert.equal(await ask(handle.port, {}), 200);
  assert.equal(await ask(handle.port, { host: "evil.example" }), 403);
  assert.equal(await ask(handle.port, { origin: "https://evil.example" }), 403);
  await assert.rejects(strict.http({ hosts: null }), UsageError);
  const open = await makeServer().http({ hosts: null, origins: null, path: "/other" });
  assert.match(open.url, /\/other$/);
  assert.equal(await ask(open.port, { host: "evil.example" }), 404);
  await handle[Symbol.asyncDispose]();
  await open.close();
});

test("a client that does not read is not served without end", async () => {
  let served = 0;
  const text = "x".repeat(200_000);
  const server = makeServer().tool("large", {}, () => {
    served += 1;
    return text;
  });
  const handle = await server.http();
  const socket = connect(handle.port, "127.0.0.1");
  socket.pause();
  await once(socket, "connect");
  const session = await fetch(handle.url, { method: "POST", headers: json, body: ping });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "large" } });
  const head = [
    "POST /mcp HTTP/1.1",
    "host: localhost",
    ...Object.entries(json).map(([name, value]) => `${name}: ${value}`),
    `mcp-session-id: ${session.headers.get("mcp-session-id")}`,
    `content-length: ${body.length}`,
  ].join("\r\n");
  const all = 150;
  for (let n = 0; n < all; n += 1) socket.write(`${head}\r\n\r\n${body}`);
  // Another client is served meanwhile: what the first could reach by then, it has.
  const client = await Client.connect(handle.url);
  for (let n = 0; n < 20; n += 1) await client.callTool("large");
  assert.ok(served - 20 < (all * 3) / 4, `${served - 20} of ${all} answers were made`);
  let got = 0;
  socket.on("data", (bytes) => (got += bytes.length));
  socket.resume();
  while (got < all * text.length) await once(socket, "data");
  assert.equal(served - 20, all, "all are served once it reads");
  socket.destroy();
  await client.close();
  await handle.close();
});

test("the fetch handler drops progress that nobody reads, and goes on when it is read", async () => {
  const server = makeServer().tool("flood", {}, async (_, ctx) => {
    for (let step = 1; step <= 10_000; step += 1) {
      ctx.progress(step, { message: "x".repeat(1000) });
      if (step % 100 === 0) await new Promise(setImmediate);
    }
    return "done";
  });
  const post = (message, headers = {}) =>
    server.fetch(new Request("http://localhost/mcp", { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(message) }));
  const opened = await server.fetch(new Request("http://localhost/mcp", { method: "POST", headers: json, body: ping }));
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") };
  await post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
  const params = { name: "flood", _meta: { progressToken: 1 } };
  const response = await post({ jsonrpc: "2.0", id: 2, method: "tools/call", params }, session);
  const reader = response.body.getReader();
  await reader.read();
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
  let [bytes, last] = [0, ""];
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length;
    last = Buffer.from(read.value).toString();
  }
  assert.ok(bytes < 3 << 20, `${bytes} bytes were kept`);
  assert.match(last, /"done"/);
  await server.close();
});
