//! What a server says without being asked: progress, logs, changes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::peers::ReplyTo;
use super::{CallId, Channel, PeerId, Server};
use crate::error::Error;
use crate::json::{self, Object};
use crate::message;
use crate::revision::wire::{self, Level};

impl Server {
    /// Progress of a call: `{"progress","total"?,"message"?}`. Dropped when the client did not ask for any, or when it does
    /// not increase (PROG-006).
    ///
    /// # Errors
    /// `usage` when the text is no progress.
    pub fn progress(&mut self, number: CallId, text: &str) -> Result<(), Error> {
        json::check(text, json::MAX_NESTING).map_err(|fault| Error::usage("usage", fault.message()))?;
        let [value, total, words] = json::pick(text, ["progress", "total", "message"]);
        let number_of = |text: &str| text.trim().parse::<f64>().ok();
        let (Some(value), true) = (value, total.is_none_or(|total| total == "null" || number_of(total).is_some()))
        else {
            return Err(Error::usage("usage", "progress has a number `progress` and perhaps a number `total`"));
        };
        let amount = number_of(value).ok_or_else(|| Error::usage("usage", "`progress` must be a number"))?;
        let Some(call) = self.calls.get_mut(&number) else { return Ok(()) };
        let Some(token) = call.token.clone().filter(|_| call.state.is_none()) else { return Ok(()) };
        if call.last_progress.is_some_and(|last| amount <= last) {
            return Ok(());
        }
        call.last_progress = Some(amount);
        let to = call.to;
        let words = words.filter(|words| call.sender.revision.rules().progress_message && *words != "null");
        let params = Object::new().raw("progressToken", &token).raw("progress", value);
        let params = params.maybe("total", total.filter(|total| *total != "null")).maybe("message", words).finish();
        self.send_related(to, message::write_notification("notifications/progress", Some(&params)));
        Ok(())
    }

    /// A log message `{"level","data","logger"?}`: about a call, or with 0 to every session.
    ///
    /// # Errors
    /// `usage` when the level is none, or `data` is missing.
    pub fn log(&mut self, number: CallId, text: &str) -> Result<(), Error> {
        json::check(text, json::MAX_NESTING).map_err(|fault| Error::usage("usage", fault.message()))?;
        let [level, data, logger] = json::pick(text, ["level", "data", "logger"]);
        let level = level.and_then(json::string).and_then(|name| Level::parse(&name));
        let level = level.ok_or_else(|| Error::usage("usage", "`level` is none of the eight log levels"))?;
        let data = data.ok_or_else(|| Error::usage("usage", "a log message has `data`"))?;
        let logger = logger.filter(|logger| *logger != "null");
        let params =
            Object::new().string("level", level.name()).maybe("logger", logger).raw("data", &json::one_line(data));
        let line = message::write_notification("notifications/message", Some(&params.finish()));
        if number == 0 {
            let peers: Vec<_> = self.peers.iter().filter(|(_, peer)| peer.hears(level)).map(|(id, _)| *id).collect();
            for peer in peers {
                self.send_unrelated(peer, line.clone());
            }
            return Ok(());
        }
        let Some(call) = self.calls.get(&number).filter(|call| call.state.is_none()) else { return Ok(()) };
        let (to, stands_alone, wanted) = (call.to, call.sender.revision.is_stateless(), call.sender.level);
        let heard = if stands_alone {
            // Without a level in the request nothing may be said (LOG-009).
            wanted.is_some_and(|wanted| level >= wanted)
        } else {
            self.peers.get(&to.peer).is_some_and(|peer| peer.hears(level))
        };
        if heard {
            self.send_related(to, line);
        }
        Ok(())
    }

    /// A resource was updated: `{"resource": uri}`. Those who subscribed to it, or to something it lies below, are told.
    ///
    /// # Errors
    /// `usage` when the text says nothing of the kind.
    pub fn publish(&mut self, text: &str) -> Result<(), Error> {
        json::check(text, json::MAX_NESTING).map_err(|fault| Error::usage("usage", fault.message()))?;
        let uri =
            json::get_string(text, "resource").ok_or_else(|| Error::usage("usage", "a change names a `resource`"))?;
        let quoted = json::quote(&uri);
        let plain = Object::new().raw("uri", &quoted).finish();
        let plain = message::write_notification("notifications/resources/updated", Some(&plain));
        let mut sessions = Vec::new();
        let mut streams = Vec::new();
        for (id, peer) in &self.peers {
            let below = |subscribed: &String| uri == *subscribed || is_below(&uri, subscribed);
            if peer.session.as_ref().is_some_and(|session| session.subscriptions.iter().any(below)) {
                sessions.push(*id);
            }
            for (listen, found) in peer.listens.iter().filter(|(_, listen)| listen.resources.iter().any(below)) {
                let text = wire::subscription_notice("notifications/resources/updated", listen, &[("uri", &quoted)]);
                streams.push((*id, found.stream, text));
            }
        }
        for peer in sessions {
            self.send_unrelated(peer, plain.clone());
        }
        self.send_streams(streams);
        Ok(())
    }

    /// A list changed.
    pub(super) fn announce_list(&mut self, kind: &'static str) {
        let method = format!("notifications/{kind}/list_changed");
        let mut sessions = Vec::new();
        let mut streams = Vec::new();
        for (id, peer) in &self.peers {
            if peer.session.as_ref().is_some_and(|session| session.ready) {
                sessions.push(*id);
            }
            for (listen, found) in peer.listens.iter().filter(|(_, listen)| listen.lists.contains(kind)) {
                streams.push((*id, found.stream, wire::subscription_notice(&method, listen, &[])));
            }
        }
        for peer in sessions {
            self.send_unrelated(peer, message::write_notification(&method, None));
        }
        self.send_streams(streams);
    }

    fn send_streams(&mut self, streams: Vec<(PeerId, u64, String)>) {
        for (peer, stream, text) in streams {
            self.send_related(ReplyTo { peer, stream, batch: None }, text);
        }
    }

    /// Ends the subscriptions of a peer with their closing results; on a pipe also by the notification (SUB-011, CANC-014).
    pub(super) fn end_listens(&mut self, peer: PeerId) {
        let Some(found) = self.peers.get_mut(&peer) else { return };
        let is_pipe = matches!(found.channel, Channel::Pipe(_));
        for (id, listen) in core::mem::take(&mut found.listens) {
            let to = ReplyTo { peer, stream: listen.stream, batch: None };
            let end = wire::subscription_end(&id, &self.facts());
            self.answer(to, end, 200);
            if is_pipe {
                let params = Object::new().raw("requestId", id.as_json()).finish();
                self.send_related(to, message::write_notification("notifications/cancelled", Some(&params)));
            }
        }
    }
}

impl super::Peer {
    /// Whether a session wants messages of this level; before it says so it gets all (LOG-004).
    fn hears(&self, level: Level) -> bool {
        self.session.as_ref().is_some_and(|session| session.ready && session.level.is_none_or(|wanted| level >= wanted))
    }
}

/// Whether one URI lies below another, which then may be told of its changes (RES-011).
fn is_below(uri: &str, parent: &str) -> bool {
    let parent = parent.strip_suffix('/').unwrap_or(parent).to_string();
    uri.strip_prefix(&parent).is_some_and(|rest| rest.starts_with('/'))
}
