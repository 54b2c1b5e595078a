//! The server machine: requests in, calls out, outcomes in, answers out. One machine serves all connections of a server.
//!
//! Contract: *change → drain [`Server::poll_output`] until nothing comes → change*. Every request that comes in gets exactly
//! one answer, unless its sender cancelled it or went away.
//!
//! | file | what |
//! |---|---|
//! | `mod` | commands, inputs, the drain |
//! | `requests` | what the core answers by itself, and what becomes a call |
//! | `calls` | from a call to its one answer |
//! | `inputs` | questions to the client in the course of a call |
//! | `notices` | list changes, resource updates, logs, progress |

mod arguments;
mod calls;
mod catalog;
mod config;
mod inputs;
mod notices;
pub(crate) mod params;
mod peers;
mod requests;
mod template;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

pub use catalog::Catalog;
pub use config::Config;

use crate::error::{Error, RpcError, code};
use crate::json::{self, Object, Raw};
use crate::message::{self, Id, Invalid, Message, Parsed};
use crate::revision::wire::Facts;
use crate::time::{Deadlines, Millis};
use calls::Call;
use inputs::Timer;
use params::Params;
use peers::{Batch, Peer, ReplyTo};

/// A connection, a session, or one exchange that stands alone.
pub type PeerId = u64;
/// Where messages travel.
pub type StreamId = u64;
/// A call in the hands of the host.
pub type CallId = u64;

/// What kind of peer a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// One duplex stream for everything, in both eras.
    Pipe(StreamId),
    /// A session over many HTTP exchanges.
    Session,
    /// One HTTP exchange whose request must stand alone.
    Exchange,
}

/// An effect to perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A message for a peer.
    Send {
        /// To whom.
        peer: PeerId,
        /// On which stream; none for what belongs to no request.
        stream: Option<StreamId>,
        /// The message on one line.
        text: String,
        /// Nothing follows on this stream.
        last: bool,
        /// The HTTP status, where that is the first thing said on the stream.
        status: u16,
    },
    /// Nothing (more) will be said on this stream.
    Done {
        /// To whom.
        peer: PeerId,
        /// Which stream.
        stream: StreamId,
    },
    /// The peer has had everything and can be closed.
    Close {
        /// Which one.
        peer: PeerId,
    },
    /// Something the host wants to know.
    Event(Event),
}

/// What the host is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A handler is to run; then [`Server::respond`].
    Call {
        /// Its number.
        call: CallId,
        /// The stream it came on.
        stream: StreamId,
        /// Which handler.
        key: String,
        /// Its input as JSON.
        input: String,
    },
    /// The answer to a question.
    Answer {
        /// Of which call.
        call: CallId,
        /// Which question.
        key: String,
        /// `{"result":…}` or `{"error":…}`.
        outcome: String,
    },
    /// The call is over for its sender; the handler should stop.
    Cancelled {
        /// Which one.
        call: CallId,
        /// In words.
        reason: String,
    },
    /// A session was opened.
    Opened {
        /// Where.
        stream: StreamId,
        /// The revision's label.
        revision: &'static str,
        /// `{"client":…,"capabilities":…}`.
        text: String,
    },
    /// A message on the wire; told when the configuration asks for it.
    Trace {
        /// Where it travels.
        stream: StreamId,
        /// Whose it is; 0 for a message that was refused before it belonged to anyone.
        peer: PeerId,
        /// We sent it; else it came.
        sent: bool,
        /// The message.
        text: String,
    },
    /// A notification worth telling.
    Notice {
        /// Where.
        stream: StreamId,
        /// Its method.
        method: String,
        /// Its parameters.
        params: String,
    },
    /// The peer broke a rule.
    Violation {
        /// Where.
        stream: StreamId,
        /// The stable word.
        code: &'static str,
        /// A sentence.
        message: String,
    },
    /// The peer is gone.
    Closed {
        /// Where: 0 for a session.
        stream: StreamId,
        /// In words.
        reason: String,
    },
}

/// The machine.
#[derive(Debug)]
pub struct Server {
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    /// Kinds that a catalog ever held: what was declared to somebody stays served, if only as an empty list (TOOL-001).
    offered: BTreeSet<&'static str>,
    rng: ChaCha20Rng,
    /// For fingerprints.
    key: [u8; 16],
    peers: BTreeMap<PeerId, Peer>,
    calls: BTreeMap<CallId, Call>,
    /// Calls that wait for a client to come back, by what the client will show.
    suspended: BTreeMap<String, CallId>,
    /// Calls with questions that are not on the wire yet.
    asking: Vec<CallId>,
    batches: BTreeMap<u64, Batch>,
    timers: Deadlines<Timer>,
    outputs: VecDeque<Output>,
    last_number: u64,
}

