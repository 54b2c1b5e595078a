// A client for any MCP server, in one page.
import { Client } from "./keel/client_browser.js";
import { element, find, pretty } from "./dom.js";
import { objectForm } from "./form.js";

const TRACED = 500;
const IMAGES = /^image\/(png|jpeg|gif|webp|avif)$/;
const SOUNDS = /^audio\/[\w.+-]+$/;

let client;
/** Ends what runs: the connecting, and the call. */
let connecting;
let calling;

const say = (text) => (find("status").textContent = text);

function showState() {
  find("open").disabled = client !== undefined || connecting !== undefined;
  find("close").disabled = client === undefined && connecting === undefined;
}

find("connect").addEventListener("submit", async (event) => {
  event.preventDefault();
  connecting = new AbortController();
  showState();
  say("Connecting…");
  try {
    client = await Client.connect(find("url").value, {
      mode: find("era").value,
      name: "keel-browser",
      version: "0.1.0",
      bigint: true,
      signal: connecting.signal,
      onElicit: ask,
      trace,
      onNotice: ({ method }) => method === "notifications/tools/list_changed" && void listTools(),
      onViolation: (code, message) => trace("!", JSON.stringify({ violation: code, message })),
    });
    const { name, version } = client.serverInfo ?? { name: "a server without a name", version: "" };
    say(`Connected to ${name} ${version}, ${client.era} era, revision ${client.revision}.`);
    await listTools();
  } catch (error) {
    say(`Failed: ${error.name}: ${error.message}`);
  } finally {
    connecting = undefined;
    showState();
  }
});

find("close").addEventListener("click", async () => {
  connecting?.abort();
  const closing = client;
  client = undefined;
  await closing?.close();
  find("tools").replaceChildren();
  showState();
  say("Not connected.");
});

async function listTools() {
  const tools = await client.listTools();
  const entries = tools.map((tool) => {
    const button = element("button", { type: "button", textContent: tool.title ?? tool.annotations?.title ?? tool.name, "aria-pressed": "false" });
    button.dataset.tool = tool.name;
    button.addEventListener("click", () => {
      for (const other of find("tools").querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      choose(tool);
    });
    return element("li", {}, button);
  });
  find("tools").replaceChildren(...entries);
}

let chosen;

function choose(tool) {
  const form = objectForm(tool.inputSchema);
  chosen = { name: tool.name, form };
  find("tool-title").textContent = tool.name;
  find("description").textContent = tool.description ?? "";
  find("arguments").replaceChildren(form.element);
  find("progress").textContent = "";
  find("result-title").hidden = true;
  find("result").replaceChildren();
  find("call").hidden = false;
}

find("call").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (client === undefined || calling !== undefined) return;
  const { name, form } = chosen;
  calling = new AbortController();
  find("run").disabled = true;
  find("cancel").disabled = false;
  find("progress").textContent = "Running…";
  find("result").replaceChildren();
  try {
    const result = await client.callTool(name, form.read(), { signal: calling.signal, onProgress });
    show(result);
    find("progress").textContent = result.isError ? "The tool failed." : "Done.";
  } catch (error) {
    find("result").replaceChildren(element("pre", { className: "failed", textContent: error.message }));
    find("progress").textContent = `${error.name}.`;
  } finally {
    calling = undefined;
    find("run").disabled = false;
    find("cancel").disabled = true;
    find("result-title").hidden = false;
  }
});

find("cancel").addEventListener("click", () => calling?.abort("cancelled by the user"));

function onProgress({ progress, total, message }) {
  find("progress").textContent = `${progress}${total === undefined ? "" : ` of ${total}`}${message === undefined ? "" : `: ${message}`}`;
}

function show(result) {
  const parts = result.content.map(block);
  if (result.structured !== undefined) parts.push(element("pre", { textContent: pretty(result.structured) }));
  find("result").replaceChildren(...parts);
  find("result").className = result.isError ? "failed" : "";
}

function block(content) {
  const { type, mimeType = "", data } = content;
  if (type === "text") return element("pre", { textContent: content.text });
  if (type === "image" && IMAGES.test(mimeType)) return element("img", { src: `data:${mimeType};base64,${data}`, alt: "An image from the tool" });
  if (type === "audio" && SOUNDS.test(mimeType)) return element("audio", { src: `data:${mimeType};base64,${data}`, controls: true });
  return element("pre", { textContent: pretty(content) });
}

/** One question at a time: the others wait. */
let asking = Promise.resolve();

function ask(request, signal) {
  const answered = asking.then(() => (signal.aborted ? { action: "cancel" } : question(request, signal)));
  asking = answered.catch(() => {});
  return answered;
}

function question({ message, requestedSchema, mode, url }, signal) {
  const dialog = find("question");
  const form = objectForm(requestedSchema);
  find("question-text").textContent = message;
  find("question-fields").replaceChildren(mode === "url" ? link(url) : form.element);
  dialog.returnValue = "cancel";
  return new Promise((resolve) => {
    const gone = () => dialog.close("cancel");
    signal.addEventListener("abort", gone, { once: true });
    const closed = () => {
      signal.removeEventListener("abort", gone);
      const accepted = mode === "url" ? {} : { content: form.read() };
      resolve(dialog.returnValue === "accept" ? { action: "accept", ...accepted } : { action: dialog.returnValue || "cancel" });
    };
    dialog.addEventListener("close", closed, { once: true });
    dialog.showModal();
  });
}

function link(url) {
  const web = /^https?:/i.test(url ?? "");
  return web ? element("a", { href: url, target: "_blank", rel: "noopener noreferrer", textContent: url }) : element("code", { textContent: String(url) });
}

function trace(direction, message) {
  const list = find("trace");
  const { method, id, error } = summary(message);
  const title = `${direction} ${method ?? (error ? "error" : "result")}${id === undefined ? "" : ` #${id}`}`;
  const details = element("details", {}, element("summary", { textContent: title }), element("pre", { textContent: message }));
  const bottom = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
  list.append(element("li", {}, details));
  while (list.childElementCount > TRACED) list.firstElementChild.remove();
  if (bottom) list.scrollTop = list.scrollHeight;
}

function summary(message) {
  try {
    return JSON.parse(message) ?? {};
  } catch {
    return { method: "not JSON" };
  }
}

find("clear").addEventListener("click", () => find("trace").replaceChildren());

// A link to this page may name the server.
const asked = new URLSearchParams(location.search);
find("url").value = asked.get("url") ?? "";
if (["legacy", "modern"].includes(asked.get("era"))) find("era").value = asked.get("era");
