/** Cuts what passes a link into messages, for the `trace` option. */

/** Lines of a byte stream: one message each. */
export class Lines {
  readonly #tell: (message: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(tell: (message: string) => void) {
    this.#tell = tell;
  }

  push(bytes: Uint8Array): void {
    const parts = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split(/\r?\n/);
    this.#rest = parts.pop() ?? "";
    for (const part of parts) if (part !== "") this.line(part);
  }

  end(): void {
    if (this.#rest !== "") this.line(this.#rest);
    this.#rest = "";
  }

  protected line(line: string): void {
    this.#tell(line);
  }
}

/** The `data` lines of an event stream. */
export class EventLines extends Lines {
  protected override line(line: string): void {
    const data = /^data: ?(.+)/.exec(line)?.[1];
    if (data !== undefined) super.line(data);
  }
}
