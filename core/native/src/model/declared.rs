//! What a server offers, as it declares it and as a client lists it.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Raw, raw};

/// A tool. Fields that are not named here are in `extra`, under the specification's names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// Name, unique in one server.
    pub name: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Raw,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Raw>,
    /// Everything else: `annotations`, `icons`, `_meta`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Tool {
    /// A tool that takes any object.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: raw(json!({"type": "object"})),
            output_schema: None,
            extra: Map::new(),
        }
    }

    /// Sets the name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says what it does.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the JSON Schema of the arguments. Types, required members, choices, bounds, branches and references are checked
    /// before your function runs; other keywords (patterns, formats, lengths) are not yet.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Serialize) -> Self {
        self.input_schema = raw(schema);
        self
    }

    /// Sets the JSON Schema of the structured result.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Serialize) -> Self {
        self.output_schema = Some(raw(schema));
        self
    }

    /// Takes the JSON Schema of the arguments from a type.
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn input<T: schemars::JsonSchema>(self) -> Self {
        self.input_schema(schemars::schema_for!(T))
    }

    /// Takes the JSON Schema of the structured result from a type.
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn output<T: schemars::JsonSchema>(self) -> Self {
        self.output_schema(schemars::schema_for!(T))
    }

    /// Sets any other field, under the specification's name.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(field.into(), value.into());
        self
    }
}

/// A resource under a fixed uri.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// Where it is.
    pub uri: String,
    /// Name for programs.
    pub name: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Everything else: `annotations`, `icons`, `size`, `_meta`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Resources under a pattern of uris.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// RFC 6570 template.
    pub uri_template: String,
    /// Name for programs.
    pub name: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Media type of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Everything else: `annotations`, `icons`, `_meta`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// Name, unique in one server.
    pub name: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
    /// Everything else: `icons`, `_meta`.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An argument of a prompt; its value is a string.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgument {
    /// Name.
    pub name: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it has to be given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// A folder or other place that a client lets a server work in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Root {
    /// Where it is, usually `file://…`.
    pub uri: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// A root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }
}

impl Resource {
    /// A resource at `uri`.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        let (uri, name) = (uri.into(), name.into());
        Self { uri, name, title: None, description: None, mime_type: None, extra: Map::new() }
    }
}

impl ResourceTemplate {
    /// Resources whose uri fits `uri_template`.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        let (uri_template, name) = (uri_template.into(), name.into());
        Self { uri_template, name, title: None, description: None, mime_type: None, extra: Map::new() }
    }
}

impl Prompt {
    /// A prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None, description: None, arguments: Vec::new(), extra: Map::new() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }
}

impl PromptArgument {
    /// An argument that may be left out.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, required: false }
    }

    /// Says what it is.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Has to be given.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// The setters that resources, templates and prompts share.
macro_rules! described {
    ($($type:ident),*) => {$(
        impl $type {
            /// Sets the name for people.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.title = Some(title.into());
                self
            }

            /// Says what it is.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.description = Some(description.into());
                self
            }

            /// Sets any other field, under the specification's name.
            #[must_use]
            pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
                self.extra.insert(field.into(), value.into());
                self
            }
        }
    )*};
}
described!(Resource, ResourceTemplate, Prompt);

macro_rules! typed {
    ($($type:ident),*) => {$(
        impl $type {
            /// Sets the media type.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.mime_type = Some(mime_type.into());
                self
            }
        }
    )*};
}
typed!(Resource, ResourceTemplate);
