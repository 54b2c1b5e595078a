// The fixture's server on the official TypeScript SDK 2.x: both eras on one pipe or endpoint.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  McpServer,
  ResourceTemplate,
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const say = (text) => ({ content: [{ type: 'text', text }] });
const nothing = z.object({});
const person = z.object({ name: z.string() });

function build() {
  const server = new McpServer({ name: 'keel-fixture', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => say(text));
  server.registerTool(
    'add',
    { inputSchema: z.object({ a: z.int(), b: z.int() }), outputSchema: z.object({ result: z.int() }) },
    ({ a, b }) => ({ ...say(String(a + b)), structuredContent: { result: a + b } }),
  );
  server.registerTool('count', { inputSchema: z.object({ to: z.int().min(1) }) }, async ({ to }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (let step = 1; step <= to && progressToken !== undefined; step++) {
      const params = { progressToken, progress: step, total: to, message: `step ${step}` };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return say(`counted to ${to}`);
  });
  server.registerTool('ask_name', { inputSchema: nothing }, (_, { mcpReq }) => {
    if (inputResponse(mcpReq.inputResponses, 'name').kind === 'missing') {
      const name = inputRequired.elicit({ message: 'What is your name?', requestedSchema: person });
      return inputRequired({ inputRequests: { name } });
    }
    const answer = acceptedContent(mcpReq.inputResponses, 'name', person);
    return say(answer ? `Hello, ${answer.name}!` : 'No name given');
  });
  server.registerTool('slow', { inputSchema: z.object({ ms: z.int().min(0) }) }, async ({ ms }, { mcpReq }) => {
    await wait(ms, undefined, { signal: mcpReq.signal });
    return say('done');
  });
  server.registerTool('fail', { inputSchema: nothing }, () => {
    throw new Error('it failed');
  });
  server.registerTool('chatty', { inputSchema: nothing }, async (_, { mcpReq }) => {
    for (const word of ['one', 'two', 'three']) await mcpReq.log('info', word);
    return say('logged');
  });
  server.registerResource('greeting', 'memo://greeting', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: 'Hello from the fixture' }],
  }));
  const template = new ResourceTemplate('memo://item/{id}', { list: undefined });
  server.registerResource('item', template, { mimeType: 'text/plain' }, ({ href }, { id }) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: `item ${id}` }],
  }));
  const name = completable(z.string(), (value) => ['ada', 'alan', 'grace'].filter((known) => known.startsWith(value)));
  server.registerPrompt('greet', { argsSchema: z.object({ name }) }, (args) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${args.name}.` } }],
  }));
  return server;
}

// The SDK's own handler serves the legacy era without sessions, and so without questions to the client: those
// requests go to transports with a session.
function listen(port) {
  const modern = toNodeHandler(createMcpHandler(build, { legacy: 'reject' }));
  const sessions = new Map();
  const legacy = async (request, response, body) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, transport),
        onsessionclosed: (id) => void sessions.delete(id),
      });
      await build().connect(transport);
    }
    await transport.handleRequest(request, response, body);
  };
  const http = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = text ? JSON.parse(text) : undefined;
    await ((await isLegacyRequest(await toWebRequest(request, body))) ? legacy : modern)(request, response, body);
  });
  http.listen(port, '127.0.0.1', () => console.log(`listening ${http.address().port}`));
}

const [way, port] = process.argv.slice(2);
if (way === '--stdio') serveStdio(build);
else if (way === '--http') listen(Number(port));
else throw new Error('usage: server.mjs --stdio | --http PORT');
