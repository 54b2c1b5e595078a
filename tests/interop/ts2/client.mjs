// The fixture's client on the official TypeScript SDK 2.x.
import { options, run, tap } from '../checks.mjs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const flags = options();
const { http, command } = flags;
const transport = http
  ? new StreamableHTTPClientTransport(new URL(http))
  : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env });
const client = new Client(
  { name: 'keel-interop-client', version: '1.0.0' },
  // A modern connection is asked for by `auto` too: the check `connect` compares what came of it.
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: flags.era === 'legacy' ? 'legacy' : 'auto' } },
);

const adapter = {
  skips: { big: 'this SDK parses numbers as JavaScript numbers, so integers above 2^53 are rounded' },
  connect: async (seen, elicited) => {
    client.setRequestHandler('elicitation/create', ({ params }) => elicited(params));
    await client.connect(tap(transport, seen));
    return client.getProtocolEra();
  },
  close: async () => {
    if (http) await transport.terminateSession();
    await client.close();
  },
  tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: (name, args, how) => client.callTool({ name, arguments: args }, how),
  read: (uri) => client.readResource({ uri }),
  prompt: (name, args) => client.getPrompt({ name, arguments: args }),
  complete: (name, argument, value) =>
    client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
};

await run(adapter, flags);
