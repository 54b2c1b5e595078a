//! One request of the host, from the command to its one end. It may take several messages on the wire: a log level before
//! it, rounds of input, pages.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::inputs::Round;
use super::{Client, Early, Ended, Event, Purpose, listen};
use crate::error::{Error, RpcError};
use crate::json::{self, Object};
use crate::model;
use crate::revision::methods;
use crate::revision::open::Extra;
use crate::table::Table;
use crate::time::Millis;
use crate::words;

/// How one request is to be done.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Milliseconds without an answer or progress; none: the client's own.
    pub timeout_ms: Option<u64>,
    /// Milliseconds in all; none: ten times the other.
    pub max_timeout_ms: Option<u64>,
    /// Ask for progress.
    pub progress: bool,
    /// Lists: walk all pages and give them as one.
    pub all: bool,
    /// Ask for log messages from this level on.
    pub log_level: Option<String>,
    /// Metadata to send, a checked JSON object.
    pub meta: Option<String>,
}

impl Options {
    /// Milliseconds without a sign of life, and in all.
    fn bounds(&self, default: u64) -> (u64, u64) {
        let timeout = self.timeout_ms.unwrap_or(default);
        (timeout, self.max_timeout_ms.unwrap_or_else(|| timeout.saturating_mul(10)))
    }
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) params: Option<String>,
    pub(super) options: Options,
    pub(super) phase: Phase,
    started: Option<Millis>,
    pub(super) rounds: u32,
    /// What the next retry carries, as JSON.
    pub(super) answers: Option<String>,
    pub(super) state: Option<String>,
    pages: Pages,
    corrected: bool,
    /// What a listening call subscribed to.
    pub(super) uris: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Waits for the connection to open.
    Queued,
    /// Waits for the log level to be set.
    Preparing(u64),
    /// Waits for its answer.
    Sent(u64),
    /// Waits for the user.
    Asking(Round),
    /// Listens by subscriptions; so many of them are not confirmed yet.
    Listening { unconfirmed: usize },
}

#[derive(Debug, Default)]
struct Pages {
    count: usize,
    first: Option<String>,
    items: Vec<String>,
    bytes: usize,
    cursors: Table<String, ()>,
    /// The parameters of the next page.
    params: Option<String>,
}

impl Call {
    pub(super) fn new(method: &str, params: Option<String>, options: Options) -> Self {
        Self {
            method: method.to_string(),
            params,
            options,
            phase: Phase::Queued,
            started: None,
            rounds: 0,
            answers: None,
            state: None,
            pages: Pages::default(),
            corrected: false,
            uris: Vec::new(),
        }
    }
}

/// A refusal by HTTP itself, in words.
pub(super) fn status_message(status: u16, body: &str) -> String {
    let start = words::start(body.trim_ascii(), 200);
    let colon = if start.is_empty() { "" } else { ": " };
    words::join(&["the server answered with HTTP status ", &words::digits(status.into()), colon, start])
}

