//! Event streams (`text/event-stream`): an incremental reader by the WHATWG rules, and the writer.

use alloc::{string::String, vec::Vec};
use core::mem;

use crate::words;

const BOM: &[u8] = b"\xef\xbb\xbf";
/// A line buffer larger than this is given back once its line is done.
const KEEP_BYTES: usize = 64 * 1024;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's type; `None` means the default, `message`.
    pub event: Option<String>,
    /// The data lines joined by line feeds.
    pub data: String,
    /// Whether there is data to read; false for events that only carry an id or a retry time.
    pub has_data: bool,
    /// The id that this event sets; empty means that it clears the last one.
    pub id: Option<String>,
    /// How long to wait before reconnecting, in milliseconds.
    pub retry: Option<u64>,
}

/// Why a stream cannot be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SseFault {
    /// A line or an event is larger than the limit.
    TooLarge,
    /// A line is not UTF-8.
    NotUtf8,
}

impl SseFault {
    /// A stable word for this fault.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::TooLarge => "sse_too_large",
            Self::NotUtf8 => "sse_not_utf8",
        }
    }
}

/// Reads one stream, in pieces of any size. Each byte is looked at once; whole lines are never buffered.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// The part of the current line that arrived in earlier pieces.
    line: Vec<u8>,
    event: SseEvent,
    data_lines: usize,
    after_cr: bool,
    at_start: bool,
    fault: Option<SseFault>,
}

impl Parser {
    /// A reader for a fresh stream; neither a line nor an event may hold more than `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            limit: limit_bytes,
            line: Vec::new(),
            event: SseEvent::default(),
            data_lines: 0,
            after_cr: false,
            at_start: true,
            fault: None,
        }
    }

    /// Takes the next bytes and adds the events that they complete.
    ///
    /// # Errors
    /// The stream is broken; events before the fault are in `out`, and every further call gives the same fault.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let result = self.read(bytes, out);
        self.fault = result.err();
        result
    }

    fn read(&mut self, mut rest: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseFault> {
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            self.check_size(head.len())?;
            if self.line.is_empty() {
                self.take_line(head, out)?;
            } else {
                let mut line = mem::take(&mut self.line);
                line.extend_from_slice(head);
                self.take_line(&line, out)?;
                if line.capacity() <= KEEP_BYTES {
                    line.clear();
                    self.line = line;
                }
            }
            rest = match tail {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.check_size(rest.len())?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    fn check_size(&self, more: usize) -> Result<(), SseFault> {
        let held = self.line.len() + self.event.data.len();
        if held.saturating_add(more) > self.limit { Err(SseFault::TooLarge) } else { Ok(()) }
    }

    fn take_line(&mut self, mut line: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseFault> {
        if mem::take(&mut self.at_start) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event(out);
            return Ok(());
        }
        let text = core::str::from_utf8(line).map_err(|_| SseFault::NotUtf8)?;
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if self.data_lines > 0 {
                    self.event.data.push('\n');
                }
                self.data_lines += 1;
                self.event.data.push_str(value);
            }
            "event" => self.event.event = (!value.is_empty()).then(|| value.into()),
            "id" if !value.contains('\0') => self.event.id = Some(value.into()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.event.retry = words::read_digits(value).or(self.event.retry);
            }
            _ => {}
        }
        Ok(())
    }

    fn end_event(&mut self, out: &mut Vec<SseEvent>) {
        let mut event = mem::take(&mut self.event);
        let had_data_line = mem::take(&mut self.data_lines) > 0;
        if had_data_line || event.id.is_some() || event.retry.is_some() {
            event.has_data = !event.data.is_empty();
            out.push(event);
        }
    }
}

