import { Client } from "mcp-keel-wasm/client";

const client = await Client.connect(new URL("/mcp", location.href));
for await (const tool of client.tools()) console.log(tool.name);
const result = await client.callTool("forecast", { city: "Oslo" }, { onProgress: (step) => console.log(step.message) });
console.log(result.data);
await client.close();
