// A server and a client of the component talk to each other in this process.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { instantiate } from "../../dist/component/keel-mcp.js";

const module = async (path) => WebAssembly.compile(await readFile(new URL(`../../dist/component/${path}`, import.meta.url)));
const { Server, Client } = (await instantiate(module, {})).flat;
const now = () => BigInt(Math.floor(performance.now()));

const server = Server.new(JSON.stringify({ info: { name: "adder", version: "1.0" } }), randomBytes(32));
const client = Client.new(JSON.stringify({ link: "pipe", info: { name: "asker", version: "1.0" } }), randomBytes(32));
server.setCatalog(JSON.stringify({ tools: [{ name: "add", inputSchema: { type: "object" } }] }), now());
server.open(1n, "pipe", now());

const records = [...client.start(now()), ...client.request(7n, "tools/call", '{"name":"add","arguments":{"a":2,"b":3}}', "", now())];
for (let record; (record = records.shift()); ) {
  const { kind, stream, id, payload } = record;
  if (kind === "write" && stream === 1n) records.push(...client.receive(payload.val, now()));
  else if (kind === "write") records.push(...server.receive(1n, payload.val, now()));
  else if (kind === "call") {
    const { a, b } = JSON.parse(payload.val);
    const answer = { result: { content: [{ type: "text", text: `it is ${a + b}` }] } };
    records.push(...server.respond(id, JSON.stringify(answer), now()));
  } else if (kind === "ready") console.log("connected to", JSON.parse(payload.val).server.name);
  else if (kind === "result") {
    console.log(JSON.parse(payload.val).content[0].text);
    records.push(...client.close(now()));
  } else if (kind === "closed" && stream === 0n) console.log("closed");
}
