/**
 * Large messages: their buffers are freed at once, and the strings that they were are collected in time. V8 by itself lets
 * hundreds of megabytes of dead strings and buffers gather before it first looks.
 */
import { getHeapStatistics } from "node:v8";
import { addon } from "./addon.js";
import type * as Addon from "../addon.js";
import type { Engine } from "../../bindings-wasm/js/flat.js";

/** From this length on memory counts more than time. */
const LONG = 32 * 1024;
/** So many bytes of long messages may pass between two collections; more, where there is more for a collection to do. */
const LEAST = 4 * 1024 * 1024;
const SHARE = 8;

let passed = 0;
/** What was alive after the last collection. */
let alive = 0;

/** Frees a buffer that was read to its end, or written, if it is long and has its memory for itself. */
export function release(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  if (byteLength >= LONG && buffer.byteLength === byteLength) addon().release(buffer);
}

/** Takes note of a message that passes, in whole or in part. */
function pass(message: string | Uint8Array): void {
  const long = message.length >= LONG;
  if (!long && passed < LEAST) return;
  const text = long && typeof message === "string";
  if (long) passed += message.length;
  // Written by JSON.stringify, it is still in the pieces that it was put together from. To ask for its number makes it one
  // text, so that the pieces are garbage before the core makes its own copy.
  if (text) Number(message);
  if (passed < LEAST || passed < alive / SHARE) return;
  addon().collect();
  alive = getHeapStatistics().used_heap_size;
  // The text at hand is garbage by the next time.
  passed = text ? message.length : 0;
}

/** The objects of the core that take long messages, keeping count of them. */
export function counting({ FlatServer, FlatClient }: typeof Addon): Engine {
  class Server extends FlatServer {
    override receive(stream: number, bytes: Uint8Array, now: number): Addon.Records {
      pass(bytes);
      return super.receive(stream, bytes, now);
    }

    override respond(call: number, outcome: string, now: number): Addon.Records {
      pass(outcome);
      return super.respond(call, outcome, now);
    }
  }
  class Client extends FlatClient {
    override receive(bytes: Uint8Array, now: number): Addon.Records {
      pass(bytes);
      return super.receive(bytes, now);
    }

    override request(handle: number, method: string, params: string, options: string, now: number): Addon.Records {
      pass(params);
      return super.request(handle, method, params, options, now);
    }
  }
  return { server: (config, seed) => new Server(config, seed), client: (config, seed) => new Client(config, seed) };
}
