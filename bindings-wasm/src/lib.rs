//! The flat surface of the core for JavaScript engines, as a WebAssembly module.
#![cfg(target_family = "wasm")]
