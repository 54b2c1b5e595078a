// One object of the component, driven by JSON lines: `cargo xtask corpus --host component`.
import { Instance, adapt, load } from "../dist/core.mjs";

const { FlatServer, FlatClient, FlatHttp1 } = adapt(await load(), new Instance());
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

let object;

function create({ object: kind, config, seed }) {
  if (kind === "http1") return new FlatHttp1();
  const made = { server: FlatServer, client: FlatClient }[kind];
  return new made(config, Buffer.from(seed, "hex"));
}

function argument(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.bytes === "string") return Buffer.from(value.bytes, "base64");
  if (typeof value.utf8 === "string") return Buffer.from(value.utf8);
  return JSON.stringify(value);
}

function text(value) {
  if (typeof value === "string") return value;
  try {
    return utf8.decode(value);
  } catch {
    return { b64: Buffer.from(value).toString("base64") };
  }
}

function call({ method, args }) {
  const name = method.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  const target = name === "target" ? FlatHttp1 : object;
  const answer = target[name](...args.map(argument));
  if (!Array.isArray(answer)) return { text: text(answer) };
  const records = [];
  for (let at = 0; at < answer.length; at += 6) {
    const record = answer.slice(at, at + 6);
    record[4] = text(record[4]);
    records.push(record);
  }
  return { records };
}

function answer(line) {
  try {
    const asked = JSON.parse(line);
    if (asked.op === "new") {
      object = create(asked);
      return { ok: true };
    }
    return call(asked);
  } catch (error) {
    return { error: { code: error.code ?? "host_error", message: error.message } };
  }
}

// Cut at line feeds alone: readline also ends lines at characters that JSON strings may hold.
let rest = Buffer.alloc(0);
for await (const chunk of process.stdin) {
  rest = Buffer.concat([rest, chunk]);
  for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
    const line = rest.subarray(0, end).toString();
    rest = rest.subarray(end + 1);
    process.stdout.write(`${JSON.stringify(answer(line))}\n`);
  }
}
