//! The parameters of a request, looked through once.

use crate::json;
use crate::revision::wire;

/// The members that more than one rule asks for, as slices of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Params<'a> {
    /// The whole object; `{}` when there was none.
    pub(crate) text: &'a str,
    pub(crate) meta: Option<&'a str>,
    /// The version that the request names for itself, when it stands alone.
    pub(crate) own_version: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) uri: Option<&'a str>,
    pub(crate) arguments: Option<&'a str>,
    pub(crate) cursor: Option<&'a str>,
    pub(crate) state: Option<&'a str>,
    pub(crate) responses: Option<&'a str>,
}

impl<'a> Params<'a> {
    pub(crate) fn read(text: Option<&'a str>) -> Self {
        let text = text.unwrap_or("{}");
        let names = ["_meta", "name", "uri", "arguments", "cursor", "requestState", "inputResponses"];
        let [meta, name, uri, arguments, cursor, state, responses] = json::pick(text, names);
        let own_version = meta.and_then(wire::own_version);
        Self { text, meta, own_version, name, uri, arguments, cursor, state, responses }
    }

    /// The member that names what a method is about.
    pub(crate) fn target(&self, member: &str) -> Option<&'a str> {
        match member {
            "name" => self.name,
            "uri" => self.uri,
            other => json::get(self.text, other),
        }
    }
}
