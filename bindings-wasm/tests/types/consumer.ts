// What a program of a user must be able to say, and what it must not.
import { Client, init, initSync, PeerError, Server } from "mcp-keel-wasm";
import { Client as OnlyClient } from "mcp-keel-wasm/client";

await init(new URL("https://example.org/full.wasm"));
initSync(new Uint8Array());

const server = new Server({ name: "weather", version: "1.0", http: { hosts: null } });
server.tool("forecast", { input: { type: "object" } }, async (input, context) => {
  await context.progress(1, { total: 2 });
  return { input };
});
export default { fetch: server.fetch };

const client: Client = await Client.connect("https://example.org/mcp", { onElicit: ({ message }) => ({ message }) });
for await (const tool of client.tools()) tool.name.toUpperCase();
try {
  const { text, data } = await client.callTool("forecast", { city: "Oslo" }, { signal: AbortSignal.timeout(1000) });
  text.toUpperCase();
  JSON.stringify(data);
} catch (error) {
  if (error instanceof PeerError) error.rpcCode.toFixed();
}
await (await OnlyClient.connect(new URL("https://example.org/mcp"))).close();

// @ts-expect-error there is no such era
await Client.connect("https://example.org/mcp", { mode: "ancient" });
// @ts-expect-error a tool has a handler
server.tool("none", {});
await Client.connect(new MessageChannel().port1);
