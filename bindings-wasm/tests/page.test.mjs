// Chromium: the checks in a page, the example page with two servers, the example of the README.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { browser, checkInPage, servePages } from "./browser.mjs";
import { edge } from "./edge.mjs";
import { ALL, ERAS, here, serving } from "./support.mjs";

const EVERYTHING = here("../../tests/interop/servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const PICTURES = join(process.env.KEEL_OUT ?? here("../dist"), "screenshots");

// The fixture server of this package, or the one whose command line, as JSON, is in KEEL_FIXTURE_SERVER.
let fixture;
before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  const words = JSON.parse(process.env.KEEL_FIXTURE_SERVER ?? "null") ?? undefined;
  fixture = words === undefined ? await edge(here("../fixture/edge.mjs")) : await listening(words);
});
after(() => fixture.close());

async function listening(words) {
  const running = await serving([...words, "--http", "0"], /listening (\d+)/);
  return { url: `http://127.0.0.1:${running.ready}/mcp`, close: running.close };
}

for (const era of [...ERAS, "auto"]) {
  for (const way of ["its own origin", "another origin"]) {
    test(`${era}: all checks in a page, the server at ${way}`, async () => {
      const { origin, pathname } = new URL(fixture.url);
      const asked = way === "its own origin" ? { target: pathname, upstream: origin } : { target: fixture.url };
      const lines = [];
      const { complaints } = await checkInPage({ era, ...asked }, (line) => lines.push(line));
      assert.deepEqual(lines.filter((line) => !line.includes('"ok":true')), []);
      assert.equal(lines.length, ALL.held);
      // Answers with an error status are told on the console, and expected: a probe may be refused.
      assert.deepEqual(complaints.filter((complaint) => !/status of 4\d\d/.test(complaint)), []);
    });
  }
}

/** The example page, connected to a server; what a test does with it. */
async function onPage(url, era, body) {
  const pages = await servePages();
  const { page, complaints, close } = await browser();
  const by = {
    page,
    find: (selector) => page.locator(selector),
    says: (selector, text) => page.locator(selector, { hasText: text }).first().waitFor(),
    async choose(tool) {
      await page.click(`[data-tool="${tool}"]`);
      await page.locator("#tool-title", { hasText: tool }).waitFor();
    },
    call: () => page.click("#run"),
  };
  try {
    await page.goto(`${pages.origin}/?${new URLSearchParams({ url, era })}`);
    await page.click("#open");
    await by.says("#status", "Connected to");
    await body(by);
    await page.click("#close");
    await by.says("#status", "Not connected");
    assert.deepEqual(complaints.filter((complaint) => !/status of 4\d\d/.test(complaint)), []);
  } finally {
    await close();
    pages.close();
  }
}

/** Collects the texts of an element from now on: some are there for a moment only. */
async function heard(page, selector) {
  const texts = await page.evaluateHandle((selector) => {
    const element = document.querySelector(selector);
    const texts = [];
    new MutationObserver(() => texts.push(element.textContent)).observe(element, { childList: true });
    return texts;
  }, selector);
  return () => texts.jsonValue();
}

for (const era of ERAS) {
  test(`${era}: the example page with the fixture`, () =>
    onPage(fixture.url, era, async ({ page, find, says, choose, call }) => {
      await says("#status", `keel-fixture 1.0.0, ${era} era`);

      await choose("add");
      await page.getByLabel("a (required)").fill("9007199254740993");
      await page.getByLabel("b (required)").fill("1");
      await call();
      await says("#result", "9007199254740994");

      await choose("count");
      await page.getByLabel("to (required)").fill("3");
      await call();
      await says("#result", "counted to 3");

      await choose("ask_name");
      await call();
      await says("#question-text", "What is your name?");
      await page.getByLabel("name (required)").fill("Ada");
      await page.click('#answer button[value="accept"]');
      await says("#result", "Hello, Ada!");
      for (const button of ["decline", "cancel"]) {
        await call();
        await says("#question-text", "What is your name?");
        await page.click(`#answer button[value="${button}"]`);
        await says("#result", "No name given");
      }

      await choose("slow");
      await page.getByLabel("ms (required)").fill("60000");
      await call();
      await says("#progress", "Running");
      await page.click("#cancel");
      await says("#progress", "Cancelled");

      await choose("fail");
      await call();
      await says("#progress", "The tool failed.");
      await says("#result", "it failed");

      await says("#trace", "> tools/list");
      await says("#trace", "notifications/progress");
      assert.equal(await find("#trace li").first().locator("summary").innerText().then((text) => text[0]), ">");
      await page.screenshot({ path: join(PICTURES, `page-${era}.png`), fullPage: true });
    }));
}

