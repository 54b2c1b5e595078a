//! Reads requests. Whatever two readers could understand in two ways (RFC 9112, section 11.2) ends the connection.

use super::{
    Http1Limits, Url,
    body::{ChunkFault, ChunkReader},
    head::{self, Coding, HeadReader, HeadStep, Length},
};
use crate::link::headers::Headers;
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::mem;

/// Memory set aside for a body on the word of its `content-length` alone.
const TRUSTED_BYTES: usize = 256 * 1024;

/// One complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method as sent; methods are case-sensitive.
    pub method: String,
    /// Path and query. An absolute target is taken apart, its host replaces the `Host` header.
    pub target: String,
    /// The fields.
    pub headers: Headers,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// Whether another request may follow on the connection.
    pub keep_alive: bool,
    /// Whether the answer must have no body (HEAD).
    pub head_only: bool,
    /// Whether the peer speaks HTTP/1.0 and so cannot read chunks.
    pub http10: bool,
}

/// What a connection brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// A request to answer; the next one comes after [`ServerConn::next`].
    Request(Request),
    /// The peer holds its body back until it reads `100 Continue`.
    Continue,
    /// The body is larger than the limit: answer 413 and close.
    TooLarge,
    /// The bytes are no acceptable request: answer with the status and close.
    Malformed {
        /// 400, 431, 501 or 505.
        status: u16,
        /// What is wrong, for people.
        why: &'static str,
    },
}

/// The reading half of one server connection: bytes in, one request at a time out.
#[derive(Debug)]
pub struct ServerConn {
    limits: Http1Limits,
    head: HeadReader,
    state: State,
    /// Bytes that came before their turn; those below `held_at` are read.
    held: Vec<u8>,
    held_at: usize,
    overflow: bool,
}

#[derive(Debug)]
enum State {
    Head,
    Bytes {
        request: Request,
        left: usize,
    },
    Chunks {
        request: Request,
        reader: ChunkReader,
    },
    /// A request is being answered.
    Answering {
        last: bool,
    },
    Dead,
}

impl ServerConn {
    /// A reader for a fresh connection.
    #[must_use]
    pub const fn new(limits: Http1Limits) -> Self {
        Self { limits, head: HeadReader::new(), state: State::Head, held: Vec::new(), held_at: 0, overflow: false }
    }

