/** The component as jco transpiles it, in the shape of the flat surface that the TypeScript facade works on. */
import type * as Wit from "../dist/component/interfaces/keel-mcp-flat.js";
import type { FlatClient, FlatServer, Records } from "../../js/flat.js";

type Refusal = Error & { code: string };

function failure(code: string, message: string, cause?: unknown): Refusal {
  return Object.assign(new Error(message, { cause }), { code });
}

/** One instance of the component. After a trap it refuses every further call. */
export class Instance {
  #trap: unknown;

  call<T>(run: () => T): T {
    if (this.#trap !== undefined) throw failure("internal_error", "the component trapped and refuses further use", this.#trap);
    try {
      return run();
    } catch (error) {
      // What the WIT calls an error comes as the payload of an exception; all else is none of the component's answers.
      const { payload } = error as { payload?: Wit.Error };
      if (typeof payload?.code === "string") throw failure(payload.code, payload.message, error);
      if (error instanceof WebAssembly.RuntimeError) {
        this.#trap = error;
        throw failure("internal_error", `the component trapped: ${error.message}`, error);
      }
      throw error;
    }
  }

  records(run: () => Wit.Record[]): Records {
    const records = [];
    for (const { kind, stream, id, name, payload, until } of this.call(run)) {
      records.push(kind === "input-cancelled" ? "input_cancelled" : kind, Number(stream), Number(id), name, payload.val, Number(until));
    }
    return records;
  }
}

const whole = (number: number): bigint => {
  if (Number.isSafeInteger(number) && number >= 0) return BigInt(number);
  throw failure("usage", `${number} is no whole number from 0 to 2^53 - 1`);
};

/** The classes of the flat surface over one instance. */
export function adapt(wit: typeof Wit, instance = new Instance()) {
  class Server implements FlatServer {
    readonly #inner: Wit.Server;

    constructor(config: string, seed: Uint8Array) {
      this.#inner = instance.call(() => wit.Server.new(config, seed));
    }

    setCatalog(catalog: string, now: number): Records {
      return instance.records(() => this.#inner.setCatalog(catalog, whole(now)));
    }
    open(stream: number, transport: string, now: number): Records {
      return instance.records(() => this.#inner.open(whole(stream), transport, whole(now)));
    }
    receive(stream: number, bytes: Uint8Array, now: number): Records {
      return instance.records(() => this.#inner.receive(whole(stream), bytes, whole(now)));
    }
    end(stream: number, now: number): Records {
      return instance.records(() => this.#inner.end(whole(stream), whole(now)));
    }
    request(stream: number, head: string, body: Uint8Array, now: number): Records {
      return instance.records(() => this.#inner.request(whole(stream), head, body, whole(now)));
    }
    gone(stream: number, now: number): Records {
      return instance.records(() => this.#inner.gone(whole(stream), whole(now)));
    }
    respond(call: number, outcome: string, now: number): Records {
      return instance.records(() => this.#inner.respond(whole(call), outcome, whole(now)));
    }
    ask(call: number, key: string, request: string, now: number): Records {
      return instance.records(() => this.#inner.ask(whole(call), key, request, whole(now)));
    }
    progress(call: number, progress: string, now: number): Records {
      return instance.records(() => this.#inner.progress(whole(call), progress, whole(now)));
    }
    log(call: number, entry: string, now: number): Records {
      return instance.records(() => this.#inner.log(whole(call), entry, whole(now)));
    }
    publish(change: string, now: number): Records {
      return instance.records(() => this.#inner.publish(change, whole(now)));
    }
    callInfo(call: number): string {
      return instance.call(() => this.#inner.callInfo(whole(call)));
    }
    timeout(now: number): Records {
      return instance.records(() => this.#inner.timeout(whole(now)));
    }
    close(now: number): Records {
      return instance.records(() => this.#inner.close(whole(now)));
    }
  }

  class Client implements FlatClient {
    readonly #inner: Wit.Client;

    constructor(config: string, seed: Uint8Array) {
      this.#inner = instance.call(() => wit.Client.new(config, seed));
    }

    start(now: number): Records {
      return instance.records(() => this.#inner.start(whole(now)));
    }
    receive(bytes: Uint8Array, now: number): Records {
      return instance.records(() => this.#inner.receive(bytes, whole(now)));
    }
    ended(reason: string, now: number): Records {
      return instance.records(() => this.#inner.ended(reason, whole(now)));
    }
    response(stream: number, status: number, headers: string, now: number): Records {
      return instance.records(() => this.#inner.response(whole(stream), status, headers, whole(now)));
    }
    body(stream: number, bytes: Uint8Array, now: number): Records {
      return instance.records(() => this.#inner.body(whole(stream), bytes, whole(now)));
    }
    end(stream: number, now: number): Records {
      return instance.records(() => this.#inner.end(whole(stream), whole(now)));
    }
    failed(stream: number, reason: string, now: number): Records {
      return instance.records(() => this.#inner.failed(whole(stream), reason, whole(now)));
    }
    request(handle: number, method: string, params: string, options: string, now: number): Records {
      return instance.records(() => this.#inner.request(whole(handle), method, params, options, whole(now)));
    }
    cancel(handle: number, reason: string, now: number): Records {
      return instance.records(() => this.#inner.cancel(whole(handle), reason, whole(now)));
    }
    answer(token: number, outcome: string, now: number): Records {
      return instance.records(() => this.#inner.answer(whole(token), outcome, whole(now)));
    }
    notify(method: string, params: string, now: number): Records {
      return instance.records(() => this.#inner.notify(method, params, whole(now)));
    }
    timeout(now: number): Records {
      return instance.records(() => this.#inner.timeout(whole(now)));
    }
    close(now: number): Records {
      return instance.records(() => this.#inner.close(whole(now)));
    }
  }

  class Http1 {
    readonly #inner = new wit.Http1();

    encode(name: string, text: string): Uint8Array {
      return instance.call(() => this.#inner.encode(name, text));
    }
    receive(bytes: Uint8Array): Records {
      return instance.records(() => this.#inner.receive(bytes));
    }
    finish(): Records {
      return instance.records(() => this.#inner.finish());
    }
    static target(url: string): string {
      return instance.call(() => wit.Http1.target(url));
    }
  }

  return { FlatServer: Server, FlatClient: Client, FlatHttp1: Http1 };
}
