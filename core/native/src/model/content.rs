//! Content blocks and resource contents.
use std::borrow::Cow;

use mcp_keel_core::json as text;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Raw, raw};

/// One content block: text, image, audio, resource link, embedded resource, or a kind of a later revision.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content(Raw);

impl Content {
    /// A text block.
    pub fn text(text: impl AsRef<str>) -> Self {
        #[derive(Serialize)]
        struct Text<'a> {
            r#type: &'static str,
            text: &'a str,
        }
        Self(raw(Text { r#type: "text", text: text.as_ref() }))
    }

    /// An image; `data` is base64.
    pub fn image(data: impl AsRef<str>, mime_type: impl AsRef<str>) -> Self {
        Self(raw(json!({"type": "image", "data": data.as_ref(), "mimeType": mime_type.as_ref()})))
    }

    /// Audio; `data` is base64.
    pub fn audio(data: impl AsRef<str>, mime_type: impl AsRef<str>) -> Self {
        Self(raw(json!({"type": "audio", "data": data.as_ref(), "mimeType": mime_type.as_ref()})))
    }

    /// A link to a resource.
    pub fn link(uri: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self(raw(json!({"type": "resource_link", "uri": uri.as_ref(), "name": name.as_ref()})))
    }

    /// A resource inside the answer.
    #[must_use]
    pub fn resource(contents: &ResourceContents) -> Self {
        Self(raw(json!({"type": "resource", "resource": contents})))
    }

    /// Any block, as the specification spells it.
    pub fn new(block: impl Serialize) -> Self {
        Self(raw(block))
    }

    /// The block's `type`, empty when it has none.
    #[must_use]
    pub fn kind(&self) -> String {
        #[derive(Deserialize)]
        struct Kind {
            r#type: String,
        }
        self.parse::<Kind>().map(|kind| kind.r#type).unwrap_or_default()
    }

    /// The text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        // Not by serde, which would have a long text twice while it undoes its escapes.
        let [kind, found] = text::pick(self.json(), ["type", "text"]);
        kind.and_then(text::string).filter(|kind| kind == "text")?;
        found.and_then(text::string).map(Cow::into_owned)
    }

    /// Reads the block into a type of yours.
    ///
    /// # Errors
    /// When the block does not fit that type.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// The block as JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// What a resource holds: text, or base64 data.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// Which resource. Left empty by a handler, it is the one that was asked for.
    pub uri: String,
    /// Media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Raw>,
}

impl ResourceContents {
    /// Text of the resource that was asked for.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Base64 data of the resource that was asked for.
    pub fn blob(base64: impl Into<String>) -> Self {
        Self { blob: Some(base64.into()), ..Self::default() }
    }

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the uri.
    #[must_use]
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = uri.into();
        self
    }
}
