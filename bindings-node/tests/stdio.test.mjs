// Servers as child processes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Cancelled, Client, Disconnected } from "mcp-keel";
import { ERAS, FIXTURE, opening, path, program, run } from "./support.mjs";

const SERVER = `
import { Server } from "mcp-keel";
const server = new Server({ name: "child", version: "1" });
`;
const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: await opening(),
});
const call = (id, name, args = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });

for (const era of [...ERAS, "auto"]) {
  test(`${era}: fixture client and server`, async () => {
    const args = [path("../fixture/client.mjs"), "--era", era, "--stdio", "--", FIXTURE.command, ...FIXTURE.args];
    const { code, stdout } = await run(process.execPath, args);
    assert.ok(!stdout.includes('"ok":false'), stdout);
    assert.equal(code, 0);
    assert.equal(stdout.trim().split("\n").length, 14);
  });
}

for (const mode of ERAS) {
  test(`${mode}: a killed server ends every pending call at once`, async () => {
    const client = await Client.connect({ ...FIXTURE, stderr: "ignore" }, { mode });
    const calls = [client.callTool("slow", { ms: 60000 }), client.callTool("slow", { ms: 60000 })];
    const ended = Promise.allSettled(calls);
    await client.callTool("echo", { text: "both are with the server by now" });
    process.kill(await fixturePid(), "SIGKILL");
    for (const { reason } of await ended) {
      assert.ok(reason instanceof Disconnected, String(reason));
      assert.match(reason.message, /SIGKILL/);
    }
    await assert.rejects(client.callTool("echo", { text: "" }), Disconnected);
    await client.close();
  });
}

