import { Server as BaseServer } from "../../bindings-wasm/js/server.js";
import { type HttpHandle, type HttpOptions, serveHttp } from "./http.js";
import { serveStdio } from "./stdio.js";

/** An MCP server: register tools, resources and prompts, then serve them by one transport or several. */
export class Server extends BaseServer {
  /**
   * Serves the process's standard input and output; resolves when the client has left. Until then whatever is
   * printed on standard output goes to standard error.
   */
  stdio(): Promise<void> {
    return serveStdio(this);
  }

  /** Serves HTTP; resolves when it accepts. */
  async http(options: HttpOptions = {}): Promise<HttpHandle> {
    const { port, host, ...rules } = options;
    return serveHttp(this.running(rules), options);
  }
}