impl Server {
    /// A server from its configuration; `seed` is 32 bytes from the host's source of entropy.
    #[must_use]
    pub fn new(config: Config, seed: [u8; 32]) -> Self {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let mut key = [0; 16];
        rng.fill_bytes(&mut key);
        Self {
            config,
            catalog: Catalog::default(),
            offered: BTreeSet::new(),
            rng,
            key,
            peers: BTreeMap::new(),
            calls: BTreeMap::new(),
            suspended: BTreeMap::new(),
            asking: Vec::new(),
            batches: BTreeMap::new(),
            timers: Deadlines::default(),
            outputs: VecDeque::new(),
            last_number: 0,
        }
    }

    /// A new peer.
    pub fn open(&mut self, channel: Channel) -> PeerId {
        let peer = self.number();
        self.peers.insert(peer, Peer::new(channel));
        peer
    }

    /// Something came in from `peer` on `stream`.
    pub fn handle(&mut self, peer: PeerId, stream: StreamId, parsed: Parsed<'_>, now: Millis) {
        let to = ReplyTo { peer, stream, batch: None };
        match parsed {
            Parsed::One(message) => self.handle_message(to, message, now),
            Parsed::Batch(parts) => self.handle_batch(to, &parts, now),
        }
    }

    /// Something came in that is no message.
    pub fn handle_invalid(&mut self, peer: PeerId, stream: StreamId, invalid: &Invalid) {
        self.refuse(ReplyTo { peer, stream, batch: None }, invalid);
    }

    /// No more input comes from this pipe. What is in flight is still answered, then the pipe can be closed.
    pub fn handle_end(&mut self, peer: PeerId) {
        let Some(found) = self.peers.get_mut(&peer) else { return };
        found.ended = true;
        found.listens.clear();
        self.fail_questions(peer, "the client closed its side");
        self.close_if_idle(peer);
    }

    /// Nothing can reach this peer any more: its calls are cancelled.
    pub fn handle_gone(&mut self, peer: PeerId, reason: &str) {
        let calls: Vec<_> = self.calls.iter().filter(|(_, call)| call.to.peer == peer).map(|(id, _)| *id).collect();
        if let Some(gone) = self.peers.get_mut(&peer) {
            gone.asked.clear();
        }
        for call in calls {
            self.drop_call(call, reason);
        }
        let Some(gone) = self.peers.remove(&peer) else { return };
        let stream = match gone.channel {
            Channel::Pipe(stream) => stream,
            Channel::Session => 0,
            Channel::Exchange => return,
        };
        self.event(Event::Closed { stream, reason: reason.to_string() });
    }

    /// The exchange of this peer is complete. Calls that wait for their client stay.
    pub fn forget(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
    }

    /// Whether calls of this peer are in flight.
    #[must_use]
    pub fn is_busy(&self, peer: PeerId) -> bool {
        self.peers.get(&peer).is_some_and(|peer| !peer.running.is_empty())
    }

