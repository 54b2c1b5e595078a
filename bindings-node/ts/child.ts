/** A server as a child process: its messages on stdin and stdout, its whole group ended with it. */
import { type ChildProcess, spawn } from "node:child_process";
import { Disconnected } from "../../bindings-wasm/js/errors.js";
import type { LinkEvents, PipeLink } from "../../bindings-wasm/js/link.js";
import { release } from "./memory.js";

export interface CommandTarget {
  command: string;
  args?: string[];
  /** Added to this process's environment. */
  env?: { [name: string]: string };
  cwd?: string;
  /** Where its standard error goes: "inherit" passes it on (the default), "ignore" keeps it for errors alone. */
  stderr?: "inherit" | "ignore";
}

/** Milliseconds for each step of ending a child: after its input ends, after SIGTERM. */
const STEP = 2000;
/** How long to wait for what comes late: the exit code after the end of output, output after the exit. */
const LATE = 250;
/** Characters of standard error kept for error texts. */
const TAIL = 2000;

const groups = process.platform !== "win32";
const running = new Set<ChildProcess>();
let guarded = false;

export class ChildLink implements PipeLink {
  readonly kind = "pipe";
  readonly #target: CommandTarget;
  #child!: ChildProcess;
  #events!: LinkEvents;
  #exit!: Promise<void>;
  #ended = false;
  #exited = false;
  #tail = "";

  constructor(target: CommandTarget) {
    this.#target = target;
  }

  async open(events: LinkEvents): Promise<void> {
    this.#events = events;
    const { command, args = [], env, cwd } = this.#target;
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
      // A group of its own, so that what the server starts can be ended too.
      detached: groups,
      windowsHide: true,
    });
    this.#child = child;
    this.#exit = new Promise((resolve) => child.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(new Disconnected(`cannot start ${command}: ${error.message}`)));
    });
    guard(child);
    child.once("exit", () => {
      this.#exited = true;
      running.delete(child);
      // Output that a process of its group still holds open is not waited for.
      setTimeout(() => this.#end(), LATE).unref();
    });
    child.stdout!.on("data", (bytes: Buffer) => {
      events.receive(bytes);
      release(bytes);
    });
    child.stdout!.once("close", () => {
      if (this.#exited) return this.#end();
      const late = setTimeout(() => this.#end(), LATE);
      child.once("exit", () => {
        clearTimeout(late);
        this.#end();
      });
    });
    child.stdin!.on("error", () => {});
    child.stderr!.on("data", (bytes: Buffer) => {
      this.#tail = (this.#tail + bytes.toString()).slice(-TAIL);
      if (this.#target.stderr !== "ignore") process.stderr.write(bytes);
    });
  }

  write(bytes: Uint8Array): void {
    this.#child.stdin!.write(bytes, () => release(bytes));
  }

  close(): void {
    this.#child.stdin!.end();
  }

  async closed(): Promise<void> {
    if (this.#child?.pid === undefined) return;
    this.close();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#exitWithin(STEP)) break;
      kill(this.#child, signal);
    }
    await this.#exit;
    // What the server left behind goes with it.
    kill(this.#child, "SIGKILL");
    this.#child.stdout!.destroy();
    this.#child.stderr!.destroy();
  }

  async #exitWithin(milliseconds: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, milliseconds, false)));
    const exited = await Promise.race([this.#exit.then(() => true), late]);
    clearTimeout(timer);
    return exited;
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.ended(this.#words());
  }

  #words(): string {
    const { exitCode, signalCode } = this.#child;
    const how = signalCode !== null ? `was ended by ${signalCode}` : exitCode === null ? "closed its output" : `exited with code ${exitCode}`;
    const tail = this.#tail.trim();
    return `${this.#target.command} ${how}${tail === "" ? "" : `; its last words: ${tail}`}`;
  }
}

/** Signals the whole group; one that is gone already is no error. */
function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (groups) process.kill(-child.pid!, signal);
    else child.kill(signal);
  } catch {
    // Nothing is left of it.
  }
}

/** Children end with this process, also when nobody closed their client. */
function guard(child: ChildProcess): void {
  running.add(child);
  if (guarded) return;
  guarded = true;
  process.on("exit", () => {
    for (const child of running) kill(child, "SIGTERM");
  });
}
