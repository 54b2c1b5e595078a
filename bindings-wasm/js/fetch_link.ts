/** HTTP by the fetch of the host. */
import { words } from "./errors.js";
import type { Exchange, HttpLink, LinkEvents } from "./link.js";

export class FetchLink implements HttpLink {
  readonly kind = "http";
  readonly url: string;
  readonly headers: { [name: string]: string };
  readonly #fetch: typeof fetch;
  readonly #running = new Map<number, AbortController>();
  #events!: LinkEvents;

  constructor(url: string, headers: { [name: string]: string } = {}, by: typeof fetch = globalThis.fetch) {
    this.url = url;
    this.headers = headers;
    // Hosts refuse a fetch that is called as someone's method.
    this.#fetch = (...args) => by(...args);
  }

  open(events: LinkEvents): void {
    this.#events = events;
  }

  fetch(stream: number, method: string, exchange: string): void {
    const controller = new AbortController();
    this.#running.set(stream, controller);
    void this.#exchange(stream, method, JSON.parse(exchange) as Exchange, controller.signal)
      .then(
        () => this.#running.delete(stream) && this.#events.end(stream),
        (error: unknown) => this.#running.delete(stream) && this.#events.failed(stream, reason(error)),
      );
  }

  async #exchange(stream: number, method: string, { url, headers, body }: Exchange, signal: AbortSignal): Promise<void> {
    // A redirect would carry the headers, and the credentials in them, elsewhere: the core decides.
    const response = await this.#fetch(url, { method, headers, body, signal, redirect: "manual" });
    if (response.type === "opaqueredirect") throw new Error("the server redirects elsewhere");
    let lines = "";
    for (const [name, value] of response.headers) lines += `${name}: ${value}\n`;
    if (!this.#running.has(stream)) return;
    this.#events.response(stream, response.status, lines);
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    for (;;) {
      const { done, value } = await reader.read();
      if (done || !this.#running.has(stream)) return;
      this.#events.body(stream, value);
    }
  }

  abort(stream: number): void {
    const controller = this.#running.get(stream);
    this.#running.delete(stream);
    controller?.abort();
  }

  async closed(): Promise<void> {
    for (const stream of [...this.#running.keys()]) this.abort(stream);
  }
}

/** fetch says little itself; what happened is in the cause. */
function reason(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${words(error.cause)}` : "";
  return words(error) + cause;
}
