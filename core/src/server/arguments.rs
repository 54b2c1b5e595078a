//! The plain part of JSON Schema that nearly every tool uses, checked on the raw text: `type`, `required`, `properties`,
//! `items`, `enum`, `const`, `additionalProperties: false`. Other keywords are left to the handler.

use alloc::format;
use alloc::string::String;

use crate::json;

/// The first thing wrong with `value`, in one sentence that names where; nothing when it fits.
pub(crate) fn check(schema: &str, value: &str) -> Option<String> {
    fault(schema, value, &mut String::new())
}

fn fault(schema: &str, value: &str, at: &mut String) -> Option<String> {
    let [kinds, required, properties, choices, constant] =
        json::pick(schema, ["type", "required", "properties", "enum", "const"]);
    let [items, prefix, additional, patterns] =
        json::pick(schema, ["items", "prefixItems", "additionalProperties", "patternProperties"]);
    let place = |at: &str| if at.is_empty() { String::from("the value") } else { String::from(at) };
    if let Some(kinds) = kinds {
        let fits = json::string(kinds).map_or_else(
            || json::elements(kinds).filter_map(json::string).any(|kind| is(&kind, value)),
            |kind| is(&kind, value),
        );
        if !fits {
            return Some(format!("{}: {} is not {}", place(at), excerpt(value), readable(kinds)));
        }
    }
    if constant.is_some_and(|constant| !json::same(constant, value)) {
        return Some(format!("{}: {} is not the one value allowed", place(at), excerpt(value)));
    }
    if choices.is_some_and(|choices| !json::elements(choices).any(|choice| json::same(choice, value))) {
        return Some(format!("{}: {} is none of {}", place(at), excerpt(value), excerpt(choices.unwrap_or("[]"))));
    }
    if json::is_object(value) {
        for name in required.into_iter().flat_map(json::elements).filter_map(json::string) {
            if json::get(value, &name).is_none() {
                return Some(format!("{}: `{name}` is required", place(at)));
            }
        }
        for (name, member) in json::members(value) {
            let schema = properties.and_then(|properties| json::get(properties, &name));
            if schema.is_none() && additional == Some("false") && patterns.is_none() {
                return Some(format!("{}: `{name}` is not expected", place(at)));
            }
            let found = schema.and_then(|schema| deeper(at, &name, |at| fault(schema, member, at)));
            if found.is_some() {
                return found;
            }
        }
    }
    // With `prefixItems`, `items` speaks of the rest only.
    let items = items.filter(|items| json::is_object(items) && prefix.is_none());
    if let (Some(items), true) = (items, json::is_array(value)) {
        for (index, element) in json::elements(value).enumerate() {
            let found = deeper(at, &format!("{index}"), |at| fault(items, element, at));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn deeper(at: &mut String, step: &str, check: impl FnOnce(&mut String) -> Option<String>) -> Option<String> {
    let length = at.len();
    at.push('/');
    at.push_str(&step.replace('~', "~0").replace('/', "~1"));
    let found = check(at);
    at.truncate(length);
    found
}

fn is(kind: &str, value: &str) -> bool {
    let value = value.trim();
    match (kind, value.as_bytes().first()) {
        ("object", Some(b'{')) | ("array", Some(b'[')) | ("string", Some(b'"')) | ("null", Some(b'n')) => true,
        ("boolean", Some(b't' | b'f')) => true,
        ("number", Some(b'-' | b'0'..=b'9')) => true,
        ("integer", Some(b'-' | b'0'..=b'9')) => is_whole(value),
        _ => false,
    }
}

/// Whether a JSON number has no fraction, whatever its size: `3.0` and `1.5e1` have none.
fn is_whole(number: &str) -> bool {
    let lower = number.to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let exponent: i64 = exponent.parse().unwrap_or(0);
    if exponent >= 0 {
        return i64::try_from(fraction.len()).is_ok_and(|digits| digits <= exponent);
    }
    let digits = whole.trim_start_matches('-');
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let all_zero = digits.bytes().all(|digit| digit == b'0');
    fraction.is_empty() && (all_zero || i64::try_from(zeros).is_ok_and(|zeros| zeros >= -exponent))
}

fn readable(kinds: &str) -> String {
    json::string(kinds).map_or_else(
        || format!("one of {}", excerpt(kinds)),
        |kind| format!("{} {kind}", if matches!(&*kind, "integer" | "array" | "object") { "an" } else { "a" }),
    )
}

/// As much of a value as a sentence can bear.
fn excerpt(value: &str) -> String {
    let value = value.trim();
    if value.chars().count() <= 40 {
        String::from(value)
    } else {
        format!("{}…", value.chars().take(40).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where() {
        let schema = r#"{"type":"object","required":["days"],"additionalProperties":false,
            "properties":{"days":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}},"unit":{"enum":["c","f"]}}}"#;
        let says = |value: &str| check(schema, value);
        for good in [
            r#"{"days":3}"#,
            r#"{"days":3.0}"#,
            r#"{"days":1e2,"tags":["a"]}"#,
            r#"{"days":18446744073709551615,"unit":"c"}"#,
        ] {
            assert_eq!(says(good), None, "{good}");
        }
        assert_eq!(says(r#"{"days":3.5}"#).as_deref(), Some("/days: 3.5 is not an integer"));
        assert_eq!(says(r#"{"days":"3"}"#).as_deref(), Some("/days: \"3\" is not an integer"));
        assert_eq!(says("{}").as_deref(), Some("the value: `days` is required"));
        assert_eq!(says(r#"{"days":1,"tags":[1]}"#).as_deref(), Some("/tags/0: 1 is not a string"));
        assert_eq!(says(r#"{"days":1,"x":1}"#).as_deref(), Some("the value: `x` is not expected"));
        assert!(says(r#"{"days":1,"unit":"k"}"#).is_some());
        assert!(says(r#"{"days":null}"#).is_some());
        let open = r#"{"additionalProperties":false,"patternProperties":{"^x-":{}}}"#;
        assert_eq!(check(open, r#"{"x-a":1}"#), None, "what is not understood is not refused");
        assert_eq!(check(r#"{"prefixItems":[{}],"items":{"type":"null"}}"#, "[1]"), None);
    }

    #[test]
    fn whole_numbers_of_any_size() {
        for whole in ["0", "-0", "3.0", "1.5e1", "10e-1", "100.00E-2", "9007199254740993"] {
            assert!(is_whole(whole), "{whole}");
        }
        for broken in ["0.5", "1e-1", "15e-1", "1.25e1"] {
            assert!(!is_whole(broken), "{broken}");
        }
    }
}
