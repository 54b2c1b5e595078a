//! Strings: their escapes, undone and made.

use alloc::borrow::Cow;
use alloc::string::String;

use super::scanner::hex4;
use crate::words;

/// Undoes the escapes of a checked string's content.
#[must_use]
pub fn unescape(inner: &str) -> Cow<'_, str> {
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    unescape_into(inner, |part| out.push_str(part));
    Cow::Owned(out)
}

/// The same in parts, for who needs no copy of a long one.
pub(super) fn unescape_into(inner: &str, mut part: impl FnMut(&str)) {
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        part(words::part(rest, 0..at));
        let kind = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or("");
        let scalar = match kind {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = rest.as_bytes().get(..4).and_then(hex4).unwrap_or(0xFFFD);
                rest = rest.get(4..).unwrap_or("");
                let mut scalar = high;
                if (0xD800..0xDC00).contains(&high) {
                    let low = rest.as_bytes().get(2..6).and_then(hex4).unwrap_or(0xDC00);
                    rest = rest.get(6..).unwrap_or("");
                    scalar = 0x10000 + ((high - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
                }
                char::from_u32(scalar).unwrap_or('\u{FFFD}')
            }
            other => char::from(other),
        };
        part(scalar.encode_utf8(&mut [0; 4]));
    }
    part(rest);
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(words::part(text, plain..at));
        plain = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            other => {
                // Below 0x20, so the third digit is 0 or 1.
                out.push_str("\\u00");
                out.push(char::from(b'0' + (other >> 4)));
                out.push(char::from(b"0123456789abcdef"[usize::from(other & 15)]));
            }
        }
    }
    out.push_str(words::part(text, plain..text.len()));
    out.push('"');
}

/// `text` as a JSON string.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// Appends checked text on one line, see [`one_line`].
pub(crate) fn push_line(out: &mut String, text: &str) {
    // The two searches of whole texts are fast, as is the usual case.
    if !text.contains('\n') && !text.contains('\r') {
        return out.push_str(text);
    }
    for (at, part) in text.split(['\n', '\r']).enumerate() {
        if at > 0 {
            out.push(' ');
        }
        out.push_str(part);
    }
}

/// Removes white space between tokens, so that checked text stands on one line (STDIO-002).
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') && !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    // A raw line break cannot stand inside a string, so every one of them is between tokens.
    Cow::Owned(text.replace(['\n', '\r'], " "))
}
