// The same types from CommonJS; compiled, never run.
import keel = require("mcp-keel");
const server = new keel.Server({ name: "a", version: "1" });
server.tool("t", {}, () => "text");
const connected: Promise<keel.Client> = keel.Client.connect(server, { bigint: true });
export = connected;
