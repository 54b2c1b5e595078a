//! The JSON-RPC envelope: found by hand in one pass, then classified by which members are there (RPC-021). Payloads stay
//! slices of the text.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{RpcError, code};
use crate::json::{self, Fault, Object, Scanner};
use crate::limits::Limits;
use crate::words;

/// A request id, with its JSON type: `1` and `"1"` differ (RPC-004).
#[derive(Debug, Clone)]
pub struct Id {
    /// As it was written, to be echoed.
    text: String,
    /// One spelling for each value: `1.0` and `1` are the same number.
    key: String,
}

impl Id {
    /// The id in checked JSON text; nothing when that is neither a string nor a whole number (RPC-002).
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim_ascii();
        let key = if text.starts_with('"') {
            json::quote(&json::string(text)?)
        } else {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let number = whole.strip_prefix('-').unwrap_or(whole);
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            if !digits || !fraction.bytes().all(|b| b == b'0') {
                return None;
            }
            if number == "0" { "0".to_owned() } else { whole.to_owned() }
        };
        Some(Self { text: text.to_owned(), key })
    }

    /// An id of our own.
    #[must_use]
    pub fn number(value: u64) -> Self {
        let text = words::digits(value);
        Self { key: text.clone(), text }
    }

    /// The id as it was written.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.text
    }

    /// The number, for ids that we made.
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        words::read_digits(&self.key)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for Id {}
impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Id {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// One message; payloads are checked JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// Wants an answer.
    Request {
        /// Who asks.
        id: Id,
        /// What for.
        method: Cow<'a, str>,
        /// An object, when there.
        params: Option<&'a str>,
    },
    /// Wants none.
    Notification {
        /// What happened.
        method: Cow<'a, str>,
        /// An object, when there.
        params: Option<&'a str>,
    },
    /// The good answer.
    Result {
        /// To which request.
        id: Id,
        /// An object.
        result: &'a str,
    },
    /// The bad answer.
    Error {
        /// To which request, when the other side could read that.
        id: Option<Id>,
        /// What went wrong.
        error: RpcError,
    },
}

/// What a text held.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// One message.
    One(Message<'a>),
    /// An array: the texts of its elements, each to be read on its own.
    Batch(Vec<&'a str>),
}

/// Why a text is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The id to answer with, when it could be read and the text was no answer itself.
    pub id: Option<Id>,
    /// The stable word.
    pub code: &'static str,
    /// The answer that it deserves.
    pub error: RpcError,
    /// The text was an answer, or close enough to one: nothing is to be sent for it.
    pub is_answer: bool,
}

/// Reads one message, or an array of them.
///
/// # Errors
/// What is wrong, with the id where it can be read.
pub fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Parsed<'a>, Invalid> {
    if bytes.len() > limits.message_bytes {
        return Err(too_big(bytes, limits));
    }
    let text = core::str::from_utf8(bytes).map_err(|_| unreadable(bytes, Fault::Utf8))?;
    let mut scanner = Scanner::new(bytes, limits.nesting);
    if scanner.peek() == Some(b'[') {
        return batch(text, limits);
    }
    let found = Envelope::scan(&mut scanner, text).map_err(|fault| unreadable(bytes, fault))?;
    found.classify(text).map(Parsed::One)
}

/// The refusal of a message that is longer than the limit. `start` is as much of it as was kept.
#[must_use]
pub fn too_big(start: &[u8], limits: &Limits) -> Invalid {
    let message = words::join(&["the message is longer than ", &words::digits(limits.message_bytes as u64), " bytes"]);
    let (id, is_answer) = recover(start);
    Invalid { id, code: "message_too_big", error: RpcError::new(code::INVALID_REQUEST, message), is_answer }
}

/// Takes an array apart by its brackets and strings alone, so that one element which is no JSON spoils no other.
fn batch<'a>(text: &'a str, limits: &Limits) -> Result<Parsed<'a>, Invalid> {
    let parts = split(text, limits.batch).ok_or_else(|| unreadable(b"", Fault::Syntax))?;
    if parts.is_empty() || parts.len() > limits.batch {
        let message = words::join(&["a batch holds 1 to ", &words::digits(limits.batch as u64), " messages"]);
        let error = RpcError::new(code::INVALID_REQUEST, message);
        return Err(Invalid { id: None, code: "invalid_message", error, is_answer: false });
    }
    Ok(Parsed::Batch(parts))
}

/// The elements; one more than `most` at most, for then there are too many anyway.
fn split(text: &str, most: usize) -> Option<Vec<&str>> {
    let bytes = text.trim_ascii_end().as_bytes();
    let start = bytes.iter().position(|byte| *byte == b'[')?;
    let (mut parts, mut depth, mut from, mut at) = (Vec::new(), 0usize, start + 1, start);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    break;
                }
            }
            b',' if depth == 1 => {
                parts.push(words::part(text, from..at));
                if parts.len() > most {
                    return Some(parts);
                }
                from = at + 1;
            }
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if at + 1 != bytes.len() || bytes[at] != b']' {
        return None;
    }
    let last = words::part(text, from..at);
    if !(parts.is_empty() && last.trim_ascii().is_empty()) {
        parts.push(last);
    }
    Some(parts)
}

