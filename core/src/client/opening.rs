//! Opening the connection: asks what the table in `revision` says, and tells it what came back.

use alloc::string::{String, ToString};
use core::mem;

use super::{Client, Early, Ended, Event, Output, Purpose, Role};
use crate::error::RpcError;
use crate::message;
use crate::model;
use crate::revision::Revision;
use crate::revision::open::{self, Ask, Outcome, Step};
use crate::time::Millis;
use crate::words;

/// Questions in one opening: a server that always corrects us must not keep us asking.
const QUESTIONS: u8 = 5;

/// Where the connection stands. All changes of state are in this file, but for the end.
#[derive(Debug)]
pub(super) enum State {
    Idle,
    Opening {
        ask: Ask,
        wire: u64,
        questions: u8,
        /// A probe that was given up; a good answer to it still counts (VER-015).
        probe: Option<u64>,
        /// A lost session is being replaced: the host was told about the connection before.
        again: bool,
    },
    /// The handshake is done but for the server taking note of its end.
    Confirming {
        stream: u64,
        about: String,
        again: bool,
    },
    Ready,
    Closed,
}

impl Client {
    /// Asks the first or the next question.
    pub(super) fn ask(&mut self, ask: Ask, now: Millis) {
        let (questions, probe, again) = match self.state {
            State::Opening { questions, probe, again, .. } => (questions + 1, probe, again),
            _ => (1, None, false),
        };
        self.ask_again(ask, questions, probe, again, now);
    }

    fn ask_again(&mut self, ask: Ask, questions: u8, probe: Option<u64>, again: bool, now: Millis) {
        if questions > QUESTIONS {
            self.shut("opening_failed", "the server refuses everything that it offers");
            return;
        }
        self.revision = ask.revision();
        let params = match ask {
            Ask::Initialize(revision) => Some(revision.opening_params(&self.speaker())),
            Ask::Discover(revision) => revision.client_params(None, &open::Extra::default(), &self.speaker()),
        };
        let wire = self.send_request(Purpose::Open(ask), ask.method(), params);
        self.state = State::Opening { ask, wire, questions, probe, again };
        let (probe, timeout) = (self.config.probe_ms, self.config.timeout_ms);
        let wait = if self.config.plan.falls_back(ask) { probe.min(timeout) } else { timeout };
        self.deadlines.set(super::OPENING, now.after(wait));
    }

    /// The question that is out got no answer in time.
    pub(super) fn opening_silent(&mut self, now: Millis) {
        let State::Opening { ask, wire, probe, .. } = &mut self.state else {
            self.shut("timeout", "the server did not confirm the handshake in time");
            return;
        };
        let (ask, wire) = (*ask, *wire);
        if matches!(ask, Ask::Discover(_)) {
            *probe = Some(wire);
        }
        let found = self.forget(wire).filter(|_| self.config.own_streams);
        if let Some(found) = found {
            self.out.push(Output::Abort(found.stream));
        }
        self.step(ask, Outcome::Silence, now);
    }

    /// The question that is out was answered by a message.
    pub(super) fn opening_answered(&mut self, ask: Ask, answer: Result<&str, &RpcError>, status: u16, now: Millis) {
        if open::is_undecided(status) {
            self.refused_by_status(status, "");
            return;
        }
        match answer {
            Ok(result) => self.step(ask, Outcome::Result(result), now),
            Err(error) => self.step(ask, Outcome::Error(error, status), now),
        }
    }

    /// The stream of the question that is out ended without a message.
    pub(super) fn opening_unanswered(&mut self, ask: Ask, ended: Ended, now: Millis) {
        match ended {
            Ended::Failed(reason) => self.shut("disconnected", &reason),
            Ended::Status(status, body) if open::is_undecided(status) || matches!(ask, Ask::Initialize(_)) => {
                self.refused_by_status(status, &body);
            }
            _ => self.step(ask, Outcome::Foreign, now),
        }
    }

    /// An error that names no request came while a question was out: it can only mean that.
    pub(super) fn opening_error(&mut self, error: &RpcError, now: Millis) -> bool {
        let State::Opening { ask, wire, .. } = self.state else {
            return false;
        };
        self.forget(wire);
        self.step(ask, Outcome::Error(error, 0), now);
        true
    }

