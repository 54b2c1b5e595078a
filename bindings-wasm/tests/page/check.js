// The fixture client in a page: check.html?era=modern&target=URL[&verbose]. A line for each check, `done` at the end.
import { runChecks } from "/fixture/checks.mjs";
import * as keel from "/keel/client_browser.js";

const asked = new URLSearchParams(location.search);
const print = (line) => {
  document.getElementById("lines").append(`${line}\n`);
  globalThis.tell?.(line);
};
const trace = asked.has("verbose") ? (direction, message) => print(`${direction} ${message}`) : undefined;
const target = new URL(asked.get("target"), location.href);
const failed = await runChecks(keel, { era: asked.get("era"), target, options: { trace } }, print);
print(`done ${failed}`);
