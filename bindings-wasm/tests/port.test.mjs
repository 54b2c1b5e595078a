// A client and a server at the two ends of a message port.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as keel from "mcp-keel-wasm";
import { fixture } from "../../bindings-node/fixture/fixture.mjs";
import { ALL, checked, ERAS } from "./support.mjs";

for (const era of [...ERAS, "auto"]) {
  test(`${era}: all checks over a port`, async () => {
    const { port1, port2 } = new MessageChannel();
    const server = fixture(keel.Server);
    await server.port(port2);
    assert.deepEqual(await checked(keel, era, port1), ALL);
    await server.close();
  });

  test(`${era}: several clients, one server; each is gone by itself`, async () => {
    const server = fixture(keel.Server);
    const clients = [];
    for (let count = 0; count < 3; count += 1) {
      const { port1, port2 } = new MessageChannel();
      await server.port(port2);
      clients.push(await keel.Client.connect(port1, { mode: era }));
    }
    await clients[0].close();
    for (const client of clients.slice(1)) assert.equal((await client.callTool("echo", { text: "x" })).text, "x");
    await Promise.all(clients.map((client) => client.close()));
    await server.close();
  });

  test(`${era}: a server that closes ends what runs`, async () => {
    const { port1, port2 } = new MessageChannel();
    const server = fixture(keel.Server);
    await server.port(port2);
    const client = await keel.Client.connect(port1, { mode: era });
    const call = client.callTool("slow", { ms: 60_000 });
    await client.callTool("echo", { text: "the other is with the server by now" });
    const ended = assert.rejects(call, keel.KeelError);
    await server.close();
    await ended;
    await assert.rejects(client.callTool("echo", { text: "" }), keel.Disconnected);
    await client.close();
  });

  test(`${era}: a port that is closed ends what runs`, async () => {
    const { port1, port2 } = new MessageChannel();
    const server = fixture(keel.Server);
    await server.port(port2);
    const client = await keel.Client.connect(port1, { mode: era });
    const call = client.callTool("slow", { ms: 60_000 });
    await client.callTool("echo", { text: "the other is with the server by now" });
    const ended = assert.rejects(call, keel.Disconnected);
    port2.close();
    await ended;
    await client.close();
    await server.close();
  });
}

test("messages that are none of ours are not read", async () => {
  const { port1, port2 } = new MessageChannel();
  const server = fixture(keel.Server);
  await server.port(port2);
  const client = await keel.Client.connect(port1, { mode: "modern" });
  for (const message of ["text", 1, { data: "x" }, [1, 2]]) {
    port1.postMessage(message);
    port2.postMessage(message);
  }
  assert.equal((await client.callTool("echo", { text: "still" })).text, "still");
  await client.close();
  await server.close();
});
