//! The flat surface of the core for JavaScript engines, as a WebAssembly module.
//!
//! Three classes; bytes and text go in, records come out as one array. A panic is a trap here: the TypeScript around
//! this module turns it into an error, and the object into one that refuses further use.
#![cfg(target_family = "wasm")]

mod client;
mod http1;
mod seam;
mod server;
