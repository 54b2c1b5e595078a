//! Node addon: the flat surface of the core as three classes. Bytes and text go in, records come out;
//! everything that waits, and everything users see, is TypeScript.

mod client;
mod http1;
mod memory;
mod pipe;
mod seam;
mod server;
