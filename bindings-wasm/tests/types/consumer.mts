// What the types promise; compiled, never run.
import { Client, type ElicitResult, init, initSync, KeelError, type ModuleSource, PeerError, type Port, Server, type Tool, type ToolResult } from "mcp-keel-wasm";
import * as light from "mcp-keel-wasm/client";

const source: ModuleSource = new URL("https://host/full.wasm");
await init();
await init(source);
initSync(new Uint8Array(8));
await light.init();

const server = new Server({ name: "weather", version: "1.0", bigint: true, http: { hosts: null } });
server.tool("plain", { input: { type: "object", properties: {} }, title: "Plain" }, (args) => args.whatever);
server.resource("memo://item/{id}", { name: "item" }, (uri, { id }) => `${uri} ${id}`);
const { port1, port2 } = new MessageChannel();
await server.port(port1);
// @ts-expect-error no port
await server.port("a");

// What edge runtimes call.
const worker: { fetch(request: Request, environment: object, context: { waitUntil(work: Promise<unknown>): void }): Promise<Response> } = {
  fetch: server.fetch,
};

export async function use(signal: AbortSignal, other: Worker): Promise<ToolResult> {
  await using client = await Client.connect("https://host/mcp", { mode: "auto", onElicit: async ({ message }) => ({ name: message }) });
  await Client.connect({ url: new URL("https://host/mcp"), headers: { authorization: "x" } });
  await Client.connect(server);
  await Client.connect(port2 satisfies Port);
  await Client.connect(other);
  // @ts-expect-error commands are for Node's package
  await Client.connect({ command: "node" });
  for await (const tool of client.tools()) void (tool satisfies Tool).inputSchema;
  const era: "legacy" | "modern" = client.era;
  try {
    return await client.callTool("forecast", { city: era }, { signal, timeout: 1000, onProgress: ({ progress, total = 0 }) => progress + total });
  } catch (error) {
    if (error instanceof PeerError) void error.rpcCode.toFixed();
    if (error instanceof KeelError) void error.code.length;
    throw error;
  }
}

export async function lightly(): Promise<light.ToolResult> {
  const client: light.Client = await light.Client.connect("https://host/mcp");
  // @ts-expect-error the entry for clients has no servers
  void light.Server;
  return client.callTool("forecast");
}

// @ts-expect-error there is no such era
await Client.connect("https://host/mcp", { mode: "ancient" });
// @ts-expect-error a tool has a handler
server.tool("none", {});

export type Used = [ElicitResult, typeof worker];
