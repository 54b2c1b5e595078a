import { Server } from "mcp-keel-wasm";

const server = new Server({ name: "weather", version: "1.0", http: { hosts: null } });
const input = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

server.tool("forecast", { input }, async ({ city }, ctx) => {
  await ctx.progress(1, { total: 1, message: `asked for ${city}` });
  return { city, sky: "clear" };
});

export default { fetch: server.fetch };
