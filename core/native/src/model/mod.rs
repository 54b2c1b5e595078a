//! What travels: declarations, results, content. Payloads that nobody here needs to understand stay JSON text ([`Raw`]), so
//! numbers of any size and fields of later revisions survive.
mod content;
mod declared;
mod results;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};

pub use content::{Content, ResourceContents};
pub use declared::{Prompt, PromptArgument, Resource, ResourceTemplate, Root, Tool};
pub use results::{
    Completion, CompletionRequest, ElicitResult, Json, PromptMessage, PromptResult, Read, ReadResult, ToolResult,
};

/// JSON text, unparsed. `serde_json::from_str(raw.get())` reads it.
pub type Raw = Box<RawValue>;

/// JSON text of any value; what serde cannot write becomes `null`, which no place here accepts in silence.
pub(crate) fn raw(value: impl Serialize) -> Raw {
    to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Keeps `null` apart from absent.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw>, D::Error> {
    Raw::deserialize(deserializer).map(Some)
}
