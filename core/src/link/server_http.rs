//! The rules of Streamable HTTP for a server: which request is which, sessions, JSON or event stream, which status.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::cors;
use super::headers::{self, Headers};
use super::marks;
use super::server::{Effect, ServerLink};
use super::sse;
use crate::error::{Error, RpcError, code};
use crate::json;
use crate::message::{self, Id, Invalid, Message, Parsed};
use crate::revision::Revision;
use crate::revision::methods;
use crate::server::params::Params;
use crate::server::{Channel, Event, PeerId, StreamId};
use crate::time::{Deadlines, Millis};

/// Sessions and exchanges.
#[derive(Debug, Default)]
pub(super) struct Http {
    exchanges: BTreeMap<StreamId, Exchange>,
    sessions: BTreeMap<String, Session>,
    by_peer: BTreeMap<PeerId, String>,
    idle: Deadlines<String>,
    /// Pages of other origins that wait for the head of an answer.
    origins: BTreeMap<StreamId, String>,
}

/// One HTTP request whose answer is not complete.
#[derive(Debug)]
struct Exchange {
    peer: PeerId,
    role: Role,
    /// The event stream has begun.
    streaming: bool,
    is_request: bool,
    takes_json: bool,
    takes_events: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Role {
    /// A message that stands alone: the peer lives as long as the exchange.
    Alone,
    /// A message of a session.
    InSession,
    /// The handshake: the answer carries the session id.
    Opening(String),
    /// The stream for what belongs to no request.
    Standing,
}

/// A session of the handshake revisions.
#[derive(Debug)]
struct Session {
    peer: PeerId,
    standing: Option<StreamId>,
    /// What waits for the standing stream.
    queue: VecDeque<String>,
    queued: usize,
}

impl Http {
    pub(super) fn has(&self, stream: StreamId) -> bool {
        self.exchanges.contains_key(&stream)
    }