    /// Takes bytes from the peer. While a request is being answered they are held back.
    ///
    /// After `TooLarge` or `Malformed` everything further is ignored.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<ServerEvent>) {
        let used = self.run(bytes, out);
        self.hold(&bytes[used..]);
    }

    /// The answer to the last request is complete: goes on with bytes held back. Does nothing without such a request.
    pub fn next(&mut self, out: &mut Vec<ServerEvent>) {
        match self.state {
            State::Answering { last: false } => self.state = State::Head,
            State::Answering { last: true } => {
                self.state = State::Dead;
                return;
            }
            _ => return,
        }
        let held = mem::take(&mut self.held);
        let start = mem::take(&mut self.held_at);
        let end = start + self.run(&held[start..], out);
        if end < held.len() && matches!(self.state, State::Answering { last: false }) {
            self.held = held;
            self.held_at = end;
        } else if self.overflow && !matches!(self.state, State::Answering { .. } | State::Dead) {
            self.fail(400, "too many requests ahead of their answers", out);
        }
    }

    /// Whether to stop reading from the peer until [`Self::next`]: a peer that is read on regardless may have bytes dropped.
    #[must_use]
    pub const fn wants_pause(&self) -> bool {
        self.held.len() - self.held_at >= self.limits.head_bytes
    }

    /// Whether the connection is between requests, so that closing it loses nothing.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        match self.state {
            State::Head => self.head.is_empty(),
            State::Dead => true,
            _ => false,
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.overflow || !matches!(self.state, State::Answering { last: false }) {
            return;
        }
        // Moving the rest down only once half is read keeps the total work linear.
        if self.held_at > self.held.len() / 2 {
            self.held.drain(..self.held_at);
            self.held_at = 0;
        }
        let most = self.limits.head_bytes.saturating_add(self.limits.body_bytes);
        if bytes.len() > most.saturating_sub(self.held.len() - self.held_at) {
            self.overflow = true;
            return;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Reads until the bytes are used up or a request is complete; tells how many were used.
    fn run(&mut self, input: &[u8], out: &mut Vec<ServerEvent>) -> usize {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            match mem::replace(&mut self.state, State::Dead) {
                State::Head => {
                    self.state = State::Head;
                    at += self.read_head(rest, out);
                }
                State::Bytes { mut request, left } => {
                    let take = left.min(rest.len());
                    reserve(&mut request.body, left, take);
                    request.body.extend_from_slice(&rest[..take]);
                    at += take;
                    if take == left {
                        self.hand_out(request, out);
                    } else {
                        self.state = State::Bytes { request, left: left - take };
                    }
                }
                State::Chunks { mut request, mut reader } => {
                    match reader.feed(rest, &mut request.body, self.limits.body_bytes) {
                        Ok(used) => at += used,
                        Err(ChunkFault::TooLarge) => {
                            out.push(ServerEvent::TooLarge);
                            return input.len();
                        }
                        Err(ChunkFault::Malformed(why)) => {
                            self.fail(400, why, out);
                            return input.len();
                        }
                    }
                    if reader.is_done() {
                        self.hand_out(request, out);
                    } else {
                        self.state = State::Chunks { request, reader };
                    }
                }
                State::Answering { last } => {
                    self.state = State::Answering { last };
                    return at;
                }
                State::Dead => return input.len(),
            }
        }
        at
    }

    fn read_head(&mut self, input: &[u8], out: &mut Vec<ServerEvent>) -> usize {
        let used = match self.head.feed(input, self.limits.head_bytes) {
            HeadStep::More => return input.len(),
            HeadStep::Done(used) => used,
            HeadStep::TooLarge => {
                self.fail(431, "head too large", out);
                return input.len();
            }
        };
        let bytes = self.head.take();
        match parse_head(&bytes, &self.limits) {
            Ok((request, Body::None)) => self.hand_out(request, out),
            Ok((request, body)) => {
                let waits = !request.http10 && request.headers.has_word("expect", "100-continue");
                self.state = match body {
                    Body::Bytes(left) if left > self.limits.body_bytes => {
                        self.state = State::Dead;
                        out.push(ServerEvent::TooLarge);
                        return input.len();
                    }
                    Body::Bytes(left) => State::Bytes { request, left },
                    Body::Chunks | Body::None => State::Chunks { request, reader: ChunkReader::new() },
                };
                if waits && used == input.len() {
                    out.push(ServerEvent::Continue);
                }
            }
            Err((status, why)) => self.fail(status, why, out),
        }
        used
    }

    fn hand_out(&mut self, request: Request, out: &mut Vec<ServerEvent>) {
        self.state = State::Answering { last: !request.keep_alive };
        out.push(ServerEvent::Request(request));
    }

    fn fail(&mut self, status: u16, why: &'static str, out: &mut Vec<ServerEvent>) {
        out.push(ServerEvent::Malformed { status, why });
        self.state = State::Dead;
        self.held = Vec::new();
        self.held_at = 0;
    }
}

/// Makes room for the next part. What the peer announced is trusted up to a bound; beyond it, room at most doubles.
fn reserve(body: &mut Vec<u8>, left: usize, next: usize) {
    if body.capacity() - body.len() < next {
        body.reserve_exact(left.min(next.max(body.len()).max(TRUSTED_BYTES)));
    }
}

enum Body {
    None,
    Bytes(usize),
    Chunks,
}

type Refusal = (u16, &'static str);

fn parse_head(bytes: &[u8], limits: &Http1Limits) -> Result<(Request, Body), Refusal> {
    let mut fields = vec![httparse::EMPTY_HEADER; limits.headers];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err((400, "incomplete head")),
        Err(httparse::Error::TooManyHeaders) => return Err((431, "too many headers")),
        Err(httparse::Error::Version) if names_http(bytes) => return Err((505, "HTTP version not supported")),
        Err(_) => return Err((400, "invalid request line or header")),
    }
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err((400, "incomplete request line"));
    };
    let mut headers = head::copy_fields(parsed.headers);
    let http10 = version == 0;
    match headers.count("host") {
        0 if !http10 => return Err((400, "Host header missing")),
        0 | 1 => {}
        _ => return Err((400, "several Host headers")),
    }
    let body = body_of(&headers, http10)?;
    let target = if target.starts_with('/') || !target.contains("://") {
        target.to_string()
    } else {
        let url = Url::parse(target).map_err(|_| (400, "invalid request target"))?;
        headers.set("host", &url.authority);
        url.target
    };
    let request = Request {
        head_only: method == "HEAD",
        method: method.to_string(),
        target,
        keep_alive: head::keeps_alive(&headers, Some(version)),
        headers,
        body: Vec::new(),
        http10,
    };
    Ok((request, body))
}

