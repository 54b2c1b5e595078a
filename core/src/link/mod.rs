//! Links: a transport's raw material in, messages out, and back.
pub mod client_pipe;
