/** What servers and clients share: one timer for `wait`, and one write for all that one turn has for a stream. */
import { now } from "./flat.js";

/** The longest delay that timers know. */
const LONGEST = 0x7fffffff;

type Ref = { ref?(): void; unref?(): void };

/** The one timer of an object. It keeps the process alive only while `hold` is on. */
export class Deadline {
  readonly #fire: (now: number) => void;
  #timer: (ReturnType<typeof setTimeout> & Ref) | undefined;
  /** When the timer ends, and when it is wanted: 0 = never. A timer that ends early is cheaper than a new one. */
  #ends = 0;
  #due = 0;
  #held = false;

  constructor(fire: (now: number) => void) {
    this.#fire = fire;
  }

  set(due: number): void {
    this.#due = due;
    if (due === 0 || (this.#timer !== undefined && this.#ends <= due)) return;
    this.#arm();
  }

  /** Edge runtimes drop timers with the request that made them: each request brings this one to life again. */
  renew(): void {
    if (this.#due !== 0) this.#arm();
  }

  hold(on: boolean): void {
    if (on === this.#held) return;
    this.#held = on;
    if (on) this.#timer?.ref?.();
    else this.#timer?.unref?.();
  }

  stop(): void {
    this.#due = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#ends = this.#due;
    const delay = Math.min(Math.max(this.#due - now(), 0), LONGEST);
    this.#timer = setTimeout(() => this.#ring(), delay);
    if (!this.#held) this.#timer.unref?.();
  }

  #ring(): void {
    this.#timer = undefined;
    if (this.#due === 0) return;
    const time = now();
    if (time < this.#due) return this.#arm();
    this.#due = 0;
    this.#fire(time);
  }
}

/** One byte stream of a host. */
export interface Sink {
  /** Called in the middle of a turn too: it must not come back into the server before it has returned. */
  write(bytes: Uint8Array): void;
  /** Closes once all is written. */
  close(): void;
  /** Bytes that the other side has not taken yet. A host that says so gets no more than it can deliver. */
  readonly queued?: number;
}

/** So many bytes leave at once, before the turn ends. */
const PIECE = 64 * 1024;
/** With so many bytes queued a stream is full: new calls on it wait. */
export const FULL = 1024 * 1024;

/** Collects what a turn writes to a stream, and hands it over as one piece. */
export class Outlet {
  readonly sink: Sink;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #closing = false;

  constructor(sink: Sink) {
    this.sink = sink;
  }

  get full(): boolean {
    return (this.sink.queued ?? 0) >= FULL;
  }

  push(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes >= PIECE) this.#write();
  }

  close(): void {
    this.#closing = true;
  }

  flush(): void {
    this.#write();
    if (this.#closing) {
      this.#closing = false;
      this.sink.close();
    }
  }

  #write(): void {
    const chunks = this.#chunks;
    if (chunks.length === 0) return;
    this.#chunks = [];
    this.#bytes = 0;
    this.sink.write(chunks.length === 1 ? chunks[0]! : joined(chunks));
  }
}

/** Runs `flush` on what became dirty, after the microtasks that are queued by then: answers of handlers that did
 *  not wait for anything leave together. */
export class Flusher {
  readonly #dirty = new Set<{ flush(): void }>();
  #scheduled = false;

  mark(outlet: { flush(): void }): void {
    this.#dirty.add(outlet);
  }

  schedule(): void {
    if (this.#scheduled || this.#dirty.size === 0) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      const dirty = [...this.#dirty];
      this.#dirty.clear();
      for (const outlet of dirty) outlet.flush();
    });
  }
}

const later: (run: () => void) => unknown =
  (globalThis as { setImmediate?: (run: () => void) => unknown }).setImmediate ?? ((run) => setTimeout(run, 0));

/** Resolves when the host has had a turn: its timers ran, and what arrived was read. Not shared: on edge runtimes a
 *  promise belongs to the request that made it. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void later(resolve));
}

export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
