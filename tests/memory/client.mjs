// A client that calls tools which take and give long texts, when told to on standard input: `take UNITS`, `give UNITS`.
// Prints how many characters arrived.
import { createInterface } from "node:readline";
import { Client } from "../../bindings-node/dist/index.mjs";

const UNIT = 'The café\'s "daily" menu:\tsoup, bread and water.\n';

const [command, ...args] = process.argv.slice(2);
const client = await Client.connect({ command, args }, { limits: { messageBytes: 64 << 20 } });
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [tool, units] = line.split(" ");
  if (tool === "take") console.log((await client.callTool("take", { text: UNIT.repeat(Number(units)) })).text);
  else console.log((await client.callTool("give", { units: Number(units) })).text.length);
}
await client.close();
