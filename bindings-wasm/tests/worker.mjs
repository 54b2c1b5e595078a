// What the tests run in the edge runtime: the fixture, and tools that look at other requests.
import fixtureWorker, { server } from "../fixture/edge.mjs";

/** What happened to the calls of `wait`, by key. */
const calls = new Map();

const pause = () => new Promise((resolve) => setTimeout(resolve, 10));

let grown = 0;
server.tool("grow", {}, () => void server.tool(`grown_${(grown += 1)}`, {}, () => "grown"));

server.tool("wait", {}, async ({ key }, ctx) => {
  calls.set(key, "started");
  ctx.signal.addEventListener("abort", () => calls.set(key, "cancelled"));
  while (!ctx.signal.aborted) await pause();
});

// Looked up, not awaited: the runtime ends a request that waits for another one alone.
server.tool("state", {}, ({ key }) => calls.get(key) ?? "unknown");

server.tool("ask_and_wait", {}, async (_, ctx) => {
  const { content } = await ctx.elicit({ message: "Who?", schema: { type: "object", properties: { name: { type: "string" } } } });
  await new Promise((resolve) => setTimeout(resolve, 100));
  return `Hello at last, ${content.name}!`;
});

export default fixtureWorker;
