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
}

/** A running HTTP server. */
export interface HttpHandle {
  readonly port: number;
  readonly host: string;
  readonly url: string;
  /** Stops accepting, lets running calls end, then closes what is left. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How long running calls may take once the server closes. */
const GRACE = 2000;

export async function serveHttp(serving: Serving, options: HttpOptions): Promise<HttpHandle> {
  const sockets = new Map<Socket, number>();
  const listener = createServer({ noDelay: true, keepAlive: true }, (socket) => {
    sockets.set(socket, connect(serving, socket, () => sockets.delete(socket)));
  });
  const address = await listen(listener, options.port ?? 0, options.host ?? "127.0.0.1");
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
    for (const stream of sockets.values()) void serving.idle(stream).then(() => serving.end(stream));
    const late = setTimeout(() => {
      for (const socket of sockets.keys()) socket.destroy();
    }, GRACE);
    await closed;
    clearTimeout(late);
  };
  return {
    port: address.port,
    host: address.address,
    url: `http://${host}:${address.port}${options.path ?? "/mcp"}`,
    close,
    [Symbol.asyncDispose]: close,
  };
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

/** One accepted connection. Returns its stream number. */
function connect(serving: Serving, socket: Socket, forget: () => void): number {
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
  return stream;
}
