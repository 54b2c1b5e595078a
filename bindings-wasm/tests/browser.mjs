// Chromium, and the pages of the example and of the tests, served with the example's strict policy.
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { FOLDERS, serveFile } from "../../examples/browser/serve.mjs";

const here = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const PAGES = {
  ...FOLDERS,
  "/test/": here("page/"),
  // Files that find each other by where they are in the package.
  "/seam/": here("../"),
  "/fixture/": here("../../bindings-node/fixture/"),
  "/corpus/": here("../../bindings-node/tests/"),
};
const QUIET = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Hands a request on to another server of this machine; the page's origin is then the server's own. */
function forward(request, response, upstream) {
  const url = new URL(request.url, upstream);
  const headers = { ...request.headers, host: url.host };
  const asked = ask(url, { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  asked.on("error", () => response.destroy());
  response.on("close", () => asked.destroy());
  request.pipe(asked);
}

/** Serves the pages; what is under /mcp goes to `upstream` when there is one. */
export async function servePages(upstream, folders = PAGES) {
  const server = createServer((request, response) => {
    if (upstream !== undefined && request.url.startsWith("/mcp")) return forward(request, response, upstream);
    void serveFile(request, response, folders).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, close };
}

/** A browser with one page. `complaints` collects its errors, breaches of the policy among them. */
export async function browser() {
  const executablePath = process.env.KEEL_CHROMIUM ?? BROWSERS.find(existsSync);
  if (executablePath === undefined) throw new Error("no Chromium: install it, or name it in KEEL_CHROMIUM");
  const folder = mkdtempSync(join(tmpdir(), "keel-chromium-"));
  const args = ["--headless", "--no-sandbox", "--disable-gpu", ...QUIET];
  const context = await chromium.launchPersistentContext(folder, { executablePath, args, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  const close = async () => {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { page, complaints, close };
}

/** The fixture client in a page. A `target` of another origin is called from the page itself; a path by way of the page's server. */
export async function checkInPage({ era, target, upstream, verbose }, tell) {
  const pages = await servePages(upstream);
  const { page, complaints, close } = await browser();
  try {
    let done;
    const failed = new Promise((resolve, reject) => {
      done = resolve;
      page.on("pageerror", reject);
    });
    // Before the page is there: it tells its lines once.
    await page.exposeFunction("tell", (line) => (line.startsWith("done ") ? done(Number(line.slice(5))) : tell(line)));
    const asked = new URLSearchParams({ era, target, ...(verbose && { verbose }) });
    await page.goto(`${pages.origin}/test/check.html?${asked}`);
    return { failed: await failed, complaints };
  } finally {
    await close();
    pages.close();
  }
}
