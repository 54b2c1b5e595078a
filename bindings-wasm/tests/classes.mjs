// The flat surface of a module that has all of it.
import * as glue from "../dist/glue/full/keel_bg.js";
import { CLIENT, flat, HTTP1, SERVER } from "../web/seam.js";

export const imports = { "./keel_bg.js": glue };

/** The classes of an instance. */
export function classes({ exports }) {
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  const FlatHttp1 = flat(glue.FlatHttp1, HTTP1);
  FlatHttp1.target = (url) => new FlatHttp1().target(url);
  return { FlatClient: flat(glue.FlatClient, CLIENT), FlatServer: flat(glue.FlatServer, SERVER), FlatHttp1 };
}
