//! Node addon: the flat surface of the core as three classes. Bytes and text go in, records come out;
//! everything that waits, and everything users see, is TypeScript.

// The macro of napi makes functions and modules that no one names.
#![allow(missing_docs, unreachable_pub, clippy::use_self, clippy::trailing_empty_array)]

mod client;
mod http1;
mod seam;
mod server;
