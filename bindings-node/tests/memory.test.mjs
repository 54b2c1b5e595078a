// The facade, with client and server in one process.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type } from "arktype";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { z } from "zod";
import { Cancelled, Client, Disconnected, InvalidError, PeerError, RequestTimeout, UsageError } from "mcp-keel";
import { connected, deferred, ERAS, makeServer } from "./support.mjs";

for (const mode of ERAS) {
  test(`${mode}: what a tool returns`, async () => {
    const block = { type: "text", text: "a" };
    const server = makeServer()
      .tool("text", {}, () => "plain")
      .tool("nothing", {}, () => {})
      .tool("number", {}, () => 7)
      .tool("object", {}, () => ({ sky: "clear" }))
      .tool("block", {}, () => block)
      .tool("blocks", {}, async () => [block, { type: "text", text: "b" }])
      .tool("whole", {}, () => ({ content: [block], structuredContent: { x: 1 }, isError: true }))
      .tool("declared", { output: z.object({ result: z.number() }) }, () => ({ result: 3 }));
    await connected(server, { mode }, async (client) => {
      assert.equal(client.era, mode);
      assert.equal(client.serverInfo.name, "test");
      const call = async (name) => client.callTool(name);
      assert.equal((await call("text")).data, "plain");
      assert.deepEqual((await call("nothing")).content, []);
      assert.equal((await call("number")).text, "7");
      assert.deepEqual((await call("object")).data, { sky: "clear" });
      assert.deepEqual((await call("block")).content, [block]);
      assert.equal((await call("blocks")).text, "a\nb");
      const whole = await call("whole");
      assert.deepEqual([whole.text, whole.structured, whole.isError], ["a", { x: 1 }, true]);
      const declared = await call("declared");
      assert.deepEqual([declared.structured, declared.data, declared.text], [{ result: 3 }, 3, '{"result":3}']);
    });
  });

  test(`${mode}: schemas of libraries and plain ones`, async () => {
    const schemas = {
      zod: z.object({ city: z.string(), days: z.int().default(3) }),
      arktype: type({ city: "string", "days?": "number" }),
      valibot: toStandardJsonSchema(v.object({ city: v.string() })),
      plain: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    };
    const server = makeServer();
    for (const [name, input] of Object.entries(schemas)) server.tool(name, { input }, (args) => ({ args }));
    await connected(server, { mode }, async (client) => {
      for (const { name, inputSchema } of await client.listTools()) {
        assert.equal(inputSchema.type, "object", name);
        assert.equal(inputSchema.properties.city.type, "string", name);
        assert.equal(inputSchema.$schema, undefined, name);
        assert.ok((await client.callTool(name, { city: 1 })).isError, name);
        assert.equal((await client.callTool(name, { city: "Oslo" })).data.args.city, "Oslo", name);
      }
      assert.equal((await client.callTool("zod", { city: "Oslo" })).data.args.days, 3, "defaults are filled in");
    });
  });

  test(`${mode}: what a library checks beyond JSON Schema, also later`, async () => {
    const even = z.object({ n: z.int().refine((n) => n % 2 === 0, "must be even") });
    const later = z.object({ n: z.int().refine(async (n) => n > 0, "must be positive") });
    const server = makeServer()
      .tool("even", { input: even }, ({ n }) => n)
      .tool("later", { input: later }, ({ n }) => n)
      .tool("output", { output: z.object({ n: z.int().refine((n) => n > 5, "too small") }) }, () => ({ n: 1 }));
    await connected(server, { mode }, async (client) => {
      const odd = await client.callTool("even", { n: 3 });
      assert.ok(odd.isError);
      assert.match(odd.text, /n: must be even/);
      assert.equal((await client.callTool("even", { n: 4 })).data, "4");
      assert.match((await client.callTool("later", { n: -1 })).text, /must be positive/);
      assert.match((await client.callTool("output")).text, /invalid result: n: too small/);
    });
  });

  test(`${mode}: failures`, async () => {
    const seen = [];
    const server = makeServer({ onError: (error, key) => seen.push([key, error.message]) })
      .tool("fail", {}, () => {
        throw new Error("it failed");
      })
      .tool("reject", {}, async () => Promise.reject(new TypeError("not so")))
      .tool("refuse", {}, () => {
        throw new PeerError("no such city", { rpcCode: -32602, data: { city: "Osl" } });
      })
      .prompt("broken", {}, () => {
        throw new Error("no prompt today");
      });
    await connected(server, { mode }, async (client) => {
      const failed = await client.callTool("fail");
      assert.deepEqual([failed.isError, failed.text], [true, "it failed"]);
      assert.equal((await client.callTool("reject")).text, "not so");
      await assert.rejects(client.callTool("refuse"), (error) => {
        assert.ok(error instanceof PeerError);
        assert.deepEqual([error.rpcCode, error.message, error.data], [-32602, "no such city", { city: "Osl" }]);
        return true;
      });
      await assert.rejects(client.getPrompt("broken"), (error) => error instanceof PeerError && error.rpcCode === -32603);
      await assert.rejects(client.callTool("nope"), (error) => error instanceof PeerError && error.rpcCode === -32602);
    });
    assert.deepEqual(seen[0], ["tools/call fail", "it failed"]);
  });

  test(`${mode}: resources, templates, prompts, completion`, async () => {
    const server = makeServer()
      .resource("memo://text", { name: "text", mimeType: "text/plain" }, () => "hello")
      .resource("memo://bytes", { mimeType: "image/png" }, async () => new Uint8Array([1, 2, 3]))
      .resource("memo://item/{id}", { name: "item" }, (uri, { id }) => ({ text: `${uri} is ${id}`, mimeType: "text/x" }))
      .prompt("greet", { input: z.object({ name: z.string().describe("who") }) }, ({ name }) => `Greet ${name}.`)
      .prompt("dialogue", {}, () => [{ role: "assistant", content: { type: "text", text: "yes?" } }])
      .completion(({ argument }) => ["ada", "alan"].filter((name) => name.startsWith(argument.value)));
    await connected(server, { mode }, async (client) => {
      assert.deepEqual((await client.listResources()).map((one) => one.name), ["text", "memo://bytes"]);
      assert.equal((await client.listResourceTemplates())[0].uriTemplate, "memo://item/{id}");
      const first = async (uri) => (await client.readResource(uri)).contents[0];
      assert.deepEqual(await first("memo://text"), { uri: "memo://text", mimeType: "text/plain", text: "hello" });
      assert.equal((await first("memo://bytes")).blob, "AQID");
      assert.deepEqual(await first("memo://item/7"), { uri: "memo://item/7", mimeType: "text/x", text: "memo://item/7 is 7" });
      await assert.rejects(client.readResource("memo://none"), PeerError);
      const prompts = [];
      for await (const prompt of client.prompts()) prompts.push(prompt);
      assert.deepEqual(prompts[0].arguments, [{ name: "name", description: "who", required: true }]);
      assert.equal((await client.getPrompt("greet", { name: "Ada" })).messages[0].content.text, "Greet Ada.");
      assert.equal((await client.getPrompt("dialogue")).messages[0].role, "assistant");
      const ref = { type: "ref/prompt", name: "greet" };
      assert.deepEqual((await client.complete({ ref, argument: { name: "name", value: "al" } })).values, ["alan"]);
    });
  });

  test(`${mode}: progress comes in order and before the result`, async () => {
    const server = makeServer().tool("count", {}, async (_, ctx) => {
      for (let step = 1; step <= 3; step += 1) {
        ctx.progress(step, { total: 3, message: `step ${step}` });
        await null;
      }
      return "counted";
    });
    await connected(server, { mode }, async (client) => {
      const steps = [];
      const result = await client.callTool("count", {}, { onProgress: (step) => steps.push(step) });
      steps.push(result.text);
      assert.deepEqual(steps, [1, 2, 3].map((n) => ({ progress: n, total: 3, message: `step ${n}` })).concat("counted"));
      const failing = () => {
        throw new Error("not interested");
      };
      await assert.rejects(client.callTool("count", {}, { onProgress: failing }), /not interested/);
      assert.equal((await client.callTool("count")).text, "counted");
    });
  });

  test(`${mode}: the server asks the client`, async () => {
    const server = makeServer()
      .tool("name", {}, async (_, ctx) => {
        const answer = await ctx.elicit({ message: "Your name?", schema: z.object({ name: z.string() }) });
        return `${answer.action} ${answer.content?.name}`;
      })
      .tool("both", {}, async (_, ctx) => {
        const sample = await ctx.sample("Say hi");
        const roots = await ctx.roots();
        return `${sample.content.text} ${roots[0].uri}`;
      });
    const answers = [{ name: "Ada" }, null, { action: "cancel" }, { action: "accept", content: { name: "Alan" } }];
    const options = {
      mode,
      onElicit: () => answers.shift(),
      onSample: async ({ messages }) => `${messages[0].content.text}!`,
      roots: async () => [{ uri: "file:///work" }],
    };
    await connected(server, options, async (client) => {
      const say = async (tool) => (await client.callTool(tool)).text;
      assert.equal(await say("name"), "accept Ada");
      assert.equal(await say("name"), "decline undefined");
      assert.equal(await say("name"), "cancel undefined");
      assert.equal(await say("name"), "accept Alan");
      assert.equal(await say("both"), "Say hi! file:///work");
    });
  });

  test(`${mode}: a client that cannot be asked is not asked`, async () => {
    const server = makeServer().tool("ask", {}, (_, ctx) => ctx.roots().catch((error) => `${error.name} ${error.rpcCode ?? error.code}`));
    await connected(server, { mode }, async (client) => {
      assert.match((await client.callTool("ask")).text, /^PeerError -\d+$/);
    });
  });

  test(`${mode}: what the client refuses ends the call`, async () => {
    const server = makeServer()
      .tool("ask", {}, (_, ctx) => ctx.elicit({ message: "Your name?", schema: { type: "object", properties: {} } }))
      .tool("model", {}, (_, ctx) => ctx.sample("Say hi"));
    const onSample = () => {
      throw new PeerError("no model today", { rpcCode: -32077, data: { retry: 5 } });
    };
    await connected(server, { mode, onSample }, async (client) => {
      await assert.rejects(client.callTool("ask"), (error) => {
        assert.ok(error instanceof PeerError);
        if (mode === "modern") assert.deepEqual([error.rpcCode, error.data], [-32021, { requiredCapabilities: { elicitation: {} } }]);
        return true;
      });
      // The newer era has no answer that is an error.
      if (mode === "modern") return;
      await assert.rejects(client.callTool("model"), (error) => {
        assert.deepEqual([error.rpcCode, error.message, error.data], [-32077, "no model today", { retry: 5 }]);
        return true;
      });
    });
  });

  test(`${mode}: every failure is answered`, async () => {
    const circular = {};
    circular.self = circular;
    const server = makeServer()
      .tool("nothing", {}, () => Promise.reject())
      .tool("unsayable", {}, () => {
        throw { toString: () => assert.fail("no words") };
      })
      .tool("data", {}, () => {
        throw new PeerError("no", { rpcCode: -32001, data: circular });
      })
      .tool("circular", {}, () => circular)
      .tool("thenable", {}, () => ({ then: () => assert.fail("no promise") }))
      .tool("typed", { input: z.object({ n: z.number().refine((n) => n > 2, "too small") }) }, () => "");
    await connected(server, { mode, timeout: 5000 }, async (client) => {
      assert.equal((await client.callTool("nothing")).text, "undefined");
      await assert.rejects(client.callTool("unsayable"), (error) => error.rpcCode === -32603);
      await assert.rejects(client.callTool("data"), (error) => error.rpcCode === -32001);
      assert.ok((await client.callTool("circular")).isError);
      assert.ok((await client.callTool("thenable")).isError);
      const { isError, text } = await client.callTool("typed", { n: 1 });
      assert.ok(isError && text.startsWith("invalid arguments: n: "), text);
    });
  });

  test(`${mode}: each listener hears its own`, async () => {
    const server = makeServer().tool("a", {}, () => "").resource("memo://a", {}, () => "").resource("memo://b", {}, () => "");
    const everything = [];
    await connected(server, { mode, onNotice: ({ method }) => everything.push(method) }, async (client) => {
      const filters = [{ toolsListChanged: true }, { resourceSubscriptions: ["memo://a"] }, { resourceSubscriptions: ["memo://b"] }];
      const loops = filters.map((filter) => client.listen(filter));
      const confirmed = "notifications/subscriptions/acknowledged";
      for (const loop of loops) assert.equal((await loop.next()).value.method, confirmed);
      server.resourceUpdated("memo://b");
      server.resourceUpdated("memo://a");
      server.tool("b", {}, () => "");
      const heard = [];
      for (const loop of loops) {
        const { method, params } = (await loop.next()).value;
        heard.push([method, params?.uri]);
      }
      const updated = "notifications/resources/updated";
      assert.deepEqual(heard, [["notifications/tools/list_changed", undefined], [updated, "memo://a"], [updated, "memo://b"]]);
      assert.equal(everything.filter((method) => method === updated).length, 2);
      assert.equal(everything.filter((method) => method === confirmed).length, 3);
      for (const loop of loops) await loop.return();
    });
  });

  test(`${mode}: closing many times at once`, async () => {
    const client = await Client.connect(makeServer().tool("never", {}, () => new Promise(() => {})), { mode });
    const ended = assert.rejects(client.callTool("never"), (error) => error.code !== undefined);
    const closing = [client.close(), client.close()];
    await ended;
    await Promise.all([...closing, client.close()]);
    await client.close();
  });

  test(`${mode}: an AbortSignal ends the call on both sides`, async () => {
    const started = deferred();
    const stopped = deferred();
    const server = makeServer().tool("slow", {}, (_, ctx) => {
      started.resolve();
      ctx.signal.addEventListener("abort", () => stopped.resolve(ctx.signal.reason));
      return new Promise(() => {});
    });
    await connected(server, { mode }, async (client) => {
      const controller = new AbortController();
      const call = client.callTool("slow", {}, { signal: controller.signal });
      await started.promise;
      controller.abort();
      await assert.rejects(call, (error) => error instanceof Cancelled && error.code === "cancelled");
      assert.ok((await stopped.promise) instanceof Cancelled);
      await assert.rejects(client.callTool("slow", {}, { signal: AbortSignal.abort() }), Cancelled);
    });
  });

  test(`${mode}: a request times out, and close ends what waits`, async () => {
    const server = makeServer().tool("never", {}, () => new Promise(() => {}));
    await connected(server, { mode }, async (client) => {
      await assert.rejects(client.callTool("never", {}, { timeout: 20 }), RequestTimeout);
      const waiting = client.callTool("never");
      const ended = assert.rejects(waiting, (error) => error.code !== undefined);
      await client.close();
      await ended;
      await assert.rejects(client.callTool("never"), Disconnected);
    });
  });

  test(`${mode}: a server that closes ends every pending call`, async () => {
    const started = deferred();
    const server = makeServer().tool("never", {}, () => {
      started.resolve();
      return new Promise(() => {});
    });
    const client = await Client.connect(server, { mode });
    const calls = [client.callTool("never"), client.callTool("never")];
    await started.promise;
    const ended = Promise.allSettled(calls);
    await server.close();
    for (const { reason } of await ended) assert.ok(reason instanceof Disconnected || reason instanceof PeerError, String(reason));
    await client.close();
  });

  test(`${mode}: integers beyond 2^53`, async () => {
    const big = 9007199254740993n;
    const server = makeServer({ bigint: true }).tool("next", {}, ({ n }) => ({ type: typeof n, n: BigInt(n) + 1n, text: "9007199254740993" }));
    await connected(server, { mode, bigint: true }, async (client) => {
      const { structured } = await client.callTool("next", { n: big });
      assert.deepEqual(structured, { type: "bigint", n: big + 1n, text: "9007199254740993" });
      assert.deepEqual((await client.callTool("next", { n: 1 })).structured.n, 2, "small ones stay numbers");
    });
    const strict = makeServer()
      .tool("take", {}, () => "taken")
      .tool("give", {}, () => ({ n: -18446744073709551615n }));
    await connected(strict, { mode }, async (client) => {
      const refused = await client.callTool("take", { n: big });
      assert.ok(refused.isError);
      assert.match(refused.text, /9007199254740993/);
      await assert.rejects(client.callTool("give"), (error) => error instanceof InvalidError && error.code === "unsafe_integer");
      assert.equal((await client.callTool("take", { n: "12345678901234567890" })).text, "taken", "digits in strings are fine");
    });
  });

  test(`${mode}: lists by the page, and changes while connected`, async () => {
    const server = makeServer({ pageSize: 2 });
    for (const name of ["a", "b", "c", "d", "e"]) server.tool(name, {}, () => name);
    await connected(server, { mode }, async (client) => {
      assert.equal((await client.listTools()).length, 5);
      const names = [];
      for await (const tool of client.tools()) names.push(tool.name);
      assert.deepEqual(names, ["a", "b", "c", "d", "e"]);
      const heard = [];
      for await (const { method } of client.listen({ toolsListChanged: true })) {
        heard.push(method);
        if (method === "notifications/tools/list_changed") break;
        server.tool("f", {}, () => "f");
      }
      assert.equal(heard.at(-1), "notifications/tools/list_changed");
      assert.equal((await client.callTool("f")).text, "f");
      server.remove("tool", "f");
      await null;
      await assert.rejects(client.callTool("f"), PeerError);
    });
  });

  test(`${mode}: log messages and updates reach the client`, async () => {
    const server = makeServer()
      .tool("chatty", {}, (_, ctx) => {
        ctx.log("info", { n: 1 }, "here");
        return "logged";
      })
      .resource("memo://x", {}, () => "x");
    const notices = [];
    await connected(server, { mode, onNotice: (notice) => notices.push(notice) }, async (client) => {
      await client.callTool("chatty", {}, { logLevel: "debug" });
      const message = notices.find(({ method }) => method === "notifications/message");
      assert.deepEqual([message.params.level, message.params.data, message.params.logger], ["info", { n: 1 }, "here"]);
      for await (const { method, params } of client.listen({ resourceSubscriptions: ["memo://x"] })) {
        if (method === "notifications/resources/updated") {
          assert.equal(params.uri, "memo://x");
          break;
        }
        server.resourceUpdated("memo://x");
      }
    });
  });

  test(`${mode}: the server asks for roots anew`, async () => {
    const told = deferred();
    const server = makeServer({ onNotice: (method) => told.resolve(method) }).tool("roots", {}, (_, ctx) => ctx.roots().then((roots) => roots[0].uri));
    let folder = "file:///a";
    await connected(server, { mode, roots: () => [{ uri: folder }] }, async (client) => {
      assert.equal((await client.callTool("roots")).text, "file:///a");
      folder = "file:///b";
      if (mode === "legacy") {
        client.rootsChanged();
        assert.equal(await told.promise, "notifications/roots/list_changed");
      }
      assert.equal((await client.callTool("roots")).text, "file:///b");
    });
  });

  test(`${mode}: the context knows its caller`, async () => {
    const server = makeServer().tool("who", {}, (_, ctx) => ({ info: ctx.info, key: ctx.key }));
    await connected(server, { mode, name: "someone", version: "2" }, async (client) => {
      const { info, key } = (await client.callTool("who")).structured;
      assert.equal(key, "tools/call who");
      assert.deepEqual(info.client, { name: "someone", version: "2" });
      assert.equal(info.revision, client.revision);
      assert.equal(info.progress, false);
    });
  });
}

test("what names no server is a UsageError", async () => {
  for (const nothing of [null, undefined, 3, {}, []]) await assert.rejects(Client.connect(nothing), UsageError);
});

test("what the core refuses is a UsageError", async () => {
  assert.throws(() => makeServer({ name: 7 }).running(), UsageError);
  const server = makeServer();
  await connected(server, {}, async (client) => {
    assert.throws(() => server.completion(() => []), UsageError);
    await assert.rejects(client.request("", {}), (error) => error.code !== undefined);
  });
});

test("a schema without JSON Schema says what to do", () => {
  assert.throws(() => makeServer().tool("x", { input: v.object({}) }, () => ""), /valibot schema gives no JSON Schema/);
});

test("trace shows both directions as JSON", async () => {
  const seen = [];
  const server = makeServer().tool("echo", {}, ({ text }) => text);
  await connected(server, { trace: (direction, message) => seen.push([direction, JSON.parse(message)]) }, async (client) => {
    await client.callTool("echo", { text: "ü" });
  });
  assert.ok(seen.some(([direction, { params }]) => direction === ">" && params?.arguments?.text === "ü"));
  assert.ok(seen.some(([direction, { result }]) => direction === "<" && result?.content?.[0].text === "ü"));
});
