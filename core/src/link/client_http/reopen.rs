//! Streams that are opened without a message: the one on which a server speaks unasked, and the rest of one that broke
//! off before the answer that it was for.

use alloc::string::{String, ToString};

use super::{Fetch, HttpClient, LINGER_MS, Of, SSE, VERSION};
use crate::client::Ended;
use crate::link::sse::SseEvent;
use crate::revision::Revision;
use crate::time::Millis;

/// How often a stream is opened again without having brought anything.
const REOPENINGS: u32 = 3;
/// Milliseconds before that, when the server named none; they double each time.
const PAUSE_MS: u64 = 1000;
/// No pause that a server asks for is longer.
const MAX_PAUSE_MS: u64 = 24 * 60 * 60 * 1000;

/// The stream on which the server speaks unasked.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    /// The revision of the handshake; none before there was one.
    pub(super) revision: Option<Revision>,
    reopenings: u32,
    pub(super) reopen_at: Option<Millis>,
    last_event: Option<String>,
    retry: u64,
}

impl Unasked {
    pub(super) fn of(revision: Revision) -> Self {
        Self { revision: Some(revision), ..Self::default() }
    }
}

/// A stream that broke off and is to be taken up again.
#[derive(Debug)]
pub(super) struct Resume {
    last_event: String,
    retry: Option<u64>,
    attempts: u32,
    at: Option<Millis>,
    /// The exchange that carries the rest.
    pub(super) via: Option<u64>,
}

impl HttpClient {
    /// An exchange without a message.
    pub(super) fn bare(&mut self, of: Of, method: &'static str, last_event: Option<&str>) -> u64 {
        let stream = self.client.new_stream();
        let mut headers = self.headers.clone();
        if of != Of::Farewell {
            headers.push("accept", SSE);
        }
        if let Some(id) = last_event {
            headers.push("last-event-id", id);
        }
        if let Some(revision) = self.unasked.revision.filter(|revision| revision.sends_version()) {
            headers.push(VERSION, revision.label());
        }
        self.fetch(of, Fetch { stream, method, headers, body: None });
        stream
    }

    pub(super) fn open_unasked(&mut self) {
        self.pump();
        self.unasked.reopen_at = None;
        if self.client.is_ready() {
            let last_event = self.unasked.last_event.clone();
            self.bare(Of::Unasked, "GET", last_event.as_deref());
        }
    }

    /// The server's own stream ended: it is opened again, but not for ever.
    pub(super) fn reopen_later(&mut self) {
        if self.client.is_ready() && self.unasked.reopenings < REOPENINGS {
            let delay = (PAUSE_MS << self.unasked.reopenings).max(self.unasked.retry);
            self.unasked.reopenings += 1;
            self.unasked.reopen_at = Some(self.now.after(delay));
        }
    }

    /// Takes up a stream that ended before its answer, where a server may do that (HTTP-031); false when it may not.
    pub(super) fn resume_later(&mut self, stream: u64, last_event: Option<String>, retry: Option<u64>) -> bool {
        let allowed = self.unasked.revision.is_some_and(Revision::resumes_answers);
        let Some(last_event) = last_event.filter(|_| allowed && self.client.awaits(stream)) else {
            return false;
        };
        // HTTP-030
        let at = Some(self.now.after(retry.unwrap_or(PAUSE_MS)));
        self.resumes.insert(stream, Resume { last_event, retry, attempts: 0, at, via: None });
        true
    }

    /// The rest broke off too.
    pub(super) fn resume_again(&mut self, first: u64, last_event: Option<String>, retry: Option<u64>) {
        let Some(resume) = self.resumes.get_mut(&first) else {
            return;
        };
        resume.via = None;
        resume.retry = retry.or(resume.retry);
        match last_event {
            Some(id) => (resume.last_event, resume.attempts) = (id, 0),
            None => resume.attempts += 1,
        }
        if resume.attempts >= REOPENINGS {
            self.give_up(first, "the stream ended before the answer came");
        } else if self.client.awaits(first) {
            let pause = resume.retry.unwrap_or(PAUSE_MS << resume.attempts);
            resume.at = Some(self.now.after(pause));
        } else {
            self.resumes.remove(&first);
        }
    }

    /// The rest of a stream will not come.
    pub(super) fn give_up(&mut self, first: u64, reason: &str) {
        self.resumes.remove(&first);
        self.client.handle_stream_closed(first, Ended::Failed(reason.to_string()), self.now);
    }

    /// Opens what is due.
    pub(super) fn reopen_due(&mut self) {
        let now = self.now;
        if self.unasked.reopen_at.is_some_and(|at| at <= now) {
            self.open_unasked();
        }
        loop {
            let due = self.resumes.iter_mut().find(|(_, resume)| resume.at.is_some_and(|at| at <= now));
            let Some((first, resume)) = due else {
                return;
            };
            let (first, last_event) = (*first, resume.last_event.clone());
            resume.at = None;
            if self.client.awaits(first) {
                let via = self.bare(Of::Resumed(first), "GET", Some(&last_event));
                if let Some(resume) = self.resumes.get_mut(&first) {
                    resume.via = Some(via);
                }
            } else {
                self.resumes.remove(&first);
            }
        }
    }

    /// When something is due next.
    pub(super) fn next_reopening(&self) -> Option<Millis> {
        self.resumes.values().filter_map(|resume| resume.at).chain(self.unasked.reopen_at).min()
    }

    /// An event of a stream.
    pub(super) fn event(&mut self, stream: u64, event: SseEvent) {
        let Some(exchange) = self.exchanges.get_mut(&stream) else {
            return;
        };
        let of = exchange.of;
        let id = event.id.filter(|id| id.bytes().all(|byte| byte >= b' ' && byte != 0x7F));
        let retry = event.retry.map(|retry| retry.min(MAX_PAUSE_MS));
        if let Some(id) = id {
            exchange.last_event = Some(id).filter(|id| !id.is_empty());
            if of == Of::Unasked {
                self.unasked.last_event.clone_from(&exchange.last_event);
            }
        }
        exchange.retry = retry.or(exchange.retry);
        if of == Of::Unasked {
            self.unasked.retry = retry.unwrap_or(self.unasked.retry);
        }
        if !event.has_data || event.event.as_deref().is_some_and(|kind| kind != "message") {
            return;
        }
        let asked_on = match of {
            Of::Resumed(first) => first,
            _ => stream,
        };
        if of == Of::Unasked {
            self.unasked.reopenings = 0;
        }
        self.client.handle_message(asked_on, 200, event.data.as_bytes(), self.now);
        self.pump();
        if of != Of::Unasked && self.exchanges.contains_key(&stream) && !self.client.awaits(asked_on) {
            self.resumes.remove(&asked_on);
            self.lingering.set(stream, self.now.after(LINGER_MS));
        }
    }
}
