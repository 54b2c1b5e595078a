//! Arguments of tools that are repeated as HTTP headers: which tools ask for it, and what a call then says.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Client;
use crate::json::{self, Object};
use crate::link::marks;

/// Tools whose headers are remembered.
const TOOLS: usize = 10_000;

impl Client {
    fn mirrors(&self) -> bool {
        self.config.own_streams && self.revision.mirrors_headers()
    }

    /// Takes note of the tools in a list, and leaves those out whose marks are wrong.
    pub(super) fn note_tools<'a>(&mut self, result: &'a str) -> Cow<'a, str> {
        if !self.mirrors() {
            return Cow::Borrowed(result);
        }
        let mut kept = Vec::new();
        let mut dropped = false;
        for tool in json::elements(json::get(result, "tools").unwrap_or("[]")) {
            let [name, schema] = json::pick(tool, ["name", "inputSchema"]);
            let name = name.and_then(json::string).unwrap_or_default();
            match marks::marks(schema.unwrap_or("{}")) {
                Ok(marks) => {
                    kept.push(tool);
                    self.mirrored.remove(&*name);
                    if !marks.is_empty() && self.mirrored.len() < TOOLS {
                        self.mirrored.insert(name.into_owned(), marks);
                    }
                }
                Err(why) => {
                    dropped = true;
                    self.violation("invalid_result", &["the tool `", &name, "` is left out: ", &why]);
                }
            }
        }
        if !dropped {
            return Cow::Borrowed(result);
        }
        let tools = json::array(kept);
        let members = json::members(result);
        let out = Object::with_capacity(result.len());
        let written = members.fold(out, |out, (name, value)| {
            let value = if name == "tools" { &tools } else { value };
            out.raw(&name, value)
        });
        Cow::Owned(written.finish())
    }

    /// The ends of the headers' names, and their values, for a call with these parameters.
    pub(super) fn mirrored_arguments(&self, method: &str, params: Option<&str>) -> Vec<(String, String)> {
        if method != "tools/call" || self.mirrored.is_empty() || !self.mirrors() {
            return Vec::new();
        }
        let [name, arguments] = json::pick(params.unwrap_or("{}"), ["name", "arguments"]);
        let name = name.and_then(json::string).unwrap_or_default();
        let marks = self.mirrored.get(&*name).map(Vec::as_slice).unwrap_or_default();
        let Some(arguments) = arguments else { return Vec::new() };
        marks.iter().filter_map(|mark| Some((mark.name().to_string(), mark.value(arguments)?))).collect()
    }
}
