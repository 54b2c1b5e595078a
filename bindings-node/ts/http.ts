/** An HTTP server: raw bytes of each TCP connection go to the core, which knows HTTP. */
import { createServer, type Server as Listener, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import type { Serving } from "../../bindings-wasm/js/serving.js";

export interface HttpOptions {
  /** 0 picks a free one. */
  port?: number;
  /** Loopback unless told. */
  host?: string;
  path?: string;
  /** Values of the Host header to accept; null = any. */
  hosts?: string[] | null;
  /** Values of the Origin header to accept; null = any. */
  origins?: string[] | null;
  /** Connections that may be open at once (4096); more are answered with status 503 and closed. */
  maxConnections?: number;
  /** Whether SIGTERM and SIGINT close the server, and then end the process (true). */
  signals?: boolean;
}

/** A running HTTP server. */
export interface HttpHandle {
  readonly port: number;
  readonly host: string;
  readonly url: string;
  /** Stops accepting and closes the server: what runs is answered with an error first. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How long the last answers may take to be delivered once the server closes. */
const GRACE = 2000;
const CONNECTIONS = 4096;
const BUSY = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/** What a {@link Server} does with its listener. */
export interface Listening {
  readonly address: AddressInfo;
  /** No more connections; resolves when those that are open are closed. To be called before the core closes them. */
  stop(): Promise<void>;
}

export async function serveHttp(serving: Serving, options: HttpOptions): Promise<Listening> {
  const sockets = new Set<Socket>();
  const most = options.maxConnections ?? CONNECTIONS;
  const listener = createServer({ noDelay: true, keepAlive: true }, (socket) => {
    if (sockets.size >= most) {
      socket.on("error", () => {});
      socket.end(BUSY);
      socket.destroySoon();
      return;
    }
    sockets.add(socket);
    connect(serving, socket, () => sockets.delete(socket));
  });
  const address = await listen(listener, options.port ?? 0, options.host ?? "127.0.0.1");
  const stop = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
    const late = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, GRACE);
    await closed;
    clearTimeout(late);
  };
  return { address, stop };
}

function listen(listener: Listener, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(port, host, () => {
      listener.off("error", reject);
      resolve(listener.address() as AddressInfo);
    });
  });
}

/** One accepted connection. */
function connect(serving: Serving, socket: Socket, forget: () => void): void {
  const stream = serving.open("http1", {
    write: (bytes) => {
      // A client that does not read its answers gets no more requests served.
      if (!socket.write(bytes)) socket.pause();
    },
    close: () => socket.destroySoon(),
    get queued() {
      return socket.writableLength;
    },
  });
  socket.on("data", (bytes) => serving.receive(stream, bytes));
  socket.on("drain", () => {
    socket.resume();
    serving.drained();
  });
  socket.on("end", () => serving.end(stream));
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    forget();
    serving.gone(stream);
  });
}
