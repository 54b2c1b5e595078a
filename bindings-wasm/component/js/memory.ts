/** The Node package on the component, for programs that have a server and a client of it: both in one process. */
import { Client as NodeClient, type ClientOptions, Server as NodeServer } from "../../../bindings-node/ts/index.js";

export * from "../../../bindings-node/ts/index.js";

let served: Server | undefined;

/** Is there for the client of this process in place of standard input and output. */
export class Server extends NodeServer {
  override async stdio(): Promise<void> {
    served = this;
  }
}

/** Connects to the server of this process, by a pipe; with a URL, by requests that the server's fetch handler answers. */
export class Client extends NodeClient {
  static override async connect(target: unknown, options: ClientOptions = {}): Promise<NodeClient> {
    const server = served;
    if (server === undefined) throw new Error("no server in this process");
    if (typeof target !== "string") return NodeClient.connect(server, options);
    return NodeClient.connect(target, { ...options, fetch: (input, init) => server.fetch(new Request(input, init)) });
  }
}
