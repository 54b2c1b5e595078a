/**
 * The flat surface of the core as its hosts see it. Node's addon has exactly these methods; other hosts bring
 * objects of the same shape. Numbers are whole and below 2^53, `now` is milliseconds of one monotonic clock.
 */

/** Records one after the other, {@link FIELDS} entries each: kind, stream, id, name, text, until. */
export type Records = readonly (string | number | Uint8Array)[];
/** Entries of one record in {@link Records}. */
export const FIELDS = 6;

export interface FlatServer {
  setCatalog(catalog: string, now: number): Records;
  open(stream: number, transport: string, now: number): Records;
  receive(stream: number, bytes: Uint8Array, now: number): Records;
  end(stream: number, now: number): Records;
  request(stream: number, head: string, body: Uint8Array, now: number): Records;
  gone(stream: number, now: number): Records;
  respond(call: number, outcome: string, now: number): Records;
  ask(call: number, key: string, request: string, now: number): Records;
  progress(call: number, progress: string, now: number): Records;
  log(call: number, entry: string, now: number): Records;
  publish(change: string, now: number): Records;
  callInfo(call: number): string;
  timeout(now: number): Records;
  close(now: number): Records;
}

export interface FlatClient {
  start(now: number): Records;
  receive(bytes: Uint8Array, now: number): Records;
  ended(reason: string, now: number): Records;
  response(stream: number, status: number, headers: string, now: number): Records;
  body(stream: number, bytes: Uint8Array, now: number): Records;
  end(stream: number, now: number): Records;
  failed(stream: number, reason: string, now: number): Records;
  request(handle: number, method: string, params: string, options: string, now: number): Records;
  cancel(handle: number, reason: string, now: number): Records;
  answer(token: number, outcome: string, now: number): Records;
  notify(method: string, params: string, now: number): Records;
  timeout(now: number): Records;
  close(now: number): Records;
}

/** Where the objects of the core come from. A host names one before any Server or Client is made. */
export interface Engine {
  server(config: string, seed: Uint8Array): FlatServer;
  client(config: string, seed: Uint8Array): FlatClient;
}

let engine: Engine | undefined;

export function useEngine(host: Engine): void {
  engine = host;
}

export function hostEngine(): Engine {
  if (engine === undefined) throw new Error("no engine: import this package by its own entry point");
  return engine;
}

export function randomSeed(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

/** Milliseconds of the clock that every object is fed with. */
export function now(): number {
  return Math.floor(performance.now());
}
