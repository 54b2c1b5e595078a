import { Client } from "mcp-keel";

const [command, ...args] = process.argv.slice(2);
const client = await Client.connect({ command, args });
for await (const tool of client.tools()) console.log(tool.name);
const result = await client.callTool("forecast", { city: "Oslo" }, { onProgress: (step) => console.log(step.message) });
console.log(result.data);
await client.close();
