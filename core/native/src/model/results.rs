//! What handlers take and give, and what clients get.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Content, Raw, ResourceContents, present, raw};
use crate::error::Error;

/// The result of a tool call. A tool that failed is a result too: `is_error`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// What the model reads.
    #[serde(default)]
    pub content: Vec<Content>,
    /// What programs read; fits the tool's output schema.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Raw>,
    /// The tool failed; the content says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
}

impl ToolResult {
    /// One text block.
    pub fn text_block(text: impl AsRef<str>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// Structured content, and the same as text for models that read only that.
    pub fn structured(value: impl Serialize) -> Self {
        let value = raw(value);
        Self { content: vec![Content::text(value.get())], structured_content: Some(value), ..Self::default() }
    }

    /// A failure that the model shall see.
    pub fn error(text: impl AsRef<str>) -> Self {
        Self { is_error: true, ..Self::text_block(text) }
    }

    /// Adds a content block.
    #[must_use]
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// All text blocks, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let mut texts = self.content.iter().filter_map(Content::as_text);
        // Not by `join`, which would copy the one that is usually all.
        let first = texts.next().unwrap_or_default();
        texts.fold(first, |mut all, text| {
            all.push('\n');
            all.push_str(&text);
            all
        })
    }

    /// The structured content as a type of yours.
    ///
    /// # Errors
    /// `Invalid` when there is none or it does not fit.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let raw = self.structured_content.as_ref().ok_or_else(|| Error::invalid("no structured content"))?;
        serde_json::from_str(raw.get()).map_err(Error::invalid)
    }
}

/// Returned by a tool: structured content.
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

/// A request to read a resource.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Read {
    /// The uri asked for.
    pub uri: String,
    /// Values of the template's variables.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

impl Read {
    /// The value of a template variable, empty when it has none.
    #[must_use]
    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }
}

/// What reading a resource gives.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReadResult {
    /// One or more contents.
    #[serde(default)]
    pub contents: Vec<ResourceContents>,
}

impl ReadResult {
    /// The text of the first content.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.contents.first()?.text.as_deref()
    }
}

/// The messages a prompt gives.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages.
    #[serde(default)]
    pub messages: Vec<PromptMessage>,
}

impl PromptResult {
    /// One message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { description: None, messages: vec![PromptMessage::user(content)] }
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: Content,
}

impl PromptMessage {
    /// The user says it.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: "user".into(), content: content.into() }
    }

    /// The assistant says it.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: "assistant".into(), content: content.into() }
    }
}

/// A request for completions of one argument.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct CompletionRequest {
    r#ref: Reference,
    argument: Argument,
    #[serde(default)]
    context: Filled,
}

#[derive(Debug, Clone, Deserialize)]
struct Reference {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Argument {
    name: String,
    value: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Filled {
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

impl CompletionRequest {
    /// The prompt's name, when it is about a prompt.
    #[must_use]
    pub fn prompt(&self) -> Option<&str> {
        self.r#ref.name.as_deref()
    }

    /// The uri template, when it is about a resource template.
    #[must_use]
    pub fn template(&self) -> Option<&str> {
        self.r#ref.uri.as_deref()
    }

    /// The argument to complete.
    #[must_use]
    pub fn argument(&self) -> &str {
        &self.argument.name
    }

    /// What the user has typed.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.argument.value
    }

    /// Arguments that are filled in already.
    #[must_use]
    pub fn arguments(&self) -> &BTreeMap<String, String> {
        &self.context.arguments
    }
}

/// Completions of one argument.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// At most 100 values.
    #[serde(default)]
    pub values: Vec<String>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than given here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

/// What the user did with a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    /// The form's values, when accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Raw>,
}

impl ElicitResult {
    /// Answered with these values.
    pub fn accept(content: impl Serialize) -> Self {
        Self { action: "accept".into(), content: Some(raw(content)) }
    }

    /// The user said no.
    #[must_use]
    pub fn decline() -> Self {
        Self { action: "decline".into(), content: None }
    }

    /// The user closed the question without an answer.
    #[must_use]
    pub fn cancel() -> Self {
        Self { action: "cancel".into(), content: None }
    }

    /// The form's values, `None` unless accepted.
    ///
    /// # Errors
    /// `Invalid` when they do not fit the type.
    pub fn accepted<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        if self.action != "accept" {
            return Ok(None);
        }
        let content = self.content.as_ref().map_or("{}", |content| content.get());
        serde_json::from_str(content).map(Some).map_err(Error::invalid)
    }
}
