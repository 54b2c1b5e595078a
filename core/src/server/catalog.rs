//! What a server offers: tools, resources, templates, prompts. Lists, look-up by name, and what changed between two of them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::arguments::Schema;
use super::template::Template;
use crate::error::{Error, RpcError, code};
use crate::json::{self, Object, Raw};
use crate::link::marks::{self, Mirrored};
use crate::revision::Revision;
use crate::revision::shape::{self, Of};

/// A snapshot of everything offered.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(crate) tools: Kind,
    pub(crate) resources: Kind,
    pub(crate) templates: Kind,
    pub(crate) prompts: Kind,
    patterns: Vec<(String, Template)>,
    /// What calls of a tool ask for again and again, by its name.
    compiled: BTreeMap<String, Compiled>,
}

/// A tool's schemas, made ready once.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) input: Schema,
    output: Option<Schema>,
    /// Arguments that HTTP clients repeat as headers.
    marks: Vec<Mirrored>,
}

/// Entries of one kind, in the order they were given (TOOL-002).
#[derive(Debug, Default)]
pub(crate) struct Kind {
    entries: Vec<Raw>,
    by_key: BTreeMap<String, usize>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Text {
    tools: Vec<Raw>,
    resources: Vec<Raw>,
    resource_templates: Vec<Raw>,
    prompts: Vec<Raw>,
}

impl Kind {
    fn read(entries: Vec<Raw>, key: &str, check: impl Fn(&str) -> Result<(), String>) -> Result<Self, Error> {
        let mut by_key = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let bad = |why: String| Error::usage("config_invalid", why);
            let name =
                json::get_string(entry, key).ok_or_else(|| bad(format!("an entry of the catalog lacks `{key}`")))?;
            check(entry).map_err(|why| bad(format!("`{name}`: {why}")))?;
            if by_key.insert(name.clone().into_owned(), at).is_some() {
                return Err(bad(format!("`{name}` is there twice")));
            }
        }
        // Entries go out on one line whatever the host's formatting was.
        let entries = entries.into_iter().map(|entry| Raw::trusted(json::one_line(&entry).into_owned())).collect();
        Ok(Self { entries, by_key })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.by_key.get(key).map(|at| &*self.entries[*at])
    }
}

fn need_name(entry: &str) -> Result<(), String> {
    json::get_string(entry, "name").map(|_| ()).ok_or_else(|| "`name` is missing".to_string())
}

fn check_tool(entry: &str) -> Result<(), String> {
    let schema = json::get(entry, "inputSchema").ok_or("`inputSchema` is missing")?;
    if json::get_string(schema, "type").as_deref() != Some("object") {
        return Err("`inputSchema` must have `type` \"object\" at its root".to_string());
    }
    match json::get(entry, "outputSchema") {
        Some(schema) if !json::is_object(schema) => Err("`outputSchema` must be an object".to_string()),
        _ => Ok(()),
    }
}

