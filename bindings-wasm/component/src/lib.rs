//! The flat surface of the core as a WebAssembly component: the WIT package `keel:mcp`.
