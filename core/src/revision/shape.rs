//! Which fields and values exist since when: neutral (newest) values written for older revisions. One row a field.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Revision;
use super::Revision::{V2025_03_26 as B, V2025_06_18 as C, V2025_11_25 as D, V2026_07_28 as E};
use crate::json::{self, Object};

/// What kind of object a row speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Tool,
    Prompt,
    Resource,
    Implementation,
    ToolResult,
    Content,
    Contents,
    Cacheable,
}

/// Fields that older revisions do not have; they are left out there.
const FIELDS: &[(Of, &str, Revision)] = &[
    (Of::Tool, "title", C),
    (Of::Tool, "icons", D),
    (Of::Tool, "annotations", B),
    (Of::Tool, "outputSchema", C),
    (Of::Tool, "_meta", C),
    (Of::Prompt, "title", C),
    (Of::Prompt, "icons", D),
    (Of::Prompt, "_meta", C),
    (Of::Resource, "title", C),
    (Of::Resource, "icons", D),
    (Of::Resource, "_meta", C),
    (Of::Implementation, "title", C),
    (Of::Implementation, "icons", D),
    (Of::Implementation, "description", D),
    (Of::Implementation, "websiteUrl", D),
    (Of::ToolResult, "structuredContent", C),
    (Of::ToolResult, "resultType", E),
    (Of::Content, "_meta", C),
    (Of::Contents, "_meta", C),
    (Of::Cacheable, "resultType", E),
    (Of::Cacheable, "ttlMs", E),
    (Of::Cacheable, "cacheScope", E),
];

/// Kinds of content that older revisions do not have; there they become text.
const CONTENT: &[(&str, Revision)] = &[("audio", B), ("resource_link", C)];

/// From here on content is the same as in the newest revision: long ones need not be looked through.
const PLAIN: Revision = C;

/// `object` without the named members.
pub(crate) fn without<'a>(object: &'a str, names: &[&str]) -> Cow<'a, str> {
    if !json::members(object).any(|(name, _)| names.contains(&&*name)) {
        return Cow::Borrowed(object);
    }
    let kept = json::members(object).filter(|(name, _)| !names.contains(&&**name));
    Cow::Owned(kept.fold(Object::with_capacity(object.len()), |out, (name, value)| out.raw(&name, value)).finish())
}

/// One object without the fields that `revision` does not have.
pub(crate) fn object(of: Of, text: &str, revision: Revision) -> Cow<'_, str> {
    let names: Vec<_> = FIELDS.iter().filter(|row| row.0 == of && revision < row.2).map(|row| row.1).collect();
    if names.is_empty() { Cow::Borrowed(text) } else { without(text, &names) }
}

/// A tool as `revision` lists it: an output schema whose root is no object exists only in the newest (TOOL-008).
pub(crate) fn tool(text: &str, revision: Revision) -> Cow<'_, str> {
    let mut shaped = object(Of::Tool, text, revision);
    if revision >= E {
        return shaped;
    }
    let root = json::get(&shaped, "outputSchema").and_then(|schema| json::get_string(schema, "type"));
    if root.as_deref() != Some("object") {
        shaped = Cow::Owned(without(&shaped, &["outputSchema"]).into_owned());
    }
    for member in ["inputSchema", "outputSchema"] {
        if let Some(written) = plain_properties(&shaped, member) {
            shaped = Cow::Owned(written);
        }
    }
    shaped
}

/// Properties as the handshake revisions want them: schemas that are objects (TOOL-005).
fn plain_properties(tool: &str, member: &str) -> Option<String> {
    let schema = json::get(tool, member)?;
    let properties = json::get(schema, "properties")?;
    if !json::members(properties).any(|(_, property)| matches!(property, "true" | "false")) {
        return None;
    }
    let written = json::members(properties).fold(Object::new(), |out, (name, property)| {
        let property = match property {
            "true" => "{}",
            "false" => r#"{"not":{}}"#,
            other => other,
        };
        out.raw(&name, property)
    });
    Some(replace(tool, member, &replace(schema, "properties", &written.finish())))
}

