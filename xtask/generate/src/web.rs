//! `web IN OUT`: the JavaScript around the module for browsers and edge runtimes.
use std::path::Path;

use wasm_bindgen_cli_support::Bindgen;

use crate::Result;

/// Writes `keel.js`, `keel.d.ts` and `keel_bg.wasm`, the module without names, into the folder `output`.
pub(crate) fn run(input: &Path, output: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).out_name("keel").typescript(true);
    bindgen.remove_producers_section(true).remove_name_section(true);
    // The entry points find the module; glue that does too would make every bundler copy it.
    bindgen.omit_default_module_path(true);
    bindgen.web(true)?.generate(output)?;
    Ok(())
}
