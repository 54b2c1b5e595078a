// The package as it is installed: entry points, loading, traps, bundles.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { build } from "esbuild";
import { here, program } from "./support.mjs";

const manifest = JSON.parse(readFileSync(here("../package.json"), "utf8"));
const PAIR = `
  const server = new keel.Server({ name: "pair", version: "1" }).tool("echo", {}, ({ text }) => text);
  const client = await keel.Client.connect(server);
  console.log((await client.callTool("echo", { text: "grüß" })).text);
  await client.close();`;

test("every entry point exists", () => {
  for (const entry of [manifest.exports["."], manifest.exports["./client"]]) {
    for (const [condition, file] of Object.entries(entry)) assert.ok(readFileSync(here(`../${file}`)).length > 0, condition);
  }
});

test("Node loads the module by itself", async () => {
  const { stdout, stderr } = await program(`import * as keel from "mcp-keel-wasm"; ${PAIR}`);
  assert.equal(stdout, "grüß\n", stderr);
});

for (const how of ["bytes", "module", "response", "bytes, awaited"]) {
  test(`elsewhere the module comes from its ${how}`, async () => {
    const load = {
      bytes: "keel.initSync(bytes)",
      module: "keel.initSync(new WebAssembly.Module(bytes))",
      response: 'await keel.init(new Response(bytes, { headers: { "content-type": "application/wasm" } }))',
      "bytes, awaited": "await Promise.all([keel.init(bytes), keel.init(bytes)])",
    }[how];
    const source = `
      import { readFileSync } from "node:fs";
      import * as keel from ${JSON.stringify(here("../dist/full.js"))};
      const bytes = readFileSync(${JSON.stringify(here("../dist/full.wasm"))});
      ${load};
      ${PAIR}`;
    const { stdout, stderr } = await program(source);
    assert.equal(stdout, "grüß\n", stderr);
  });
}

test("a module that cannot be had is told, and may come later", async () => {
  const source = `
    import { readFileSync } from "node:fs";
    import * as keel from ${JSON.stringify(here("../dist/full.js"))};
    const told = (error) => console.log(error.name, error.code);
    await keel.Client.connect("http://localhost/mcp").catch(told);
    await keel.init("data:text/plain,no").catch(told);
    await keel.init(readFileSync(${JSON.stringify(here("../dist/full.wasm"))}));
    ${PAIR}`;
  const { stdout, stderr } = await program(source);
  assert.equal(stdout, "UsageError usage\nKeelError module_missing\ngrüß\n", stderr);
});

test("after a trap an object refuses further use, and the others go on", async () => {
  const source = `
    const Instance = WebAssembly.Instance;
    let armed = false;
    WebAssembly.Instance = function (module, imports) {
      const { exports } = new Instance(module, imports);
      const trapping = (...args) => {
        if (armed) throw new WebAssembly.RuntimeError("unreachable");
        return exports.flatclient_call(...args);
      };
      return { exports: { ...exports, flatclient_call: trapping } };
    };
    const keel = await import("mcp-keel-wasm");
    const told = ({ name, code }) => console.log(name, code);
    const server = new keel.Server({ name: "s", version: "1" }).tool("echo", {}, ({ text }) => text);
    const [first, second] = [await keel.Client.connect(server), await keel.Client.connect(server)];
    armed = true;
    await first.callTool("echo", { text: "" }).catch(told);
    armed = false;
    await first.callTool("echo", { text: "" }).catch(told);
    console.log((await second.callTool("echo", { text: "still here" })).text);
    await Promise.all([first.close(), second.close()]);`;
  const { stdout, stderr } = await program(source);
  assert.equal(stdout, "KeelError internal_error\nKeelError internal_error\nstill here\n", stderr);
});

test("the entry for clients has no servers", async () => {
  const source = `
    import * as keel from "mcp-keel-wasm/client";
    console.log(keel.Server, typeof keel.Client.connect);`;
  const { stdout, stderr } = await program(source);
  assert.equal(stdout, "undefined function\n", stderr);
});

for (const entry of ["mcp-keel-wasm", "mcp-keel-wasm/client"]) {
  for (const condition of ["browser", "workerd", "worker"]) {
    test(`${entry} bundles for ${condition} without modules of Node, and without eval`, async () => {
      const { outputFiles, metafile } = await build({
        stdin: { contents: `export * from ${JSON.stringify(entry)};`, resolveDir: here(".") },
        bundle: true,
        minify: true,
        format: "esm",
        platform: "neutral",
        conditions: [condition],
        external: ["*.wasm"],
        write: false,
        metafile: true,
        logLevel: "error",
      });
      const outside = Object.values(metafile.inputs).flatMap((input) => input.imports).filter((one) => one.external);
      const wanted = condition === "workerd" ? [`./${entry.endsWith("client") ? "client" : "full"}.wasm`] : [];
      assert.deepEqual(outside.map((one) => one.path), wanted);
      assert.doesNotMatch(outputFiles[0].text, /\beval\(|new Function|\bFunction\(/);
    });
  }
}

test("names of errors survive a minifier", async () => {
  const { outputFiles } = await build({
    stdin: { contents: 'export { UsageError, PeerError, KeelError } from "mcp-keel-wasm";', resolveDir: here(".") },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "neutral",
    conditions: ["browser"],
    write: false,
  });
  const url = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
  const source = `
    const { UsageError, PeerError, KeelError } = await import(${JSON.stringify(url)});
    for (const error of [new UsageError("a"), new PeerError("b", { rpcCode: 1 }), new KeelError("c")]) console.log(String(error));`;
  const { stdout, stderr } = await program(source);
  assert.equal(stdout, "UsageError: a\nPeerError: b\nKeelError: c\n", stderr);
});
