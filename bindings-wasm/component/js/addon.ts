/** What the Node package has from its addon, from the component: the rest of that package works on it as it is. */
import { useEngine } from "../../js/flat.js";
import { adapt } from "./adapter.js";
import { load } from "./load.js";

const core = {
  ...adapt(await load()),
  // What a component cannot know of descriptors, and cannot do about memory.
  abandoned: (_descriptor: number): boolean => false,
  unread: (_descriptor: number): boolean => false,
  release: (_memory: ArrayBufferLike): void => {},
  collect: (): void => {},
};

export function addon(): typeof core {
  return core;
}

useEngine({
  server: (config, seed) => new core.FlatServer(config, seed),
  client: (config, seed) => new core.FlatClient(config, seed),
});
