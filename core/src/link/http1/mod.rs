//! HTTP/1.1 as plain values: bytes in, events out. `server` reads requests, `client` reads responses, `url` reads URLs;
//! writing is here. Nothing in this folder knows what the bodies mean.

mod body;
mod client;
mod head;
mod server;
mod url;

pub use client::{ClientConn, ClientEvent, encode_request};
pub use server::{Request, ServerConn, ServerEvent};
pub use url::{Url, UrlFault};

use alloc::{string::String, vec::Vec};
use core::fmt::Write;

/// What one connection may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http1Limits {
    /// Bytes of a request line or status line with its fields. Bytes held back from pipelining peers are bounded by it too.
    pub head_bytes: usize,
    /// Fields in a head.
    pub headers: usize,
    /// Bytes of a request body. Response bodies are handed on as they come and have no bound here.
    pub body_bytes: usize,
}

impl Default for Http1Limits {
    fn default() -> Self {
        Self { head_bytes: 64 * 1024, headers: 100, body_bytes: 16 * 1024 * 1024 }
    }
}

/// Why a message cannot be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Http1Fault {
    /// The peer's bytes are not HTTP/1; the text says what is wrong with them.
    Malformed(&'static str),
    /// A head is larger than the limit.
    TooLarge,
    /// The peer uses something that was not asked for, such as another protocol or a transfer coding.
    Unsupported(&'static str),
    /// The connection closed in the middle of a response, or on its first request before any of it.
    Truncated,
    /// A connection that had served before closed without a byte of this response: the request can be sent again.
    ClosedBeforeResponse,
    /// A field name, field value, method or target of ours cannot be written safely.
    InvalidHead,
    /// The last response is not complete, or the connection cannot be used again.
    Busy,
}

impl Http1Fault {
    /// A stable word for this fault.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Malformed(_) => "http_malformed",
            Self::TooLarge => "http_too_large",
            Self::Unsupported(_) => "http_unsupported",
            Self::Truncated => "http_truncated",
            Self::ClosedBeforeResponse => "http_closed_before_response",
            Self::InvalidHead => "http_invalid_head",
            Self::Busy => "http_busy",
        }
    }

    /// What happened, in a few words for people.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Malformed(why) | Self::Unsupported(why) => why,
            Self::TooLarge => "head too large",
            Self::Truncated => "connection closed inside a response",
            Self::ClosedBeforeResponse => "connection closed before the response",
            Self::InvalidHead => "method, target or header cannot be written",
            Self::Busy => "connection is busy or used up",
        }
    }
}

/// How a reader finds the end of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `content-length`.
    Length(usize),
    /// Chunks, written with [`encode_chunk`] and ended with [`encode_last_chunk`].
    Chunked,
    /// No body: status 204 or 304, or the answer to HEAD.
    None,
    /// Until the connection closes, for streams to HTTP/1.0 peers.
    Close,
}

/// What happens to the connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The next request may come.
    KeepAlive,
    /// It is closed once the response is written.
    Close,
}

impl From<&Request> for Connection {
    fn from(request: &Request) -> Self {
        if request.keep_alive { Self::KeepAlive } else { Self::Close }
    }
}

/// Writes a response head. Fields that frame the message (`content-length`, `transfer-encoding`, `connection`) are left
/// out of `headers` and written by `framing` and `connection` alone; [`Framing::Close`] always closes.
///
/// # Errors
/// [`Http1Fault::InvalidHead`] when a field name is no token or a value holds a line break or another control character;
/// `out` is unchanged then.
pub fn encode_response<'a>(
    out: &mut Vec<u8>,
    status: u16,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    framing: Framing,
    connection: Connection,
) -> Result<(), Http1Fault> {
    let mut head = String::with_capacity(256);
    let _ = write!(head, "HTTP/1.1 {status} {}\r\n", reason(status));
    write_fields(&mut head, headers, &["content-length", "transfer-encoding", "connection"])?;
    match framing {
        Framing::Length(length) => {
            let _ = write!(head, "content-length: {length}\r\n");
        }
        Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Framing::None | Framing::Close => {}
    }
    head.push_str(match (framing, connection) {
        (Framing::Close, _) | (_, Connection::Close) => "connection: close\r\n\r\n",
        (_, Connection::KeepAlive) => "connection: keep-alive\r\n\r\n",
    });
    out.extend_from_slice(head.as_bytes());
    Ok(())
}

/// Writes the answer to [`ServerEvent::Continue`].
pub fn encode_continue(out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
}

/// Writes one chunk of a chunked body; no bytes, no chunk.
pub fn encode_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    out.reserve(bytes.len() + 20);
    out.extend_from_slice(alloc::format!("{:x}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Writes the end of a chunked body.
pub fn encode_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// Writes fields, checked; those named in `ours` are left out.
fn write_fields<'a>(
    head: &mut String,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ours: &[&str],
) -> Result<(), Http1Fault> {
    for (name, value) in headers {
        if !is_token(name) || value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            return Err(Http1Fault::InvalidHead);
        }
        if !ours.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        }
    }
    Ok(())
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(headers: &[(&str, &str)], framing: Framing, connection: Connection) -> Result<String, Http1Fault> {
        let mut out = Vec::new();
        encode_response(&mut out, 200, headers.iter().copied(), framing, connection)?;
        Ok(String::from_utf8(out).expect("heads are text"))
    }

    #[test]
    fn responses_are_framed_by_us_alone() {
        let headers = [("Content-Type", "text/plain"), ("Content-Length", "9"), ("connection", "x")];
        assert_eq!(
            response(&headers, Framing::Length(2), Connection::KeepAlive).expect("safe"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\n"
        );
        assert_eq!(
            response(&[], Framing::Chunked, Connection::Close).expect("safe"),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        );
        assert_eq!(
            response(&[], Framing::Close, Connection::KeepAlive).expect("safe"),
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
        );
    }

    #[test]
    fn injection_is_refused() {
        for (name, value) in
            [("a", "1\r\nb: 2"), ("a", "1\n"), ("a", "\0"), ("a b", "1"), ("", "1"), ("a:", "1"), ("a\r\nb", "1")]
        {
            let mut out = b"before".to_vec();
            let result = encode_response(&mut out, 200, [(name, value)], Framing::None, Connection::Close);
            assert_eq!((result, out.as_slice()), (Err(Http1Fault::InvalidHead), &b"before"[..]));
        }
    }

    #[test]
    fn chunks() {
        let mut out = Vec::new();
        encode_chunk(&mut out, b"");
        encode_chunk(&mut out, &[b'x'; 26]);
        encode_last_chunk(&mut out);
        assert_eq!(out, b"1a\r\nxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n0\r\n\r\n");
    }
}
