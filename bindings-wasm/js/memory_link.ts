/** A client and a server in one process. */
import type { LinkEvents, PipeLink } from "./link.js";
import type { Server } from "./server.js";

export class MemoryLink implements PipeLink {
  readonly kind = "pipe";
  readonly #server: Server;
  #other: ReturnType<Server["pipe"]> | undefined;
  #open = true;

  constructor(server: Server) {
    this.#server = server;
  }

  open(events: LinkEvents): void {
    // Never within the caller's turn: neither side expects an answer before its call has returned.
    this.#other = this.#server.pipe({
      write: (bytes) => queueMicrotask(() => this.#open && events.receive(bytes)),
      close: () =>
        queueMicrotask(() => {
          if (this.#open) events.ended("the server closed the connection");
          this.#open = false;
        }),
    });
  }

  write(bytes: Uint8Array): void {
    queueMicrotask(() => this.#other?.receive(bytes));
  }

  close(): void {
    queueMicrotask(() => this.#other?.end());
  }

  async closed(): Promise<void> {
    this.#open = false;
    this.#other?.gone();
  }
}
