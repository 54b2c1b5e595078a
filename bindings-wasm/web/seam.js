/**
 * The way into the module and out of it: one call for every method, with numbers and bytes; what it gives comes back
 * through `record` and `refuse`. So the module holds no handle of the host, and its glue is small.
 */
const encoder = new TextEncoder();
const none = new Uint8Array();

let given = [];
let refusal;

/** The module gives a record: kind, stream, id, name, text, until. */
export function record(...fields) {
  given.push(...fields);
}

/** The module refuses a call. */
export function refuse(code, message) {
  refusal = Object.assign(new Error(message), { code });
}

/** Calls method number `method` of an object of the module. The last number is the time. */
function call(inner, method, args) {
  const numbers = args.filter((arg) => typeof arg === "number");
  const others = args.filter((arg) => typeof arg !== "number");
  const [a = none, b = none, c = none] = others.map((arg) => (typeof arg === "string" ? encoder.encode(arg) : arg));
  const now = numbers.pop() ?? 0;
  given = [];
  refusal = undefined;
  inner.call(method, numbers[0] ?? 0, numbers[1] ?? 0, now, a, b, c);
  if (refusal !== undefined) throw refusal;
  return given[3] === "value" ? given[4] : given;
}

/**
 * A class with these methods, one object of the module behind each of its own. They are numbered from 1 there; 0 makes
 * the object what it is. What the core refuses has a `code`; anything else that is thrown is a trap, after which the
 * object is taken away: its state may be half changed.
 */
export function flat(Inner, methods) {
  return class {
    #inner = new Inner();
    constructor(...args) {
      this.#call(0, args);
    }
    #call(method, args) {
      if (this.#inner === undefined) throw internal("this object had one, and refuses further use");
      try {
        return call(this.#inner, method, args);
      } catch (error) {
        if (error === refusal) throw error;
        this.#inner = undefined;
        throw internal(String(error));
      }
    }
    static {
      methods.split(" ").forEach((name, index) => {
        this.prototype[name] = function (...args) {
          return this.#call(index + 1, args);
        };
      });
    }
  };
}

/** The methods of each class, in the order of the module. */
export const CLIENT = "start receive ended response body end failed request cancel answer notify timeout close";
export const SERVER = "setCatalog open receive end request gone respond ask progress log publish callInfo timeout close";
export const HTTP1 = "encode receive finish target";

function internal(words) {
  return Object.assign(new Error(`internal error: ${words}`), { code: "internal_error" });
}
