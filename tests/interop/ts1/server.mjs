// The fixture's server on the official TypeScript SDK 1.x, which knows the legacy era only.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const say = (text) => ({ content: [{ type: 'text', text }] });

function build() {
  const server = new McpServer({ name: 'keel-fixture', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => say(text));
  server.registerTool(
    'add',
    { inputSchema: { a: z.int(), b: z.int() }, outputSchema: { result: z.int() } },
    ({ a, b }) => ({ ...say(String(a + b)), structuredContent: { result: a + b } }),
  );
  server.registerTool('count', { inputSchema: { to: z.int().min(1) } }, async ({ to }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let step = 1; step <= to && progressToken !== undefined; step++) {
      const params = { progressToken, progress: step, total: to, message: `step ${step}` };
      await extra.sendNotification({ method: 'notifications/progress', params });
    }
    return say(`counted to ${to}`);
  });
  server.registerTool('ask_name', { inputSchema: {} }, async (_, extra) => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const answer = await server.server.elicitInput(
      { message: 'What is your name?', requestedSchema },
      { relatedRequestId: extra.requestId },
    );
    return say(answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'No name given');
  });
  server.registerTool('slow', { inputSchema: { ms: z.int().min(0) } }, async ({ ms }, extra) => {
    await wait(ms, undefined, { signal: extra.signal });
    return say('done');
  });
  server.registerTool('fail', { inputSchema: {} }, () => {
    throw new Error('it failed');
  });
  server.registerTool('chatty', { inputSchema: {} }, async (_, extra) => {
    for (const data of ['one', 'two', 'three']) {
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
    }
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
  server.registerPrompt('greet', { argsSchema: { name } }, (args) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${args.name}.` } }],
  }));
  return server;
}

function listen(port) {
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
        onsessionclosed: (id) => sessions.delete(id),
      });
      await build().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  http.listen(port, '127.0.0.1', () => console.log(`listening ${http.address().port}`));
}

const [way, port] = process.argv.slice(2);
if (way === '--stdio') await build().connect(new StdioServerTransport());
else if (way === '--http') listen(Number(port));
else throw new Error('usage: server.mjs --stdio | --http PORT');
