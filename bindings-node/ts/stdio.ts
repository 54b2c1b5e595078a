/** A server on this process's standard input and output. */
import type { Server } from "../../bindings-wasm/js/server.js";

/** How long the process may go on once its client has left. */
const GRACE = 2000;

/** Serves until the client leaves. Meanwhile whatever else is printed on standard output goes to standard error. */
export function serveStdio(server: Server): Promise<void> {
  const { stdin, stdout, stderr } = process;
  const print = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;

  return new Promise((resolve) => {
    const finish = (): void => {
      stdin.off("data", receive).off("end", end).off("error", end);
      stdin.pause();
      // A paused pipe still counts as open to the event loop.
      (stdin as { unref?: () => void }).unref?.();
      stdout.off("error", lost);
      stdout.on("error", () => {});
      stdout.write = print;
      // What the program left running must not keep a process without a client.
      setTimeout(() => process.exit(), GRACE).unref();
      resolve();
    };
    const lost = (): void => {
      pipe.gone();
      finish();
    };
    const pipe = server.pipe({
      write: (bytes) => void print(bytes),
      close: () => void print("", finish),
    });
    const receive = (bytes: Buffer): void => pipe.receive(bytes);
    const end = (): void => pipe.end();
    stdout.on("error", lost);
    stdin.on("data", receive).on("end", end).on("error", end);
  });
}
