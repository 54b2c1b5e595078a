//! Just enough HTTP and SSE to look into what was written: for patterns and for the schema check, not for serving.

use crate::json::Json;

/// A request or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The first line.
    pub start: String,
    /// Names in lower case, values trimmed.
    pub headers: Vec<(String, String)>,
    /// The decoded body, as far as it came.
    pub body: Vec<u8>,
    /// Whether the body is complete.
    pub complete: bool,
}

impl Message {
    /// The value of a header, whose name is given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The status of an answer.
    #[must_use]
    pub fn status(&self) -> Option<u64> {
        self.start.split(' ').nth(1)?.parse().ok()
    }
}

/// The value of a header, whose name is given in lower case.
#[must_use]
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// Header lines.
#[must_use]
pub fn headers(lines: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    };
    lines.lines().filter_map(pair).collect()
}

/// All messages in a run of bytes; the last one may be incomplete.
///
/// # Errors
/// What is malformed.
pub fn messages(bytes: &[u8]) -> Result<Vec<Message>, String> {
    let (out, rest) = split(bytes)?;
    if rest.is_empty() || out.last().is_some_and(|last| !last.complete) { Ok(out) } else { Err("a cut head".into()) }
}

/// The messages whose heads are there, and what follows them.
///
/// # Errors
/// What is malformed.
pub fn split(mut bytes: &[u8]) -> Result<(Vec<Message>, &[u8]), String> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "a head that is not UTF-8")?;
        bytes = &bytes[end + 4..];
        let (start, lines) = head.split_once("\r\n").unwrap_or((head, ""));
        let headers = headers(lines);
        let (body, used, complete) = if header(&headers, "transfer-encoding") == Some("chunked") {
            chunked(bytes)?
        } else {
            let length = header(&headers, "content-length").map_or(Ok(0), str::parse).map_err(|_| "a bad length")?;
            let there = usize::min(length, bytes.len());
            (bytes[..there].to_vec(), there, there == length)
        };
        bytes = &bytes[used..];
        out.push(Message { start: start.to_owned(), headers, body, complete });
    }
    Ok((out, bytes))
}

fn chunked(bytes: &[u8]) -> Result<(Vec<u8>, usize, bool), String> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        let Some(line) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok((body, bytes.len(), false)) };
        let size = std::str::from_utf8(&rest[..line]).map_err(|_| "a bad chunk")?;
        let size = size.split(';').next().unwrap_or(size).trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| format!("a bad chunk size `{size}`"))?;
        let start = line + 2;
        if size == 0 {
            return Ok((body, at + start + 2, true));
        }
        let Some(data) = rest.get(start..start + size) else { return Ok((body, bytes.len(), false)) };
        body.extend_from_slice(data);
        at += start + size + 2;
        if at > bytes.len() {
            return Ok((body, bytes.len(), false));
        }
    }
}

/// The events of a body: an object for each, with the fields that were there (`comment` for comment lines). Only events
/// that are complete count.
#[must_use]
pub fn events(body: &[u8]) -> Vec<Json> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
    let mut blocks: Vec<&str> = text.split("\n\n").collect();
    blocks.pop();
    blocks.into_iter().map(event).collect()
}

fn event(block: &str) -> Json {
    let mut fields: Vec<(String, Json)> = Vec::new();
    for line in block.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let name = if name.is_empty() { "comment" } else { name };
        match fields.iter_mut().find(|(key, _)| key == name) {
            Some((_, Json::String(before))) => {
                before.push('\n');
                before.push_str(value);
            }
            _ => fields.push((name.to_owned(), Json::string(value))),
        }
    }
    Json::Object(fields)
}

/// The messages that the events of a body carry, in order.
///
/// # Errors
/// Data that is no JSON.
pub fn event_messages(body: &[u8]) -> Result<Vec<Json>, String> {
    let events = events(body);
    let data = events.iter().filter_map(|event| event.get("data")?.as_str()).filter(|data| !data.is_empty());
    data.map(Json::parse).collect()
}
