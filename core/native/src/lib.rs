//! Model Context Protocol servers and clients for Rust, on tokio.
//!
//! The protocol itself (messages, revisions, both eras, limits, HTTP rules) lives in the pure crate `mcp_keel_core`;
//! this crate moves bytes for it: pipes, child processes, HTTP, timers, and your async functions.
//!
//! ```
//! use mcp_keel::{Client, Options, Server, Tool, serde_json::json};
//! # #[derive(serde::Deserialize)] struct Greet { name: String }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder("hello", "1.0")
//!     .tool(
//!         Tool::new("greet").input_schema(json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})),
//!         |args: Greet, _ctx| async move { format!("Hello, {}!", args.name) },
//!     )
//!     .build()?;
//! let client = Client::connect(&server, Options::new()).await?;
//! assert_eq!(client.call_tool("greet", json!({"name": "Ada"})).await?.text(), "Hello, Ada!");
//! client.close().await;
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

mod client;
mod clock;
mod error;
mod model;
mod outbox;
mod server;
mod signal;
mod timer;
mod trace;

pub use client::{
    Call, Client, Command, ElicitRequest, Era, Listen, Mode, Notice, Options, Progress, Ready, Request, Target,
    ToolRequest,
};
pub use error::{Error, McpError};
pub use mcp_keel_core as core;
pub use model::{
    Completion, CompletionRequest, Content, ElicitResult, Json, Prompt, PromptArgument, PromptMessage, PromptResult,
    Raw, Read, ReadResult, Resource, ResourceContents, ResourceTemplate, Root, Tool, ToolResult,
};
pub use serde_json;
pub use server::{
    AnswerBody, Builder, CallInfo, Catalog, Connection, Context, HttpServer, IntoCompletion, IntoPromptResult,
    IntoReadResult, IntoToolResult, Level, Server,
};

pub use trace::Direction;

/// What the methods of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;
