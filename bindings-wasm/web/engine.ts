/** Loads the module, once, and gives it to the shared part as its engine. */
import { KeelError, UsageError } from "../js/errors.js";
import { type FlatClient, type FlatServer, useEngine } from "../js/flat.js";

/** Where the module is: its address, an answer that brings it, its bytes, or the module itself. */
export type ModuleSource = string | URL | Request | Response | Promise<Response> | BufferSource | WebAssembly.Module;

type Made<T> = new (config: string, seed: Uint8Array) => T;

/** The generated JavaScript around a module. */
export interface Glue {
  default(options: { module_or_path: ModuleSource }): Promise<unknown>;
  initSync(options: { module: BufferSource | WebAssembly.Module }): unknown;
  FlatClient: Made<FlatClient>;
  FlatServer?: Made<FlatServer>;
}

let load: (() => Promise<void>) | undefined;
let loaded = false;
let loading: Promise<void> | undefined;

/** The module is loaded, or this loads it from where the entry point has it. Fails where no entry point knows a place. */
export function ready(): Promise<void> {
  if (loaded) return Promise.resolve();
  return load === undefined ? Promise.reject(notLoaded()) : load();
}

function notLoaded(): UsageError {
  return new UsageError("the module is not loaded: call `await init()` first", "not_loaded");
}

/** What a package exports to load its module. */
export interface Loader {
  /** Loads the module: from its own place beside this package, or from `source`. Later calls wait for the first one. */
  init(source?: ModuleSource): Promise<void>;
  /** Loads the module at once, from its bytes or compiled. */
  initSync(module: BufferSource | WebAssembly.Module): void;
  /** @internal Tells where the module is when nobody says. */
  locate(place: () => ModuleSource): void;
}

export function loader(glue: Glue): Loader {
  let place: (() => ModuleSource) | undefined;
  const made: [Made<FlatClient>, Made<FlatServer> | undefined] = [guarded(glue.FlatClient), glue.FlatServer && guarded(glue.FlatServer)];
  useEngine({
    client(config, seed) {
      if (!loaded) throw notLoaded();
      return new made[0](config, seed);
    },
    server(config, seed) {
      if (!loaded) throw notLoaded();
      if (made[1] === undefined) throw new UsageError("this entry point has no servers; import mcp-keel-wasm");
      return new made[1](config, seed);
    },
  });

  function init(source?: ModuleSource): Promise<void> {
    if (loaded) return Promise.resolve();
    const from = source ?? place?.();
    if (from === undefined) return Promise.reject(new UsageError("init needs the address or the bytes of the module"));
    return (loading ??= glue.default({ module_or_path: from }).then(
      () => void (loaded = true),
      (error: unknown) => {
        loading = undefined;
        throw new KeelError(`the module cannot be loaded: ${String(error)}`, "module_missing");
      },
    ));
  }

  function initSync(module: BufferSource | WebAssembly.Module): void {
    if (!loaded) glue.initSync({ module });
    loaded = true;
  }

  load = () => init();
  return { init, initSync, locate: (found) => void (place = found) };
}

/**
 * A class with the methods of `Flat`, one object of it behind each of its own. What the core refuses has a `code`;
 * anything else that is thrown is a trap, after which the object is taken away: its state may be half changed.
 */
function guarded<T extends object>(Flat: Made<T>): Made<T> {
  type Methods = Record<string, (...args: unknown[]) => unknown>;
  const objects = new WeakMap<object, T>();
  class Guarded {
    constructor(config: string, seed: Uint8Array) {
      objects.set(this, attempt(this, () => new Flat(config, seed)));
    }
  }
  function attempt<R>(of: object, work: () => R): R {
    try {
      return work();
    } catch (error) {
      if (typeof (error as { code?: unknown }).code === "string") throw error;
      objects.delete(of);
      throw internal(String(error));
    }
  }
  for (const name of Object.getOwnPropertyNames(Flat.prototype)) {
    if (name === "constructor") continue;
    const method = (Flat.prototype as Methods)[name]!;
    (Guarded.prototype as unknown as Methods)[name] = function (this: object, ...args) {
      const inner = objects.get(this);
      if (inner === undefined) throw internal("this object had one, and refuses further use");
      return attempt(this, () => method.apply(inner, args));
    };
  }
  return Guarded as unknown as Made<T>;
}

function internal(words: string): Error {
  return Object.assign(new Error(`internal error: ${words}`), { code: "internal_error" });
}
