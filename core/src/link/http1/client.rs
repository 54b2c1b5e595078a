//! Writes requests and reads their responses, one after the other on one connection.

use super::{
    Http1Fault, Http1Limits, Url,
    body::{ChunkFault, ChunkReader},
    head::{self, Coding, HeadReader, HeadStep, Length},
    is_token, write_fields,
};
use crate::link::headers::Headers;
use alloc::{string::String, vec, vec::Vec};
use core::{fmt::Write, mem};

/// Writes a request. `host`, `content-length`, `transfer-encoding` and `connection` are left out of `headers`; the first
/// two are written from `url` and `body`.
///
/// # Errors
/// [`Http1Fault::InvalidHead`] when method, target or a field cannot be written safely; `out` is unchanged then.
pub fn encode_request<'a>(
    out: &mut Vec<u8>,
    method: &str,
    url: &Url,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    body: Option<&[u8]>,
) -> Result<(), Http1Fault> {
    let is_safe = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token(method) || !is_safe(&url.target) || !is_safe(&url.authority) {
        return Err(Http1Fault::InvalidHead);
    }
    let mut head = String::with_capacity(512);
    let _ = write!(head, "{method} {} HTTP/1.1\r\nhost: {}\r\n", url.target, url.authority);
    write_fields(&mut head, headers, &["host", "content-length", "transfer-encoding", "connection"])?;
    let length = body.map(<[u8]>::len).or_else(|| matches!(method, "POST" | "PUT" | "PATCH").then_some(0));
    if let Some(length) = length {
        let _ = write!(head, "content-length: {length}\r\n");
    }
    head.push_str("\r\n");
    let body = body.unwrap_or_default();
    out.reserve(head.len() + body.len());
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body);
    Ok(())
}

/// What a response brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// The final status and its fields; interim responses are not shown.
    Head {
        /// 200 to 999.
        status: u16,
        /// The fields.
        headers: Headers,
    },
    /// The next part of the body, never empty.
    Body(Vec<u8>),
    /// The response is complete.
    End {
        /// Whether the connection may carry another request.
        reusable: bool,
    },
}

/// The reading half of one client connection.
#[derive(Debug)]
pub struct ClientConn {
    limits: Http1Limits,
    head: HeadReader,
    state: State,
    head_only: bool,
    keep_alive: bool,
    served: bool,
    fault: Option<Http1Fault>,
}

#[derive(Debug)]
enum State {
    /// No request is under way.
    Idle,
    Head,
    Bytes(u64),
    Chunks(ChunkReader),
    UntilClose,
    /// Complete, and not to be used again.
    Closed,
}

impl ClientConn {
    /// A reader for a fresh connection.
    #[must_use]
    pub const fn new(limits: Http1Limits) -> Self {
        Self {
            limits,
            head: HeadReader::new(),
            state: State::Idle,
            head_only: false,
            keep_alive: true,
            served: false,
            fault: None,
        }
    }

    /// A request with that method goes out now: its response is read next.
    ///
    /// # Errors
    /// [`Http1Fault::Busy`] while another response is due or when the connection cannot be used again.
    pub fn begin(&mut self, method: &str) -> Result<(), Http1Fault> {
        if self.fault.is_some() || !matches!(self.state, State::Idle) {
            return Err(Http1Fault::Busy);
        }
        self.head_only = method == "HEAD";
        self.state = State::Head;
        Ok(())
    }