/// The result of `method` as `revision` knows it.
pub(crate) fn result<'a>(method: &str, text: &'a str, revision: Revision) -> Cow<'a, str> {
    match method {
        "tools/call" => tool_result(text, revision),
        "prompts/get" if revision >= PLAIN => Cow::Borrowed(text),
        "resources/read" if revision >= PLAIN => object(Of::Cacheable, text, revision),
        "prompts/get" => each(text, "messages", |message| {
            let content = json::get(message, "content").unwrap_or("null");
            replace(message, "content", &block(content, revision))
        }),
        "resources/read" => {
            let text = object(Of::Cacheable, text, revision);
            Cow::Owned(each(&text, "contents", |item| object(Of::Contents, item, revision).into_owned()).into_owned())
        }
        _ => object(Of::Cacheable, text, revision),
    }
}

fn tool_result(text: &str, revision: Revision) -> Cow<'_, str> {
    let shaped = object(Of::ToolResult, text, revision);
    let value = json::get(&shaped, "structuredContent");
    // Only the newest revision has structured values other than objects (TOOL-012).
    let shaped = match value {
        Some(value) if !json::is_object(value) => Cow::Owned(without(&shaped, &["structuredContent"]).into_owned()),
        _ => shaped,
    };
    if revision >= PLAIN {
        return shaped;
    }
    Cow::Owned(each(&shaped, "content", |content| block(content, revision)).into_owned())
}

/// One block of content; a kind that the revision lacks becomes text that says what it was.
fn block(content: &str, revision: Revision) -> String {
    let kind = json::get_string(content, "type");
    let unknown = CONTENT.iter().any(|(name, since)| kind.as_deref() == Some(name) && revision < *since);
    if !unknown {
        return object(Of::Content, content, revision).into_owned();
    }
    let [name, uri, media] = json::pick(content, ["name", "uri", "mimeType"]).map(|value| value.and_then(json::string));
    let text = match (uri, media) {
        (Some(uri), _) => format!("{}: {uri}", name.as_deref().unwrap_or("resource")),
        (None, media) => format!("[audio, {}]", media.as_deref().unwrap_or("unknown type")),
    };
    Object::new().string("type", "text").string("text", &text).finish()
}

/// `object` with each element of its array `name` written anew.
fn each<'a>(object: &'a str, name: &str, write: impl Fn(&str) -> String) -> Cow<'a, str> {
    let Some(array) = json::get(object, name).filter(|value| json::is_array(value)) else {
        return Cow::Borrowed(object);
    };
    let written: Vec<_> =
        json::elements(array).map(|item| if json::is_object(item) { write(item) } else { item.to_string() }).collect();
    Cow::Owned(replace(object, name, &json::array(written.iter().map(String::as_str))))
}

/// `object` with another value for the member `name`.
fn replace(object: &str, name: &str, value: &str) -> String {
    let members = json::members(object);
    members
        .fold(Object::with_capacity(object.len()), |out, (key, old)| {
            out.raw(&key, if key == name { value } else { old })
        })
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_plain_where_it_says() {
        let content = FIELDS.iter().filter(|row| matches!(row.0, Of::Content | Of::Contents)).map(|row| row.2);
        assert!(content.chain(CONTENT.iter().map(|row| row.1)).all(|since| since <= PLAIN));
    }

    #[test]
    fn older_revisions_get_what_they_know() {
        let result = r#"{"content":[{"type":"audio","data":"","mimeType":"audio/wav","_meta":{}},{"type":"text","text":"x","_meta":{}}],"structuredContent":{}}"#;
        assert_eq!(
            super::result("tools/call", result, Revision::V2024_11_05),
            r#"{"content":[{"type":"text","text":"[audio, audio/wav]"},{"type":"text","text":"x"}]}"#
        );
        assert_eq!(super::result("tools/call", result, Revision::V2025_11_25), result);
        let listed =
            tool(r#"{"name":"t","inputSchema":{},"outputSchema":{"type":"array"},"icons":[]}"#, Revision::V2025_06_18);
        assert_eq!(listed, r#"{"name":"t","inputSchema":{}}"#);
    }
}
