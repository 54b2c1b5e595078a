//! The server with its transports: pipes of lines, raw HTTP/1.1 connections, HTTP requests from a host's own stack.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use super::headers::Headers;
use super::http1::{self, Connection, Framing, Http1Limits, Request, ServerConn, ServerEvent};
use super::lines::{Line, Lines};
use super::server_http::Http;
use crate::error::Error;
use crate::message;
use crate::server::{Channel, Config, Event, Output, PeerId, Server, StreamId};
use crate::time::{Deadlines, Millis};

/// Bytes up to which pieces for one place are joined.
const PIECE: usize = 256 << 10;

/// What a driver performs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Bytes for a pipe or a connection.
    Write {
        /// Which one.
        stream: StreamId,
        /// What.
        bytes: Vec<u8>,
    },
    /// A pipe or a connection can be closed once everything is written.
    Close {
        /// Which one.
        stream: StreamId,
    },
    /// The answer to an HTTP request begins.
    Head {
        /// Which request.
        stream: StreamId,
        /// Its status.
        status: u16,
        /// Its header fields.
        headers: Headers,
    },
    /// Part of the answer to an HTTP request.
    Body {
        /// Which request.
        stream: StreamId,
        /// What.
        bytes: Vec<u8>,
        /// The answer is complete.
        last: bool,
    },
    /// Something to know.
    Event(Event),
}

/// What a stream number stands for.
#[derive(Debug)]
pub(super) enum Transport {
    Pipe { peer: PeerId, lines: Lines },
    Connection(Conn),
}

/// A raw HTTP/1.1 connection. It carries one request at a time, under the connection's own stream number.
#[derive(Debug)]
pub(super) struct Conn {
    codec: ServerConn,
    answering: Option<Answering>,
}

/// How the answer in the making is framed.
#[derive(Debug, Clone, Copy)]
struct Answering {
    connection: Connection,
    head_only: bool,
    http10: bool,
    chunked: bool,
}

/// The server and everything that is connected to it.
#[derive(Debug)]
pub struct ServerLink {
    pub(super) server: Server,
    pub(super) streams: BTreeMap<StreamId, Transport>,
    /// Streams of pipes by their peers.
    pipes: BTreeMap<PeerId, StreamId>,
    pub(super) http: Http,
    pub(super) effects: VecDeque<Effect>,
    /// Connections that wait for a request, and until when.
    waiting: Deadlines<StreamId>,
    /// Connections whose answer is complete, so that their next request can be read.
    ready: BTreeSet<StreamId>,
    /// Everything was stopped; requests that were on their way are refused.
    pub(super) closed: bool,
}

impl ServerLink {
    /// A server from its configuration; `seed` is 32 bytes from the host's source of entropy.
    #[must_use]
    pub fn new(config: Config, seed: [u8; 32]) -> Self {
        Self {
            server: Server::new(config, seed),
            streams: BTreeMap::new(),
            pipes: BTreeMap::new(),
            http: Http::default(),
            effects: VecDeque::new(),
            waiting: Deadlines::default(),
            ready: BTreeSet::new(),
            closed: false,
        }
    }

    /// The machine behind the transports.
    pub const fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// The same to look at.
    #[must_use]
    pub const fn machine(&self) -> &Server {
        &self.server
    }

    /// A duplex stream of lines was opened.
    ///
    /// # Errors
    /// `usage` when the number is in use.
    pub fn open_pipe(&mut self, stream: StreamId) -> Result<(), Error> {
        self.check_new(stream)?;
        let peer = self.server.open(Channel::Pipe(stream));
        let lines = Lines::new(self.server.config.limits.message_bytes);
        self.pipes.insert(peer, stream);
        self.streams.insert(stream, Transport::Pipe { peer, lines });
        Ok(())
    }

    /// A connection was accepted on which HTTP/1.1 is spoken.
    ///
    /// # Errors
    /// `usage` when the number is in use.
    pub fn open_http1(&mut self, stream: StreamId, now: Millis) -> Result<(), Error> {
        self.check_new(stream)?;
        let limits = Http1Limits { body_bytes: self.server.config.limits.message_bytes, ..Http1Limits::default() };
        let conn = Conn { codec: ServerConn::new(limits), answering: None };
        self.streams.insert(stream, Transport::Connection(conn));
        self.waiting.set(stream, now.after(self.server.config.limits.http_request_ms));
        Ok(())
    }

