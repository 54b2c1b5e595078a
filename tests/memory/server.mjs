// A server whose tools take and give long texts: what they cost is measured from outside.
import { Server } from "../../bindings-node/dist/index.mjs";

const UNIT = 'The café\'s "daily" menu:\tsoup, bread and water.\n';
const object = (name, type) => ({ type: "object", properties: { [name]: { type } }, required: [name] });

const server = new Server({ name: "memory", version: "1" });
server.tool("take", { input: object("text", "string") }, ({ text }) => String(text.length));
server.tool("give", { input: object("units", "integer") }, ({ units }) => UNIT.repeat(units));
await server.stdio();
