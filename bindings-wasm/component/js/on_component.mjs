// node --import on_component.mjs PROGRAM: the package mcp-keel is the one on the component, for PROGRAM and what it starts.
import { register } from "node:module";

process.env.NODE_OPTIONS = `--import=${import.meta.url}`;
register("./hooks.mjs", import.meta.url, { data: new URL("../dist/node.mjs", import.meta.url).href });
