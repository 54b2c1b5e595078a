/**
 * HTTP on sockets of Node; requests and answers are encoded by the core. A third of the cost of Node's fetch, which
 * besides cuts event streams that are silent for five minutes.
 */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { words } from "../../bindings-wasm/js/errors.js";
import { FIELDS, type Records } from "../../bindings-wasm/js/flat.js";
import type { HttpLink, LinkEvents } from "../../bindings-wasm/js/link.js";
import { addon } from "./addon.js";

/** Milliseconds that a connection is kept for the next request: servers keep theirs five seconds and more. */
const IDLE = 4000;
/** Connections that are kept. */
const KEPT = 128;

export class SocketLink implements HttpLink {
  readonly kind = "http";
  readonly url: string;
  readonly headers: { [name: string]: string };
  readonly #idle = new Map<string, Wire[]>();
  readonly #running = new Map<number, Wire>();
  #events!: LinkEvents;

  constructor(url: string, headers: { [name: string]: string } = {}) {
    this.url = url;
    this.headers = headers;
  }

  open(events: LinkEvents): void {
    this.#events = events;
  }

  fetch(stream: number, method: string, exchange: string): void {
    let wire: Wire | undefined;
    try {
      const { url } = JSON.parse(exchange) as { url: string };
      const place = addon().FlatHttp1.target(url);
      const used = (wire = this.#kept(place) ?? new Wire(place));
      this.#running.set(stream, used);
      used.send(method, exchange, {
        perform: (records) => this.#perform(stream, used, records),
        failed: (reason) => {
          if (this.#running.delete(stream)) this.#events.failed(stream, reason);
        },
      });
    } catch (error) {
      wire?.destroy();
      this.#running.delete(stream);
      // Not within the core's turn: it has not returned yet.
      queueMicrotask(() => this.#events.failed(stream, words(error)));
    }
  }

  abort(stream: number): void {
    this.#running.get(stream)?.destroy();
    this.#running.delete(stream);
  }

  async closed(): Promise<void> {
    for (const wire of this.#running.values()) wire.destroy();
    for (const wires of this.#idle.values()) for (const wire of wires.splice(0)) wire.destroy();
    this.#running.clear();
  }

  #perform(stream: number, wire: Wire, records: Records): void {
    for (let at = 0; at < records.length && this.#running.has(stream); at += FIELDS) {
      switch (records[at]) {
        case "head":
          this.#events.response(stream, records[at + 2] as number, records[at + 4] as string);
          break;
        case "body":
          this.#events.body(stream, records[at + 4] as Uint8Array);
          break;
        case "end":
          this.#running.delete(stream);
          // Before the end is told: it may bring the next request.
          if (records[at + 2] === 1) this.#keep(wire);
          else wire.destroy();
          this.#events.end(stream);
      }
    }
  }

  /** A kept connection that is still good: one whose end has come, but was not told yet, is none. */
  #kept(place: string): Wire | undefined {
    const idle = this.#idle.get(place) ?? [];
    for (let wire = idle.pop(); wire !== undefined; wire = idle.pop()) {
      if (!wire.stale) return wire;
      wire.destroy();
    }
    return undefined;
  }

  #keep(wire: Wire): void {
    const idle = this.#idle.get(wire.place) ?? [];
    this.#idle.set(wire.place, idle);
    if (idle.length >= KEPT) return wire.destroy();
    idle.push(wire);
    wire.rest(() => {
      const at = idle.indexOf(wire);
      if (at >= 0) idle.splice(at, 1);
    });
  }
}

interface Exchanging {
  perform(records: Records): void;
  failed(reason: string): void;
}

/** One connection, for one exchange at a time. */
class Wire {
  readonly place: string;
  readonly #socket: Socket;
  readonly #codec = new (addon().FlatHttp1)();
  #exchanging: Exchanging | undefined;
  #forget: (() => void) | undefined;

  constructor(place: string) {
    this.place = place;
    const { tls, host, port } = JSON.parse(place) as { tls: boolean; host: string; port: number };
    const address = { host: host.replace(/^\[|\]$/g, ""), port, noDelay: true };
    this.#socket = tls ? connectTls({ ...address, servername: address.host, ALPNProtocols: ["http/1.1"] }) : connect(address);
    let reason = "the server closed the connection";
    this.#socket.on("data", (bytes) => this.#feed(() => this.#codec.receive(bytes)));
    this.#socket.on("error", (error) => (reason = words(error)));
    this.#socket.on("end", () => this.#feed(() => this.#codec.finish()));
    this.#socket.on("close", () => this.#lost(reason));
    this.#socket.setTimeout(0);
    this.#socket.on("timeout", () => this.destroy());
  }

  /** Nothing may arrive while nobody asked, so whatever did is the end, or no HTTP. */
  get stale(): boolean {
    const { fd } = (this.#socket as unknown as { _handle?: { fd?: number } | null })._handle ?? {};
    return fd !== undefined && addon().unread(fd);
  }

  send(method: string, exchange: string, exchanging: Exchanging): void {
    this.#forget = undefined;
    this.#socket.ref().setTimeout(0);
    this.#socket.write(this.#codec.encode(method, exchange));
    this.#exchanging = exchanging;
  }

  /** The exchange is over. `forget` is called when the connection ends meanwhile. */
  rest(forget: () => void): void {
    this.#exchanging = undefined;
    this.#forget = forget;
    this.#socket.unref().setTimeout(IDLE);
  }

  destroy(): void {
    this.#exchanging = undefined;
    this.#socket.destroy();
  }

  #feed(input: () => Records): void {
    let records;
    try {
      records = input();
    } catch (error) {
      this.#lost(words(error));
      return this.destroy();
    }
    // Nobody asked: a connection on which that happens is of no further use.
    if (this.#exchanging === undefined) this.destroy();
    else this.#exchanging.perform(records);
  }

  #lost(reason: string): void {
    this.#forget?.();
    const exchanging = this.#exchanging;
    this.#exchanging = undefined;
    exchanging?.failed(reason);
  }
}
