//! What requests and responses share: finding the end of a head, and the fields that frame a body.

use crate::link::headers::Headers;
use alloc::{borrow::Cow, string::String, vec::Vec};

/// Gathers a head; each byte is looked at once.
#[derive(Debug)]
pub(super) struct HeadReader {
    buf: Vec<u8>,
    /// Whether the current line holds nothing yet.
    blank: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadStep {
    /// All bytes were taken and more are needed.
    More,
    /// The head is complete after that many of the bytes.
    Done(usize),
    TooLarge,
}

impl HeadReader {
    pub(super) const fn new() -> Self {
        Self { buf: Vec::new(), blank: true }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    pub(super) fn feed(&mut self, input: &[u8], limit: usize) -> HeadStep {
        // Empty lines before a start line are allowed and mean nothing (RFC 9112, section 2.2).
        let start = if self.buf.is_empty() {
            input.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(input.len())
        } else {
            0
        };
        let end = self.find_end(&input[start..]).map(|length| start + length);
        let part = &input[start..end.unwrap_or(input.len())];
        if self.buf.len() + part.len() > limit {
            return HeadStep::TooLarge;
        }
        self.buf.extend_from_slice(part);
        end.map_or(HeadStep::More, HeadStep::Done)
    }

    fn find_end(&mut self, part: &[u8]) -> Option<usize> {
        for (at, byte) in part.iter().enumerate() {
            match byte {
                b'\n' if self.blank => return Some(at + 1),
                b'\n' => self.blank = true,
                b'\r' => {}
                _ => self.blank = false,
            }
        }
        None
    }

    /// The complete head; the reader is fresh again.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.blank = true;
        core::mem::take(&mut self.buf)
    }
}

pub(super) fn copy_fields(fields: &[httparse::Header<'_>]) -> Headers {
    let mut headers = Headers::new();
    for field in fields {
        // Bytes that are not UTF-8 are read as Latin-1, the historic meaning; nothing downstream accepts them unasked.
        let value = core::str::from_utf8(field.value).map_or_else(
            |_| Cow::Owned(field.value.iter().map(|&byte| char::from(byte)).collect::<String>()),
            Cow::Borrowed,
        );
        headers.push(field.name, &value);
    }
    headers
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Length {
    Absent,
    Bytes(u64),
    /// Digits, but more than any machine holds.
    Huge,
    Invalid,
}

/// The value of `content-length`; equal repetitions count once.
pub(super) fn content_length(headers: &Headers) -> Length {
    let mut found = Length::Absent;
    for item in headers.all("content-length").flat_map(|value| value.split(',')) {
        let item = item.trim_matches([' ', '\t']);
        if item.is_empty() || !item.bytes().all(|byte| byte.is_ascii_digit()) {
            return Length::Invalid;
        }
        let length = item.parse().map_or(Length::Huge, Length::Bytes);
        if found != Length::Absent && found != length {
            return Length::Invalid;
        }
        found = length;
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Absent,
    Chunked,
    /// Another coding, under a final `chunked`.
    Other,
    Invalid,
}

/// What `transfer-encoding` says.
pub(super) fn transfer_coding(headers: &Headers) -> Coding {
    let mut found = Coding::Absent;
    for item in headers.all("transfer-encoding").flat_map(|value| value.split(',')) {
        let is_chunked = item.trim_matches([' ', '\t']).eq_ignore_ascii_case("chunked");
        found = match (found, is_chunked) {
            (Coding::Absent, true) => Coding::Chunked,
            (Coding::Invalid, true) => Coding::Other,
            (Coding::Absent | Coding::Invalid, false) => Coding::Invalid,
            // Nothing may follow `chunked`.
            (Coding::Chunked | Coding::Other, _) => return Coding::Invalid,
        };
    }
    found
}

/// Whether the connection lives on by the version and the `connection` field.
pub(super) fn keeps_alive(headers: &Headers, version: Option<u8>) -> bool {
    !headers.has_word("connection", "close") && (version == Some(1) || headers.has_word("connection", "keep-alive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let length = |lines: &str| content_length(&Headers::parse_lines(lines));
        assert_eq!(length(""), Length::Absent);
        assert_eq!(length("content-length: 5\ncontent-length: 5, 05"), Length::Bytes(5));
        assert_eq!(length("content-length: 99999999999999999999999"), Length::Huge);
        for bad in ["", "+5", "-1", "5 5", "0x5", "5,", "5, 6"] {
            assert_eq!(length(&alloc::format!("content-length: {bad}")), Length::Invalid, "{bad}");
        }
    }

    #[test]
    fn codings() {
        let coding =
            |value: &str| transfer_coding(&Headers::parse_lines(&alloc::format!("transfer-encoding: {value}")));
        assert_eq!(transfer_coding(&Headers::new()), Coding::Absent);
        assert_eq!(coding("Chunked"), Coding::Chunked);
        assert_eq!(coding("gzip, chunked"), Coding::Other);
        for bad in [
            "",
            "gzip",
            "identity",
            "chunked, gzip",
            "chunked, chunked",
            "xchunked",
            "chunked;a",
            "gzip, chunked, chunked",
        ] {
            assert_eq!(coding(bad), Coding::Invalid, "{bad}");
        }
    }
}