fn body_of(headers: &Headers, http10: bool) -> Result<Body, Refusal> {
    let length = head::content_length(headers);
    match (head::transfer_coding(headers), length) {
        (Coding::Absent, Length::Absent | Length::Bytes(0)) => Ok(Body::None),
        (Coding::Absent, Length::Bytes(length)) => Ok(Body::Bytes(usize::try_from(length).unwrap_or(usize::MAX))),
        (Coding::Absent, Length::Huge) => Ok(Body::Bytes(usize::MAX)),
        (Coding::Absent, Length::Invalid) => Err((400, "invalid Content-Length")),
        _ if http10 => Err((400, "Transfer-Encoding in HTTP/1.0")),
        (_, Length::Bytes(_) | Length::Huge | Length::Invalid) => {
            Err((400, "both Content-Length and Transfer-Encoding"))
        }
        (Coding::Chunked, Length::Absent) => Ok(Body::Chunks),
        (Coding::Other, Length::Absent) => Err((501, "transfer coding not supported")),
        (Coding::Invalid, Length::Absent) => Err((400, "invalid Transfer-Encoding")),
    }
}

/// Whether the start line ends in an HTTP version, if not one of ours.
fn names_http(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    line.split(|byte| *byte == b' ').nth(2).is_some_and(|word| word.starts_with(b"HTTP/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Http1Limits = Http1Limits { head_bytes: 300, headers: 4, body_bytes: 50 };

    /// Feeds the pieces and answers each request at once.
    fn serve(pieces: &[&[u8]]) -> Vec<ServerEvent> {
        let (mut conn, mut out) = (ServerConn::new(SMALL), Vec::new());
        for piece in pieces {
            conn.receive(piece, &mut out);
            loop {
                let before = out.len();
                conn.next(&mut out);
                if out.len() == before {
                    break;
                }
            }
        }
        out
    }

    fn refusal(text: &str) -> u16 {
        match serve(&[text.as_bytes()]).as_slice() {
            [ServerEvent::Malformed { status, .. }] => *status,
            [ServerEvent::TooLarge] => 413,
            other => panic!("{text:?} gave {other:?}"),
        }
    }

    fn request(text: &str) -> Request {
        match serve(&[text.as_bytes()]).as_slice() {
            [ServerEvent::Request(request)] => request.clone(),
            other => panic!("{text:?} gave {other:?}"),
        }
    }

    #[test]
    fn splitting_changes_nothing() {
        let stream = "\r\nPOST /mcp?x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
                      POST / HTTP/1.1\nhost: a\ntransfer-encoding: chunked\n\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nt: 1\r\n\r\n\
                      GET /b HTTP/1.1\r\nHost: a\r\n\r\nHEAD /c HTTP/1.0\r\nConnection: keep-alive\r\n\r\nDELETE /d HTTP/1.0\r\n\r\nGET /never HTTP/1.1\r\nHost: a\r\n\r\n";
        let bytes = stream.as_bytes();
        let want = serve(&[bytes]);
        let seen: Vec<_> = want
            .iter()
            .map(|event| match event {
                ServerEvent::Request(r) => {
                    (r.method.as_str(), r.target.as_str(), r.body.as_slice(), r.keep_alive, r.http10)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let empty = &b""[..];
        assert_eq!(
            seen,
            [
                ("POST", "/mcp?x", &b"hello"[..], true, false),
                ("POST", "/", &b"abcde"[..], true, false),
                ("GET", "/b", empty, true, false),
                ("HEAD", "/c", empty, true, true),
                ("DELETE", "/d", empty, false, true),
            ]
        );
        for at in 0..=bytes.len() {
            assert_eq!(serve(&[&bytes[..at], &bytes[at..]]), want, "split at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(serve(&single), want);
    }

    #[test]
    fn one_request_at_a_time() {
        let (mut conn, mut out) = (ServerConn::new(SMALL), Vec::new());
        assert!(conn.is_idle());
        let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        conn.receive(&get.repeat(3), &mut out);
        assert_eq!((out.len(), conn.is_idle(), conn.wants_pause()), (1, false, false));
        conn.receive(&get.repeat(8), &mut out);
        assert_eq!((out.len(), conn.wants_pause()), (1, false));
        conn.receive(&get.repeat(2), &mut out);
        assert!(conn.wants_pause());
        for answered in 2..=13 {
            conn.next(&mut out);
            assert_eq!(out.len(), answered);
        }
        conn.next(&mut out);
        conn.next(&mut out);
        assert_eq!((out.len(), conn.is_idle(), conn.wants_pause()), (13, true, false));
    }

    #[test]
    fn bytes_held_back_are_bounded() {
        let (mut conn, mut out) = (ServerConn::new(SMALL), Vec::new());
        let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for _ in 0..1000 {
            conn.receive(get, &mut out);
        }
        assert!(conn.held.len() <= 350);
        for _ in 0..1000 {
            conn.next(&mut out);
        }
        assert!(out.len() < 20);
        assert!(matches!(out.last(), Some(ServerEvent::Malformed { status: 400, .. })));
        assert_eq!(out.iter().filter(|event| matches!(event, ServerEvent::Malformed { .. })).count(), 1);
    }

    #[test]
    fn continue_is_asked_for_only_when_the_body_waits() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
        let (mut conn, mut out) = (ServerConn::new(SMALL), Vec::new());
        conn.receive(head.as_bytes(), &mut out);
        assert_eq!(out, [ServerEvent::Continue]);
        conn.receive(b"ab", &mut out);
        assert!(matches!(&out[1], ServerEvent::Request(request) if request.body == b"ab"));
        assert_eq!(request(&[head, "ab"].concat()).body, b"ab");
        assert!(request("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n").body.is_empty());
        assert_eq!(refusal("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 51\r\n\r\n"), 413);
    }

    #[test]
    fn smuggling_is_refused() {
        let bad = [
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "Content-Length: 3, 4\r\n\r\nabcd",
            "Content-Length: +3\r\n\r\nabc",
            "Content-Length:\r\n\r\nabc",
            "Content-Length : 3\r\n\r\nabc",
            "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
            "A: 1\r\n folded: 2\r\n\r\n",
            " Content-Length: 3\r\n\r\nabc",
            "Host: b\r\n\r\n",
            "No colon\r\n\r\n",
            "A: 1\rB: 2\r\n\r\n",
            "A: \0\r\n\r\n",
        ];
        for rest in bad {
            assert_eq!(refusal(&["POST / HTTP/1.1\r\nHost: a\r\n", rest].concat()), 400, "{rest:?}");
        }
        assert_eq!(refusal("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refusal("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
        assert_eq!(refusal("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501);
        let same = request("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc");
        assert_eq!(same.body, b"abc");
    }

    #[test]
    fn garbage_is_refused() {
        assert_eq!(refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
        assert_eq!(refusal("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), 505);
        for text in [
            "GET /\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            "\x16\x03\x01\x02\n\n",
            "GE T / HTTP/1.1\r\n\r\n",
            "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            assert_eq!(refusal(text), 400, "{text:?}");
        }
    }

    #[test]
    fn limits_hold() {
        let long = "x".repeat(400);
        assert_eq!(refusal(&long), 431);
        assert_eq!(refusal(&["GET / HTTP/1.1\r\nHost: a\r\nA: ", &long, "\r\n\r\n"].concat()), 431);
        assert_eq!(refusal("GET / HTTP/1.1\r\nHost: a\r\na: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\n\r\n"), 431);
        for length in ["51", "18446744073709551615", "99999999999999999999999999"] {
            let text = ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ", length, "\r\n\r\nabc"].concat();
            assert_eq!(refusal(&text), 413);
        }
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(refusal(&[chunked, "33\r\n"].concat()), 413);
        assert_eq!(refusal(&[chunked, &"a\r\n0123456789\r\n".repeat(6)].concat()), 413);
        assert_eq!(request(&[chunked, &"a\r\n0123456789\r\n".repeat(5), "0\r\n\r\n"].concat()).body.len(), 50);
    }

    #[test]
    fn absolute_targets_decide_the_host() {
        let request = request("GET http://B.example:81/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!((request.target.as_str(), request.headers.get("host")), ("/x?y", Some("b.example:81")));
    }

    #[test]
    fn fields_and_flags() {
        let close = request("HEAD * HTTP/1.1\r\nHost: a\r\nConnection: X, Close\r\nB: caf\u{e9}\r\n\r\n");
        assert_eq!((close.keep_alive, close.head_only, close.target.as_str()), (false, true, "*"));
        assert_eq!(close.headers.get("b"), Some("caf\u{e9}"));
        let latin = serve(&[b"GET / HTTP/1.1\r\nHost: a\r\nB: caf\xe9\r\n\r\n"]);
        assert!(matches!(&latin[..], [ServerEvent::Request(request)] if request.headers.get("b") == Some("caf\u{e9}")));
    }

    #[test]
    fn large_bodies_in_small_pieces() {
        let limits = Http1Limits { body_bytes: 8_000_000, ..Http1Limits::default() };
        for head in ["Content-Length: 4000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3D0900\r\n"] {
            let (mut conn, mut out) = (ServerConn::new(limits), Vec::new());
            conn.receive(b"POST / HTTP/1.1\r\nHost: a\r\n", &mut out);
            conn.receive(head.as_bytes(), &mut out);
            let body = vec![b'x'; 4_000_000];
            for piece in body.chunks(7) {
                conn.receive(piece, &mut out);
            }
            conn.receive(b"\r\n0\r\n\r\n", &mut out);
            assert!(matches!(&out[..], [ServerEvent::Request(request)] if request.body.len() == 4_000_000), "{head:?}");
        }
    }
}
