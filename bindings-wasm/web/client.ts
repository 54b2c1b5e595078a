import { Client as BaseClient, type ClientOptions, type Target as BaseTarget } from "../js/client.js";
import { ready } from "./engine.js";
import { isPort, type Port, PortLink } from "./port_link.js";

export type Target = BaseTarget | Port;

/** An MCP client: one connection to one server. */
export class Client extends BaseClient {
  /** Opens a connection to a URL, a message port, a server in this program, or a link of your own. */
  static override async connect(target: Target, options: ClientOptions = {}): Promise<Client> {
    await ready();
    return Client.over(isPort(target) ? new PortLink(target) : Client.link(target, options), options);
  }
}
