//! Comparing what came with what a case expects. Whole values are compared; wildcards stand only where a value is made
//! up at run time.

use crate::env::Env;
use crate::http;
use crate::json::{self, Json};
use crate::record::{Record, clip, joined};

/// In which order records must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Exactly as written.
    Strict,
    /// Input came in other pieces than the case says: only the order within what is written on one stream, and the order
    /// of all other records, must be the same.
    PerStream,
}

/// Compares records with patterns; `wait` counts only where a pattern asks for it.
///
/// # Errors
/// A description of the first difference.
pub fn expect(patterns: &[Json], records: Vec<Record>, env: &mut Env, order: Order) -> Result<(), String> {
    let is_wait = |pattern: &Json| pattern.get("kind").and_then(Json::as_str) == Some("wait");
    let (waits, patterns): (Vec<_>, Vec<_>) = patterns.iter().cloned().partition(is_wait);
    let (wait, records): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.kind == "wait");
    let records = joined(records);
    let all = describe(&records);
    let compared = match order {
        Order::Strict => in_order(&patterns, &records, env),
        Order::PerStream => per_stream(&patterns, &records, env),
    };
    compared.map_err(|difference| format!("{difference}\n    all records: {all}"))?;
    match (waits.last(), wait.last()) {
        (None, _) => Ok(()),
        (Some(pattern), Some(wait)) => record(pattern, wait, env),
        (Some(_), None) => Err("no `wait` came".to_owned()),
    }
}

fn describe(records: &[Record]) -> String {
    if records.is_empty() {
        return "none".to_owned();
    }
    records.iter().map(|record| format!("\n      {}", record.show())).collect()
}

fn in_order(patterns: &[Json], records: &[Record], env: &mut Env) -> Result<(), String> {
    for (pattern, actual) in patterns.iter().zip(records) {
        record(pattern, actual, env)?;
    }
    if let Some(missing) = patterns.get(records.len()) {
        return Err(format!("missing: {}", clip(&missing.to_string())));
    }
    match records.get(patterns.len()) {
        Some(extra) => Err(format!("unexpected: {}", extra.show())),
        None => Ok(()),
    }
}

fn per_stream(patterns: &[Json], records: &[Record], env: &mut Env) -> Result<(), String> {
    let (written, others): (Vec<_>, Vec<_>) =
        records.iter().cloned().partition(|record| matches!(&*record.kind, "write" | "body"));
    let (expected, other_patterns): (Vec<_>, Vec<_>) = patterns
        .iter()
        .cloned()
        .partition(|pattern| matches!(pattern.get("kind").and_then(Json::as_str), Some("write" | "body")));
    in_order(&other_patterns, &others, env)?;
    let mut written = by_stream(written);
    for (pattern, stream) in combined(&expected, env)? {
        let at = written.iter().position(|record| Json::int(record.stream) == stream);
        let at = at.ok_or_else(|| format!("missing: {}", clip(&pattern.to_string())))?;
        record(&pattern, &written.remove(at), env)?;
    }
    match written.first() {
        Some(extra) => Err(format!("unexpected: {}", extra.show())),
        None => Ok(()),
    }
}

fn by_stream(mut written: Vec<Record>) -> Vec<Record> {
    written.sort_by_key(|record| record.stream);
    joined(written)
}

/// The patterns for one stream made one.
fn combined(patterns: &[Json], env: &Env) -> Result<Vec<(Json, Json)>, String> {
    let mut out: Vec<(Json, Json)> = Vec::new();
    for pattern in patterns {
        let stream = pattern.get("stream").map_or_else(|| Ok(Json::int(0)), |stream| env.fill(stream))?;
        match out.iter_mut().find(|(_, other)| *other == stream) {
            None => out.push((pattern.clone(), stream)),
            Some((Json::Object(before), _)) => {
                for (key, value) in pattern.as_object().unwrap_or_default() {
                    match (before.iter_mut().find(|(name, _)| name == key), value) {
                        (Some((_, Json::Array(items))), Json::Array(more)) => items.extend_from_slice(more),
                        (Some((_, slot)), _) => *slot = value.clone(),
                        (None, _) => before.push((key.clone(), value.clone())),
                    }
                }
            }
            Some(_) => {}
        }
    }
    Ok(out)
}