impl Catalog {
    /// Reads a catalog.
    ///
    /// # Errors
    /// `config_invalid`, naming the entry.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: String| Error::usage("config_invalid", why);
        let text: Text = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let mut patterns = Vec::new();
        for entry in &text.resource_templates {
            let uri = json::get_string(entry, "uriTemplate").unwrap_or_default();
            let pattern = Template::parse(&uri).ok_or_else(|| bad(format!("`{uri}` is no URI template")))?;
            patterns.push((uri.into_owned(), pattern));
        }
        let mut compiled = BTreeMap::new();
        for tool in &text.tools {
            let [name, input, output] = json::pick(tool, ["name", "inputSchema", "outputSchema"]);
            let name = name.and_then(json::string).unwrap_or_default();
            let input = input.unwrap_or("{}");
            let marks = marks::marks(input).map_err(|why| bad(format!("`{name}`: {why}")))?;
            let (input, output) = (Schema::compile(input), output.map(Schema::compile));
            compiled.insert(name.into_owned(), Compiled { input, output, marks });
        }
        Ok(Self {
            tools: Kind::read(text.tools, "name", check_tool)?,
            resources: Kind::read(text.resources, "uri", need_name)?,
            templates: Kind::read(text.resource_templates, "uriTemplate", need_name)?,
            prompts: Kind::read(text.prompts, "name", need_name)?,
            patterns,
            compiled,
        })
    }

    /// One page of the list that `key` names, as `revision` writes its entries.
    pub(crate) fn page(
        &self,
        key: &str,
        cursor: Option<&str>,
        size: usize,
        revision: Revision,
    ) -> Result<String, RpcError> {
        let kind = match key {
            "tools" => &self.tools,
            "resources" => &self.resources,
            "resourceTemplates" => &self.templates,
            _ => &self.prompts,
        };
        let start = match cursor {
            None => 0,
            Some(cursor) => position(key, cursor)
                .filter(|at| *at < kind.entries.len())
                .ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "the cursor is not one of ours"))?,
        };
        let end = if size == 0 { kind.entries.len() } else { kind.entries.len().min(start + size) };
        let entries: Vec<_> = kind.entries[start..end]
            .iter()
            .map(|entry| match key {
                "tools" => shape::tool(entry, revision),
                "prompts" => shape::object(Of::Prompt, entry, revision),
                _ => shape::object(Of::Resource, entry, revision),
            })
            .collect();
        let page = Object::new().raw(key, &json::array(entries.iter().map(AsRef::as_ref)));
        if end < kind.entries.len() {
            return Ok(page.string("nextCursor", &URL_SAFE_NO_PAD.encode(format!("{key}:{end}"))).finish());
        }
        Ok(page.finish())
    }

    /// The handler key and the input for a resource; nothing when no entry fits (exact ones go first).
    pub(crate) fn resource(&self, uri: &str) -> Option<(String, String)> {
        let input = Object::new().string("uri", uri);
        if self.resources.get(uri).is_some() {
            return Some((format!("resources/read {uri}"), input.raw("variables", "{}").finish()));
        }
        let (template, values) = self.patterns.iter().find_map(|(text, pattern)| Some((text, pattern.fit(uri)?)))?;
        let variables = values.iter().fold(Object::new(), |out, (name, value)| out.string(name, value)).finish();
        Some((format!("resources/read {template}"), input.raw("variables", &variables).finish()))
    }

    /// The kinds that have entries, as capabilities name them.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let resources = !self.resources.is_empty() || !self.templates.is_empty();
        let kinds =
            [(!self.tools.is_empty(), "tools"), (resources, "resources"), (!self.prompts.is_empty(), "prompts")];
        kinds.into_iter().filter(|(some, _)| *some).map(|(_, kind)| kind)
    }

    /// A tool's schemas; nothing when there is no such tool.
    pub(crate) fn tool(&self, name: &str) -> Option<&Compiled> {
        self.compiled.get(name)
    }

    /// The arguments of a tool that HTTP clients repeat as headers.
    pub(crate) fn marks(&self, tool: &str) -> &[Mirrored] {
        self.tool(tool).map(|tool| tool.marks.as_slice()).unwrap_or_default()
    }

    /// What is wrong with the structured content of a tool's result (TOOL-010); an error needs none.
    pub(crate) fn output_fault(&self, tool: &str, result: &str) -> Option<String> {
        let schema = self.tool(tool)?.output.as_ref()?;
        let [value, failed] = json::pick(result, ["structuredContent", "isError"]);
        if failed == Some("true") {
            return None;
        }
        match value {
            None => Some("the tool has an output schema, but its result has no `structuredContent`".to_string()),
            Some(value) => schema.check(value),
        }
    }

    /// The kinds whose entries differ: the words of the list-changed notifications.
    pub(crate) fn changed(&self, other: &Self) -> Vec<&'static str> {
        let mut changed = Vec::new();
        if self.tools.entries != other.tools.entries {
            changed.push("tools");
        }
        if self.resources.entries != other.resources.entries || self.templates.entries != other.templates.entries {
            changed.push("resources");
        }
        if self.prompts.entries != other.prompts.entries {
            changed.push("prompts");
        }
        changed
    }

    /// The parameters of a prompt that must be given but are not among `arguments`.
    pub(crate) fn missing_argument(&self, prompt: &str, arguments: &str) -> Option<String> {
        let declared = json::get(self.prompts.get(prompt)?, "arguments")?;
        json::elements(declared)
            .filter(|argument| json::get(argument, "required") == Some("true"))
            .filter_map(|argument| json::get_string(argument, "name"))
            .find(|name| json::get(arguments, name).is_none())
            .map(alloc::borrow::Cow::into_owned)
    }
}

fn position(key: &str, cursor: &str) -> Option<usize> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix(key)?.strip_prefix(':')?.parse().ok()
}