    /// A result came for a probe that was given up; whether that changed anything.
    pub(super) fn late_probe(&mut self, id: u64, result: &str, now: Millis) -> bool {
        let State::Opening { wire, probe: Some(probe), .. } = self.state else {
            return false;
        };
        if probe != id || !open::is_discovery(result) {
            return false;
        }
        // The handshake that is out cannot be cancelled (CANC-003); its answer will mean nothing.
        self.forget(wire);
        let ask = self.config.plan.first();
        self.step(ask, Outcome::Result(result), now);
        true
    }

    fn step(&mut self, ask: Ask, outcome: Outcome<'_>, now: Millis) {
        match self.config.plan.next(ask, outcome) {
            Step::Ask(next) => self.ask(next, now),
            Step::Fail(code, message) => self.shut(code, &message),
            Step::Ready(revision) => {
                let result = match outcome {
                    Outcome::Result(result) => result,
                    _ => "{}",
                };
                self.enter(ask, revision, result, now);
            }
        }
    }

    fn enter(&mut self, ask: Ask, revision: Revision, result: &str, now: Millis) {
        let again = matches!(self.state, State::Opening { again: true, .. });
        if again && revision != ask.revision() {
            self.shut("version_unsupported", "the server opened the new session in another revision");
            return;
        }
        self.revision = revision;
        self.offered = crate::json::get(result, "capabilities").unwrap_or("{}").to_string();
        let about = revision.describe_server(result);
        if matches!(ask, Ask::Discover(_)) {
            self.ready(about, again, now);
            return;
        }
        if let Err(problem) = model::result(ask.method(), result) {
            self.shut("invalid_result", &words::join(&["the answer to initialize is broken: ", &problem]));
            return;
        }
        let method = "notifications/initialized";
        let stream = self.post(message::write_notification(method, None), Some(method), Role::Confirmation);
        if self.config.own_streams {
            // Later messages could overtake it on their own streams.
            self.state = State::Confirming { stream, about, again };
        } else {
            self.ready(about, again, now);
        }
    }

    /// The stream of the confirmation ended; false when it was not that stream.
    pub(super) fn confirmed(&mut self, stream: u64, ended: &Ended, now: Millis) -> bool {
        let State::Confirming { stream: own, about, again } = &mut self.state else {
            return false;
        };
        if *own != stream {
            return false;
        }
        let (about, again) = (mem::take(about), *again);
        match ended {
            Ended::Complete | Ended::Foreign(_) => self.ready(about, again, now),
            Ended::Status(status, body) => self.refused_by_status(*status, body),
            Ended::Failed(reason) => self.shut("disconnected", reason),
        }
        true
    }

    fn refused_by_status(&mut self, status: u16, body: &str) {
        let message = super::call::status_message(status, body);
        self.shut("http_status", &message);
    }

    fn ready(&mut self, about: String, again: bool, now: Millis) {
        self.state = State::Ready;
        self.deadlines.clear(super::OPENING);
        if !again {
            self.tell(Event::Ready { revision: self.revision, about });
        }
        for early in mem::take(&mut self.queue) {
            match early {
                Early::Notification(method, params) => self.send_notification(&method, params.as_deref()),
                Early::Call(handle) => self.dispatch_queued(handle, now),
            }
        }
    }

    fn dispatch_queued(&mut self, handle: u64, now: Millis) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        match self.check_method(&call.method) {
            Ok(()) => self.dispatch(handle, now),
            Err(error) => self.fail(handle, error),
        }
    }

    /// The server does not know the session any more; `stream` carried what it refused. Opens a new one, and sends what
    /// was refused again; everything else in flight was of the old session and ends.
    pub(crate) fn handle_session_lost(&mut self, stream: u64, now: Millis) {
        let refused =
            self.by_stream.get(&stream).and_then(|wire| self.wires.get(wire)).and_then(|wire| match wire.purpose {
                Purpose::Call(handle) | Purpose::Level(handle) => Some(handle),
                _ => None,
            });
        if !self.is_ready() {
            self.shut("disconnected", "the server forgot the session while it was opened");
            return;
        }
        if let Some(handle) = refused {
            self.requeue(handle);
        }
        self.end_session_calls(refused);
        self.level = None;
        self.ask_again(Ask::Initialize(self.revision), 1, None, true, now);
    }
}
