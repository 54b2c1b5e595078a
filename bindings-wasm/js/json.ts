/**
 * JSON without silent rounding. JSON.parse reads integers beyond 2^53 as their nearest double; here they become
 * BigInt or an error. Texts without long digit runs, nearly all, go through JSON.parse alone.
 */
import { InvalidError } from "./errors.js";

const LONG = /\d{16}/;

/** Parses `text`. Integers that a number cannot hold become BigInt when `bigint`, else InvalidError "unsafe_integer". */
export function parse(text: string, bigint: boolean): any {
  return LONG.test(text) ? parseExact(text, bigint) : JSON.parse(text);
}

function parseExact(text: string, bigint: boolean): unknown {
  const unsafe = unsafeIntegers(text);
  const first = unsafe[0];
  if (first === undefined) return JSON.parse(text);
  if (!bigint) {
    const literal = text.slice(first[0], first[1]);
    throw new InvalidError(`the integer ${literal} has no exact JavaScript number; use the bigint option`, "unsafe_integer");
  }
  // Each such integer is parsed as a string with a prefix that the text has nowhere else.
  let mark = "bigint:";
  while (text.includes(mark)) mark = `_${mark}`;
  let marked = "";
  let done = 0;
  for (const [start, end] of unsafe) {
    marked += `${text.slice(done, start)}"${mark}${text.slice(start, end)}"`;
    done = end;
  }
  marked += text.slice(done);
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Start and end of the integer literals of a JSON text whose value is no safe integer. */
function unsafeIntegers(text: string): [number, number][] {
  const found: [number, number][] = [];
  const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  let at = 0;
  while (at < text.length) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = stringEnd(text, at);
    } else if (char === 0x2d || (char >= 0x30 && char <= 0x39)) {
      number.lastIndex = at;
      const literal = number.exec(text)?.[0] ?? "-";
      if (/^-?\d+$/.test(literal) && !Number.isSafeInteger(Number(literal))) found.push([at, at + literal.length]);
      at += literal.length;
    } else {
      at += 1;
    }
  }
  return found;
}

/** The index after the string that opens at `start`. */
function stringEnd(text: string, start: number): number {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) return text.length;
    let slashes = quote;
    while (text.charCodeAt(slashes - 1) === BACKSLASH) slashes -= 1;
    if ((quote - slashes) % 2 === 0) return quote + 1;
  }
}

/** Like JSON.stringify, with BigInt written as an integer. `undefined` becomes null. */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    if (!holdsBigInt(value, 0)) throw error;
    return write(value, "") ?? "null";
  }
}

/** Deep enough for any honest value; cycles end here and fail as JSON.stringify did. */
const DEEPEST = 1000;

function holdsBigInt(value: unknown, depth: number): boolean {
  if (typeof value === "bigint") return true;
  if (typeof value !== "object" || value === null || depth > DEEPEST) return false;
  return Object.values(value).some((member) => holdsBigInt(member, depth + 1));
}

function write(value: unknown, key: string, depth = 0): string | undefined {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth > DEEPEST) throw new InvalidError("the value is nested too deeply, or holds itself");
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return write((toJSON as (key: string) => unknown).call(value, key), key, depth + 1);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => write(item, String(index), depth + 1) ?? "null").join(",")}]`;
  }
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const text = write(member, name, depth + 1);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