fn unreadable(bytes: &[u8], fault: Fault) -> Invalid {
    let (id, is_answer) = recover(bytes);
    let code = if fault == Fault::Duplicate { code::INVALID_REQUEST } else { code::PARSE };
    Invalid { id, code: fault.code(), error: RpcError::new(code, fault.message()), is_answer }
}

/// The envelope's members.
const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// Where they stand in the text.
#[derive(Debug, Default)]
struct Envelope([Option<Range<usize>>; 6]);

impl Envelope {
    fn scan(scanner: &mut Scanner<'_>, text: &str) -> Result<Self, Fault> {
        let mut found = Self::default();
        if scanner.peek() != Some(b'{') {
            // Well-formed or not, it is no message; a well-formed value has another code than noise.
            scanner.value()?;
            scanner.finish()?;
            return Ok(found);
        }
        scanner.enter(true)?;
        if scanner.peek() == Some(b'}') {
            scanner.leave();
            scanner.finish()?;
            return Ok(found);
        }
        loop {
            let key = scanner.key()?;
            let slot = found.slot(words::part(text, key));
            let value = scanner.value()?;
            if slot.is_some_and(|slot| slot.replace(value).is_some()) {
                return Err(Fault::Duplicate);
            }
            match scanner.peek() {
                Some(b',') => scanner.take(b',')?,
                Some(b'}') => break,
                _ => return Err(Fault::Syntax),
            }
        }
        scanner.leave();
        scanner.finish()?;
        Ok(found)
    }

    /// Where to note the member with this name, whose escapes count like the letters they stand for.
    fn slot(&mut self, key: &str) -> Option<&mut Option<Range<usize>>> {
        let key = json::unescape(key);
        self.0.iter_mut().zip(MEMBERS).find(|(_, name)| *name == key).map(|(slot, _)| slot)
    }

    fn classify(self, text: &str) -> Result<Message<'_>, Invalid> {
        let [version, id_text, method, params, result, error] =
            self.0.map(|range| range.map(|range| words::part(text, range)));
        let is_answer = method.is_none() && (result.is_some() || error.is_some());
        let id = id_text.and_then(Id::read);
        let problem = 'problem: {
            if version.and_then(json::string).as_deref() != Some("2.0") {
                break 'problem "`jsonrpc` must be the string \"2.0\"";
            }
            if id_text.is_some() && id.is_none() {
                break 'problem "`id` must be a string or an integer";
            }
            if let Some(method) = method {
                let Some(method) = json::string(method) else {
                    break 'problem "`method` must be a string";
                };
                if result.is_some() || error.is_some() {
                    break 'problem "a message is a request or an answer, not both";
                }
                if params.is_some_and(|params| !json::is_object(params)) {
                    break 'problem "`params` must be an object";
                }
                return Ok(match id {
                    Some(id) => Message::Request { id, method, params },
                    None => Message::Notification { method, params },
                });
            }
            match (result, error) {
                (Some(result), None) => match id {
                    Some(id) if json::is_object(result) => return Ok(Message::Result { id, result }),
                    _ => break 'problem "`result` must be an object, and have an `id`",
                },
                (None, Some(error)) => match RpcError::read(error) {
                    Some(error) => return Ok(Message::Error { id, error }),
                    None => "`error` must have an integer `code` and a string `message`",
                },
                (Some(_), Some(_)) => "an answer has `result` or `error`, not both",
                (None, None) => "a message needs a `method`, a `result` or an `error`",
            }
        };
        let error = RpcError::new(code::INVALID_REQUEST, problem);
        Err(Invalid { id: id_text.and_then(Id::read), code: "invalid_message", error, is_answer })
    }
}

