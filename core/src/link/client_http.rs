//! A client on HTTP: every message is an exchange of its own. Here are the headers, the meaning of statuses, the session
//! of the handshake revisions, and the stream on which a server speaks unasked.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::headers::{self, Headers};
use super::sse::{Parser, SseEvent};
use crate::client::{Client, Config, Ended, Event, Outgoing, Output, Role};
use crate::error::code;
use crate::limits::Limits;
use crate::message::{self, Message, Parsed};
use crate::revision::Revision;
use crate::time::{Deadlines, Millis};

const JSON: &str = "application/json";
const SSE: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
/// Headers that are ours or the HTTP stack's to set.
const RESERVED: &[&str] = &[
    "content-type",
    "accept",
    "content-length",
    "transfer-encoding",
    SESSION,
    VERSION,
    "mcp-method",
    "mcp-name",
    "last-event-id",
];

/// Milliseconds that a stream may stay open after the answer that it was for.
const LINGER_MS: u64 = 5000;
/// Milliseconds that the end of a session may take.
const CLOSING_MS: u64 = 2000;
/// How often the server's own stream is opened again without having brought anything.
const REOPENINGS: u32 = 3;

/// One thing to do or to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpOutput {
    /// Send this request.
    Fetch(Fetch),
    /// Drop that exchange.
    Abort(u64),
    /// Something for the host.
    Event(Event),
}

/// A request to send.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetch {
    /// The exchange.
    pub stream: u64,
    /// POST, GET or DELETE.
    pub method: &'static str,
    /// Names and values.
    pub headers: Headers,
    /// The body, when there is one.
    pub body: Option<String>,
}

#[derive(Debug)]
struct Exchange {
    of: Of,
    /// The request carried a session id.
    in_session: bool,
    answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Message(Role),
    /// The stream on which the server speaks unasked.
    Unasked,
    /// The end of the session.
    Farewell,
}

#[derive(Debug)]
enum Answer {
    Awaited,
    Stream(Parser),
    Whole { status: u16, is_json: bool, body: Vec<u8> },
}

/// A client and its exchanges.
#[derive(Debug)]
pub struct HttpClient {
    client: Client,
    limits: Limits,
    headers: Headers,
    exchanges: BTreeMap<u64, Exchange>,
    session: Option<String>,
    /// A session was lost, and nothing was answered since.
    lost: bool,
    unasked: Unasked,
    lingering: Deadlines<u64>,
    /// The end of everything, held back until the session is ended.
    closed: Option<(Event, Millis)>,
    out: VecDeque<HttpOutput>,
    now: Millis,
}

/// The stream on which the server speaks unasked.
#[derive(Debug, Default)]
struct Unasked {
    revision: Option<Revision>,
    reopenings: u32,
    reopen_at: Option<Millis>,
    last_event: Option<String>,
    retry: u64,
}

impl HttpClient {
    /// A client that has not started yet; `headers` go with every request, except for those that the protocol sets.
    #[must_use]
    pub fn new(config: Config, headers: &Headers) -> Self {
        let mut kept = Headers::new();
        for (name, value) in headers.iter().filter(|(name, _)| !RESERVED.contains(name)) {
            kept.push(name, value);
        }
        Self {
            limits: config.limits,
            client: Client::new(Config { own_streams: true, ..config }),
            headers: kept,
            exchanges: BTreeMap::new(),
            session: None,
            lost: false,
            unasked: Unasked::default(),
            lingering: Deadlines::default(),
            closed: None,
            out: VecDeque::new(),
            now: Millis(0),
        }
    }

    /// The machine, for commands.
    pub const fn client(&mut self, now: Millis) -> &mut Client {
        self.now = now;
        &mut self.client
    }

    /// Whether a stream number was ever given out.
    #[must_use]
    pub const fn knows_stream(&self, stream: u64) -> bool {
        self.client.knows_stream(stream)
    }

