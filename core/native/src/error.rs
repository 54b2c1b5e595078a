//! Why something did not work: ours, theirs, or the link's.
use std::fmt;

use mcp_keel_core::flat::FlatError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::Raw;

/// Why an operation did not succeed. [`code`](Self::code) is stable; messages are for people.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The other side answered with a JSON-RPC error.
    Peer {
        /// JSON-RPC error code.
        code: i64,
        /// What the peer wrote.
        message: String,
        /// What the peer added.
        data: Option<Raw>,
    },
    /// The answer did not come in time.
    Timeout(String),
    /// We cancelled it.
    Cancelled(String),
    /// The link is gone; the message says why (exit code and last stderr lines of a child process).
    Disconnected(String),
    /// It cannot be done in this state, or with this peer. Nothing was sent.
    Usage {
        /// Stable word.
        code: String,
        /// What is wrong.
        message: String,
    },
    /// Data that is not what it has to be: a peer's answer, or arguments of ours.
    Invalid {
        /// Stable word.
        code: String,
        /// What is wrong.
        message: String,
    },
    /// A limit was reached.
    Limit {
        /// Stable word.
        code: String,
        /// Which one.
        message: String,
    },
}

impl Error {
    /// A stable word for this error.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Peer { .. } => "peer_error",
            Self::Timeout(_) => "timeout",
            Self::Cancelled(_) => "cancelled",
            Self::Disconnected(_) => "disconnected",
            Self::Usage { code, .. } | Self::Invalid { code, .. } | Self::Limit { code, .. } => code,
        }
    }

    pub(crate) fn invalid(error: impl fmt::Display) -> Self {
        Self::Invalid { code: "invalid".into(), message: error.to_string() }
    }

    pub(crate) fn io(error: impl fmt::Display) -> Self {
        Self::Disconnected(error.to_string())
    }

    /// From the text of an `error` record.
    pub(crate) fn parse(text: &str) -> Self {
        let Ok(wire) = serde_json::from_str::<Wire>(text) else {
            return Self::Invalid { code: "invalid".into(), message: text.into() };
        };
        let Wire { kind, code, message, rpc } = wire;
        match (kind.as_str(), rpc) {
            ("peer", Some(rpc)) => rpc.into(),
            ("timeout", _) => Self::Timeout(message),
            ("cancelled", _) => Self::Cancelled(message),
            ("disconnected", _) => Self::Disconnected(message),
            ("usage", _) => Self::Usage { code, message },
            ("limit", _) => Self::Limit { code, message },
            _ => Self::Invalid { code, message },
        }
    }

    /// From a `closed` record.
    pub(crate) fn closed(code: &str, message: String) -> Self {
        match code {
            "timeout" => Self::Timeout(message),
            "cancelled" => Self::Cancelled(message),
            _ => Self::Disconnected(message),
        }
    }
}

#[derive(Deserialize)]
struct Wire {
    kind: String,
    code: String,
    message: String,
    #[serde(default)]
    rpc: Option<McpError>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer { code, message, .. } => write!(f, "{message} ({code})"),
            Self::Timeout(message) | Self::Cancelled(message) | Self::Disconnected(message) => f.write_str(message),
            Self::Usage { message, .. } | Self::Invalid { message, .. } | Self::Limit { message, .. } => {
                f.write_str(message)
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<FlatError> for Error {
    fn from(error: FlatError) -> Self {
        match error.code {
            "closed" => Self::Disconnected(error.message),
            code => Self::Usage { code: code.into(), message: error.message },
        }
    }
}

impl From<McpError> for Error {
    fn from(error: McpError) -> Self {
        Self::Peer { code: error.code, message: error.message, data: error.data }
    }
}

/// A JSON-RPC error. Returned by a handler it reaches the peer as such, while any other error of a tool becomes a result
/// with `isError`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct McpError {
    /// JSON-RPC error code, -32602 for arguments that make no sense.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// Anything more, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Raw>,
}

impl McpError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// -32602: the arguments make no sense.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// -32603: something failed that is no business of the peer.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    /// Adds data; what cannot be written as JSON is left out.
    #[must_use]
    pub fn with_data(mut self, data: impl Serialize) -> Self {
        self.data = serde_json::value::to_raw_value(&data).ok();
        self
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for McpError {}

impl From<Error> for McpError {
    fn from(error: Error) -> Self {
        match error {
            Error::Peer { code, message, data } => Self { code, message, data },
            other => Self::internal(other.to_string()),
        }
    }
}

/// `{"result":…}` or `{"error":{…}}`, as handlers and inputs are answered.
#[derive(Deserialize)]
pub(crate) struct Outcome {
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<McpError>,
}

impl Outcome {
    pub(crate) fn parse(text: &str) -> Result<Raw, Error> {
        match serde_json::from_str(text).map_err(Error::invalid)? {
            Self { error: Some(error), .. } => Err(error.into()),
            Self { result: Some(result), .. } => Ok(result),
            Self { .. } => Err(Error::invalid("neither a result nor an error")),
        }
    }

    pub(crate) fn text<T: Serialize>(outcome: Result<T, McpError>) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "lowercase")]
        enum Out<T> {
            Result(T),
            Error(McpError),
        }
        let out = match outcome {
            Ok(result) => Out::Result(result),
            Err(error) => Out::Error(error),
        };
        serde_json::to_string(&out).unwrap_or_else(|error| {
            Self::text::<()>(Err(McpError::internal(format!("the result is not JSON: {error}"))))
        })
    }
}
