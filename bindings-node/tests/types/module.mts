// What the types promise; compiled, never run.
import { type } from "arktype";
import { z } from "zod";
import { Client, type Context, type ElicitResult, KeelError, PeerError, Server, type Tool, type ToolResult } from "mcp-keel";

const server = new Server({ name: "weather", version: "1.0", bigint: true, limits: { messageBytes: 1024 } });

server.tool("zod", { input: z.object({ city: z.string(), days: z.int().default(3) }) }, async ({ city, days }, ctx) => {
  const name: string = city;
  const count: number = days;
  // @ts-expect-error the schema has no such member
  void (({}) as { city: string }).country;
  // @ts-expect-error a text is no number
  const wrong: number = city;
  ctx.progress(count, { total: 3, message: name });
  const answer = await ctx.elicit({ message: "?", schema: z.object({ name: z.string() }) });
  const said: string | undefined = answer.content?.name;
  // @ts-expect-error the form has a text
  const other: number | undefined = answer.content?.name;
  return { wrong, said, other };
});
server.tool("arktype", { input: type({ city: "string" }) }, ({ city }) => city.toUpperCase());
server.tool("plain", { input: { type: "object", properties: {} }, title: "Plain", annotations: { readOnlyHint: true } }, (args) => args.whatever);
server.tool("none", {}, () => {});
server.resource("memo://item/{id}", { name: "item", mimeType: "text/plain" }, (uri, { id }) => `${uri} ${id}`);
server.prompt("greet", { arguments: [{ name: "name", required: true }] }, ({ name }) => `Greet ${name}`);
server.completion(({ ref, argument }) => (ref.type === "ref/prompt" ? [ref.name, argument.value] : [ref.uri]));
// @ts-expect-error a tool has a handler
server.tool("missing", {});

const worker: { fetch(request: Request): Promise<Response> } = { fetch: server.fetch };

export async function use(signal: AbortSignal): Promise<ToolResult> {
  await using client = await Client.connect({ command: "node", args: ["server.mjs"], env: { A: "b" } }, {
    mode: "auto",
    onElicit: async ({ message }) => ({ name: message }),
    onSample: () => "text",
    roots: [{ uri: "file:///" }],
  });
  await Client.connect("https://host/mcp");
  await Client.connect({ url: new URL("https://host/mcp"), headers: { authorization: "x" } });
  await Client.connect(server);
  // @ts-expect-error neither a url nor a command
  await Client.connect({ args: [] });
  for await (const tool of client.tools()) void (tool satisfies Tool).inputSchema;
  for await (const { method, params } of client.listen({ toolsListChanged: true })) void [method, params];
  const era: "legacy" | "modern" = client.era;
  try {
    return await client.callTool("forecast", { city: era }, { signal, timeout: 1000, onProgress: ({ progress, total = 0 }) => progress + total });
  } catch (error) {
    if (error instanceof PeerError) void error.rpcCode.toFixed();
    if (error instanceof KeelError) void error.code.length;
    throw error;
  }
}

export type Used = [Context, ElicitResult, typeof worker];
