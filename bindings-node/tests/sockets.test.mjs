// HTTP clients on sockets, against Node's own HTTP server and against broken ones.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTls } from "node:https";
import { createServer as createRaw } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Client, Disconnected } from "mcp-keel";
import { ERAS, makeServer, path, run } from "./support.mjs";

/** A server behind Node's HTTP, by its fetch handler. */
const serve = (server) => async (request, response) => {
  const body = request.method === "POST" ? await new Response(Readable.toWeb(request)).arrayBuffer() : undefined;
  const url = `http://${request.headers.host}${request.url}`;
  const answer = await server.fetch(new Request(url, { method: request.method, headers: request.headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const chunk of answer.body ?? []) response.write(chunk);
  response.end();
};

async function listening(listener, body) {
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  try {
    return await body(`http://127.0.0.1:${listener.address().port}/mcp`);
  } finally {
    listener.close();
    listener.closeAllConnections?.();
  }
}

for (const mode of ERAS) {
  test(`${mode}: connections are used again, also after a silence`, async () => {
    const server = makeServer().tool("echo", {}, ({ text }) => text);
    const listener = createServer(serve(server));
    let accepted = 0;
    const closed = [];
    listener.on("connection", (socket) => {
      accepted += 1;
      closed.push(once(socket, "close"));
    });
    await listening(listener, async (url) => {
      const client = await Client.connect(url, { mode });
      for (let n = 0; n < 10; n += 1) assert.equal((await client.callTool("echo", { text: `ü${n}` })).text, `ü${n}`);
      assert.ok(accepted <= 3, `${accepted} connections`);
      if (mode === "modern") {
        listener.closeIdleConnections();
        // (In the legacy era one connection is never idle.)
        await Promise.all(closed);
        // The kernel has it by now; the next turns of the loop tell the client's sockets.
        for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      }
      assert.equal((await client.callTool("echo", { text: "again" })).text, "again");
      const many = await Promise.all(Array.from({ length: 50 }, (_, n) => client.callTool("echo", { text: String(n) })));
      assert.deepEqual(many.map((one) => one.text), Array.from({ length: 50 }, (_, n) => String(n)));
      await client.close();
    });
    await server.close();
  });
}

test("an address that nobody listens at", async () => {
  const unused = await listening(createRaw(), async (url) => url);
  await assert.rejects(Client.connect(unused), (error) => error instanceof Disconnected && /ECONNREFUSED/.test(error.message));
});

test("what is no HTTP, and answers cut short", async () => {
  const broken = {
    "no HTTP": "SSH-2.0-server\r\n\r\n",
    "cut in the head": "HTTP/1.1 200 OK\r\ncontent-",
    "cut in the body": "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    nothing: "",
  };
  for (const [what, answer] of Object.entries(broken)) {
    const listener = createRaw((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(answer));
    });
    await listening(listener, (url) => assert.rejects(Client.connect(url, { mode: "legacy" }), (error) => error.code !== undefined, what));
  }
});

test("a url that cannot be used", async () => {
  for (const url of ["ftp://localhost/mcp", "http://", "http://localhost:99999/mcp"]) {
    await assert.rejects(Client.connect(url), (error) => error.code !== undefined, url);
  }
});

test("TLS checks who answers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "keel-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const fresh = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  execFileSync("openssl", [...fresh, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
  const server = makeServer().tool("echo", {}, ({ text }) => text);
  const listener = createTls({ key: readFileSync(key), cert: readFileSync(cert) }, serve(server));
  await listening(listener, async (plain) => {
    const url = plain.replace("http://127.0.0.1", "https://localhost");
    await assert.rejects(Client.connect(url), (error) => error instanceof Disconnected && /self.signed/.test(error.message));
    const source = `import { Client } from "mcp-keel";
      const client = await Client.connect(${JSON.stringify(url)});
      console.log((await client.callTool("echo", { text: "over TLS" })).text);
      await client.close();`;
    const args = ["--input-type=module", "--eval", source];
    const { stdout, stderr } = await run(process.execPath, args, { env: { NODE_EXTRA_CA_CERTS: cert }, cwd: path("..") });
    assert.equal(stdout, "over TLS\n", stderr);
  });
  rmSync(folder, { recursive: true });
  await server.close();
});

test("an open client that waits for nothing keeps no process alive over HTTP", async () => {
  const server = makeServer().tool("echo", {}, () => "x");
  const handle = await server.http();
  const source = `import { Client } from "mcp-keel";
    const client = await Client.connect(${JSON.stringify(handle.url)}, { mode: "modern" });
    await client.callTool("echo");`;
  const started = performance.now();
  const { code } = await run(process.execPath, ["--input-type=module", "--eval", source], { cwd: path("..") });
  assert.equal(code, 0);
  assert.ok(performance.now() - started < 3500, "it did not wait for the connection to be dropped");
  await handle.close();
});
