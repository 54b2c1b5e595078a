/** The addon: the flat surface of the core. Errors have a stable `code`; an "internal_error" ends the object. */

/** Records one after the other, six entries each: kind, stream, id, name, text, until. */
export type Records = (string | number | Buffer)[];

export class FlatServer {
  constructor(config: string, seed: Uint8Array);
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

export class FlatClient {
  constructor(config: string, seed: Uint8Array);
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

export class FlatHttp1 {
  constructor();
  encode(name: string, text: string): Buffer;
  receive(bytes: Uint8Array): Records;
  finish(): Records;
  static target(url: string): string;
}

/** Whether nobody can read any more what is written to this pipe or socket; false where that cannot be known. */
export function abandoned(descriptor: number): boolean;

/** Whether something arrived on this socket that was not read yet, its end included. */
export function unread(descriptor: number): boolean;

/** Frees the memory of a buffer that nobody reads any more. */
export function release(memory: ArrayBufferLike): void;

/** Collects garbage now. */
export function collect(): void;
