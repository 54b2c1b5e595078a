/** A server on this process's standard input and output, and the signals that end its servers. */
import type { Server } from "../../bindings-wasm/js/server.js";
import { addon } from "./addon.js";
import { release } from "./memory.js";

/** How long the process may go on once its client has left, or a signal has closed its servers. */
const GRACE = 2000;
/** How often to look whether a client that sends no more still reads. */
const LOOK = 250;

/** Serves until the client leaves. Meanwhile whatever else is printed on standard output goes to standard error. */
export function serveStdio(server: Server): Promise<void> {
  const { stdin, stdout, stderr } = process;
  const print = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  // A client that does not read must not stop the process in the middle of a write.
  const blocking = (on: boolean): void =>
    (stdout as unknown as { _handle?: { setBlocking?(on: boolean): void } })._handle?.setBlocking?.(on);
  blocking(false);

  return new Promise((resolve) => {
    let looking: NodeJS.Timeout | undefined;
    const finish = (): void => {
      clearInterval(looking);
      stdin.off("data", receive).off("end", end).off("error", end);
      stdin.pause();
      // A paused pipe still counts as open to the event loop.
      (stdin as { unref?: () => void }).unref?.();
      stdout.off("error", lost).off("drain", drained);
      stdout.on("error", () => {});
      stdout.write = print;
      blocking(true);
      // What the program left running must not keep a process without a client.
      setTimeout(() => process.exit(), GRACE).unref();
      resolve();
    };
    const lost = (): void => {
      pipe.gone();
      finish();
    };
    const pipe = server.pipe({
      write: (bytes) => {
        // A client that does not read its answers gets no more requests served.
        if (!print(bytes, () => release(bytes))) stdin.pause();
      },
      close: () => void print("", finish),
      get queued() {
        return stdout.writableLength;
      },
    });
    const receive = (bytes: Buffer): void => {
      pipe.receive(bytes);
      release(bytes);
    };
    const drained = (): void => {
      stdin.resume();
      pipe.drained();
    };
    const end = (): void => {
      // Calls may still run; the end of a client that no longer reads shows at a write alone.
      looking ??= setInterval(() => addon().abandoned(1) && lost(), LOOK).unref();
      pipe.end();
    };
    stdout.on("error", lost).on("drain", drained);
    stdin.on("data", receive).on("end", end).on("error", end);
  });
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const closers = new Set<() => unknown>();

/**
 * Has `close` called when the process is asked to end. Unless the program listens to that signal itself, the process
 * then ends: by itself when nothing keeps it, or after a while. Returns what takes it back.
 */
export function closeOnSignals(close: () => unknown): () => void {
  if (closers.size === 0) for (const signal of SIGNALS) process.on(signal, end);
  closers.add(close);
  return () => {
    if (closers.delete(close) && closers.size === 0) for (const signal of SIGNALS) process.off(signal, end);
  };
}

function end(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) setTimeout(() => process.exit(), GRACE).unref();
  for (const close of closers) void close();
}