/// Looks for the id of a text that is no JSON, and whether it was meant as an answer. It only follows brackets and
/// strings, so it works beyond the fault too.
fn recover(bytes: &[u8]) -> (Option<Id>, bool) {
    let (mut depth, mut at) = (0usize, 0usize);
    let (mut id, mut answers, mut asks) = (None, false, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at);
                let inner = bytes.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
                at = end;
                let rest = bytes.get(end..).unwrap_or_default();
                let colon = rest.iter().position(|b| !b.is_ascii_whitespace()).filter(|at| rest[*at] == b':');
                if let (1, Some(colon)) = (depth, colon) {
                    match inner {
                        b"id" if id.is_none() => id = recover_id(&rest[colon + 1..]),
                        b"method" => asks = true,
                        b"result" | b"error" => answers = true,
                        _ => {}
                    }
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (id, answers && !asks)
}

fn recover_id(rest: &[u8]) -> Option<Id> {
    let start = rest.iter().position(|b| !b.is_ascii_whitespace())?;
    let rest = &rest[start..];
    let end = if rest[0] == b'"' {
        string_end(rest, 0)
    } else {
        rest.iter().position(|b| !(b.is_ascii_digit() || matches!(b, b'-' | b'.'))).unwrap_or(rest.len())
    };
    // A number at the very end may have been cut.
    let ends = rest.get(end).map_or(rest[0] == b'"', |next| next.is_ascii_whitespace() || matches!(next, b',' | b'}'));
    let text = core::str::from_utf8(rest.get(..end).filter(|_| ends)?).ok()?;
    json::check(text, 1).ok()?;
    Id::read(text)
}

/// Behind the closing quote of the string that opens at `at`, or the end of the text.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A request as text. Written around the parameters where they are: with long ones there is no room for a copy.
#[must_use]
pub fn write_request(id: &Id, method: &str, params: Option<String>) -> String {
    let mut head = Object::new().raw("jsonrpc", "\"2.0\"").raw("id", id.as_json()).string("method", method).finish();
    let Some(mut text) = params else { return head };
    head.pop();
    head.push_str(",\"params\":");
    text.insert_str(0, &head);
    text.push('}');
    text
}

/// A notification as text.
#[must_use]
pub fn write_notification(method: &str, params: Option<&str>) -> String {
    let object =
        Object::with_capacity(64 + params.map_or(0, str::len)).raw("jsonrpc", "\"2.0\"").string("method", method);
    object.maybe("params", params).finish()
}

/// A good answer as text.
#[must_use]
pub fn write_result(id: &Id, result: &str) -> String {
    let mut out = begin_result(id, result.len());
    json::push_line(&mut out, result);
    out.push('}');
    out
}

/// A good answer up to its result, with room for that and its end, so that a long one is written once.
pub(crate) fn begin_result(id: &Id, room: usize) -> String {
    let mut out = String::with_capacity(room + id.as_json().len() + 64);
    out.push_str(r#"{"jsonrpc":"2.0","id":"#);
    out.push_str(id.as_json());
    out.push_str(r#","result":"#);
    out
}

/// A bad answer as text; without an id when none could be read (RPC-013, RPC-015).
#[must_use]
pub fn write_error(id: Option<&Id>, error: &RpcError) -> String {
    let object = Object::new().raw("jsonrpc", "\"2.0\"").maybe("id", id.map(Id::as_json));
    object.raw("error", &json::one_line(&error.write())).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn read(text: &str) -> Result<Message<'_>, Invalid> {
        match parse(text.as_bytes(), &Limits::default())? {
            Parsed::One(message) => Ok(message),
            Parsed::Batch(_) => panic!("a batch"),
        }
    }

    fn refused(text: &str) -> (i64, Option<String>) {
        let invalid = read(text).expect_err(text);
        (invalid.error.code, invalid.id.map(|id| id.as_json().to_owned()))
    }

    #[test]
    fn every_form_of_id() {
        for id in ["0", "-7", "9007199254740993", "\"a\"", "\"\"", "1.0"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Ok(Message::Request { id: found, .. }) = read(&text) else { panic!("{id}") };
            assert_eq!(found.as_json(), id);
        }
        for id in ["null", "1.5", "true", "{}", "[]", "1e3"] {
            assert_eq!(refused(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)), (-32600, None), "{id}");
        }
        assert_eq!(Id::read("1.0"), Id::read("1"));
        assert_eq!(Id::read("-0"), Id::read("0"));
        assert_ne!(Id::read("\"1\""), Id::read("1"));
    }

    #[test]
    fn refusals_keep_the_id() {
        let id = || Some("7".to_owned());
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#), (-32600, id()));
        assert_eq!(refused(r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#), (-32600, id()));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":7}"#), (-32600, id()));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":7,"method":1}"#), (-32600, id()));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","params":{"x":1e400},"id":7,"method":"m"}"#), (-32700, id()));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"\ud800"}}"#), (-32700, id()));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":7,"method":"m","method":"n"}"#), (-32600, id()));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1e400,"method":"m"}"#), (-32700, None));
        assert_eq!(refused("hello"), (-32700, None));
        assert_eq!(refused("3"), (-32600, None));
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"x":{}{}}}}}"#,
            "[".repeat(20_000),
            "]".repeat(20_000)
        );
        assert_eq!(refused(&deep), (-32700, id()));
    }

    #[test]
    fn one_bad_element_spoils_no_other() {
        assert_eq!(split(r#" [ {"a":[1,"]"]} , "\ud800",1e400 ] "#, 9).map(|parts| parts.len()), Some(3));
        assert_eq!(split("[]", 9).map(|parts| parts.len()), Some(0));
        for broken in ["[1", "[1}", "[1]]", "[\"a]", "[1] x"] {
            assert!(parse(broken.as_bytes(), &Limits::default()).is_err(), "{broken}");
        }
    }

    #[test]
    fn unknown_members_are_ignored() {
        assert!(matches!(read(r#"{"x":[{}],"jsonrpc":"2.0","method":"m"}"#), Ok(Message::Notification { .. })));
    }
}