    pub(super) fn check_new(&self, stream: StreamId) -> Result<(), Error> {
        if stream == 0 || self.streams.contains_key(&stream) || self.http.has(stream) {
            return Err(Error::usage("usage", "a stream needs a positive number that is not in use"));
        }
        Ok(())
    }

    /// Bytes came in on a pipe or a connection. Bytes for a stream that is gone are dropped.
    pub fn receive(&mut self, stream: StreamId, bytes: &[u8], now: Millis) {
        match self.streams.get_mut(&stream) {
            None => {}
            Some(Transport::Pipe { peer, lines }) => {
                let mut at = Place { server: &mut self.server, effects: &mut self.effects, peer: *peer, stream, now };
                lines.receive(bytes, |line| at.handle_line(line));
            }
            Some(Transport::Connection(conn)) => {
                let mut events = Vec::new();
                let was_idle = conn.codec.is_idle();
                conn.codec.receive(bytes, &mut events);
                // The clock of a request starts with its first byte, and no byte winds it up again.
                if was_idle && conn.answering.is_none() {
                    self.waiting.set(stream, now.after(self.server.config.limits.http_request_ms));
                }
                self.handle_http1(stream, events, now);
            }
        }
    }

    /// No more input comes on a pipe or a connection.
    pub fn end(&mut self, stream: StreamId, now: Millis) {
        match self.streams.get_mut(&stream) {
            None => {}
            Some(Transport::Pipe { peer, lines }) => {
                let peer = *peer;
                let mut at = Place { server: &mut self.server, effects: &mut self.effects, peer, stream, now };
                lines.finish(|line| at.handle_line(line));
                self.server.handle_end(peer);
            }
            Some(Transport::Connection(_)) => self.gone(stream),
        }
    }

    /// Nothing can be delivered on this stream any more.
    pub fn gone(&mut self, stream: StreamId) {
        self.waiting.clear(&stream);
        match self.streams.remove(&stream) {
            Some(Transport::Pipe { peer, .. }) => {
                self.pipes.remove(&peer);
                self.server.handle_gone(peer, "the connection was lost");
            }
            Some(Transport::Connection(_)) => {
                self.http_gone(stream);
                self.effects.push_back(Effect::Close { stream });
            }
            None => self.http_gone(stream),
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Millis) {
        self.server.handle_timeout(now);
        self.expire_sessions(now);
        while let Some(stream) = self.waiting.take_due(now) {
            match self.streams.get(&stream) {
                Some(Transport::Connection(conn)) if !conn.codec.is_idle() => {
                    self.fail_http1(stream, 408, "the request did not arrive in time");
                }
                _ => self.gone(stream),
            }
        }
    }

    /// When [`Self::handle_timeout`] is wanted next.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        [self.server.deadline(), self.http.deadline(), self.waiting.next()].into_iter().flatten().min()
    }

    /// Stops everything.
    pub fn close(&mut self, now: Millis) {
        self.closed = true;
        self.server.close();
        self.settle(now);
        self.http_close();
        let connections: Vec<_> = self.streams.keys().copied().collect();
        for stream in connections {
            self.streams.remove(&stream);
            self.effects.push_back(Effect::Close { stream });
        }
    }

    /// The next thing to perform; nothing when all is drained.
    pub fn poll_effect(&mut self, now: Millis) -> Option<Effect> {
        self.settle(now);
        let mut effect = self.effects.pop_front()?;
        // What goes to one place in a row goes in one piece, unless that copy would cost more than another piece.
        loop {
            match (&mut effect, self.effects.front_mut()) {
                (Effect::Write { stream, bytes }, Some(Effect::Write { stream: next, bytes: more }))
                    if stream == next && bytes.len() + more.len() <= PIECE =>
                {
                    bytes.append(more);
                }
                (Effect::Body { stream, bytes, last }, Some(Effect::Body { stream: next, bytes: more, last: end }))
                    if stream == next && bytes.len() + more.len() <= PIECE =>
                {
                    bytes.append(more);
                    *last |= *end;
                }
                _ => return Some(effect),
            }
            self.effects.pop_front();
        }
    }

