// The corpus through the module in Chromium: lines are handed to a page, as many at once as have arrived.
import { browser, servePages } from "./browser.mjs";

const pages = await servePages();
const { page, close } = await browser();
await page.goto(`${pages.origin}/test/corpus.html`);
await page.waitForFunction(() => globalThis.answer !== undefined);

const decoder = new TextDecoder();
let rest = "";
for await (const chunk of process.stdin) {
  rest += decoder.decode(chunk, { stream: true });
  const end = rest.lastIndexOf("\n") + 1;
  if (end === 0) continue;
  const lines = rest.slice(0, end);
  rest = rest.slice(end);
  process.stdout.write(await page.evaluate((text) => globalThis.answer(text), lines));
}
await close();
pages.close();
