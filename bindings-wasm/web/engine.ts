/** Loads the module, once, and gives it to the shared part as its engine. */
import { KeelError, UsageError } from "../js/errors.js";
import { type FlatClient, type FlatServer, useEngine } from "../js/flat.js";
import { CLIENT, flat, type Inner, SERVER } from "./seam.js";

/** Where the module is: its address, an answer that brings it, its bytes, or the module itself. */
export type ModuleSource = string | URL | Request | Response | Promise<Response> | BufferSource | WebAssembly.Module;

/** The generated JavaScript around a module: what the module imports, and its classes. */
export interface Glue {
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
  FlatClient: new () => Inner;
  FlatServer?: new () => Inner;
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
  const imports = { "./keel_bg.js": glue as unknown as WebAssembly.ModuleImports };
  const Client = flat<FlatClient>(glue.FlatClient, CLIENT);
  const Server = glue.FlatServer && flat<FlatServer>(glue.FlatServer, SERVER);
  useEngine({
    client(config, seed) {
      if (!loaded) throw notLoaded();
      return new Client(config, seed);
    },
    server(config, seed) {
      if (!loaded) throw notLoaded();
      if (Server === undefined) throw new UsageError("this entry point has no servers; import mcp-keel-wasm");
      return new Server(config, seed);
    },
  });

  function init(source?: ModuleSource): Promise<void> {
    if (loaded) return Promise.resolve();
    const from = source ?? place?.();
    if (from === undefined) return Promise.reject(new UsageError("init needs the address or the bytes of the module"));
    return (loading ??= instantiate(from, imports).then(begin).catch((error: unknown) => {
      loading = undefined;
      throw new KeelError(`the module cannot be loaded: ${String(error)}`, "module_missing");
    }));
  }

  function initSync(module: BufferSource | WebAssembly.Module): void {
    if (loaded) return;
    begin(new WebAssembly.Instance(module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module), imports));
  }

  /** A module that came twice, at once and by waiting, begins once. */
  function begin({ exports }: WebAssembly.Instance): void {
    if (loaded) return;
    glue.__wbg_set_wasm(exports);
    (exports.__wbindgen_start as () => void)();
    loaded = true;
  }

  load = () => init();
  return { init, initSync, locate: (found) => void (place = found) };
}

async function instantiate(source: ModuleSource, imports: WebAssembly.Imports): Promise<WebAssembly.Instance> {
  let from = await source;
  if (typeof from === "string" || from instanceof URL || from instanceof Request) from = await fetch(from);
  if (from instanceof Response) {
    if (!from.ok) throw new Error(`HTTP status ${from.status} at ${from.url}`);
    // Only what is declared as a module can be compiled while it arrives.
    if (from.headers.get("content-type") === "application/wasm") {
      return (await WebAssembly.instantiateStreaming(from, imports)).instance;
    }
    from = await from.arrayBuffer();
  }
  if (from instanceof WebAssembly.Module) return WebAssembly.instantiate(from, imports);
  return (await WebAssembly.instantiate(from, imports)).instance;
}
