//! A client on HTTP: every message is an exchange of its own. Here are the headers, the meaning of statuses, the session
//! of the handshake revisions. The streams that are opened without a message are in `reopen`.

mod reopen;

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::headers::{self, Headers};
use super::sse::{Parser, SseFault};
use crate::client::{Client, Config, Ended, Event, Outgoing, Output, Role};
use crate::error::code;
use crate::limits::Limits;
use crate::message::{self, Message, Parsed};
use crate::table::{Alarms, Queue, Table};
use crate::time::Millis;
use crate::words;
use reopen::{Resume, Unasked};

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

/// One thing to do or to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpOutput {
    /// Send this request.
    Fetch(Box<Fetch>),
    /// Drop that exchange.
    Abort(u64),
    /// Something for the host.
    Event(Box<Event>),
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
    /// The last event of its stream, by which it can be taken up again.
    last_event: Option<String>,
    /// Milliseconds to wait before that.
    retry: Option<u64>,
}

impl Exchange {
    const fn new(of: Of, in_session: bool) -> Self {
        Self { of, in_session, answer: Answer::Awaited, last_event: None, retry: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Message(Role),
    /// The stream on which the server speaks unasked.
    Unasked,
    /// The rest of the stream that answered an earlier message.
    Resumed(u64),
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
    exchanges: Table<u64, Box<Exchange>>,
    session: Option<String>,
    /// A session was lost, and nothing was answered since.
    lost: bool,
    unasked: Unasked,
    /// Streams that broke off, by their own number.
    resumes: Table<u64, Resume>,
    lingering: Alarms,
    /// The end of everything, held back until the session is ended.
    closed: Option<(Box<Event>, Millis)>,
    out: Queue<HttpOutput>,
    now: Millis,
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
            exchanges: Table::default(),
            session: None,
            lost: false,
            unasked: Unasked::default(),
            resumes: Table::default(),
            lingering: Alarms::default(),
            closed: None,
            out: Queue::default(),
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
        let of = exchange.of;
        let good = (200..300).contains(&status);
        let media = headers.get("content-type").unwrap_or_default();
        let streams = good && headers::is_media_type(media, SSE);
        match of {
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
            Of::Resumed(first) if !streams => {
                self.abort(stream);
                self.give_up(first, "the server does not resume the stream");
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
                    Some(SseFault::TooLarge) => {
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
        self.over(stream, None, now);
    }

    /// The network failed, or a body was cut short.
    pub fn failed(&mut self, stream: u64, reason: &str, now: Millis) {
        self.over(stream, Some(reason), now);
    }

    fn over(&mut self, stream: u64, failure: Option<&str>, now: Millis) {
        self.now = now;
        let Some(exchange) = self.exchanges.remove(&stream) else {
            return;
        };
        self.lingering.clear(stream);
        let Exchange { of, in_session, answer, last_event, retry } = *exchange;
        match (of, answer, failure) {
            (Of::Farewell, ..) => self.say_closed(),
            (Of::Unasked, ..) => self.reopen_later(),
            (Of::Resumed(first), ..) => self.resume_again(first, last_event, retry),
            (Of::Message(role), Answer::Whole { status, is_json, body }, None) => {
                self.deliver(stream, role, in_session, status, is_json, &body);
                if role == Role::Confirmation && (200..300).contains(&status) {
                    self.open_unasked();
                }
            }
            (Of::Message(_), Answer::Stream(_), failure) => {
                if !self.resume_later(stream, last_event, retry) {
                    let ended = failure.map_or(Ended::Complete, |reason| Ended::Failed(reason.to_string()));
                    self.client.handle_stream_closed(stream, ended, now);
                }
            }
            (Of::Message(_), _, failure) => {
                let reason = failure.unwrap_or("no answer").to_string();
                self.client.handle_stream_closed(stream, Ended::Failed(reason), now);
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
        self.reopen_due();
        if self.closed.as_ref().is_some_and(|(_, at)| *at <= now) {
            while let Some(stream) = self.exchanges.first() {
                self.abort(stream);
            }
            self.say_closed();
        }
    }

    /// The next deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Millis> {
        let closing = self.closed.as_ref().map(|(_, at)| *at);
        let all = [self.client.next_deadline(), self.lingering.next(), self.next_reopening(), closing];
        all.into_iter().flatten().min()
    }

    /// What is to be done, in order.
    pub fn poll_output(&mut self) -> Option<HttpOutput> {
        self.pump();
        self.out.pop()
    }

    /// Turns what the machine wants into exchanges.
    fn pump(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Send(outgoing) => self.send(*outgoing),
                Output::Abort(stream) => self.abort(stream),
                Output::Event(event) if matches!(*event, Event::Closed { .. }) => self.say_farewell(event),
                Output::Event(event) => self.out.push(HttpOutput::Event(event)),
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
        headers.push("accept", &words::join(&[JSON, ", ", SSE]));
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
                headers.push(&words::join(&["mcp-param-", name]), &headers::encode_value(value));
            }
        }
        if role == Role::Confirmation {
            self.unasked = Unasked::of(revision);
        }
        self.fetch(Of::Message(role), Fetch { stream, method: "POST", headers, body: Some(text) });
    }

    /// Begins an exchange, in the session when there is one.
    fn fetch(&mut self, of: Of, mut fetch: Fetch) {
        if let Some(session) = &self.session {
            fetch.headers.push(SESSION, session);
        }
        self.exchanges.insert(fetch.stream, Box::new(Exchange::new(of, self.session.is_some())));
        self.out.push(HttpOutput::Fetch(Box::new(fetch)));
    }

    /// The whole body of an answer that is no event stream.
    fn deliver(&mut self, stream: u64, role: Role, in_session: bool, status: u16, is_json: bool, body: &[u8]) {
        let now = self.now;
        let text = body.trim_ascii();
        let reads_json = is_json || text.starts_with(b"{") || text.starts_with(b"[");
        let start = || words::lossy(&text[..text.len().min(800)]);
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
        self.resumes.clear();
        while let Some(other) = self.exchanges.first() {
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
            self.client.violation(code, &[message]);
            self.abort(stream);
        }
        if message_exchange {
            self.client.handle_stream_closed(stream, Ended::Failed(message.to_string()), self.now);
        }
    }

    fn abort(&mut self, stream: u64) {
        self.lingering.clear(stream);
        if self.exchanges.remove(&stream).is_some() {
            self.out.push(HttpOutput::Abort(stream));
        }
        if let Some(via) = self.resumes.remove(&stream).and_then(|resume| resume.via) {
            self.abort(via);
        }
    }

    /// Ends what is open; the session, if there is one, by telling the server (SESS-011).
    fn say_farewell(&mut self, event: Box<Event>) {
        while let Some(stream) = self.exchanges.first() {
            self.abort(stream);
        }
        self.unasked.reopen_at = None;
        self.resumes.clear();
        self.closed = Some((event, self.now.after(CLOSING_MS)));
        if self.session.is_some() {
            self.bare(Of::Farewell, "DELETE", None);
        } else {
            self.say_closed();
        }
    }

    fn say_closed(&mut self) {
        if let Some((event, _)) = self.closed.take() {
            self.out.push(HttpOutput::Event(event));
        }
    }
}
