//! URI templates (RFC 6570) of resources, read backwards: does this URI fit, and with which values. One pass, no
//! backtracking: an expression ends where the literal text behind it is found first.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// A template taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Literal(String),
    /// A name, and whether its value may hold slashes.
    Value(String, bool),
}

impl Template {
    /// Nothing when the braces do not match, or two expressions touch.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(open) = rest.find('{') {
            let close = open + rest[open..].find('}')?;
            if open > 0 {
                parts.push(Part::Literal(rest[..open].to_owned()));
            } else if matches!(parts.last(), Some(Part::Value(..))) {
                return None;
            }
            let name = &rest[open + 1..close];
            let (name, reserved) = match name.strip_prefix(['+', '#']) {
                Some(name) => (name, true),
                None => (name, false),
            };
            let (name, exploded) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            if name.is_empty() || !name.chars().all(plain) {
                return None;
            }
            parts.push(Part::Value(name.to_owned(), reserved || exploded));
            rest = &rest[close + 1..];
        }
        if rest.contains('}') {
            return None;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Some(Self { parts })
    }

    /// The values with which the template gives `uri`.
    pub(crate) fn fit(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let (mut values, mut rest) = (Vec::new(), uri);
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Literal(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Value(name, slashes) => {
                    let end = match parts.peek() {
                        Some(Part::Literal(next)) => rest.find(next.as_str())?,
                        _ => rest.len(),
                    };
                    let value = &rest[..end];
                    if value.is_empty() || (!slashes && value.contains('/')) {
                        return None;
                    }
                    values.push((name.as_str(), decode(value)?));
                    rest = &rest[end..];
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

/// Undoes percent encoding; nothing when that gives no text.
fn decode(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |at: usize| tail.get(at).and_then(|byte| (*byte as char).to_digit(16));
        let value = digit(0)? * 16 + digit(1)?;
        bytes.push(u8::try_from(value).ok()?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let template = Template::parse(template).expect("a template");
        Some(template.fit(uri)?.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn values_come_out() {
        let one = |name: &str, value: &str| Some(Vec::from([(name.to_owned(), value.to_owned())]));
        assert_eq!(fit("memo://item/{id}", "memo://item/7"), one("id", "7"));
        assert_eq!(fit("memo://item/{id}", "memo://item/a%20b"), one("id", "a b"));
        assert_eq!(fit("file:///{+path}", "file:///a/b"), one("path", "a/b"));
        assert_eq!(fit("memo://item/{id}", "memo://item/7/8"), None);
        assert_eq!(fit("memo://item/{id}", "memo://item/"), None);
        assert_eq!(fit("memo://item/{id}/x", "memo://item/7/x"), one("id", "7"));
        assert_eq!(fit("memo://item/{id}", "memo://item/%ff"), None);
        assert!(Template::parse("a{b}{c}").is_none());
        assert!(Template::parse("a{b").is_none());
    }
}
