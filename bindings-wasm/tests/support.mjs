// What the tests share.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runChecks } from "../../bindings-node/fixture/checks.mjs";

export const ERAS = ["legacy", "modern"];
export const here = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/** Runs the checks of the fixture client; the lines of those that failed, and how many held. */
export async function checked(keel, era, target, options = {}) {
  const lines = [];
  await runChecks(keel, { era, target, options }, (line) => lines.push(line));
  return { held: lines.filter((line) => line.includes('"ok":true')).length, failed: lines.filter((line) => line.includes('"ok":false')) };
}

/** How all checks come out when nothing is wrong. */
export const ALL = { held: 14, failed: [] };

/** Runs a program to its end. */
export async function run(command, args, { cwd = here(".") } = {}) {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (bytes) => (stdout += bytes));
  child.stderr.on("data", (bytes) => (stderr += bytes));
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

/** Runs the source of a module in a fresh process. */
export const program = (source, ...flags) => run(process.execPath, [...flags, "--input-type=module", "--eval", source]);

/** Starts a program that serves; resolves with what follows `sign` in its output. */
export async function serving(words, sign, env = {}) {
  const child = spawn(words[0], words.slice(1), { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  let said = "";
  const ready = new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes) => {
        said += bytes;
        const found = sign.exec(said);
        if (found) resolve(found[1]);
      });
    }
    child.once("exit", () => reject(new Error(`it ended before it listened:\n${said}`)));
  });
  return {
    ready: await ready,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.kill();
      await exit;
    },
  };
}