/// Writes one event. Line feeds in `data` become further data lines, so a reader gets the same text back.
///
/// `id` must hold neither line breaks nor NUL.
pub fn write_event(out: &mut Vec<u8>, id: Option<&str>, data: &str) {
    out.reserve(data.len() + id.map_or(0, str::len) + 16);
    if let Some(id) = id {
        debug_assert!(!id.contains(['\r', '\n', '\0']), "event ids are ours");
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    // JSON from a host may be spread over lines; CR and CRLF are white space there, so a line feed says the same.
    for line in data.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Writes the time in milliseconds that the reader should wait before it reconnects.
pub fn write_retry(out: &mut Vec<u8>, millis: u64) {
    out.extend_from_slice(alloc::format!("retry: {millis}\n\n").as_bytes());
}

/// Writes a comment, which readers ignore; it keeps a quiet stream alive. `text` must hold no line breaks.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    debug_assert!(!text.contains(['\r', '\n']), "comments are ours");
    out.extend_from_slice(b": ");
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn parse(pieces: &[&[u8]]) -> Result<Vec<SseEvent>, SseFault> {
        let (mut parser, mut out) = (Parser::new(1000), Vec::new());
        for piece in pieces {
            parser.receive(piece, &mut out)?;
        }
        Ok(out)
    }

    fn data(text: &str) -> SseEvent {
        SseEvent { data: text.into(), has_data: !text.is_empty(), ..SseEvent::default() }
    }

    #[test]
    fn splitting_changes_nothing() {
        let stream = "\u{feff}: hi\r\nevent: message\rid: 1\ndata: a\r\ndata:b\ndata:  c\rother: x\nretry: 20\r\n\r\n\ndata\n\r: x\n\nid: 7\ndata: \r\r\
                      id\nretry: 5x\n\ndata: Zürich\n\nevent: lonely\n\ndata: cut";
        let want = vec![
            SseEvent { event: Some("message".into()), id: Some("1".into()), retry: Some(20), ..data("a\nb\n c") },
            data(""),
            SseEvent { id: Some("7".into()), ..data("") },
            SseEvent { id: Some(String::new()), ..data("") },
            data("Zürich"),
        ];
        let bytes = stream.as_bytes();
        assert_eq!(parse(&[bytes]), Ok(want.clone()));
        for at in 0..=bytes.len() {
            assert_eq!(parse(&[&bytes[..at], &[], &bytes[at..]]), Ok(want.clone()), "split at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(parse(&single), Ok(want));
    }

    #[test]
    fn fields_follow_the_rules() {
        let one = |text: &str| parse(&[text.as_bytes()]).expect("readable").pop();
        assert_eq!(one("data\ndata\n\n").expect("event").data, "\n");
        assert_eq!(one("id: a\0b\n\n"), None);
        assert_eq!(one("id: a\nid: b\0\n\n").expect("event").id.as_deref(), Some("a"));
        assert_eq!(one("retry: 99999999999999999999999\n\n"), None);
        assert_eq!(one("retry: 9\n\n").expect("event").retry, Some(9));
        assert_eq!(one("Data: x\n\n"), None);
        assert_eq!(one("data: x: y\n\n").expect("event").data, "x: y");
        assert_eq!(one("\u{feff}\u{feff}data: x\n\n"), None);
        assert_eq!(one("data: x\n"), None);
    }

    #[test]
    fn faults_stay() {
        let (mut parser, mut out) = (Parser::new(1000), Vec::new());
        assert_eq!(parser.receive(b"data: ok\n\ndata: \xff\n\n", &mut out), Err(SseFault::NotUtf8));
        assert_eq!(parser.receive(b"data: b\n\n", &mut out), Err(SseFault::NotUtf8));
        assert_eq!(out, vec![data("ok")]);
        assert_eq!((SseFault::NotUtf8.code(), SseFault::TooLarge.code()), ("sse_not_utf8", "sse_too_large"));
    }

    #[test]
    fn limits_hold() {
        let (mut parser, mut out) = (Parser::new(1000), Vec::new());
        let mut sent = 0;
        while parser.receive(b"xxxxxxxxxx", &mut out).is_ok() {
            sent += 10;
        }
        assert_eq!(sent, 1000);
        let many = "data: 12345678\n".repeat(200);
        assert_eq!(parse(&[many.as_bytes()]), Err(SseFault::TooLarge));
        let empty = "data\n".repeat(2000);
        assert_eq!(parse(&[empty.as_bytes()]), Err(SseFault::TooLarge));
        let whole = "data: 12345678\n\n".repeat(200);
        assert_eq!(parse(&[whole.as_bytes()]).map(|events| events.len()), Ok(200));
        let comments = ": nothing\n".repeat(2000);
        assert_eq!(parse(&[comments.as_bytes()]), Ok(vec![]));
    }

    #[test]
    fn a_large_event_in_small_pieces() {
        let (mut parser, mut out) = (Parser::new(9_000_000), Vec::new());
        let mut stream = Vec::new();
        write_event(&mut stream, Some("1"), &"x".repeat(4_000_000));
        for piece in stream.chunks(7) {
            parser.receive(piece, &mut out).expect("within the limit");
        }
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].data.len(), 4_000_000);
        assert!(parser.line.capacity() <= KEEP_BYTES);
    }

    #[test]
    fn written_events_read_back() {
        let mut out = Vec::new();
        write_event(&mut out, None, "{}");
        assert_eq!(out, b"data: {}\n\n");
        write_comment(&mut out, "still here");
        write_event(&mut out, Some("a1"), "");
        write_retry(&mut out, 500);
        write_event(&mut out, None, "{\r\n \"a\":\n1\r}");
        let want = vec![
            data("{}"),
            SseEvent { id: Some("a1".into()), ..data("") },
            SseEvent { retry: Some(500), ..data("") },
            data("{\n \"a\":\n1\n}"),
        ];
        assert_eq!(parse(&[&out]), Ok(want));
    }
}
