// The example page in a real browser under its strict policy, with servers of other origins: ours, and an official one.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { POLICY } from "../../examples/browser/serve.mjs";
import { browser, checkInPage, servePages } from "./browser.mjs";
import { edge } from "./edge.mjs";
import { ALL, ERAS, here, serving } from "./support.mjs";

/** The server of ours: the command line that `cargo xtask` gives, else Node's fixture. */
const OURS = JSON.parse(process.env.KEEL_FIXTURE_SERVER ?? JSON.stringify([process.execPath, here("../../bindings-node/fixture/server.mjs")]));
const EVERYTHING = here("../../tests/interop/servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const PICTURES = join(process.env.KEEL_OUT ?? here("../../target"), "screenshots");

let ours;
let everything;
let chromium;
let pages;

before(async () => {
  const port = await freePort();
  ours = await serving([...OURS, "--http", "0"], /listening (\d+)/);
  everything = await serving([process.execPath, EVERYTHING, "streamableHttp"], /(listening on port)/, { PORT: String(port) });
  ours.url = `http://127.0.0.1:${ours.ready}/mcp`;
  everything.url = `http://127.0.0.1:${port}/mcp`;
  pages = await servePages();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  pages?.close();
  await ours?.close();
  await everything?.close();
});

/** The official server cannot tell which port it got. */
async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Opens the page on a server and connects. */
async function connected(url, era, name) {
  const { page } = chromium;
  await page.goto(`${pages.origin}/?${new URLSearchParams({ url, era })}`);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByRole("status").filter({ hasText: name }).waitFor();
  return page;
}

async function choose(page, tool) {
  await page.locator(`[data-tool="${tool}"]`).click();
  await page.getByRole("heading", { name: tool }).waitFor();
}

const call = (page) => page.getByRole("button", { name: "Call", exact: true }).click();
const told = (page, text) => page.locator("#progress").filter({ hasText: text }).waitFor();
const result = (page) => page.locator("#result").innerText();

function quiet() {
  assert.deepEqual(chromium.complaints.splice(0), []);
}

for (const era of ERAS) {
  test(`${era}: every check of the fixture client, from the page to our server`, async () => {
    const lines = [];
    const { failed, complaints } = await checkInPage({ era, target: ours.url }, (line) => lines.push(line));
    assert.deepEqual([failed, lines.filter((line) => line.includes('"ok":false')), complaints], [0, [], []]);
    assert.equal(lines.length, ALL.held);
  });

  test(`${era}: the page calls our server: a form, progress, a question, a cancellation`, async () => {
    const page = await connected(ours.url, era, "keel-fixture");
    await choose(page, "add");
    await page.getByLabel("a (required)").fill("9007199254740993");
    await page.getByLabel("b (required)").fill("1");
    await call(page);
    await told(page, "Done.");
    assert.match(await result(page), /9007199254740994/);

    await choose(page, "count");
    await page.getByLabel("to (required)").fill("3");
    await call(page);
    await told(page, "Done.");
    assert.match(await result(page), /counted to 3/);
    assert.match(await page.locator("#trace").innerText(), /notifications\/progress/);

    await choose(page, "ask_name");
    await call(page);
    await page.getByRole("dialog").getByText("What is your name?").waitFor();
    await page.getByRole("dialog").getByLabel("name (required)").fill("Ada");
    await page.getByRole("button", { name: "Send" }).click();
    await told(page, "Done.");
    assert.match(await result(page), /Hello, Ada!/);
    mkdirSync(PICTURES, { recursive: true });
    const picture = await page.screenshot({ path: join(PICTURES, `page-${era}.png`) });
    assert.ok(picture.length > 10_000, `a picture of ${picture.length} bytes`);

    await choose(page, "slow");
    await page.getByLabel("ms (required)").fill("60000");
    await call(page);
    await told(page, "Running…");
    await page.getByRole("button", { name: "Cancel", exact: true }).first().click();
    await told(page, "Cancelled.");

    await choose(page, "echo");
    await page.getByLabel("text (required)").fill("after that");
    await call(page);
    await told(page, "Done.");
    assert.match(await result(page), /after that/);
    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("status").filter({ hasText: "Not connected." }).waitFor();
    quiet();
  });
}

test("the page calls the official server: progress, a question, a cancellation", async () => {
  const page = await connected(everything.url, "legacy", "everything");
  await choose(page, "trigger-long-running-operation");
  await page.getByLabel("duration").fill("0.5");
  await page.getByLabel("steps").fill("2");
  await call(page);
  await told(page, "Done.");
  assert.match(await result(page), /operation completed/);
  assert.match(await page.locator("#trace").innerText(), /notifications\/progress/);

  await choose(page, "trigger-elicitation-request");
  await call(page);
  await page.getByRole("dialog").waitFor();
  await page.getByRole("dialog").getByLabel("(required)").fill("Ada");
  await page.getByRole("button", { name: "Send" }).click();
  await told(page, "Done.");
  assert.match(await result(page), /Ada/);

  await choose(page, "trigger-long-running-operation");
  await page.getByLabel("duration").fill("60");
  await page.getByLabel("steps").fill("60");
  await call(page);
  await told(page, "Running…");
  await page.getByRole("button", { name: "Cancel", exact: true }).first().click();
  await told(page, "Cancelled.");
  assert.match(await page.locator("#trace").innerText(), /notifications\/cancelled/);

  await choose(page, "echo");
  await page.getByLabel("message (required)").fill("after that");
  await call(page);
  await told(page, "Done.");
  quiet();
});

test("the examples: a page that is a client, of a server in an edge runtime", async () => {
  const worker = await edge(here("../examples/edge.mjs"));
  const served = await servePages(worker.url);
  const options = { entryPoints: [here("../examples/client.mjs")], bundle: true, format: "esm", conditions: ["browser"], write: false };
  const { outputFiles } = await build(options);
  const { page } = chromium;
  const headers = { "content-security-policy": POLICY };
  const html = '<!doctype html><title>Example</title><link rel="icon" href="data:,"><script type="module" src="example.js"></script>';
  await page.route("**/example.html", (route) => route.fulfill({ contentType: "text/html", headers, body: html }));
  await page.route("**/example.js", (route) => route.fulfill({ contentType: "text/javascript", body: outputFiles[0].text }));
  await page.route("**/client.wasm", (route) => route.fulfill({ contentType: "application/wasm", path: here("../dist/client.wasm") }));
  const lines = [];
  page.on("console", (message) => lines.push(message.text()));
  try {
    const last = page.waitForEvent("console", (message) => message.text().includes("clear"));
    await page.goto(`${served.origin}/example.html`);
    await last;
    assert.deepEqual(lines.slice(0, 2), ["forecast", "asked for Oslo"]);
    quiet();
  } finally {
    await page.unrouteAll();
    served.close();
    await worker.close();
  }
});
