import { Client as BaseClient, type ClientOptions, type Target as BaseTarget } from "../../bindings-wasm/js/client.js";
import { FetchLink } from "../../bindings-wasm/js/fetch_link.js";
import type { Link } from "../../bindings-wasm/js/link.js";
import { ChildLink, type CommandTarget } from "./child.js";
import { SocketLink } from "./sockets.js";

export type Target = BaseTarget | CommandTarget;

/** An MCP client: one connection to one server. */
export class Client extends BaseClient {
  /** Opens a connection to a URL, a command, a server in this process, or a link of your own. */
  static override async connect(target: Target, options: ClientOptions = {}): Promise<Client> {
    const command = typeof target === "object" && target !== null && "command" in target;
    return Client.over(command ? new ChildLink(target) : Client.link(target, options, http), options);
  }
}

function http(url: string, headers: { [name: string]: string } | undefined, { fetch }: ClientOptions): Link {
  return fetch === undefined ? new SocketLink(url, headers) : new FetchLink(url, headers, fetch);
}
