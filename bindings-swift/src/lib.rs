//! The flat surface of the core for Kotlin and Swift: three objects, each behind a lock. Bytes and text go in, records come
//! out; everything that waits, and everything users see, is Kotlin or Swift.

mod client;
mod http1;
mod seam;
mod server;

pub use client::FlatClient;
pub use http1::{FlatHttp1, http_target};
pub use seam::{FlatError, FlatRecord};
pub use server::FlatServer;

uniffi::setup_scaffolding!();