/** The fixture among this process's children, as the system knows them. */
async function fixturePid() {
  const { stdout } = await run("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)]);
  return Number(/(\d+) .*server\.mjs/.exec(stdout)[1]);
}

for (const started of [false, true]) {
  test(`connecting is given up ${started ? "while the server is silent" : "before it has started"}`, async () => {
    const controller = new AbortController();
    const source = `process.stdin.resume(); console.error("up")`;
    const connecting = Client.connect({ ...program(source), stderr: "ignore" }, { signal: controller.signal, trace: () => controller.abort() });
    if (!started) controller.abort();
    await assert.rejects(connecting, Cancelled);
  });
}

test("a command that does not exist", async () => {
  await assert.rejects(Client.connect({ command: "no-such-command-here" }), (error) => {
    assert.ok(error instanceof Disconnected);
    assert.match(error.message, /no-such-command-here/);
    return true;
  });
});

test("a server that dies at once: its code and last words", async () => {
  const target = { ...program('console.error("no key given"); process.exit(3)'), stderr: "ignore" };
  await assert.rejects(Client.connect(target), (error) => {
    assert.ok(error instanceof Disconnected, String(error));
    assert.match(error.message, /code 3.*no key given/s);
    return true;
  });
});

test("prints of the program go to standard error", async () => {
  const source = `${SERVER}
    server.tool("print", {}, () => { console.log("from console"); process.stdout.write("from write\\n"); return "printed"; });
    await server.stdio();
    console.log("after");`;
  const input = `${initialize}\n${call(2, "print")}\n`;
  const { command, args, cwd } = program(source);
  const { stdout, stderr, code } = await run(command, args, { input });
  const lines = stdout.trim().split("\n");
  assert.equal(code, 0);
  assert.deepEqual(lines.slice(0, 2).map((line) => JSON.parse(line).id), [1, 2]);
  assert.equal(lines[2], "after", "standard output is back once the client has left");
  assert.match(stderr, /from console\nfrom write/);
});

test("calls in flight at the end of input, and an unterminated last line, are answered", async () => {
  const input = `${initialize}\n${call(2, "slow", { ms: 50 })}\n${call(3, "echo", { text: "last" })}`;
  const { stdout, code } = await run(FIXTURE.command, FIXTURE.args, { input });
  const ids = stdout.trim().split("\n").map((line) => JSON.parse(line).id);
  assert.deepEqual([code, ids.sort()], [0, [1, 2, 3]]);
});

test("a server process ends with its client, whatever still runs in it", async () => {
  const { command, args, cwd } = program(`${SERVER} setInterval(() => {}, 1000); await server.stdio();`);
  const { code } = await run(command, args, { input: `${initialize}\n` });
  assert.equal(code, 0);
});

test("a client that no longer reads ends the server quietly", async () => {
  const child = spawn(FIXTURE.command, FIXTURE.args);
  let stderr = "";
  child.stderr.on("data", (bytes) => (stderr += bytes));
  child.stdin.write(`${initialize}\n`);
  await once(child.stdout, "data");
  child.stdout.destroy();
  child.stdin.on("error", () => {});
  child.stdin.write(`${call(2, "count", { to: 1000 })}\n`);
  const [code] = await once(child, "exit");
  assert.deepEqual([code, stderr], [0, ""]);
});

test("a server that ignores the end of its input and SIGTERM is killed, and its children with it", async () => {
  const source = `
    import { spawn } from "node:child_process";
    ${SERVER}
    process.on("SIGTERM", () => {});
    const { pid } = spawn("sleep", ["600"], { stdio: "ignore" });
    process.stdin.on("end", () => setInterval(() => {}, 1000));
    server.tool("pid", {}, () => ({ pid }));
    process.exit = () => {};
    await server.stdio();`;
  const client = await Client.connect(program(source));
  const { pid } = (await client.callTool("pid")).structured;
  const started = performance.now();
  await client.close();
  assert.ok(performance.now() - started < 6000);
  // A killed process stays in the table until it is reaped; it must not run.
  const { stdout } = await run("ps", ["-o", "stat=", "-p", String(pid)]);
  assert.ok(stdout.trim() === "" || stdout.startsWith("Z"), stdout);
});

test("the environment is added to", async () => {
  const source = `${SERVER}
    server.tool("env", {}, () => ({ path: process.env.PATH, extra: process.env.EXTRA, cwd: process.cwd() }));
    await server.stdio();`;
  const client = await Client.connect({ ...program(source), env: { EXTRA: "more" } });
  const { path: found, extra, cwd } = (await client.callTool("env")).structured;
  assert.deepEqual([found, extra, cwd], [process.env.PATH, "more", path(".").replace(/\/$/, "")]);
  await client.close();
});

/** The fixture, opened in the older era: its process, and what it says by line. */
function raw() {
  const child = spawn(FIXTURE.command, FIXTURE.args, { stdio: ["pipe", "pipe", "inherit"] });
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.stdin.write(`${initialize}\n`);
  return { child, next: async () => JSON.parse((await said.next()).value), exit: once(child, "exit") };
}

test("a client that vanishes while a call runs ends the process", async () => {
  const { child, next, exit } = raw();
  await next();
  child.stdin.write(`${call(2, "slow", { ms: 600_000 })}\n${call(3, "echo", { text: "" })}\n`);
  assert.equal((await next()).id, 3);
  const started = performance.now();
  child.stdin.destroy();
  child.stdout.destroy();
  assert.deepEqual(await exit, [0, null]);
  assert.ok(performance.now() - started < 4000);
});

test("SIGTERM answers what runs", async () => {
  const { child, next, exit } = raw();
  await next();
  child.stdin.write(`${call(2, "slow", { ms: 600_000 })}\n${call(3, "echo", { text: "" })}\n`);
  assert.equal((await next()).id, 3);
  child.kill("SIGTERM");
  const { id, error } = await next();
  assert.deepEqual([id, error.code], [2, -32603]);
  assert.deepEqual(await exit, [0, null]);
});

test("a handler that reports without end is cancelled", async () => {
  const { child, next, exit } = raw();
  await next();
  child.stdin.write(`${call(2, "count", { to: 2_000_000 })}\n${call(3, "echo", { text: "meanwhile" })}\n`);
  assert.equal((await next()).id, 3);
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } };
  child.stdin.write(`${JSON.stringify(cancel)}\n${call(4, "echo", { text: "after" })}\n`);
  assert.equal((await next()).id, 4);
  // It ends only when no call runs any more.
  child.stdin.end();
  assert.deepEqual(await exit, [0, null]);
});
