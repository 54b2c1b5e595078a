// What only the addon can see of a kept connection.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Client } from "mcp-keel";
import { path } from "./support.mjs";

test("a kept connection that the server has closed is not used, also before the loop has turned", { skip: process.platform !== "linux" && "looks into /proc" }, async () => {
  // In a process of its own: this one does not turn its loop between two calls.
  const source = `
    import { createServer } from "node:net";
    import { Server } from "mcp-keel";
    const server = new Server({ name: "closes", version: "1" }).tool("echo", {}, () => "hello");
    createServer((socket) => {
      let text = "";
      socket.on("data", async (chunk) => {
        text += chunk;
        const [head, body] = text.split("\\r\\n\\r\\n");
        if (body === undefined || Buffer.byteLength(body) < Number(/content-length: (\\d+)/i.exec(head)?.[1])) return;
        text = "";
        const headers = head.split("\\r\\n").slice(1).map((line) => line.split(": "));
        const answer = await server.fetch(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
        const whole = Buffer.from(await answer.arrayBuffer());
        const lines = [...answer.headers].map(([name, value]) => name + ": " + value + "\\r\\n").join("");
        // It promises to keep the connection, and does not.
        socket.end("HTTP/1.1 " + answer.status + " x\\r\\n" + lines + "content-length: " + whole.length + "\\r\\n\\r\\n" + whole);
      });
    }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], { cwd: path(".."), stdio: ["ignore", "pipe", "inherit"] });
  try {
    const port = Number(String((await once(child.stdout, "data"))[0]));
    const client = await Client.connect(`http://127.0.0.1:${port}/mcp`, { mode: "modern" });
    const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")} 08`;
    for (let n = 0; n < 3; n += 1) {
      // 08 is a connection whose other end was closed, and that has not heard of it here.
      while (!readFileSync("/proc/net/tcp", "utf8").includes(remote)) continue;
      const calling = client.callTool("echo", {});
      assert.equal((await calling).text, "hello");
    }
    await client.close();
  } finally {
    child.kill();
  }
});