    /// Whether a handshake took place with this peer.
    #[must_use]
    pub fn has_session(&self, peer: PeerId) -> bool {
        self.peers.get(&peer).is_some_and(|peer| peer.session.is_some())
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Millis) {
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Suspended(call) => self.drop_call(call, "the client did not come back in time"),
            }
        }
    }

    /// The next effect; nothing when all is drained.
    pub fn poll_output(&mut self, now: Millis) -> Option<Output> {
        if self.outputs.is_empty() {
            self.send_questions(now);
        }
        self.outputs.pop_front()
    }

    /// When [`Self::handle_timeout`] is wanted next.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        self.timers.next()
    }

    /// Stops everything: running calls are answered with an error, subscriptions ended, peers closed.
    pub fn close(&mut self) {
        let calls: Vec<_> = self.calls.keys().copied().collect();
        for call in calls {
            self.abort_call(call, "the server was closed");
        }
        let peers: Vec<_> = self.peers.keys().copied().collect();
        for peer in peers {
            self.end_listens(peer);
            self.outputs.push_back(Output::Close { peer });
            self.handle_gone(peer, "the server was closed");
        }
    }

    /// Replaces the catalog; tells who wants to know what changed.
    ///
    /// # Errors
    /// `config_invalid` when an entry is wrong; nothing changed then.
    pub fn set_catalog(&mut self, text: &str) -> Result<(), Error> {
        let catalog = Catalog::parse(text)?;
        let changed = catalog.changed(&self.catalog);
        self.offered.extend(catalog.kinds());
        self.catalog = catalog;
        for kind in changed {
            self.announce_list(kind);
        }
        Ok(())
    }

    /// A word nobody can guess: visible ASCII, 192 bits.
    pub(crate) fn secret(&mut self) -> String {
        use base64::Engine as _;
        let mut bytes = [0; 24];
        self.rng.fill_bytes(&mut bytes);
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    pub(crate) fn violation(&mut self, stream: StreamId, code: &'static str, message: impl Into<String>) {
        self.event(Event::Violation { stream, code, message: message.into() });
    }

    fn facts(&self) -> Facts<'_> {
        Facts { server: &self.config.info, ttl_ms: self.config.cache.ttl_ms, cache_scope: &self.config.cache.scope }
    }

    fn handle_batch(&mut self, to: ReplyTo, parts: &[&str], now: Millis) {
        let session = self.peers.get(&to.peer).and_then(|peer| peer.session.as_ref());
        if !session.is_some_and(|session| session.revision.rules().batching) {
            let error = RpcError::new(code::INVALID_REQUEST, "arrays of messages are not served in this revision");
            return self.refuse(to, &Invalid { id: None, code: "invalid_message", error, is_answer: false });
        }
        let batch = self.number();
        // One more than the requests, so that the batch cannot be complete before all of it was read.
        self.batches.insert(batch, Batch { waiting: 1, answers: Vec::new() });
        let to = ReplyTo { batch: Some(batch), ..to };
        let limits = self.config.limits;
        for part in parts {
            match message::parse(part.as_bytes(), &limits) {
                Ok(Parsed::One(Message::Request { id, method, .. })) if method == "initialize" => {
                    let error = RpcError::new(code::INVALID_REQUEST, "initialize cannot stand in a batch");
                    self.expect_answer(to);
                    self.answer_error(to, Some(&id), &error, 200);
                }
                Ok(Parsed::One(message)) => self.handle_message(to, message, now),
                Ok(Parsed::Batch(_)) => {
                    let error = RpcError::new(code::INVALID_REQUEST, "a batch holds no batches");
                    self.refuse(to, &Invalid { id: None, code: "invalid_message", error, is_answer: false });
                }
                Err(invalid) => self.refuse(to, &invalid),
            }
        }
        self.settle_batch(to, None);
    }

    fn handle_message(&mut self, to: ReplyTo, message: Message<'_>, now: Millis) {
        match message {
            Message::Request { id, method, params } => {
                self.expect_answer(to);
                self.request(to, id, &method, Params::read(params), now);
            }
            Message::Notification { method, params } => {
                self.notification(to, &method, params);
                self.done(to);
            }
            Message::Result { id, result } => {
                self.answered(to, Some(&id), Object::new().raw("result", result).finish());
            }
            Message::Error { id, error } => {
                self.answered(to, id.as_ref(), Object::new().raw("error", &error.write()).finish());
            }
        }
    }

    fn notification(&mut self, to: ReplyTo, method: &str, params: Option<&str>) {
        let params = params.unwrap_or("{}");
        let Some(peer) = self.peers.get_mut(&to.peer) else { return };
        match method {
            "notifications/initialized" => {
                if let Some(session) = &mut peer.session {
                    session.ready = true;
                }
            }
            "notifications/cancelled" => {
                let [id, reason] = json::pick(params, ["requestId", "reason"]);
                // A malformed cancellation is ignored (CANC-012).
                let Some(id) = id.and_then(Id::read) else { return };
                let reason = reason.and_then(json::string).unwrap_or_default().into_owned();
                self.cancelled_by_peer(to.peer, &id, &reason);
            }
            "notifications/roots/list_changed" => {
                let (method, params) = (method.to_string(), params.to_string());
                self.event(Event::Notice { stream: to.stream, method, params });
            }
            _ => {}
        }
    }

    /// Answers what is no message, or only notes it when it was an answer itself.
    fn refuse(&mut self, to: ReplyTo, invalid: &Invalid) {
        self.violation(to.stream, invalid.code, invalid.error.message.clone());
        let is_pipe = self.peers.get(&to.peer).is_some_and(|peer| matches!(peer.channel, Channel::Pipe(_)));
        if invalid.is_answer && is_pipe {
            return;
        }
        self.expect_answer(to);
        self.answer_error(to, invalid.id.as_ref(), &invalid.error, 400);
    }

    /// What a client is told of itself in [`Event::Opened`].
    fn opened(&mut self, stream: StreamId, revision: &'static str, client: Option<&Raw>, capabilities: &Raw) {
        let client = client.map_or("null", |client| client);
        let text = Object::new().raw("client", client).raw("capabilities", capabilities).finish();
        self.event(Event::Opened { stream, revision, text });
    }
}
