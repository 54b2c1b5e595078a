import { type FetchContext, fetchHandler } from "../js/fetch_handler.js";
import { Server as BaseServer } from "../js/server.js";
import { ready } from "./engine.js";
import { type Port, servePort } from "./port_link.js";

/** An MCP server: register tools, resources and prompts, then serve them by one transport or several. */
export class Server extends BaseServer {
  override readonly fetch = async (request: Request, _environment?: unknown, context?: FetchContext): Promise<Response> => {
    await ready();
    return fetchHandler(() => this.running(), request, context);
  };

  /** Serves the client at the other end of a message port or worker. Resolves when it listens. */
  async port(port: Port): Promise<void> {
    await ready();
    servePort(this, port);
  }
}