/// Compares one record.
///
/// # Errors
/// A description of the difference.
pub fn record(pattern: &Json, actual: &Record, env: &mut Env) -> Result<(), String> {
    let filled = env.fill(pattern)?;
    for (key, value) in filled.as_object().ok_or("a record pattern is an object")? {
        field(key, value, actual, env).map_err(|why| {
            format!("{}: {why}\n    expected: {}\n    got:      {}", key, clip(&filled.to_string()), actual.show())
        })?;
    }
    Ok(())
}

fn field(key: &str, pattern: &Json, actual: &Record, env: &mut Env) -> Result<(), String> {
    let text = || std::str::from_utf8(&actual.text).map_err(|_| "the payload is not UTF-8".to_owned());
    let value = match key {
        "kind" => Json::string(actual.kind.clone()),
        "stream" => Json::int(actual.stream),
        "id" => Json::int(actual.id),
        "until" => Json::int(actual.until),
        "name" | "code" => Json::string(actual.name.clone()),
        "text" => Json::string(text()?),
        "json" => parsed(text()?)?,
        "lines" => lines(text()?)?,
        "events" => Json::Array(http::event_messages(&actual.text)?),
        "sse" => Json::Array(http::events(&actual.text)),
        "http" => return http_messages(pattern, &actual.text, env),
        "headers" if actual.kind == "head" => return headers(pattern, &http::headers(text()?), env),
        "headers" => return headers(pattern, &fetch_headers(&parsed(text()?)?), env),
        "url" => parsed(text()?)?.get("url").cloned().unwrap_or(Json::Null),
        "body" => match parsed(text()?)?.get("body") {
            Some(Json::String(body)) => parsed(body)?,
            _ => Json::Null,
        },
        _ => return Err("no field of a record".to_owned()),
    };
    // The text of an `error` record is an error: what the pattern names must be there, the rest is prose.
    match pattern {
        Json::Object(_) if key == "json" && actual.kind == "error" => subset(pattern, &value, env, ""),
        _ => matches(pattern, &value, env, ""),
    }
}

fn parsed(text: &str) -> Result<Json, String> {
    Json::parse(text).map_err(|fault| format!("no JSON: {fault}: {}", clip(text)))
}

fn lines(text: &str) -> Result<Json, String> {
    let Some(text) = text.strip_suffix('\n') else {
        return if text.is_empty() { Ok(Json::Array(Vec::new())) } else { Err("no line feed at the end".to_owned()) };
    };
    Ok(Json::Array(text.split('\n').map(parsed).collect::<Result<_, _>>()?))
}

fn fetch_headers(fetch: &Json) -> Vec<(String, String)> {
    let pair = |pair: &Json| match pair.as_array()? {
        [name, value] => Some((name.as_str()?.to_ascii_lowercase(), value.as_str()?.to_owned())),
        _ => None,
    };
    fetch.get("headers").and_then(Json::as_array).unwrap_or_default().iter().filter_map(pair).collect()
}

/// Headers: those named must be there with that value, or must not be there (`$absent`).
fn headers(pattern: &Json, actual: &[(String, String)], env: &mut Env) -> Result<(), String> {
    for (name, expected) in pattern.as_object().ok_or("`headers` is an object")? {
        let value = http::header(actual, &name.to_ascii_lowercase());
        match (expected.only(), value) {
            (Some(("$absent", _)), None) => {}
            (Some(("$absent", _)), Some(_)) => return Err(format!("header {name} must not be there")),
            (_, None) => return Err(format!("header {name} is missing")),
            (_, Some(value)) => matches(expected, &Json::string(value), env, name)?,
        }
    }
    Ok(())
}

