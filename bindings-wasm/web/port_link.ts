/** Byte streams over message ports: between a page and its workers, frames, or two parts of one page. */
import type { LinkEvents, PipeLink } from "../js/link.js";
import type { Server } from "../js/server.js";

/** What MessagePort, Worker and the global of a dedicated worker have in common. Bytes are posted, and null at the end. */
export interface Port {
  postMessage(message: unknown): void;
  addEventListener(type: string, listener: (event: any) => void): void;
  removeEventListener(type: string, listener: (event: any) => void): void;
  start?(): void;
  close?(): void;
}

export function isPort(value: unknown): value is Port {
  return typeof value === "object" && value !== null && typeof (value as Partial<Port>).postMessage === "function";
}

/** Reads a port until its end is told; what is no bytes is none of ours. Gives back what stops that. */
function read(port: Port, bytes: (bytes: Uint8Array) => void, end: () => void): () => void {
  const message = ({ data }: { data: unknown }): void => {
    if (data instanceof Uint8Array) bytes(data);
    else if (data === null) end();
  };
  // Not all hosts tell that the other side has vanished.
  const listeners = { message, close: end };
  for (const [type, listener] of Object.entries(listeners)) port.addEventListener(type, listener);
  port.start?.();
  return () => {
    for (const [type, listener] of Object.entries(listeners)) port.removeEventListener(type, listener);
  };
}

/** The client's end of a port. */
export class PortLink implements PipeLink {
  readonly kind = "pipe";
  readonly #port: Port;
  #stop = (): void => {};

  constructor(port: Port) {
    this.#port = port;
  }

  open(events: LinkEvents): void {
    this.#stop = read(
      this.#port,
      (bytes) => events.receive(bytes),
      () => {
        this.#stop();
        events.ended("the server closed the connection");
      },
    );
  }

  write(bytes: Uint8Array): void {
    this.#port.postMessage(bytes);
  }

  close(): void {
    this.#port.postMessage(null);
  }

  async closed(): Promise<void> {
    this.#stop();
    this.#port.close?.();
  }
}

/** Serves the client at the other end of a port. */
export function servePort(server: Server, port: Port): void {
  const pipe = server.pipe({
    write: (bytes) => port.postMessage(bytes),
    close: () => {
      port.postMessage(null);
      stop();
    },
  });
  const stop = read(
    port,
    (bytes) => pipe.receive(bytes),
    () => pipe.end(),
  );
}
