//! The one surface that every binding wraps.
mod client;
mod config;
mod http1;
mod server;

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Error;
use crate::time::Millis;

pub use client::FlatClient;
pub use http1::FlatHttp1;
pub use server::FlatServer;

/// One thing for the host to do or to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is: one of the words in the tables above.
    pub kind: &'static str,
    /// Stream number, 0 when unused.
    pub stream: u64,
    /// Call, handle, token or status, 0 when unused.
    pub id: u64,
    /// Method, key or code, empty when unused.
    pub name: String,
    /// Payload: JSON or plain text; wire bytes for `write` and `body`.
    pub text: Vec<u8>,
    /// Deadline of `wait`; 1 on the last `body`.
    pub until: u64,
}

impl Record {
    pub(super) const fn new(kind: &'static str, stream: u64) -> Self {
        Self { kind, stream, id: 0, name: String::new(), text: Vec::new(), until: 0 }
    }

    pub(super) fn wait(deadline: Option<Millis>) -> Self {
        Self { until: deadline.map_or(0, |at| at.0), ..Self::new("wait", 0) }
    }

    /// Whether `text` is to be handed to the host as bytes rather than as a string.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        matches!(self.kind, "write" | "body")
    }
}

/// How `trace` names the way of a message.
const fn direction(sent: bool) -> &'static str {
    if sent { ">" } else { "<" }
}

/// Why a call did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatError {
    /// Stable word.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl FlatError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<Error> for FlatError {
    fn from(error: Error) -> Self {
        Self { code: error.code(), message: error.message() }
    }
}

/// What every method returns.
pub type Records = Result<Vec<Record>, FlatError>;
