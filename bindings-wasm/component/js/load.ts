/** The component of `dist/component`, instantiated in Node. */
import { readFile } from "node:fs/promises";
import { instantiate } from "../dist/component/keel-mcp.js";
import type * as Wit from "../dist/component/interfaces/keel-mcp-flat.js";

export async function load(): Promise<typeof Wit> {
  // Everything that imports this is bundled into `dist`.
  const module = async (path: string) => WebAssembly.compile(await readFile(new URL(`component/${path}`, import.meta.url)));
  return (await instantiate(module, {})).flat;
}
