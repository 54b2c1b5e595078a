/** What the Node package has from its addon, from the component: the rest of that package works on it as it is. */
import { useEngine } from "../../js/flat.js";
import { adapt } from "./adapter.js";
import { load } from "./load.js";

const core = {
  ...adapt(await load()),
  /** Whether nobody reads a descriptor any more: a component cannot know. */
  abandoned: (_descriptor: number): boolean => false,
};

export function addon(): typeof core {
  return core;
}

useEngine({
  server: (config, seed) => new core.FlatServer(config, seed),
  client: (config, seed) => new core.FlatClient(config, seed),
});
