/** What SIGTERM and SIGINT do to servers of this process. */

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** How long the program may go on once its servers are closed. */
const GRACE = 2000;

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
