// One object of the flat surface, driven by JSON lines; where its classes come from is the host's matter. Runs in pages
// too: bytes are Uint8Array, and nothing here is Node's own.
const encoder = new TextEncoder();
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Answers lines: `corpusHost(classes)(line)`. */
export function corpusHost({ FlatServer, FlatClient, FlatHttp1 }) {
  let object;

  function create({ object: kind, config, seed }) {
    if (kind === "http1") return new FlatHttp1();
    const made = { server: FlatServer, client: FlatClient }[kind];
    return new made(config, Uint8Array.from(seed.match(/../g), (byte) => parseInt(byte, 16)));
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

  return (line) => {
    try {
      const asked = JSON.parse(line);
      if (asked.op !== "new") return call(asked);
      object = create(asked);
      return { ok: true };
    } catch (error) {
      return { error: { code: error.code ?? "host_error", message: error.message } };
    }
  };
}

function argument(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.bytes === "string") return Uint8Array.from(atob(value.bytes), (char) => char.charCodeAt(0));
  if (typeof value.utf8 === "string") return encoder.encode(value.utf8);
  return JSON.stringify(value);
}

function text(value) {
  if (typeof value === "string") return value;
  try {
    return utf8.decode(value);
  } catch {
    let binary = "";
    for (const byte of value) binary += String.fromCharCode(byte);
    return { b64: btoa(binary) };
  }
}

/** Answers a piece of the input: gives the lines that are complete in it, answered, as one text. */
export function lineCutter(answer) {
  // Cut at line feeds alone: they are no part of any JSON string.
  let rest = "";
  const decoder = new TextDecoder();
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop();
    return lines.map((line) => `${JSON.stringify(answer(line))}\n`).join("");
  };
}
