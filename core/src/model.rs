//! The shapes of results, as data: required members and the types of known ones. Unknown members and unknown kinds of
//! content pass. Clients check what they are given, servers what they give.

use alloc::string::{String, ToString};

use crate::json;
use crate::words;

/// What a value must be.
#[derive(Debug)]
enum Shape {
    Text,
    Number,
    Bool,
    /// An object with these members.
    Object(&'static [Member]),
    /// An array of these.
    Array(&'static Self),
    /// One of these strings.
    Word(&'static [&'static str]),
    /// A block of content, by its `type`.
    Content,
    /// One block or an array of them.
    Blocks,
    /// The contents of a resource: `text` or `blob`.
    Contents,
}

/// A member: name, whether it must be there, shape.
type Member = (&'static str, bool, Shape);

const MUST: bool = true;
const MAY: bool = false;
const ANY: Shape = Shape::Object(&[]);

static TOOL: Shape = Shape::Object(&[
    ("name", MUST, Shape::Text),
    ("inputSchema", MUST, ANY),
    ("description", MAY, Shape::Text),
    ("title", MAY, Shape::Text),
    ("outputSchema", MAY, ANY),
    ("annotations", MAY, ANY),
]);
static RESOURCE: Shape = Shape::Object(&[
    ("uri", MUST, Shape::Text),
    ("name", MUST, Shape::Text),
    ("description", MAY, Shape::Text),
    ("mimeType", MAY, Shape::Text),
    ("size", MAY, Shape::Number),
]);
static TEMPLATE: Shape = Shape::Object(&[
    ("uriTemplate", MUST, Shape::Text),
    ("name", MUST, Shape::Text),
    ("description", MAY, Shape::Text),
    ("mimeType", MAY, Shape::Text),
]);
static ARGUMENT: Shape = Shape::Object(&[("name", MUST, Shape::Text), ("required", MAY, Shape::Bool)]);
static PROMPT: Shape = Shape::Object(&[
    ("name", MUST, Shape::Text),
    ("description", MAY, Shape::Text),
    ("arguments", MAY, Shape::Array(&ARGUMENT)),
]);
static ROOT: Shape = Shape::Object(&[("uri", MUST, Shape::Text), ("name", MAY, Shape::Text)]);
static MESSAGE: Shape =
    Shape::Object(&[("role", MUST, Shape::Word(&["user", "assistant"])), ("content", MUST, Shape::Content)]);
static CONTENT: Shape = Shape::Content;
static CONTENTS: Shape = Shape::Contents;
static TEXT: Shape = Shape::Text;

static RESULTS: &[(&str, Shape)] = &[
    (
        "initialize",
        Shape::Object(&[
            ("protocolVersion", MUST, Shape::Text),
            ("capabilities", MUST, ANY),
            ("serverInfo", MUST, Shape::Object(&[("name", MUST, Shape::Text), ("version", MUST, Shape::Text)])),
            ("instructions", MAY, Shape::Text),
        ]),
    ),
    (
        "server/discover",
        Shape::Object(&[("supportedVersions", MUST, Shape::Array(&TEXT)), ("capabilities", MUST, ANY)]),
    ),
    ("tools/list", Shape::Object(&[("tools", MUST, Shape::Array(&TOOL)), ("nextCursor", MAY, Shape::Text)])),
    ("tools/call", Shape::Object(&[("content", MUST, Shape::Array(&CONTENT)), ("isError", MAY, Shape::Bool)])),
    (
        "resources/list",
        Shape::Object(&[("resources", MUST, Shape::Array(&RESOURCE)), ("nextCursor", MAY, Shape::Text)]),
    ),
    (
        "resources/templates/list",
        Shape::Object(&[("resourceTemplates", MUST, Shape::Array(&TEMPLATE)), ("nextCursor", MAY, Shape::Text)]),
    ),
    ("resources/read", Shape::Object(&[("contents", MUST, Shape::Array(&CONTENTS))])),
    ("prompts/list", Shape::Object(&[("prompts", MUST, Shape::Array(&PROMPT)), ("nextCursor", MAY, Shape::Text)])),
    ("prompts/get", Shape::Object(&[("messages", MUST, Shape::Array(&MESSAGE)), ("description", MAY, Shape::Text)])),
    (
        "completion/complete",
        Shape::Object(&[(
            "completion",
            MUST,
            Shape::Object(&[
                ("values", MUST, Shape::Array(&TEXT)),
                ("total", MAY, Shape::Number),
                ("hasMore", MAY, Shape::Bool),
            ]),
        )]),
    ),
    (
        "elicitation/create",
        Shape::Object(&[("action", MUST, Shape::Word(&["accept", "decline", "cancel"])), ("content", MAY, ANY)]),
    ),
    (
        "sampling/createMessage",
        Shape::Object(&[
            ("role", MUST, Shape::Word(&["user", "assistant"])),
            ("content", MUST, Shape::Blocks),
            ("model", MUST, Shape::Text),
        ]),
    ),
    ("roots/list", Shape::Object(&[("roots", MUST, Shape::Array(&ROOT))])),
];

/// Kinds of content and what each needs.
static BLOCKS: &[(&str, &[Member])] = &[
    ("text", &[("text", MUST, Shape::Text)]),
    ("image", &[("data", MUST, Shape::Text), ("mimeType", MUST, Shape::Text)]),
    ("audio", &[("data", MUST, Shape::Text), ("mimeType", MUST, Shape::Text)]),
    ("resource", &[("resource", MUST, Shape::Contents)]),
    ("resource_link", &[("uri", MUST, Shape::Text), ("name", MUST, Shape::Text)]),
];

/// Checks the result of `method`; unknown methods pass.
///
/// # Errors
/// Where it is broken, and how.
pub(crate) fn result(method: &str, text: &str) -> Result<(), String> {
    let Some((_, shape)) = RESULTS.iter().find(|(name, _)| *name == method) else {
        return Ok(());
    };
    let mut path = String::new();
    check(shape, text, &mut path).map_err(|what| {
        if path.is_empty() {
            what.to_string()
        } else {
            words::join(&[path.strip_prefix('.').unwrap_or(&path), ": ", what])
        }
    })
}

/// What is wrong; the way to it is in the path.
type Checked = Result<(), &'static str>;

/// Puts a step of the way before those that are known.
fn under(path: &mut String, before: &str, step: &str, after: &str) {
    *path = words::join(&[before, step, after, path]);
}

const fn is(fits: bool, what: &'static str) -> Checked {
    if fits { Ok(()) } else { Err(what) }
}

fn check(shape: &Shape, value: &str, path: &mut String) -> Checked {
    let first = value.as_bytes().first().copied().unwrap_or(b'n');
    match shape {
        Shape::Text => is(first == b'"', "not a string"),
        Shape::Number => is(first == b'-' || first.is_ascii_digit(), "not a number"),
        Shape::Bool => is(matches!(first, b't' | b'f'), "not a boolean"),
        Shape::Word(words) => {
            let word = json::string(value);
            is(word.is_some_and(|word| words.contains(&&*word)), "not one of the known words")
        }
        Shape::Array(each) => {
            is(first == b'[', "not an array")?;
            for (at, item) in json::elements(value).enumerate() {
                check(each, item, path).inspect_err(|_| under(path, "[", &words::digits(at as u64), "]"))?;
            }
            Ok(())
        }
        Shape::Object(members) => object(members, value, path),
        Shape::Content => {
            object(&[("type", MUST, Shape::Text)], value, path)?;
            let kind = json::get_string(value, "type").unwrap_or_default();
            BLOCKS.iter().find(|(name, _)| *name == kind).map_or(Ok(()), |(_, members)| object(members, value, path))
        }
        Shape::Blocks if first == b'[' => check(&Shape::Array(&CONTENT), value, path),
        Shape::Blocks => check(&CONTENT, value, path),
        Shape::Contents => {
            let members: &[Member] =
                &[("uri", MUST, Shape::Text), ("text", MAY, Shape::Text), ("blob", MAY, Shape::Text)];
            object(members, value, path)?;
            let [text, blob] = json::pick(value, ["text", "blob"]);
            is(text.is_some() || blob.is_some(), "neither text nor blob")
        }
    }
}

fn object(members: &[Member], value: &str, path: &mut String) -> Checked {
    is(json::is_object(value), "not an object")?;
    if members.is_empty() {
        return Ok(());
    }
    let mut found = 0u32;
    for (name, value) in json::members(value) {
        if let Some(at) = members.iter().position(|member| member.0 == name) {
            found |= 1 << at;
            check(&members[at].2, value, path).inspect_err(|_| under(path, ".", &name, ""))?;
        }
    }
    let missing = members.iter().enumerate().find(|(at, member)| member.1 && found & (1 << at) == 0);
    match missing {
        Some((_, member)) => {
            under(path, ".", member.0, "");
            Err("missing")
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(method: &str, text: &str) -> String {
        result(method, text).expect_err(text)
    }

    #[test]
    fn broken_results_name_the_place() {
        assert_eq!(problem("resources/templates/list", r#"{"templates":[]}"#), "resourceTemplates: missing");
        assert_eq!(
            problem("tools/list", r#"{"tools":[{"name":"a","inputSchema":{}},{"name":1}]}"#),
            "tools[1].name: not a string"
        );
        assert_eq!(problem("tools/list", r#"{"tools":[{"name":"a"}]}"#), "tools[0].inputSchema: missing");
        assert_eq!(problem("tools/list", r#"{"tools":{}}"#), "tools: not an array");
        assert_eq!(problem("tools/call", r#"{"structuredContent":{}}"#), "content: missing");
        assert_eq!(problem("tools/call", r#"{"content":[{"type":"text"}]}"#), "content[0].text: missing");
        assert_eq!(problem("resources/read", r#"{"contents":[{"uri":"a:b"}]}"#), "contents[0]: neither text nor blob");
        let message = r#"{"messages":[{"role":"system","content":{"type":"text","text":""}}]}"#;
        assert_eq!(problem("prompts/get", message), "messages[0].role: not one of the known words");
        assert_eq!(
            problem("completion/complete", r#"{"completion":{"values":[1]}}"#),
            "completion.values[0]: not a string"
        );
        let unnamed = r#"{"protocolVersion":"x","capabilities":{},"serverInfo":{"name":"s"}}"#;
        assert_eq!(problem("initialize", unnamed), "serverInfo.version: missing");
    }

    #[test]
    fn sound_and_unknown_things_pass() {
        for (method, text) in [
            ("tools/list", r#"{"tools":[],"next_cursor":"x","other":1}"#),
            ("tools/call", r#"{"content":[{"type":"hologram"},{"type":"text","text":""}],"structuredContent":null}"#),
            ("resources/read", r#"{"contents":[{"uri":"a:b","blob":""}]}"#),
            ("vendor/x", r#"{}"#),
        ] {
            assert_eq!(result(method, text), Ok(()), "{method}");
        }
    }
}