    /// Whether [`Self::begin`] would succeed.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.fault.is_none() && matches!(self.state, State::Idle)
    }

    /// Takes bytes from the peer.
    ///
    /// # Errors
    /// The connection is broken; events before the fault are in `out`, and every further call gives the same fault.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<ClientEvent>) -> Result<(), Http1Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let result = self.run(bytes, out);
        self.fault = result.err();
        result
    }

    /// The peer closed the connection; ends a body that lasts until then.
    ///
    /// # Errors
    /// [`Http1Fault::Truncated`] or [`Http1Fault::ClosedBeforeResponse`] when a response was due, or the earlier fault.
    pub fn finish(&mut self, out: &mut Vec<ClientEvent>) -> Result<(), Http1Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let fault = match mem::replace(&mut self.state, State::Closed) {
            State::Idle | State::Closed => return Ok(()),
            State::UntilClose => {
                out.push(ClientEvent::End { reusable: false });
                return Ok(());
            }
            State::Head if self.head.is_empty() && self.served => Http1Fault::ClosedBeforeResponse,
            State::Head | State::Bytes(_) | State::Chunks(_) => Http1Fault::Truncated,
        };
        self.fault = Some(fault);
        Err(fault)
    }

    fn run(&mut self, mut rest: &[u8], out: &mut Vec<ClientEvent>) -> Result<(), Http1Fault> {
        while !rest.is_empty() {
            match &mut self.state {
                State::Idle => return Err(Http1Fault::Malformed("bytes without a request")),
                // What comes after the last response has no meaning.
                State::Closed => return Ok(()),
                State::Head => match self.head.feed(rest, self.limits.head_bytes) {
                    HeadStep::More => return Ok(()),
                    HeadStep::TooLarge => return Err(Http1Fault::TooLarge),
                    HeadStep::Done(used) => {
                        rest = &rest[used..];
                        self.take_head(rest.is_empty(), out)?;
                    }
                },
                State::Bytes(left) => {
                    let take = usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                    *left -= take as u64;
                    let done = *left == 0;
                    out.push(ClientEvent::Body(rest[..take].to_vec()));
                    rest = &rest[take..];
                    if done {
                        self.end(rest.is_empty(), out);
                    }
                }
                State::Chunks(reader) => {
                    let mut part = Vec::new();
                    let result = reader.feed(rest, &mut part, usize::MAX);
                    let done = reader.is_done();
                    if !part.is_empty() {
                        out.push(ClientEvent::Body(part));
                    }
                    rest = &rest[result.map_err(Http1Fault::from)?..];
                    if done {
                        self.end(rest.is_empty(), out);
                    }
                }
                State::UntilClose => {
                    out.push(ClientEvent::Body(rest.to_vec()));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn take_head(&mut self, nothing_follows: bool, out: &mut Vec<ClientEvent>) -> Result<(), Http1Fault> {
        let bytes = self.head.take();
        let (status, version, headers) = parse_head(&bytes, self.limits.headers)?;
        match status {
            101 => return Err(Http1Fault::Unsupported("protocol switch")),
            // Interim: the final response follows.
            100..=199 => return Ok(()),
            200..=999 => {}
            _ => return Err(Http1Fault::Malformed("invalid status")),
        }
        let coding = head::transfer_coding(&headers);
        let length = head::content_length(&headers);
        // A length beside a transfer coding is wrong (RFC 9112, section 6.3): the coding counts, the connection ends.
        self.keep_alive =
            head::keeps_alive(&headers, Some(version)) && (coding == Coding::Absent || length == Length::Absent);
        let next = if self.head_only || matches!(status, 204 | 304) {
            None
        } else {
            match (coding, length) {
                (Coding::Chunked, _) => Some(State::Chunks(ChunkReader::new())),
                (Coding::Other | Coding::Invalid, _) => return Err(Http1Fault::Unsupported("transfer coding")),
                (Coding::Absent, Length::Absent) => Some(State::UntilClose),
                (Coding::Absent, Length::Bytes(0)) => None,
                (Coding::Absent, Length::Bytes(length)) => Some(State::Bytes(length)),
                (Coding::Absent, Length::Huge | Length::Invalid) => {
                    return Err(Http1Fault::Malformed("invalid Content-Length"));
                }
            }
        };
        out.push(ClientEvent::Head { status, headers });
        match next {
            Some(state) => self.state = state,
            None => self.end(nothing_follows, out),
        }
        Ok(())
    }

    /// Bytes after a response that no request asked for make the connection unfit for the next one.
    fn end(&mut self, nothing_follows: bool, out: &mut Vec<ClientEvent>) {
        let reusable = self.keep_alive && nothing_follows;
        self.served = true;
        self.state = if reusable { State::Idle } else { State::Closed };
        out.push(ClientEvent::End { reusable });
    }
}

impl From<ChunkFault> for Http1Fault {
    fn from(fault: ChunkFault) -> Self {
        match fault {
            ChunkFault::Malformed(why) => Self::Malformed(why),
            ChunkFault::TooLarge => Self::Malformed("chunk too large"),
        }
    }
}

fn parse_head(bytes: &[u8], most: usize) -> Result<(u16, u8, Headers), Http1Fault> {
    let mut fields = vec![httparse::EMPTY_HEADER; most];
    let mut parsed = httparse::Response::new(&mut fields);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Http1Fault::TooLarge),
        _ => return Err(Http1Fault::Malformed("invalid status line or header")),
    }
    match (parsed.code, parsed.version) {
        (Some(status), Some(version)) => Ok((status, version, head::copy_fields(parsed.headers))),
        _ => Err(Http1Fault::Malformed("incomplete status line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Http1Limits = Http1Limits { head_bytes: 200, headers: 4, body_bytes: 10 };

    /// Status, body and whether the connection is reusable, or the fault's code; then what closing gives.
    fn read(method: &str, pieces: &[&[u8]]) -> Result<(u16, Vec<u8>, Option<bool>), &'static str> {
        let (mut conn, mut out) = (ClientConn::new(SMALL), Vec::new());
        conn.begin(method).map_err(Http1Fault::code)?;
        for piece in pieces {
            conn.receive(piece, &mut out).map_err(Http1Fault::code)?;
        }
        conn.finish(&mut out).map_err(Http1Fault::code)?;
        let (mut seen, mut body, mut end) = (0, Vec::new(), None);
        for event in out {
            match event {
                ClientEvent::Head { status, .. } => seen = status,
                ClientEvent::Body(part) => {
                    assert!(!part.is_empty());
                    body.extend(part);
                }
                ClientEvent::End { reusable } => assert_eq!(end.replace(reusable), None),
            }
        }
        Ok((seen, body, end))
    }

    fn get(text: &str) -> Result<(u16, Vec<u8>, Option<bool>), &'static str> {
        read("GET", &[text.as_bytes()])
    }

    #[test]
    fn splitting_changes_nothing() {
        let streams = [
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                true,
            ),
            (
                "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\nA: b\r\n\r\n",
                true,
            ),
            ("HTTP/1.1 200\r\nA: b\r\n\r\nhello", false),
            ("HTTP/1.0 200 OK\nContent-Length: 5\n\nhello", false),
        ];
        for (stream, reusable) in streams {
            let bytes = stream.as_bytes();
            let status = if stream.contains("404") { 404 } else { 200 };
            let want = Ok((status, b"hello".to_vec(), Some(reusable)));
            assert_eq!(read("POST", &[bytes]), want, "{stream}");
            for at in 0..=bytes.len() {
                assert_eq!(read("POST", &[&bytes[..at], &bytes[at..]]), want, "{stream} split at {at}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read("POST", &single), want);
        }
    }

    #[test]
    fn responses_without_body() {
        assert_eq!(get("HTTP/1.1 204 No Content\r\n\r\n"), Ok((204, vec![], Some(true))));
        assert_eq!(get("HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n"), Ok((304, vec![], Some(true))));
        assert_eq!(get("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), Ok((202, vec![], Some(true))));
        assert_eq!(
            read("HEAD", &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]),
            Ok((200, vec![], Some(true)))
        );
        assert_eq!(get("HTTP/1.1 204 No\r\nConnection: close\r\n\r\n"), Ok((204, vec![], Some(false))));
    }

    #[test]
    fn doubt_ends_the_connection() {
        let both = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        assert_eq!(get(both), Ok((200, b"a".to_vec(), Some(false))));
        assert_eq!(get("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"), Ok((200, b"a".to_vec(), Some(false))));
        let (mut conn, mut out) = (ClientConn::new(SMALL), Vec::new());
        assert_eq!(
            conn.receive(b"HTTP/1.1 408 Timeout\r\n\r\n", &mut out).map_err(Http1Fault::code),
            Err("http_malformed")
        );
        assert_eq!((conn.begin("GET"), conn.is_idle()), (Err(Http1Fault::Busy), false));
    }

    #[test]
    fn broken_responses() {
        let cases = [
            ("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "http_unsupported"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "http_unsupported"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "http_malformed"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "http_malformed"),
            ("HTTP/1.1 099 OK\r\n\r\n", "http_malformed"),
            ("HTTP/2 200 OK\r\n\r\n", "http_malformed"),
            ("SSH-2.0-x\r\n\r\n", "http_malformed"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz", "http_malformed"),
            ("HTTP/1.1 200 OK\r\na: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\ne: 1\r\n\r\n", "http_too_large"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "http_truncated"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "http_truncated"),
            ("HTTP/1.1 200 OK\r\nA: b", "http_truncated"),
            ("HTTP/1.1 100 Continue\r\n\r\n", "http_truncated"),
            ("", "http_truncated"),
        ];
        for (text, code) in cases {
            assert_eq!(get(text), Err(code), "{text:?}");
        }
        assert_eq!(get(&"x".repeat(300)), Err("http_too_large"));
    }

    #[test]
    fn connections_serve_again() {
        let (mut conn, mut out) = (ClientConn::new(SMALL), Vec::new());
        for _ in 0..3 {
            assert_eq!(conn.begin("POST"), Ok(()));
            assert_eq!(conn.begin("POST"), Err(Http1Fault::Busy));
            assert_eq!(conn.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", &mut out), Ok(()));
            assert_eq!(out.pop(), Some(ClientEvent::End { reusable: true }));
        }
        assert_eq!(conn.begin("POST"), Ok(()));
        assert_eq!(conn.finish(&mut out), Err(Http1Fault::ClosedBeforeResponse));
        let (mut idle, mut out) = (ClientConn::new(SMALL), Vec::new());
        assert_eq!(idle.finish(&mut out), Ok(()));
        assert_eq!((idle.begin("GET"), out.len()), (Err(Http1Fault::Busy), 0));
    }

    #[test]
    fn streams_have_no_bound() {
        let (mut conn, mut out) = (ClientConn::new(SMALL), Vec::new());
        conn.begin("GET").expect("idle");
        conn.receive(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &mut out).expect("head");
        for _ in 0..1000 {
            conn.receive(b"a\r\n0123456789\r\n", &mut out).expect("chunk");
        }
        assert_eq!(out.len(), 1001);
    }

    #[test]
    fn requests_are_written_safely() {
        let url = Url::parse("http://localhost:81/mcp?a").expect("a URL");
        let write = |method: &str, headers: &[(&str, &str)], body: Option<&[u8]>| {
            let mut out = Vec::new();
            encode_request(&mut out, method, &url, headers.iter().copied(), body)?;
            Ok::<_, Http1Fault>(String::from_utf8(out).expect("text"))
        };
        let headers = [("Accept", "*/*"), ("HOST", "evil"), ("Content-Length", "7"), ("Connection", "x")];
        assert_eq!(
            write("POST", &headers, Some(b"{}")).expect("safe"),
            "POST /mcp?a HTTP/1.1\r\nhost: localhost:81\r\nAccept: */*\r\ncontent-length: 2\r\n\r\n{}"
        );
        assert_eq!(write("GET", &[], None).expect("safe"), "GET /mcp?a HTTP/1.1\r\nhost: localhost:81\r\n\r\n");
        assert!(write("POST", &[], None).expect("safe").contains("content-length: 0\r\n"));
        assert_eq!(write("GET", &[("a", "b\r\nc: d")], None), Err(Http1Fault::InvalidHead));
        assert_eq!(write("GET /", &[], None), Err(Http1Fault::InvalidHead));
    }
}