impl Client {
    /// Begins a request on an open connection.
    pub(super) fn dispatch(&mut self, handle: u64, now: Millis) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        if call.method == listen::METHOD && methods::from_client(listen::METHOD, self.revision).is_none() {
            self.listen_by_subscribing(handle);
            return;
        }
        let level = call.options.log_level.clone();
        self.arm(handle, now);
        match level {
            Some(level)
                if !self.revision.level_with_request()
                    && self.level.as_ref() != Some(&level)
                    && json::get(&self.offered, "logging").is_some() =>
            {
                let params = Object::new().string("level", &level).finish();
                let wire = self.send_request(Purpose::Level(handle), "logging/setLevel", Some(params));
                self.level = Some(level);
                self.set_phase(handle, Phase::Preparing(wire));
            }
            _ => self.send_call(handle),
        }
    }

    pub(super) fn set_phase(&mut self, handle: u64, phase: Phase) {
        if let Some(call) = self.calls.get_mut(&handle) {
            call.phase = phase;
        }
    }

    /// Sends the request itself: the first time, for the next page, or again with answers.
    pub(super) fn send_call(&mut self, handle: u64) {
        let Some(call) = self.calls.get_mut(&handle) else {
            return;
        };
        // Kept only where it may have to be said again: for a retry, in a new session, for the next page.
        let again = self.config.own_streams || self.revision.types_results() || call.options.all;
        let params = match &call.pages.params {
            None if !again => call.params.take(),
            next => next.as_ref().or(call.params.as_ref()).map(|params| {
                // With room for what is written around it.
                let mut copy = String::with_capacity(params.len() + 1024);
                copy.push_str(params);
                copy
            }),
        };
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        let extra = Extra {
            meta: call.options.meta.as_deref(),
            token: call.options.progress.then_some(self.next_wire),
            level: call.options.log_level.as_deref(),
            answers: call.answers.as_deref(),
            state: call.state.as_deref(),
        };
        let params = self.revision.client_params_in_place(params, &extra, &self.speaker());
        let method = call.method.clone();
        let wire = self.send_request(Purpose::Call(handle), &method, params);
        self.set_phase(handle, Phase::Sent(wire));
    }

    /// Sets the deadline of a request anew: it did something, or something was done for it.
    pub(super) fn arm(&mut self, handle: u64, now: Millis) {
        let default = self.config.timeout_ms;
        let Some(call) = self.calls.get_mut(&handle) else {
            return;
        };
        // A listening request has no answer to wait for (SUB-014).
        if call.method == listen::METHOD {
            return;
        }
        let (timeout, longest) = call.options.bounds(default);
        let end = call.started.get_or_insert(now).after(longest);
        let next = match call.phase {
            // The user may think as long as the whole request may take.
            Phase::Asking(_) => end,
            _ => now.after(timeout).min(end),
        };
        self.deadlines.set(handle, next);
    }

    /// The deadline of a request has come.
    pub(super) fn call_silent(&mut self, handle: u64, now: Millis) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        let (_, longest) = call.options.bounds(self.config.timeout_ms);
        let end = call.started.unwrap_or(now).after(longest);
        if self.is_asked() && now < end {
            // The server waits for our user, perhaps for this very request.
            self.arm(handle, now);
            return;
        }
        self.abandon(handle, Some("no answer in time"), Error::Timeout);
    }

    /// Ends a request with an error.
    pub(super) fn fail(&mut self, handle: u64, error: Error) {
        if self.end_call(handle) {
            self.tell(Event::Failed { handle, error });
        }
    }

    pub(super) fn succeed(&mut self, handle: u64, result: String) {
        if self.end_call(handle) {
            self.tell(Event::Result { handle, result });
        }
    }

    /// Takes a request out of all tables; false when it was over before.
    fn end_call(&mut self, handle: u64) -> bool {
        let Some(call) = self.calls.remove(&handle) else {
            return false;
        };
        self.deadlines.clear(handle);
        match call.phase {
            Phase::Queued => self.queue.retain(|early| !matches!(early, Early::Call(other) if *other == handle)),
            Phase::Preparing(wire) => {
                // Whether the level was set is not known.
                self.level = None;
                self.forget(wire);
            }
            Phase::Sent(wire) => {
                self.forget(wire);
            }
            Phase::Asking(_) => self.drop_round(handle),
            Phase::Listening { .. } => {
                let own = Purpose::Subscribe(handle);
                while let Some(wire) = self.wires.find_key(|wire| wire.purpose == own) {
                    self.forget(wire);
                }
            }
        }
        true
    }

    /// Puts a request that was refused unread back to wait for the connection to open.
    pub(super) fn requeue(&mut self, handle: u64) {
        let Some(call) = self.calls.get_mut(&handle) else {
            return;
        };
        if let Phase::Preparing(wire) | Phase::Sent(wire) = call.phase {
            call.phase = Phase::Queued;
            self.forget(wire);
            self.queue.push(Early::Call(handle));
            self.deadlines.clear(handle);
        }
    }

    /// Ends everything that belonged to a session which is gone, but for the request that found it out.
    pub(super) fn end_session_calls(&mut self, kept: Option<u64>) {
        let over: Vec<_> = self.calls.keys().copied().filter(|handle| Some(*handle) != kept).collect();
        for handle in over {
            self.fail(handle, Error::Disconnected("the server does not know the session any more".to_string()));
        }
        self.drop_inputs();
        while let Some(wire) = self.wires.first() {
            self.forget(wire);
        }
    }

    /// The answer to a request came, whole.
    pub(super) fn call_answered(&mut self, handle: u64, answer: Result<&str, RpcError>, now: Millis) {
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                self.call_refused(handle, error, now);
                return;
            }
        };
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        if self.revision.types_results() {
            let kind = json::get(result, "resultType").map(|value| json::string(value).unwrap_or_default());
            match kind.as_deref() {
                None | Some("complete") => {}
                Some("input_required") => {
                    self.input_required(handle, result, now);
                    return;
                }
                Some(other) => {
                    let message = words::join(&["the result has the unknown type `", other, "`"]);
                    self.fail(handle, Error::broken("result_type_unknown", &[&message]));
                    return;
                }
            }
        }
        if let Err(problem) = model::result(&call.method, result) {
            let message = words::join(&["the result of ", &call.method, " is broken: ", &problem]);
            self.fail(handle, Error::broken("invalid_result", &[&message]));
            return;
        }
        let key = methods::any(&call.method).and_then(|row| row.list).filter(|_| call.options.all);
        let result = if call.method == "tools/list" { self.note_tools(result) } else { Cow::Borrowed(result) };
        match key {
            Some(key) => self.page(handle, key, &result, now),
            None => self.succeed(handle, result.into_owned()),
        }
    }

    fn call_refused(&mut self, handle: u64, error: RpcError, now: Millis) {
        let correction = self.config.plan.correct(&error).filter(|_| !self.revision.server_may_ask());
        let fresh = self.calls.get_mut(&handle).filter(|call| !call.corrected);
        if let (Some(revision), Some(call)) = (correction, fresh) {
            call.corrected = true;
            self.revision = revision;
            self.arm(handle, now);
            self.send_call(handle);
            return;
        }
        self.fail(handle, Error::Peer(error));
    }

    /// The stream of a request ended without its answer.
    pub(super) fn call_unanswered(&mut self, handle: u64, ended: Ended) {
        let error = match ended {
            Ended::Complete => Error::Disconnected("the stream ended before the answer came".to_string()),
            Ended::Failed(reason) => Error::Disconnected(reason),
            Ended::Status(status, body) => Error::broken("http_status", &[&status_message(status, &body)]),
            Ended::Foreign(body) => {
                let start = words::start(body.trim_ascii(), 200);
                Error::broken("invalid_message", &["the answer holds no message: ", start])
            }
        };
        self.fail(handle, error);
    }

    /// One page of a walk through a list.
    fn page(&mut self, handle: u64, key: &str, result: &str, now: Millis) {
        let limits = self.config.limits;
        let Some(call) = self.calls.get_mut(&handle) else {
            return;
        };
        let pages = &mut call.pages;
        pages.count += 1;
        for item in json::elements(json::get(result, key).unwrap_or("[]")) {
            pages.bytes += item.len();
            pages.items.push(item.to_string());
        }
        pages.first.get_or_insert_with(|| result.to_string());
        let cursor = json::get(result, "nextCursor").filter(|value| json::is_string(value));
        // An empty cursor is a cursor (PAGE-005).
        let Some(cursor) = cursor else {
            self.end_walk(handle, key, None);
            return;
        };
        if pages.cursors.insert(cursor.to_string(), ()).is_some() {
            self.violation("repeated_cursor", &["the server gave the same cursor twice; the list ends there"]);
            self.end_walk(handle, key, None);
            return;
        }
        if pages.count >= limits.pages || pages.bytes > limits.message_bytes.saturating_mul(4) {
            // The cursor that stays in the result says that there is more.
            let cursor = cursor.to_string();
            self.end_walk(handle, key, Some(&cursor));
            return;
        }
        let params = call.params.as_deref().unwrap_or("{}");
        let kept = json::members(params).filter(|(name, _)| name != "cursor");
        let next = kept.fold(Object::new(), |out, (name, value)| out.raw(&name, value)).raw("cursor", cursor);
        pages.params = Some(next.finish());
        self.arm(handle, now);
        self.send_call(handle);
    }

    fn end_walk(&mut self, handle: u64, key: &str, cursor: Option<&str>) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        let pages = &call.pages;
        let items = json::array(pages.items.iter().map(String::as_str));
        let first = pages.first.as_deref().unwrap_or("{}");
        let mut out = Object::with_capacity(items.len() + 200);
        for (name, value) in json::members(first) {
            out = match &*name {
                "nextCursor" => out,
                name if name == key => out.raw(name, &items),
                name => out.raw(name, value),
            };
        }
        let result = out.maybe("nextCursor", cursor).finish();
        self.succeed(handle, result);
    }
}
