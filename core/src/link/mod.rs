//! Links: from a transport's raw material to messages and back, still without I/O. All decisions of HTTP are here.

pub mod client_http;
pub mod client_pipe;
mod cors;
pub mod headers;
pub mod http1;
pub mod lines;
pub(crate) mod marks;
pub mod server;
mod server_http;
pub mod sse;