    pub(super) fn deadline(&self) -> Option<Millis> {
        self.idle.next()
    }
}

/// A refusal: status, code, sentence.
type Refusal = (u16, i32, &'static str);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

impl ServerLink {
    /// Makes sure that a number can stand for an HTTP request.
    ///
    /// # Errors
    /// `usage` when it is in use.
    pub fn http_open(&self, stream: StreamId) -> Result<(), Error> {
        self.check_new(stream)
    }

    /// An HTTP request, whole.
    pub fn http_request(
        &mut self,
        stream: StreamId,
        method: &str,
        target: &str,
        headers: &Headers,
        body: &[u8],
        now: Millis,
    ) {
        if self.closed {
            return self.reply_error(stream, 503, None, code::INTERNAL, "the server was closed");
        }
        if let Err((status, code, why)) = self.admit(target, headers) {
            return self.reply_error(stream, status, None, code, why);
        }
        if let Some(origin) = cors::origin(headers) {
            if cors::is_preflight(method, headers) {
                let answer = cors::preflight(headers, origin, self.allowed_methods());
                return self.reply(stream, 204, answer, Vec::new());
            }
            self.http.origins.insert(stream, origin.to_string());
        }
        match method {
            "POST" => self.post(stream, headers, body, now),
            "GET" | "DELETE" => match self.session_of(headers) {
                Ok(_) if !self.serves_sessions() || self.names_stateless(headers) => self.refuse_method(stream),
                Ok(id) if method == "GET" => self.open_standing(stream, &id, headers, now),
                Ok(id) => {
                    self.end_session(&id, "the client ended the session");
                    self.reply(stream, 204, Headers::new(), Vec::new());
                }
                Err(_) if !self.serves_sessions() || self.names_stateless(headers) => self.refuse_method(stream),
                Err((status, code, why)) => self.reply_error(stream, status, None, code, why),
            },
            _ => self.refuse_method(stream),
        }
    }

    fn refuse_method(&mut self, stream: StreamId) {
        let mut headers = Headers::new();
        headers.push("allow", self.allowed_methods());
        headers.push("content-type", "application/json");
        let error = RpcError::new(code::INVALID_REQUEST, "this HTTP method is not offered");
        self.reply(stream, 405, headers, message::write_error(None, &error).into_bytes());
    }

    fn allowed_methods(&self) -> &'static str {
        if self.serves_sessions() { "GET, POST, DELETE" } else { "POST" }
    }

    /// Lets the page that waits for this answer read it.
    pub(super) fn let_read(&mut self, stream: StreamId, headers: &mut Headers) {
        if let Some(origin) = self.http.origins.remove(&stream) {
            cors::let_read(headers, &origin);
        }
    }

    fn serves_sessions(&self) -> bool {
        self.server.config.newest_with_handshake().is_some()
    }

    fn names_stateless(&self, headers: &Headers) -> bool {
        headers.get(VERSION).and_then(Revision::parse).is_some_and(Revision::is_stateless)
    }

    /// Path, Host and Origin (HTTP-003, HTTP-004).
    fn admit(&self, target: &str, headers: &Headers) -> Result<(), Refusal> {
        let rules = &self.server.config.http;
        let path = target.split(['?', '#']).next().unwrap_or(target);
        if rules.path.as_deref().is_some_and(|wanted| wanted != path) {
            return Err((404, code::INVALID_REQUEST, "there is no endpoint at this path"));
        }
        let host = headers.get("host").unwrap_or_default();
        if headers.count("host") > 1 {
            return Err((400, code::INVALID_REQUEST, "there is more than one Host"));
        }
        if rules.hosts.as_deref().is_some_and(|list| !headers::host_allowed(host, list)) {
            return Err((403, code::INVALID_REQUEST, "this Host is not served"));
        }
        if let (Some(origin), Some(list)) = (headers.get("origin"), rules.origins.as_deref()) {
            let known = headers::origin_allowed(origin, host, list)
                || headers::origin_allowed(origin, host, &headers::LOOPBACK);
            if !known {
                return Err((403, code::INVALID_REQUEST, "this Origin is not let in"));
            }
        }
        Ok(())
    }

    fn session_of(&self, headers: &Headers) -> Result<String, Refusal> {
        match headers.get(SESSION) {
            None => Err((400, code::INVALID_REQUEST, "a session id is required")),
            Some(id) if self.http.sessions.contains_key(id) => Ok(id.to_string()),
            Some(_) => Err((404, code::INVALID_REQUEST, "there is no such session (any more)")),
        }
    }

    fn post(&mut self, stream: StreamId, headers: &Headers, body: &[u8], now: Millis) {
        if headers.get("content-type").is_some_and(|kind| !headers::is_media_type(kind, "application/json")) {
            return self.reply_error(stream, 415, None, code::INVALID_REQUEST, "the body must be application/json");
        }
        let takes_json = headers::accepts(headers.get("accept"), "application/json");
        let takes_events = headers::accepts(headers.get("accept"), "text/event-stream");
        if !takes_json && !takes_events {
            let why = "the answer is application/json or text/event-stream";
            return self.reply_error(stream, 406, None, code::INVALID_REQUEST, why);
        }
        let limits = self.server.config.limits;
        let parsed = match message::parse(body, &limits) {
            Ok(parsed) => parsed,
            Err(invalid) => {
                self.trace(stream, 0, false, body);
                return self.reply_invalid(stream, &invalid);
            }
        };
        let is_request = matches!(parsed, Parsed::One(Message::Request { .. }));
        let exchange = |peer, role| Exchange { peer, role, streaming: false, is_request, takes_json, takes_events };
        let (params, is_initialize) = match &parsed {
            Parsed::One(Message::Request { method, params, .. }) => (*params, method == "initialize"),
            Parsed::One(Message::Notification { params, .. }) => (*params, false),
            _ => (None, false),
        };
        let params = Params::read(params);
        if params.own_version.is_some() || self.names_stateless(headers) {
            if !takes_events && wants_stream(&parsed) {
                let why = "the answer to this method is text/event-stream";
                return self.reply_error(stream, 406, id_of(&parsed), code::INVALID_REQUEST, why);
            }
            if let Err(error) = self.check_mirrors(&parsed, &params, headers) {
                self.trace(stream, 0, false, body);
                return self.reply_rpc(stream, 400, id_of(&parsed), &error);
            }
            let peer = self.server.open(Channel::Exchange);
            self.http.exchanges.insert(stream, exchange(peer, Role::Alone));
            self.trace(stream, peer, false, body);
            return self.server.handle(peer, stream, parsed, now);
        }
        match self.place(headers, is_initialize, now) {
            Ok((peer, role)) => {
                self.http.exchanges.insert(stream, exchange(peer, role));
                self.trace(stream, peer, false, body);
                self.server.handle(peer, stream, parsed, now);
            }
            Err((status, code, why)) => {
                self.trace(stream, 0, false, body);
                self.reply_error(stream, status, id_of(&parsed), code, why);
            }
        }
    }

    /// The session that a message belongs to, or a new one for the handshake.
    fn place(&mut self, headers: &Headers, is_initialize: bool, now: Millis) -> Result<(PeerId, Role), Refusal> {
        if !self.serves_sessions() {
            return Err((
                400,
                code::HEADER_MISMATCH,
                "the header MCP-Protocol-Version is missing, or names no served revision",
            ));
        }
        if let Some(label) = headers.get(VERSION) {
            let known = Revision::parse(label).is_some_and(|revision| self.server.config.served.contains(&revision));
            if !known {
                return Err((400, code::INVALID_REQUEST, "MCP-Protocol-Version names no served revision"));
            }
        }
        if headers.get(SESSION).is_some() || !is_initialize {
            let id = self.session_of(headers)?;
            self.touch(&id, now);
            let session =
                self.http.sessions.get(&id).ok_or((404, code::INVALID_REQUEST, "there is no such session"))?;
            return Ok((session.peer, Role::InSession));
        }
        if self.http.sessions.len() >= self.server.config.limits.sessions && !self.make_room() {
            return Err((503, code::INTERNAL, "too many sessions are open"));
        }
        let id = self.server.secret();
        let peer = self.server.open(Channel::Session);
        let session = Session { peer, standing: None, queue: VecDeque::new(), queued: 0 };
        self.http.sessions.insert(id.clone(), session);
        self.http.by_peer.insert(peer, id.clone());
        self.touch(&id, now);
        Ok((peer, Role::Opening(id)))
    }

    fn touch(&mut self, id: &str, now: Millis) {
        self.http.idle.set(id.to_string(), now.after(self.server.config.limits.session_idle_ms));
    }

    /// Ends the session that was idle longest, if one is idle at all.
    fn make_room(&mut self) -> bool {
        let idle = self.http.idle.keys().find(|id| !self.is_in_use(id)).cloned();
        if let Some(id) = &idle {
            self.end_session(id, "the session made room for a newer one");
        }
        idle.is_some()
    }

    fn is_in_use(&self, id: &str) -> bool {
        self.http
            .sessions
            .get(id)
            .is_some_and(|session| session.standing.is_some() || self.server.is_busy(session.peer))
    }

    pub(super) fn expire_sessions(&mut self, now: Millis) {
        while let Some(id) = self.http.idle.take_due(now) {
            if self.is_in_use(&id) {
                self.touch(&id, now);
            } else {
                self.end_session(&id, "the session was idle too long");
            }
        }
    }

    fn end_session(&mut self, id: &str, reason: &str) {
        self.http.idle.clear(&id.to_string());
        let Some(session) = self.http.sessions.remove(id) else { return };
        self.http.by_peer.remove(&session.peer);
        self.server.handle_gone(session.peer, reason);
        // Exchanges of its calls end as the calls do; the standing stream ends here.
        if let Some(stream) = session.standing {
            self.finish(stream);
        }
    }

    /// The standing event stream of a session (HTTP-040); a newer one takes the place of an older one.
    fn open_standing(&mut self, stream: StreamId, id: &str, headers: &Headers, now: Millis) {
        if !headers::accepts(headers.get("accept"), "text/event-stream") {
            let why = "the answer to GET is text/event-stream";
            return self.reply_error(stream, 406, None, code::INVALID_REQUEST, why);
        }
        self.touch(id, now);
        let Some(session) = self.http.sessions.get_mut(id) else { return };
        let older = session.standing.replace(stream);
        session.queued = 0;
        let (peer, queue) = (session.peer, core::mem::take(&mut session.queue));
        if let Some(older) = older {
            self.finish(older);
        }
        let exchange = Exchange {
            peer,
            role: Role::Standing,
            streaming: false,
            is_request: false,
            takes_json: false,
            takes_events: true,
        };
        self.http.exchanges.insert(stream, exchange);
        self.begin_events(stream);
        for text in queue {
            self.write_event(stream, &text, false);
        }
    }

    /// A message of the machine for a peer on HTTP.
    pub(super) fn http_send(&mut self, peer: PeerId, stream: Option<StreamId>, text: String, last: bool, status: u16) {
        let exchange = stream.and_then(|stream| Some((stream, self.http.exchanges.get(&stream)?)));
        match exchange {
            Some((stream, exchange)) if last && !exchange.streaming && (exchange.takes_json || status != 200) => {
                self.answer_json(stream, text, status);
            }
            Some((stream, exchange)) if last || exchange.takes_events => self.write_event(stream, &text, last),
            _ if !last => self.send_standing(peer, &text),
            // The client of this exchange left.
            _ => {}
        }
    }

    /// Nothing (more) is said on this exchange.
    pub(super) fn http_done(&mut self, stream: StreamId) {
        match self.http.exchanges.get(&stream) {
            Some(exchange) if exchange.streaming => self.finish(stream),
            // A request that ends without an answer ends as an empty event stream (HTTP-017).
            Some(exchange) if exchange.is_request && exchange.takes_events => {
                self.begin_events(stream);
                self.finish(stream);
            }
            Some(_) => {
                self.drop_exchange(stream);
                self.reply(stream, 202, Headers::new(), Vec::new());
            }
            None => {}
        }
    }

    /// The client of an exchange left.
    pub(super) fn http_gone(&mut self, stream: StreamId) {
        self.http.origins.remove(&stream);
        let Some(exchange) = self.http.exchanges.remove(&stream) else { return };
        match exchange.role {
            Role::Alone => self.server.handle_stream_closed(exchange.peer, "the client closed the stream"),
            Role::Standing => {
                let session = self.http.by_peer.get(&exchange.peer).and_then(|id| self.http.sessions.get_mut(id));
                if let Some(session) = session.filter(|session| session.standing == Some(stream)) {
                    session.standing = None;
                }
            }
            // There a disconnect means nothing (HTTP-034).
            Role::InSession | Role::Opening(_) => {}
        }
    }

    /// Ends every exchange and session.
    pub(super) fn http_close(&mut self) {
        for id in self.http.sessions.keys().cloned().collect::<Vec<_>>() {
            self.end_session(&id, "the server was closed");
        }
        for stream in self.http.exchanges.keys().copied().collect::<Vec<_>>() {
            self.http_done(stream);
        }
    }

    fn answer_json(&mut self, stream: StreamId, text: String, status: u16) {
        let Some(exchange) = self.drop_exchange(stream) else { return };
        let mut headers = Headers::new();
        headers.push("content-type", "application/json");
        self.name_session(&exchange, &mut headers);
        self.reply(stream, status, headers, text.into_bytes());
    }

    /// The answer to a handshake that succeeded carries the session id (SESS-001); a session without one ends.
    fn name_session(&mut self, exchange: &Exchange, headers: &mut Headers) {
        let Role::Opening(id) = &exchange.role else { return };
        if self.server.has_session(exchange.peer) {
            headers.push(SESSION, id);
        } else {
            self.end_session(id, "the handshake failed");
        }
    }

    fn drop_exchange(&mut self, stream: StreamId) -> Option<Exchange> {
        let exchange = self.http.exchanges.remove(&stream)?;
        if exchange.role == Role::Alone {
            self.server.forget(exchange.peer);
        }
        Some(exchange)
    }

    fn begin_events(&mut self, stream: StreamId) {
        let mut headers = Headers::new();
        headers.push("content-type", "text/event-stream");
        headers.push("cache-control", "no-cache, no-transform");
        headers.push("x-accel-buffering", "no");
        if let Some(mut exchange) = self.http.exchanges.remove(&stream) {
            self.name_session(&exchange, &mut headers);
            exchange.streaming = true;
            if matches!(exchange.role, Role::Opening(_)) {
                exchange.role = Role::InSession;
            }
            self.http.exchanges.insert(stream, exchange);
        }
        self.reply_head(stream, 200, headers);
    }

    fn write_event(&mut self, stream: StreamId, text: &str, last: bool) {
        if self.http.exchanges.get(&stream).is_some_and(|exchange| !exchange.streaming) {
            self.begin_events(stream);
        }
        let mut bytes = Vec::with_capacity(text.len() + 16);
        sse::write_event(&mut bytes, None, text);
        if last {
            self.drop_exchange(stream);
        }
        self.reply_part(stream, bytes, last);
    }

    /// Ends an event stream.
    fn finish(&mut self, stream: StreamId) {
        if self.drop_exchange(stream).is_some() {
            self.reply_part(stream, Vec::new(), true);
        }
    }

    /// What belongs to no request goes to the standing stream, or waits for it within a bound.
    fn send_standing(&mut self, peer: PeerId, text: &str) {
        let bound = self.server.config.limits.queue_bytes;
        let Some(session) = self.http.by_peer.get(&peer).and_then(|id| self.http.sessions.get_mut(id)) else { return };
        if let Some(stream) = session.standing {
            return self.write_event(stream, text, false);
        }
        if session.queued + text.len() > bound {
            let message = "a message was dropped: the client opens no stream for it".to_string();
            return self.effects.push_back(Effect::Event(Event::Violation { stream: 0, code: "queue_full", message }));
        }
        session.queued += text.len();
        session.queue.push_back(text.to_string());
    }

    /// Headers that repeat what the body says must say the same (HDR-005 to HDR-008, HDR-035). What the body lacks is the
    /// machine's to refuse.
    fn check_mirrors(&self, parsed: &Parsed<'_>, params: &Params<'_>, headers: &Headers) -> Result<(), RpcError> {
        let Some(version) = params.own_version else { return Ok(()) };
        if let Some(version) = json::string(version) {
            check_header(headers, VERSION, &version)?;
        }
        let Parsed::One(Message::Request { method, .. }) = parsed else { return Ok(()) };
        check_header(headers, "mcp-method", method)?;
        let row = methods::from_client(method, Revision::NEWEST_MODERN);
        let target = row.and_then(|row| row.target).and_then(|target| json::string(params.target(target)?));
        let Some(target) = target else { return Ok(()) };
        check_header(headers, "mcp-name", &target)?;
        if method != "tools/call" {
            return Ok(());
        }
        let arguments = params.arguments.unwrap_or("{}");
        for mark in self.server.catalog.marks(&target) {
            let name = mark.header();
            match mark.value(arguments) {
                Some(value) => check_header(headers, &name, &value)?,
                None if headers.count(&name) > 0 => return Err(differs(&name)),
                None => {}
            }
        }
        Ok(())
    }

    fn reply_invalid(&mut self, stream: StreamId, invalid: &Invalid) {
        let message = invalid.error.message.clone();
        self.effects.push_back(Effect::Event(Event::Violation { stream, code: invalid.code, message }));
        let status = if invalid.code == "message_too_big" { 413 } else { 400 };
        self.reply_rpc(stream, status, invalid.id.as_ref(), &invalid.error);
    }

    pub(super) fn reply_error(&mut self, stream: StreamId, status: u16, id: Option<&Id>, code: i32, why: &str) {
        self.reply_rpc(stream, status, id, &RpcError::new(code, why));
    }

    fn reply_rpc(&mut self, stream: StreamId, status: u16, id: Option<&Id>, error: &RpcError) {
        let mut headers = Headers::new();
        headers.push("content-type", "application/json");
        let text = message::write_error(id, error);
        self.trace(stream, 0, true, text.as_bytes());
        self.reply(stream, status, headers, text.into_bytes());
    }
}

fn id_of<'a>(parsed: &'a Parsed<'_>) -> Option<&'a Id> {
    match parsed {
        Parsed::One(Message::Request { id, .. }) => Some(id),
        _ => None,
    }
}

fn wants_stream(parsed: &Parsed<'_>) -> bool {
    let Parsed::One(Message::Request { method, .. }) = parsed else { return false };
    methods::from_client(method, Revision::NEWEST_MODERN).is_some_and(|row| row.streams)
}

fn differs(name: &str) -> RpcError {
    let message = alloc::format!("the header {name} is missing or differs from the body");
    RpcError::new(code::HEADER_MISMATCH, message)
}

/// Numbers count by their value: 42.0 is 42 (HDR-036).
fn check_header(headers: &Headers, name: &str, wanted: &str) -> Result<(), RpcError> {
    let said = headers.get(name).filter(|_| headers.count(name) == 1).and_then(headers::decode_value);
    let number =
        |text: &str| text.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| marks::plain(text)).flatten();
    match said {
        Some(said) if said == wanted || (number(&said).is_some() && number(&said) == number(wanted)) => Ok(()),
        _ => Err(differs(name)),
    }
}
