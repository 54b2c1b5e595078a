//! Arguments of tools that are repeated as HTTP headers, where the tool's schema asks for it by `x-mcp-header`
//! (HDR-020 to HDR-039).

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::json;
use crate::words;

const MARK: &str = "x-mcp-header";
/// How deep a schema is looked into; each level is one more walk over what is inside.
const DEPTH: usize = 32;
/// Keywords whose values are no schemas.
const DATA: &[&str] = &["default", "const", "enum", "examples", "example", "required", "title", "description"];
/// Keywords whose members are schemas under names of their own.
const NAMED: &[&str] = &["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// One argument that is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// The end of the header's name.
    name: String,
    /// Where the value stands in the arguments.
    path: Vec<String>,
}

impl Mirrored {
    /// The header's name.
    pub(crate) fn header(&self) -> String {
        words::join(&["mcp-param-", &self.name])
    }

    /// The end of the header's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What the header says for these arguments; nothing for an absent value or null (HDR-033).
    pub(crate) fn value(&self, arguments: &str) -> Option<String> {
        plain(self.path.iter().try_fold(arguments, |value, step| json::get(value, step))?)
    }
}

/// A string, an integer or a boolean as a header has it (HDR-032).
pub(crate) fn plain(value: &str) -> Option<String> {
    match value.as_bytes().first()? {
        b'"' => json::string(value).map(Cow::into_owned),
        b't' | b'f' => Some(value.to_string()),
        b'-' | b'0'..=b'9' => {
            let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
            let exact = fraction.bytes().all(|byte| byte == b'0');
            Some(if exact { whole } else { value }.to_string())
        }
        _ => None,
    }
}

fn wrong(name: &str, what: &str) -> String {
    words::join(&[MARK, " `", name, "` ", what])
}

fn has_mark(schema: &str) -> bool {
    schema.split('x').skip(1).any(|rest| rest.starts_with(&MARK[1..]))
}

/// The marks in a schema, or what is wrong with one.
pub(crate) fn marks(schema: &str) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    if has_mark(schema) {
        look(schema, &mut Vec::new(), true, 0, &mut found)?;
    }
    Ok(found)
}

fn look(
    schema: &str,
    path: &mut Vec<String>,
    reachable: bool,
    depth: usize,
    found: &mut Vec<Mirrored>,
) -> Result<(), String> {
    if depth > DEPTH {
        return if has_mark(schema) { Err(words::join(&[MARK, " is nested too deeply"])) } else { Ok(()) };
    }
    for (key, value) in json::members(schema) {
        let key = &*key;
        if key == MARK {
            found.push(mark(schema, value, path, reachable, found)?);
        } else if NAMED.contains(&key) {
            let inside = reachable && key == "properties";
            for (name, schema) in json::members(value) {
                path.push(name.into_owned());
                look(schema, path, inside, depth + 1, found)?;
                path.pop();
            }
        } else if json::is_object(value) && !DATA.contains(&key) {
            look(value, path, false, depth + 1, found)?;
        } else if json::is_array(value) && !DATA.contains(&key) {
            for schema in json::elements(value) {
                look(schema, path, false, depth + 1, found)?;
            }
        }
    }
    Ok(())
}

fn mark(schema: &str, name: &str, path: &[String], reachable: bool, found: &[Mirrored]) -> Result<Mirrored, String> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let Some(name) = json::string(name).filter(|name| !name.is_empty() && name.bytes().all(token)) else {
        return Err(words::join(&[MARK, " must be a header name"]));
    };
    if !reachable || path.is_empty() {
        return Err(wrong(&name, "is not on a plain property"));
    }
    if found.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
        return Err(wrong(&name, "occurs twice"));
    }
    let kind = json::get(schema, "type").unwrap_or("null");
    let kinds: Vec<_> = match json::is_array(kind) {
        true => json::elements(kind).filter_map(json::string).filter(|kind| kind != "null").collect(),
        false => json::string(kind).into_iter().collect(),
    };
    match kinds.as_slice() {
        [kind] if matches!(&**kind, "integer" | "string" | "boolean") => {
            Ok(Mirrored { name: name.into_owned(), path: path.to_vec() })
        }
        _ => Err(wrong(&name, "is neither on an integer, a string nor a boolean")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn marks_are_found_on_plain_properties() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},
            "x-mcp-header":{"type":"string"},
            "o":{"type":"object","properties":{"b":{"type":["integer","null"],"x-mcp-header":"B"}}}},
            "default":{"x-mcp-header":1}}"#;
        let found = marks(schema).expect("sound");
        let found: Vec<_> = found.iter().map(|mark| (mark.name.as_str(), mark.path.join("."))).collect();
        assert_eq!(found, [("A", "a".to_string()), ("B", "o.b".to_string())]);
    }

    #[test]
    fn wrong_marks_are_refused() {
        for property in [
            r#"{"type":"number","x-mcp-header":"A"}"#,
            r#"{"type":"object","x-mcp-header":"A"}"#,
            r#"{"x-mcp-header":"A"}"#,
            r#"{"type":"string","x-mcp-header":""}"#,
            r#"{"type":"string","x-mcp-header":"A B"}"#,
            r#"{"type":"string","x-mcp-header":7}"#,
            r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
            r#"{"anyOf":[{"type":"string","x-mcp-header":"A"}]}"#,
            r#"{"type":"object","properties":{"y":{"type":"string","x-mcp-header":"Q"}}}"#,
        ] {
            let schema = format!(r#"{{"properties":{{"q":{{"type":"string","x-mcp-header":"q"}},"p":{property}}}}}"#);
            assert!(marks(&schema).is_err(), "{property}");
        }
        let behind =
            r##"{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"##;
        assert!(marks(behind).is_err());
        let mut deep = r#"{"type":"string","x-mcp-header":"A"}"#.to_string();
        for _ in 0..100 {
            deep = format!(r#"{{"properties":{{"a":{deep}}}}}"#);
        }
        assert!(marks(&deep).is_err());
    }

    #[test]
    fn values_become_plain_text() {
        for (value, text) in [("\"gr\\u00fc\"", "grü"), ("true", "true"), ("-7", "-7"), ("42.0", "42"), ("1.5", "1.5")]
        {
            assert_eq!(plain(value).as_deref(), Some(text));
        }
        assert_eq!((plain("null"), plain("{}")), (None, None));
    }
}
