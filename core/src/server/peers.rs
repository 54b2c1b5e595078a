//! Who is connected, and how one answer finds its way back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::{CallId, Channel, Output, PeerId, Server, StreamId};
use crate::error::RpcError;
use crate::json::{self, Raw};
use crate::message::{self, Id};
use crate::revision::Revision;
use crate::revision::wire::Level;

/// What is known of one peer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) channel: Channel,
    /// The handshake, once it took place.
    pub(super) session: Option<Session>,
    /// Calls in flight by the sender's id.
    pub(super) running: BTreeMap<Id, CallId>,
    /// Questions of ours by our id.
    pub(super) asked: BTreeMap<u64, (CallId, String)>,
    pub(super) last_asked: u64,
    pub(super) listens: BTreeMap<Id, Listen>,
    /// Nothing more comes in.
    pub(super) ended: bool,
    /// A request that stands alone was served, and told of.
    pub(super) greeted: bool,
}

/// What a handshake agreed on.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) revision: Revision,
    pub(super) client: Raw,
    pub(super) capabilities: Raw,
    pub(super) ready: bool,
    pub(super) level: Option<Level>,
    pub(super) subscriptions: BTreeSet<String>,
}

/// A subscription that is a request of its own.
#[derive(Debug)]
pub(super) struct Listen {
    pub(super) stream: StreamId,
    /// Kinds of lists, in the words of the notifications.
    pub(super) lists: BTreeSet<&'static str>,
    pub(super) resources: BTreeSet<String>,
}

/// Where the answer to a request goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyTo {
    pub(super) peer: PeerId,
    pub(super) stream: StreamId,
    pub(super) batch: Option<u64>,
}

/// Answers that leave together.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) waiting: usize,
    pub(super) answers: Vec<String>,
}

impl Peer {
    pub(super) const fn new(channel: Channel) -> Self {
        Self {
            channel,
            session: None,
            running: BTreeMap::new(),
            asked: BTreeMap::new(),
            last_asked: 0,
            listens: BTreeMap::new(),
            ended: false,
            greeted: false,
        }
    }
}

impl Server {
    /// A request was read: an answer is owed.
    pub(super) fn expect_answer(&mut self, to: ReplyTo) {
        if let Some(batch) = to.batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.waiting += 1;
        }
    }

    /// The one answer to a request.
    pub(super) fn answer(&mut self, to: ReplyTo, text: String, status: u16) {
        if to.batch.is_some() {
            return self.settle_batch(to, Some(text));
        }
        self.outputs.push_back(Output::Send { peer: to.peer, stream: Some(to.stream), text, last: true, status });
    }

    pub(super) fn answer_error(&mut self, to: ReplyTo, id: Option<&Id>, error: &RpcError, status: u16) {
        self.answer(to, message::write_error(id, error), status);
    }

    /// No answer is owed (any more).
    pub(super) fn done(&mut self, to: ReplyTo) {
        if to.batch.is_none() {
            self.outputs.push_back(Output::Done { peer: to.peer, stream: to.stream });
        }
    }

    /// A request of a batch ended, with an answer or without; the last one sends them all (RPC-032).
    pub(super) fn settle_batch(&mut self, to: ReplyTo, answer: Option<String>) {
        let Some(number) = to.batch else { return };
        let Some(batch) = self.batches.get_mut(&number) else { return };
        batch.answers.extend(answer);
        batch.waiting = batch.waiting.saturating_sub(1);
        if batch.waiting > 0 {
            return;
        }
        let answers = self.batches.remove(&number).map(|batch| batch.answers).unwrap_or_default();
        let to = ReplyTo { batch: None, ..to };
        if answers.is_empty() {
            self.done(to);
        } else {
            self.answer(to, json::array(answers.iter().map(String::as_str)), 200);
        }
    }

    /// A message that precedes an answer on its stream.
    pub(super) fn send_related(&mut self, to: ReplyTo, text: String) {
        self.outputs.push_back(Output::Send { peer: to.peer, stream: Some(to.stream), text, last: false, status: 200 });
    }

    /// A message that belongs to no request.
    pub(super) fn send_unrelated(&mut self, peer: PeerId, text: String) {
        self.outputs.push_back(Output::Send { peer, stream: None, text, last: false, status: 200 });
    }

    /// Ends a pipe whose input has ended, once nothing is in flight.
    pub(super) fn close_if_idle(&mut self, peer: PeerId) {
        let idle = self.peers.get(&peer).is_some_and(|peer| peer.ended && peer.running.is_empty());
        if idle {
            self.outputs.push_back(Output::Close { peer });
            self.handle_gone(peer, "the client closed its side");
        }
    }
}