    /// Turns everything that the machine has to say into effects, and reads on where an answer became complete.
    fn settle(&mut self, now: Millis) {
        loop {
            if let Some(output) = self.server.poll_output(now) {
                self.deliver(output);
            } else if let Some(stream) = self.ready.pop_first() {
                self.next_request(stream, now);
            } else {
                return;
            }
        }
    }

    /// Tells a message on the wire, where that was asked for.
    pub(super) fn trace(&mut self, stream: StreamId, peer: PeerId, sent: bool, text: &[u8]) {
        if self.server.config.trace {
            self.effects.push_back(traced(stream, peer, sent, text));
        }
    }

    fn deliver(&mut self, output: Output) {
        match output {
            Output::Send { peer, stream, text, last, status } => match self.pipes.get(&peer).copied() {
                Some(pipe) => {
                    self.trace(pipe, peer, true, text.as_bytes());
                    let mut bytes = text.into_bytes();
                    bytes.push(b'\n');
                    self.effects.push_back(Effect::Write { stream: pipe, bytes });
                }
                None => {
                    self.trace(stream.unwrap_or(0), peer, true, text.as_bytes());
                    self.http_send(peer, stream, text, last, status);
                }
            },
            Output::Done { peer, stream } if !self.pipes.contains_key(&peer) => self.http_done(stream),
            Output::Done { .. } => {}
            Output::Close { peer } => {
                if let Some(stream) = self.pipes.remove(&peer) {
                    self.streams.remove(&stream);
                    self.effects.push_back(Effect::Close { stream });
                }
            }
            Output::Event(event) => self.effects.push_back(Effect::Event(event)),
        }
    }

    fn next_request(&mut self, stream: StreamId, now: Millis) {
        if let Some(Transport::Connection(conn)) = self.streams.get_mut(&stream) {
            let mut events = Vec::new();
            conn.codec.next(&mut events);
            let limits = &self.server.config.limits;
            let patience = if conn.codec.is_idle() { limits.http_idle_ms } else { limits.http_request_ms };
            self.waiting.set(stream, now.after(patience));
            self.handle_http1(stream, events, now);
        }
    }

    fn handle_http1(&mut self, stream: StreamId, events: Vec<ServerEvent>, now: Millis) {
        for event in events {
            match event {
                ServerEvent::Continue => {
                    let mut bytes = Vec::new();
                    http1::encode_continue(&mut bytes);
                    self.effects.push_back(Effect::Write { stream, bytes });
                }
                ServerEvent::Request(request) => self.handle_http1_request(stream, request, now),
                ServerEvent::TooLarge => self.fail_http1(stream, 413, "the body is too long"),
                ServerEvent::Malformed { status, why } => self.fail_http1(stream, status, why),
            }
        }
    }

    fn handle_http1_request(&mut self, stream: StreamId, request: Request, now: Millis) {
        let answering = Answering {
            connection: Connection::from(&request),
            head_only: request.head_only,
            http10: request.http10,
            chunked: false,
        };
        if let Some(Transport::Connection(conn)) = self.streams.get_mut(&stream) {
            conn.answering = Some(answering);
        }
        self.waiting.clear(&stream);
        self.http_request(stream, &request.method, &request.target, &request.headers, &request.body, now);
    }

    fn fail_http1(&mut self, stream: StreamId, status: u16, why: &str) {
        let answering = Answering { connection: Connection::Close, head_only: false, http10: false, chunked: false };
        if let Some(Transport::Connection(conn)) = self.streams.get_mut(&stream) {
            conn.answering = Some(answering);
        }
        let message = String::from(why);
        self.effects.push_back(Effect::Event(Event::Violation { stream, code: "http_malformed", message }));
        self.reply_error(stream, status, None, crate::error::code::INVALID_REQUEST, why);
    }

    /// The whole answer to an HTTP request.
    pub(super) fn reply(&mut self, stream: StreamId, status: u16, mut headers: Headers, body: Vec<u8>) {
        self.let_read(stream, &mut headers);
        match self.streams.get(&stream) {
            Some(Transport::Connection(_)) => {
                self.write_head(stream, status, &headers, Some(body));
                self.finish_http1(stream);
            }
            _ => {
                self.effects.push_back(Effect::Head { stream, status, headers });
                self.effects.push_back(Effect::Body { stream, bytes: body, last: true });
            }
        }
    }

