//! The error taxonomy: whose fault it was, a stable word for it, and the JSON-RPC codes on the wire.

use alloc::string::{String, ToString};
use core::fmt;

use crate::json::{self, Object, Raw};
use crate::words;

/// JSON-RPC codes that the protocol uses.
pub mod code {
    /// Unparseable JSON (ERR-001).
    pub const PARSE: i32 = -32700;
    /// A structurally invalid message (ERR-002).
    pub const INVALID_REQUEST: i32 = -32600;
    /// A method that is not there (ERR-003).
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// Bad parameters (ERR-005).
    pub const INVALID_PARAMS: i32 = -32602;
    /// We failed (ERR-006).
    pub const INTERNAL: i32 = -32603;
    /// A mirrored header differs from the body (ERR-011).
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The client did not declare what the request needs (ERR-012).
    pub const MISSING_CAPABILITY: i32 = -32021;
    /// The version asked for is not served (ERR-013).
    pub const UNSUPPORTED_VERSION: i32 = -32022;
    /// A resource that is not there, as the handshake revisions say it (RES-006).
    pub const RESOURCE_NOT_FOUND: i32 = -32002;
}

/// Every stable word that an error, a violation or a fault can carry.
pub const CODES: &[&str] = &[
    "already_started",
    "cancelled",
    "closed",
    "config_invalid",
    "disconnected",
    "header_mismatch",
    "http_malformed",
    "http_status",
    "http_truncated",
    "input_failed",
    "input_rounds",
    "internal_error",
    "invalid_message",
    "invalid_result",
    "json_duplicate",
    "json_nesting",
    "json_number_range",
    "json_surrogate",
    "json_syntax",
    "json_utf8",
    "message_too_big",
    "opening_failed",
    "peer_error",
    "queue_full",
    "repeated_cursor",
    "result_type_unknown",
    "stray_output",
    "timeout",
    "too_many_calls",
    "unexpected_message",
    "unknown_call",
    "unknown_response",
    "unknown_stream",
    "unknown_token",
    "unsupported",
    "usage",
    "version_unsupported",
];

/// An error as it stands on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// The JSON-RPC code.
    pub code: i64,
    /// A sentence.
    pub message: String,
    /// Anything more, as JSON.
    pub data: Option<Raw>,
}

impl RpcError {
    /// An error without data.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code: i64::from(code), message: message.into(), data: None }
    }

    /// The same with data, which is JSON text.
    #[must_use]
    pub fn with_data(self, data: impl Into<String>) -> Self {
        Self { data: Some(Raw::trusted(data)), ..self }
    }

    /// The error object of checked text (RPC-011); nothing when it is none.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let [code, message, data] = json::pick(text, ["code", "message", "data"]);
        Some(Self {
            code: json::integer(code?)?,
            message: json::string(message?)?.into_owned(),
            data: data.map(Raw::trusted),
        })
    }

    /// The error object as JSON.
    #[must_use]
    pub fn write(&self) -> String {
        let object = Object::new().raw("code", &words::integer(self.code)).string("message", &self.message);
        object.maybe("data", self.data.as_deref()).finish()
    }
}

/// Why a command of ours did nothing, or how a request ended otherwise than by a result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Our caller's mistake: wrong state, unknown number, not supported by the revision or the capabilities.
    Usage {
        /// The stable word.
        code: &'static str,
        /// A sentence.
        message: String,
    },
    /// The other side answered with an error.
    Peer(RpcError),
    /// The other side broke the protocol in its answer.
    Invalid {
        /// The stable word.
        code: &'static str,
        /// A sentence.
        message: String,
    },
    /// No answer in time.
    Timeout,
    /// Ended by our caller.
    Cancelled,
    /// The connection went away; in words, why.
    Disconnected(String),
    /// A bound of [`crate::limits::Limits`] was reached.
    Limit {
        /// The stable word.
        code: &'static str,
        /// A sentence.
        message: String,
    },
}

impl Error {
    /// A mistake of our caller.
    #[must_use]
    pub fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::Usage { code, message: message.into() }
    }

    /// A broken answer.
    #[must_use]
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { code, message: message.into() }
    }

    /// A mistake of our caller, in the parts of a sentence.
    pub(crate) fn refused(code: &'static str, message: &[&str]) -> Self {
        Self::Usage { code, message: words::join(message) }
    }

    /// A broken answer, in the parts of a sentence.
    pub(crate) fn broken(code: &'static str, message: &[&str]) -> Self {
        Self::Invalid { code, message: words::join(message) }
    }

    /// A bound that was reached, in the parts of a sentence.
    pub(crate) fn bound(code: &'static str, message: &[&str]) -> Self {
        Self::Limit { code, message: words::join(message) }
    }

    /// The stable word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Usage { code, .. } | Self::Invalid { code, .. } | Self::Limit { code, .. } => code,
            Self::Peer(_) => "peer_error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Disconnected(_) => "disconnected",
        }
    }

    /// Whose fault, in one word: the class that each language maps to its own error type.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "usage",
            Self::Peer(_) => "peer",
            Self::Invalid { .. } => "invalid",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Disconnected(_) => "disconnected",
            Self::Limit { .. } => "limit",
        }
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Usage { message, .. } | Self::Invalid { message, .. } | Self::Limit { message, .. } => {
                message.to_string()
            }
            Self::Peer(error) => error.message.to_string(),
            Self::Timeout => "no answer in time".to_string(),
            Self::Cancelled => "the request was cancelled".to_string(),
            Self::Disconnected(why) if why.is_empty() => "the connection was closed".to_string(),
            Self::Disconnected(why) => words::join(&["the connection was closed: ", why]),
        }
    }

    /// The error as hosts get it: `{"kind","code","message","rpc"?}`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let object = Object::new().string("kind", self.kind()).string("code", self.code());
        let object = object.string("message", &self.message());
        match self {
            Self::Peer(error) => object.raw("rpc", &error.write()).finish(),
            _ => object.finish(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl core::error::Error for Error {}
