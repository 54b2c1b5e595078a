import { Server as BaseServer } from "../../bindings-wasm/js/server.js";
import { type HttpHandle, type HttpOptions, type Listening, serveHttp } from "./http.js";
import { closeOnSignals, serveStdio } from "./stdio.js";

/** An MCP server: register tools, resources and prompts, then serve them by one transport or several. */
export class Server extends BaseServer {
  /** What listens, and what takes it back from the signals. */
  readonly #listening = new Map<Listening, () => void>();

  /**
   * Serves the process's standard input and output; resolves when the client has left, or SIGTERM or SIGINT has closed
   * the server. Until then whatever is printed on standard output goes to standard error.
   */
  async stdio(): Promise<void> {
    const undo = closeOnSignals(() => this.close());
    try {
      await serveStdio(this);
    } finally {
      undo();
    }
  }

  /** Serves HTTP; resolves when it accepts. */
  async http(options: HttpOptions = {}): Promise<HttpHandle> {
    const { port: _port, host: _host, maxConnections: _most, signals = true, ...rules } = options;
    const listening = await serveHttp(this.running(rules), options);
    const { port, address, family } = listening.address;
    this.#listening.set(listening, signals ? closeOnSignals(() => this.close()) : () => {});
    const close = (): Promise<void> => this.close();
    return {
      port,
      host: address,
      url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}${options.path ?? "/mcp"}`,
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  override async close(): Promise<void> {
    const stopped = [...this.#listening].map(([listening, undo]) => {
      undo();
      return listening.stop();
    });
    this.#listening.clear();
    await super.close();
    await Promise.all(stopped);
  }
}
