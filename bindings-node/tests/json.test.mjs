// Numbers in JSON: exact, or refused.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { path } from "./support.mjs";

const { build } = createRequire(import.meta.url)("esbuild");
const { outputFiles } = await build({
  entryPoints: [path("../../bindings-wasm/js/json.ts")],
  bundle: true,
  format: "esm",
  write: false,
});
const { parse, stringify } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);

test("integers beyond 2^53, and only those", () => {
  const cases = {
    "9007199254740991": 9007199254740991,
    "9007199254740992": 9007199254740992n,
    "-9007199254740993": -9007199254740993n,
    "18446744073709551615": 18446744073709551615n,
    "1234567890123456.5": 1234567890123456.5,
    "12345678901234567e3": 12345678901234567e3,
    '"9007199254740993"': "9007199254740993",
    '["a\\\\",9007199254740993,"\\"9007199254740993",{"9007199254740993":1}]': ["a\\", 9007199254740993n, '"9007199254740993', { "9007199254740993": 1 }],
    '{"bigint:":9007199254740993,"s":"bigint:5","t":"_bigint:6"}': { "bigint:": 9007199254740993n, s: "bigint:5", t: "_bigint:6" },
  };
  for (const [text, value] of Object.entries(cases)) assert.deepEqual(parse(text, true), value, text);
});

test("without the option they are refused", () => {
  assert.throws(() => parse('{"n":[1,9007199254740993]}', false), (error) => error.code === "unsafe_integer" && /9007199254740993/.test(error.message));
  assert.deepEqual(parse('{"n":"90071992547409930000"}', false), { n: "90071992547409930000" });
});

test("broken texts stay errors", () => {
  for (const text of ["90071992547409930 1", '"9007199254740993', "[9007199254740993", "-", "01234567890123456789", "[-9007199254740993x]"]) {
    assert.throws(() => parse(text, true), SyntaxError, text);
  }
});

test("random values come back", () => {
  let state = 12345;
  const random = (below) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
  const pieces = ['"', "\\", "9", "0123456789012345678", "ü", "\n", "bigint:", "🦀", "{", "-"];
  const text = () => Array.from({ length: random(6) }, () => pieces[random(pieces.length)]).join("");
  const value = (depth) => {
    const kind = random(depth > 4 ? 5 : 7);
    if (kind === 0) return text();
    if (kind === 1) return random(1000) / 8;
    if (kind === 2) return BigInt(Number.MAX_SAFE_INTEGER) + BigInt(1 + random(1e9));
    if (kind === 3) return -(2n ** 80n) - BigInt(random(1e9));
    if (kind === 4) return [true, false, null][random(3)];
    if (kind === 5) return Array.from({ length: random(5) }, () => value(depth + 1));
    return Object.fromEntries(Array.from({ length: random(5) }, (_, n) => [`${n}${text()}`, value(depth + 1)]));
  };
  for (let n = 0; n < 3000; n += 1) {
    const made = value(0);
    assert.deepEqual(parse(stringify(made), true), made);
  }
});

test("what JSON.stringify does otherwise, also beside a BigInt", () => {
  const made = { a: undefined, b: [undefined, () => {}], c: new Date(0), d: { toJSON: (key) => `key ${key}` }, e: NaN, f: "\ud800" };
  const { big, ...rest } = JSON.parse(stringify({ big: 5n, ...made }));
  assert.equal(big, 5);
  assert.deepEqual(rest, JSON.parse(JSON.stringify(made)));
  assert.equal(stringify(undefined), "null");
  const circle = { n: 1n };
  circle.circle = circle;
  assert.throws(() => stringify(circle));
});

test("the exact path is linear in a large text", () => {
  const text = `["${'\\"x'.repeat(2_000_000)}",9007199254740993]`;
  assert.equal(parse(text, true)[1], 9007199254740993n);
});