    /// The answer to an HTTP request begins; [`Self::reply_part`] goes on.
    pub(super) fn reply_head(&mut self, stream: StreamId, status: u16, mut headers: Headers) {
        self.let_read(stream, &mut headers);
        match self.streams.get(&stream) {
            Some(Transport::Connection(_)) => self.write_head(stream, status, &headers, None),
            _ => self.effects.push_back(Effect::Head { stream, status, headers }),
        }
    }

    pub(super) fn reply_part(&mut self, stream: StreamId, bytes: Vec<u8>, last: bool) {
        let Some(Transport::Connection(conn)) = self.streams.get(&stream) else {
            return self.effects.push_back(Effect::Body { stream, bytes, last });
        };
        let chunked = conn.answering.is_some_and(|answering| answering.chunked);
        let mut out = Vec::with_capacity(bytes.len() + 16);
        if chunked {
            http1::encode_chunk(&mut out, &bytes);
            if last {
                http1::encode_last_chunk(&mut out);
            }
        } else {
            out = bytes;
        }
        self.effects.push_back(Effect::Write { stream, bytes: out });
        if last {
            self.finish_http1(stream);
        }
    }

    fn write_head(&mut self, stream: StreamId, status: u16, headers: &Headers, body: Option<Vec<u8>>) {
        let Some(Transport::Connection(conn)) = self.streams.get_mut(&stream) else { return };
        let Some(answering) = &mut conn.answering else { return };
        let bodiless = matches!(status, 204 | 304);
        let framing = match &body {
            _ if bodiless => Framing::None,
            Some(body) => Framing::Length(body.len()),
            None if answering.http10 => Framing::Close,
            None => Framing::Chunked,
        };
        answering.chunked = matches!(framing, Framing::Chunked);
        if matches!(framing, Framing::Close) {
            answering.connection = Connection::Close;
        }
        let mut bytes = Vec::new();
        let encoded = http1::encode_response(&mut bytes, status, headers.iter(), framing, answering.connection);
        debug_assert!(encoded.is_ok(), "our own header fields are clean");
        let body = body.filter(|_| !answering.head_only && !bodiless);
        self.effects.push_back(Effect::Write { stream, bytes });
        if let Some(bytes) = body {
            self.effects.push_back(Effect::Write { stream, bytes });
        }
    }

    fn finish_http1(&mut self, stream: StreamId) {
        let Some(Transport::Connection(conn)) = self.streams.get_mut(&stream) else { return };
        match conn.answering.take().map(|answering| answering.connection) {
            Some(Connection::KeepAlive) => {
                self.ready.insert(stream);
            }
            _ => {
                self.streams.remove(&stream);
                self.waiting.clear(&stream);
                self.effects.push_back(Effect::Close { stream });
            }
        }
    }
}

fn traced(stream: StreamId, peer: PeerId, sent: bool, text: &[u8]) -> Effect {
    let text = String::from_utf8_lossy(text).into_owned();
    Effect::Event(Event::Trace { stream, peer, sent, text })
}

/// Where a line of a pipe arrived.
struct Place<'a> {
    server: &'a mut Server,
    effects: &'a mut VecDeque<Effect>,
    peer: PeerId,
    stream: StreamId,
    now: Millis,
}

impl Place<'_> {
    fn handle_line(&mut self, line: Line<'_>) {
        let limits = self.server.config.limits;
        let (Line::Text(text) | Line::TooLong(text)) = line;
        if self.server.config.trace {
            self.effects.push_back(traced(self.stream, self.peer, false, text));
        }
        let parsed = match line {
            Line::Text(text) => message::parse(text, &limits),
            Line::TooLong(start) => Err(message::too_big(start, &limits)),
        };
        match parsed {
            Ok(parsed) => self.server.handle(self.peer, self.stream, parsed, self.now),
            Err(invalid) => self.server.handle_invalid(self.peer, self.stream, &invalid),
        }
    }
}