/// `[{"status"?, "start"?, "headers"?, "json"?, "events"?, "text"?}]` for raw HTTP/1.1.
fn http_messages(pattern: &Json, bytes: &[u8], env: &mut Env) -> Result<(), String> {
    let actual = http::messages(bytes)?;
    let patterns = pattern.as_array().ok_or("`http` is an array")?;
    if patterns.len() != actual.len() {
        return Err(format!("{} HTTP messages, expected {}", actual.len(), patterns.len()));
    }
    for (pattern, message) in patterns.iter().zip(&actual) {
        for (key, expected) in pattern.as_object().ok_or("an HTTP pattern is an object")? {
            let value = match key.as_str() {
                "status" => Json::int(message.status().unwrap_or(0)),
                "start" => Json::string(message.start.clone()),
                "complete" => Json::Bool(message.complete),
                "text" => Json::string(String::from_utf8_lossy(&message.body)),
                "json" => parsed(&String::from_utf8_lossy(&message.body))?,
                "events" => Json::Array(http::event_messages(&message.body)?),
                "headers" => {
                    headers(expected, &message.headers, env)?;
                    continue;
                }
                _ => return Err(format!("`{key}` is no part of an HTTP message")),
            };
            matches(expected, &value, env, key)?;
        }
    }
    Ok(())
}

/// Compares a value with a filled pattern.
///
/// # Errors
/// Where and how they differ.
pub fn matches(pattern: &Json, actual: &Json, env: &mut Env, at: &str) -> Result<(), String> {
    if let Some((word, value)) = pattern.only().filter(|(word, _)| word.starts_with('$')) {
        return wildcard(word, value, actual, env, at);
    }
    match (pattern, actual) {
        (Json::Object(members), Json::Object(got)) => {
            if let Some((key, _)) = got.iter().find(|(key, _)| pattern.get(key).is_none()) {
                return Err(format!("{at}/{key} was not expected: {}", clip(&actual.to_string())));
            }
            members.iter().try_for_each(|(key, value)| member(key, value, actual, env, at))
        }
        (Json::Array(items), Json::Array(got)) if items.len() == got.len() => items
            .iter()
            .zip(got)
            .enumerate()
            .try_for_each(|(index, (item, value))| matches(item, value, env, &format!("{at}/{index}"))),
        _ if json::same(pattern, actual) => Ok(()),
        _ => Err(format!("{at}: expected {}, got {}", clip(&pattern.to_string()), clip(&actual.to_string()))),
    }
}

fn member(key: &str, pattern: &Json, actual: &Json, env: &mut Env, at: &str) -> Result<(), String> {
    let at = format!("{at}/{key}");
    match (pattern.only(), actual.get(key)) {
        (Some(("$absent", _)), None) => Ok(()),
        (Some(("$absent", _)), Some(_)) => Err(format!("{at} must not be there")),
        (_, None) => Err(format!("{at} is missing")),
        // Errors are compared by what the case names: their messages are prose.
        (_, Some(value)) if matches!(key, "error" | "rpc") && pattern.as_object().is_some() && !is_word(pattern) => {
            subset(pattern, value, env, &at)
        }
        (_, Some(value)) => matches(pattern, value, env, &at),
    }
}

fn is_word(pattern: &Json) -> bool {
    pattern.only().is_some_and(|(word, _)| word.starts_with('$'))
}

fn subset(pattern: &Json, actual: &Json, env: &mut Env, at: &str) -> Result<(), String> {
    if is_word(pattern) {
        return matches(pattern, actual, env, at);
    }
    let members = pattern.as_object().ok_or("`$subset` takes an object")?;
    members.iter().try_for_each(|(key, value)| member(key, value, actual, env, at))
}

