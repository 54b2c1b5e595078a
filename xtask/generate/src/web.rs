//! `web IN OUT`: the JavaScript around the module for browsers and edge runtimes. It is made as for bundlers, which load
//! modules themselves: how ours is loaded is written in `web/engine.ts`.
use std::path::Path;

use wasm_bindgen_cli_support::Bindgen;

use crate::Result;

/// Writes `keel_bg.js` and `keel_bg.wasm`, the module, into the folder `output`.
pub(crate) fn run(input: &Path, output: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).out_name("keel").typescript(false);
    // Names order the functions: as the compiler has them, what belongs together has the same beginning.
    bindgen.remove_producers_section(true).demangle(false);
    bindgen.bundler(true)?.generate(output)?;
    Ok(())
}