    /// The head of an answer.
    pub fn response(&mut self, stream: u64, status: u16, headers: &Headers, now: Millis) {
        self.now = now;
        let Some(exchange) = self.exchanges.get_mut(&stream) else {
            return;
        };
        let good = (200..300).contains(&status);
        let media = headers.get("content-type").unwrap_or_default();
        let streams = good && headers::is_media_type(media, SSE);
        match exchange.of {
            Of::Message(Role::Opening) if good => {
                let visible = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
                self.session = headers.get(SESSION).filter(visible).map(ToString::to_string);
            }
            Of::Message(Role::Request) if good && exchange.in_session => self.lost = false,
            Of::Unasked if !streams => {
                // The server does not speak unasked, which is its right (HTTP-043).
                self.abort(stream);
                return;
            }
            _ => {}
        }
        exchange.answer = if streams {
            Answer::Stream(Parser::new(self.limits.message_bytes))
        } else {
            Answer::Whole { status, is_json: headers::is_media_type(media, JSON), body: Vec::new() }
        };
    }

    /// A part of an answer's body.
    pub fn body(&mut self, stream: u64, bytes: &[u8], now: Millis) {
        self.now = now;
        let Some(exchange) = self.exchanges.get_mut(&stream) else {
            return;
        };
        match &mut exchange.answer {
            Answer::Awaited => {}
            Answer::Whole { body, .. } => {
                if body.len() + bytes.len() > self.limits.message_bytes {
                    self.break_off(stream, "message_too_big", "the answer is longer than the limit");
                } else {
                    body.extend_from_slice(bytes);
                }
            }
            Answer::Stream(parser) => {
                let mut events = Vec::new();
                let fault = parser.receive(bytes, &mut events).err();
                for event in events {
                    self.event(stream, event);
                }
                match fault {
                    Some(super::sse::SseFault::TooLarge) => {
                        self.break_off(stream, "message_too_big", "an event is longer than the limit");
                    }
                    Some(_) => self.break_off(stream, "json_utf8", "the event stream is not UTF-8"),
                    None => {}
                }
            }
        }
    }

    /// An answer is complete.
    pub fn end(&mut self, stream: u64, now: Millis) {
        self.now = now;
        let Some(exchange) = self.exchanges.remove(&stream) else {
            return;
        };
        self.lingering.clear(&stream);
        match (exchange.of, exchange.answer) {
            (Of::Farewell, _) => self.say_closed(),
            (Of::Unasked, _) => self.reopen_later(),
            (Of::Message(role), Answer::Whole { status, is_json, body }) => {
                self.deliver(stream, role, exchange.in_session, status, is_json, &body);
                let accepted = role == Role::Confirmation && (200..300).contains(&status);
                if accepted {
                    self.open_unasked();
                }
            }
            (Of::Message(_), Answer::Stream(_)) => self.client.handle_stream_closed(stream, Ended::Complete, now),
            (Of::Message(_), Answer::Awaited) => {
                self.client.handle_stream_closed(stream, Ended::Failed("no answer".to_string()), now);
            }
        }
    }

    /// The network failed, or a body was cut short.
    pub fn failed(&mut self, stream: u64, reason: &str, now: Millis) {
        self.now = now;
        let Some(exchange) = self.exchanges.remove(&stream) else {
            return;
        };
        self.lingering.clear(&stream);
        match exchange.of {
            Of::Farewell => self.say_closed(),
            Of::Unasked => self.reopen_later(),
            Of::Message(_) => {
                self.client.handle_stream_closed(stream, Ended::Failed(reason.to_string()), now);
            }
        }
    }

    /// Deadlines may have come.
    pub fn handle_timeout(&mut self, now: Millis) {
        self.now = now;
        self.client.handle_timeout(now);
        while let Some(stream) = self.lingering.take_due(now) {
            self.abort(stream);
        }
        if self.unasked.reopen_at.is_some_and(|at| at <= now) {
            self.open_unasked();
        }
        if self.closed.as_ref().is_some_and(|(_, at)| *at <= now) {
            for stream in self.exchanges.keys().copied().collect::<Vec<_>>() {
                self.abort(stream);
            }
            self.say_closed();
        }
    }

