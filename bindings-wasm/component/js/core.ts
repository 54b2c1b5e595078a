/** The bare core on the component, for programs that drive it themselves. */
export { adapt, Instance } from "./adapter.js";
export { load } from "./load.js";
