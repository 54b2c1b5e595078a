// The fixture's client on the official TypeScript SDK 1.x, which knows the legacy era only.
import { options, run, tap } from '../checks.mjs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const flags = options();
const { http, command } = flags;
const transport = http
  ? new StreamableHTTPClientTransport(new URL(http))
  : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env });
const client = new Client({ name: 'keel-interop-client', version: '1.0.0' }, { capabilities: { elicitation: {} } });

const adapter = {
  skips: { big: 'this SDK parses numbers as JavaScript numbers, so integers above 2^53 are rounded' },
  connect: async (seen, elicited) => {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicited(params));
    await client.connect(tap(transport, seen));
    return 'legacy';
  },
  close: async () => {
    if (http) await transport.terminateSession();
    await client.close();
  },
  tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: (name, args, how) => client.callTool({ name, arguments: args }, CallToolResultSchema, how),
  read: (uri) => client.readResource({ uri }),
  prompt: (name, args) => client.getPrompt({ name, arguments: args }),
  complete: (name, argument, value) =>
    client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
};

await run(adapter, flags);