    /// The next deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Millis> {
        let closing = self.closed.as_ref().map(|(_, at)| *at);
        let all = [self.client.next_deadline(), self.lingering.next(), self.unasked.reopen_at, closing];
        all.into_iter().flatten().min()
    }

    /// What is to be done, in order.
    pub fn poll_output(&mut self) -> Option<HttpOutput> {
        self.pump();
        self.out.pop_front()
    }

    /// Turns what the machine wants into exchanges.
    fn pump(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Send(outgoing) => self.send(outgoing),
                Output::Abort(stream) => self.abort(stream),
                Output::Event(event @ Event::Closed { .. }) => self.say_farewell(event),
                Output::Event(event) => self.out.push_back(HttpOutput::Event(event)),
            }
        }
    }

    fn send(&mut self, outgoing: Outgoing) {
        let Outgoing { stream, text, method, target, mirrored, revision, role, .. } = outgoing;
        if role == Role::Opening {
            self.session = None;
        }
        let mut headers = self.headers.clone();
        headers.push("content-type", JSON);
        headers.push("accept", &format!("{JSON}, {SSE}"));
        if role != Role::Opening && revision.sends_version() {
            headers.push(VERSION, revision.label());
        }
        if revision.mirrors_headers() {
            if let Some(method) = &method {
                headers.push("mcp-method", method);
            }
            if let Some(target) = &target {
                headers.push("mcp-name", &headers::encode_value(target));
            }
            for (name, value) in &mirrored {
                headers.push(&format!("mcp-param-{name}"), &headers::encode_value(value));
            }
        }
        if let Some(session) = &self.session {
            headers.push(SESSION, session);
        }
        if role == Role::Confirmation {
            self.unasked = Unasked { revision: Some(revision), ..Unasked::default() };
        }
        let in_session = self.session.is_some();
        self.exchanges.insert(stream, Exchange { of: Of::Message(role), in_session, answer: Answer::Awaited });
        self.out.push_back(HttpOutput::Fetch(Fetch { stream, method: "POST", headers, body: Some(text) }));
    }

    /// An exchange with the session but without a message.
    fn bare(&mut self, of: Of, method: &'static str) {
        let stream = self.client.new_stream();
        let mut headers = self.headers.clone();
        if of == Of::Unasked {
            headers.push("accept", SSE);
            if let Some(id) = &self.unasked.last_event {
                headers.push("last-event-id", id);
            }
        }
        if let Some(revision) = self.unasked.revision.filter(|revision| revision.sends_version()) {
            headers.push(VERSION, revision.label());
        }
        if let Some(session) = &self.session {
            headers.push(SESSION, session);
        }
        let in_session = self.session.is_some();
        self.exchanges.insert(stream, Exchange { of, in_session, answer: Answer::Awaited });
        self.out.push_back(HttpOutput::Fetch(Fetch { stream, method, headers, body: None }));
    }

    fn open_unasked(&mut self) {
        self.pump();
        self.unasked.reopen_at = None;
        if self.client.is_ready() {
            self.bare(Of::Unasked, "GET");
        }
    }

    fn reopen_later(&mut self) {
        if self.client.is_ready() && self.unasked.reopenings < REOPENINGS {
            let delay = (1000 << self.unasked.reopenings).max(self.unasked.retry);
            self.unasked.reopenings += 1;
            self.unasked.reopen_at = Some(self.now.after(delay));
        }
    }

    fn event(&mut self, stream: u64, event: SseEvent) {
        let Some(exchange) = self.exchanges.get(&stream) else {
            return;
        };
        let unasked = exchange.of == Of::Unasked;
        if unasked {
            if let Some(id) = &event.id {
                self.unasked.last_event = Some(id.clone()).filter(|id| !id.is_empty());
            }
            // A day is long enough for any pause.
            self.unasked.retry = event.retry.map_or(self.unasked.retry, |retry| retry.min(86_400_000));
        }
        if !event.has_data || event.event.as_deref().is_some_and(|kind| kind != "message") {
            return;
        }
        if unasked {
            self.unasked.reopenings = 0;
        }
        self.client.handle_message(stream, 200, event.data.as_bytes(), self.now);
        self.pump();
        let request = self.exchanges.get(&stream).is_some_and(|exchange| exchange.of != Of::Unasked);
        if request && !self.client.awaits(stream) {
            self.lingering.set(stream, self.now.after(LINGER_MS));
        }
    }

    /// The whole body of an answer that is no event stream.
    fn deliver(&mut self, stream: u64, role: Role, in_session: bool, status: u16, is_json: bool, body: &[u8]) {
        let now = self.now;
        let text = body.trim_ascii();
        let reads_json = is_json || text.starts_with(b"{") || text.starts_with(b"[");
        let start = || String::from_utf8_lossy(&text[..text.len().min(800)]).into_owned();
        if (200..300).contains(&status) {
            let ended = if text.is_empty() {
                Ended::Complete
            } else if reads_json {
                self.client.handle_message(stream, status, text, now);
                Ended::Complete
            } else {
                Ended::Foreign(start())
            };
            self.client.handle_stream_closed(stream, ended, now);
            return;
        }
        let refusal = match message::parse(text, &self.limits) {
            Ok(Parsed::One(Message::Error { error, .. })) if reads_json => Some(error),
            _ => None,
        };
        // An unknown method is no unknown session (HTTP-057).
        let unknown_method = refusal.as_ref().is_some_and(|error| error.code == i64::from(code::METHOD_NOT_FOUND));
        if status == 404 && in_session && !unknown_method {
            self.lose_session(stream);
        } else if refusal.is_some() && role != Role::Confirmation && self.client.awaits(stream) {
            self.client.handle_message(stream, status, text, now);
        } else {
            self.client.handle_stream_closed(stream, Ended::Status(status, start()), now);
        }
    }

    fn lose_session(&mut self, stream: u64) {
        self.session = None;
        self.unasked = Unasked::default();
        for other in self.exchanges.keys().copied().collect::<Vec<_>>() {
            self.abort(other);
        }
        if core::mem::replace(&mut self.lost, true) {
            self.client.handle_lost("the server forgets every session at once");
        } else {
            self.client.handle_session_lost(stream, self.now);
        }
    }

    /// Gives up an exchange that cannot be read on.
    fn break_off(&mut self, stream: u64, code: &'static str, message: &str) {
        let message_exchange =
            self.exchanges.get(&stream).is_some_and(|exchange| matches!(exchange.of, Of::Message(_)));
        if self.exchanges.contains_key(&stream) {
            self.client.violation(code, message);
            self.abort(stream);
        }
        if message_exchange {
            self.client.handle_stream_closed(stream, Ended::Failed(message.to_string()), self.now);
        }
    }

    fn abort(&mut self, stream: u64) {
        self.lingering.clear(&stream);
        if self.exchanges.remove(&stream).is_some() {
            self.out.push_back(HttpOutput::Abort(stream));
        }
    }

    /// Ends what is open; the session, if there is one, by telling the server (SESS-011).
    fn say_farewell(&mut self, event: Event) {
        for stream in self.exchanges.keys().copied().collect::<Vec<_>>() {
            self.abort(stream);
        }
        self.unasked.reopen_at = None;
        self.closed = Some((event, self.now.after(CLOSING_MS)));
        if self.session.is_some() {
            self.bare(Of::Farewell, "DELETE");
        } else {
            self.say_closed();
        }
    }

    fn say_closed(&mut self) {
        if let Some((event, _)) = self.closed.take() {
            self.out.push_back(HttpOutput::Event(event));
        }
    }
}