test("the example page with the public server of all features", async () => {
  const port = await freePort();
  const server = await serving([process.execPath, EVERYTHING, "streamableHttp"], /listening on port (\d+)/, { PORT: port });
  try {
    await onPage(`http://localhost:${port}/mcp`, "auto", async ({ page, says, choose, call }) => {
      await choose("echo");
      await page.getByLabel("message (required)").fill("grüß 🦀");
      await call();
      await says("#result", "Echo: grüß 🦀");

      await choose("get-tiny-image");
      await call();
      await page.locator("#result img").waitFor();
      assert.ok(await page.locator("#result img").evaluate((image) => image.decode().then(() => image.naturalWidth > 0)));

      await choose("trigger-long-running-operation");
      await page.getByLabel("duration").fill("1");
      await page.getByLabel("steps").fill("4");
      const steps = await heard(page, "#progress");
      await call();
      await says("#result", "Long running operation completed");
      assert.deepEqual((await steps()).filter((text) => text.includes(" of ")), ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]);
      await page.getByLabel("duration").fill("60");
      await call();
      await says("#progress", "Running");
      await page.click("#cancel");
      await says("#progress", "Cancelled");
      await says("#trace", "notifications/cancelled");

      await choose("trigger-elicitation-request");
      await call();
      await says("#question-text", "Please provide inputs");
      const dialog = page.locator("#question");
      await dialog.getByLabel("String", { exact: false }).first().fill("Ada");
      await dialog.getByLabel("Integer").fill("7");
      await dialog.getByLabel("Untitled Single Select Enum").selectOption("Joey");
      await page.click('#answer button[value="accept"]');
      await says("#result", "Ada");
      await page.screenshot({ path: join(PICTURES, "page-everything.png"), fullPage: true });
    });
  } finally {
    await server.close();
  }
});

/** A port that nobody has; for servers that cannot choose one themselves. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

test("what the README shows, bundled, with its server in the edge runtime", async () => {
  const weather = await edge(here("../examples/edge.mjs"));
  const folder = mkdtempSync(join(tmpdir(), "keel-bundle-"));
  const options = { bundle: true, minify: true, format: "esm", conditions: ["browser"], logLevel: "error" };
  await build({ ...options, entryPoints: [here("../examples/client.mjs")], outfile: join(folder, "app.js") });
  copyFileSync(here("../dist/client.wasm"), join(folder, "client.wasm"));
  writeFileSync(join(folder, "index.html"), '<!doctype html><title>App</title><link rel="icon" href="data:,"><script type="module" src="app.js"></script>');
  const pages = await servePages(new URL(weather.url).origin, { "/": `${folder}/` });
  const { page, complaints, close } = await browser();
  try {
    const said = [];
    const done = new Promise((resolve) => {
      page.on("console", async (message) => {
        said.push(message.type() === "log" ? await message.args()[0].jsonValue() : message.text());
        if (said.length === 3) resolve();
      });
    });
    await page.goto(pages.origin);
    await done;
    assert.deepEqual(said, ["forecast", "asked for Oslo", { city: "Oslo", sky: "clear" }]);
    assert.deepEqual(complaints, []);
  } finally {
    await close();
    pages.close();
    await weather.close();
    rmSync(folder, { recursive: true });
  }
});

test("the policy is in force: neither inline scripts nor eval run", async () => {
  const pages = await servePages();
  const { page, close } = await browser();
  try {
    const { headers } = await fetch(pages.origin).then((answer) => ({ headers: answer.headers }));
    assert.match(headers.get("content-security-policy"), /script-src 'self' 'wasm-unsafe-eval'/);
    await page.goto(`${pages.origin}/test/policy.html`);
    await page.locator("#said", { hasText: "refused" }).waitFor();
    assert.equal(await page.locator("#said").innerText(), "eval refused");
  } finally {
    await close();
    pages.close();
  }
});
