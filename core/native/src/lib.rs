//! The Rust SDK of Keel on tokio.