fn wildcard(word: &str, value: &Json, actual: &Json, env: &mut Env, at: &str) -> Result<(), String> {
    let differs = |what: &str| Err(format!("{at}: {what}, got {}", clip(&actual.to_string())));
    let text = || actual.as_str().ok_or_else(|| format!("{at}: a string expected"));
    match word {
        "$any" => Ok(()),
        "$absent" => differs("nothing expected"),
        "$type" => {
            let kind = value.as_str().unwrap_or_default();
            let whole = kind == "integer" && actual.to_string().parse::<i128>().is_ok();
            if whole || actual.kind() == kind { Ok(()) } else { differs(&format!("type {kind} expected")) }
        }
        "$bind" => {
            env.bind(value.as_str().ok_or("`$bind` takes a name")?, actual.clone());
            Ok(())
        }
        "$subset" => subset(value, actual, env, at),
        "$exact" => {
            if json::same(value, actual) {
                Ok(())
            } else {
                differs(&format!("exactly {value} expected"))
            }
        }
        "$contains" => {
            let part = value.as_str().unwrap_or_default();
            if text()?.contains(part) { Ok(()) } else { differs(&format!("text with `{part}` expected")) }
        }
        "$length" => {
            let length = actual.as_array().map_or_else(|| actual.as_str().unwrap_or_default().len(), <[_]>::len);
            if value.as_u64() == Some(length as u64) {
                Ok(())
            } else {
                differs(&format!("length {value}, not {length}"))
            }
        }
        "$json" => matches(value, &parsed(text()?)?, env, at),
        "$not" => match matches(value, actual, &mut env.clone(), at) {
            Ok(()) => differs(&format!("anything but {value} expected")),
            Err(_) => Ok(()),
        },
        "$oneOf" => {
            let choices = value.as_array().unwrap_or_default();
            let fits = choices.iter().any(|choice| matches(choice, actual, &mut env.clone(), at).is_ok());
            if fits { Ok(()) } else { differs(&format!("one of {value} expected")) }
        }
        _ => Err(format!("no wildcard: {word}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(pattern: &str, actual: &str) -> Result<(), String> {
        let read = |text| Json::parse(text).expect("test JSON");
        matches(&read(pattern), &read(actual), &mut Env::default(), "")
    }

    #[test]
    fn whole_values() {
        assert!(compare(r#"{"a":1,"b":[true]}"#, r#"{"b":[true],"a":1}"#).is_ok());
        assert!(compare(r#"{"a":1}"#, r#"{"a":1,"b":2}"#).is_err());
        assert!(compare(r#"{"a":1,"b":2}"#, r#"{"a":1}"#).is_err());
        assert!(compare("9007199254740993", "9007199254740992").is_err());
        assert!(compare(r#"{"a":{"$subset":{"x":1}}}"#, r#"{"a":{"x":1,"y":2}}"#).is_ok());
        assert!(compare(r#"{"$subset":{"x":{"$absent":true}}}"#, r#"{"x":1}"#).is_err());
    }

    #[test]
    fn errors_by_code() {
        assert!(compare(r#"{"error":{"code":-1}}"#, r#"{"error":{"code":-1,"message":"m","data":3}}"#).is_ok());
        assert!(compare(r#"{"error":{"code":-1}}"#, r#"{"error":{"code":-2,"message":"m"}}"#).is_err());
    }

    #[test]
    fn bound_values() {
        let mut env = Env::default();
        let actual = Json::parse(r#"{"id":"s-1","again":"s-1"}"#).expect("test JSON");
        let pattern = Json::parse(r#"{"id":{"$bind":"s"},"again":{"$any":true}}"#).expect("test JSON");
        matches(&pattern, &actual, &mut env, "").expect("matches");
        assert_eq!(env.text("x ${s}"), Ok("x s-1".to_owned()));
        assert!(env.text("${t}").is_err());
    }
}
