// Serves the page on this machine: node examples/browser/serve.mjs [PORT]
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const place = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/** Folders by the path they are served at. A page of your own would bundle the package, or copy its `dist`. */
export const FOLDERS = { "/": place("."), "/keel/": place("../../bindings-wasm/dist/") };

/** No inline script or style, no eval; the module may be compiled, and any server may be called. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src data:",
  "media-src data:",
  "connect-src *",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".wasm": "application/wasm",
};

/** Answers a request for a file. */
export async function serveFile(request, response, folders = FOLDERS) {
  const { pathname } = new URL(request.url, "http://page");
  const path = pathname === "/" ? "/index.html" : decodeURIComponent(pathname);
  const root = Object.keys(folders).filter((prefix) => path.startsWith(prefix)).sort((a, b) => b.length - a.length)[0];
  const file = root && join(folders[root], path.slice(root.length));
  const type = TYPES[extname(path)];
  const inside = file?.startsWith(folders[root].replace(/\/?$/, sep));
  if (!inside || type === undefined || !(await stat(file).catch(() => undefined))?.isFile()) {
    return response.writeHead(404).end();
  }
  const headers = { "content-type": type, "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
  response.writeHead(200, headers);
  createReadStream(file).pipe(response);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = createServer((request, response) => void serveFile(request, response).catch(() => response.destroy()));
  server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => console.log(`http://localhost:${server.address().port}/`));
}
