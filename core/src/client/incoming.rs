//! What the server says: answers find their request, its own requests find the user, notifications find the host.

use alloc::string::{String, ToString};

use super::{Client, Ended, Event, Phase, Purpose, Role, listen};
use crate::error::{Error, RpcError, code};
use crate::json::{self, Object};
use crate::message::{self, Id, Invalid, Message, Parsed};
use crate::time::Millis;
use crate::words;

fn unawaited(id: &Id) -> String {
    words::join(&["an answer to ", id.as_json(), ", which nobody waits for"])
}

impl Client {
    /// A message arrived on `stream`, in an HTTP answer with that `status` (0 without HTTP).
    pub fn handle_message(&mut self, stream: u64, status: u16, text: &[u8], now: Millis) {
        if self.is_closed() {
            return;
        }
        let limits = self.config.limits;
        if self.config.trace {
            self.trace(false, &words::lossy(text));
        }
        match message::parse(text, &limits) {
            Ok(Parsed::One(message)) => self.take(stream, status, message, now),
            Ok(Parsed::Batch(parts)) if self.is_ready() && self.revision.rules().batching => {
                for part in parts {
                    match message::parse(part.as_bytes(), &limits) {
                        Ok(Parsed::One(message)) => self.take(stream, status, message, now),
                        Ok(Parsed::Batch(_)) => self.violation("invalid_message", &["a batch inside a batch"]),
                        Err(invalid) => self.handle_invalid(invalid, now),
                    }
                }
            }
            Ok(Parsed::Batch(_)) => self.violation("invalid_message", &["a batch, which this revision does not have"]),
            Err(invalid) => {
                self.spoiled = Some((stream, invalid.error.message.clone()));
                self.handle_invalid(invalid, now);
            }
        }
    }

    /// Something arrived that is no message.
    pub fn handle_invalid(&mut self, invalid: Invalid, now: Millis) {
        if self.is_closed() {
            return;
        }
        let wire = invalid.id.as_ref().and_then(Id::as_number).filter(|_| invalid.is_answer);
        if let Some(found) = wire.and_then(|wire| self.drop_wire(wire)) {
            let error = Error::broken(invalid.code, &["the answer is broken: ", &invalid.error.message]);
            match found.purpose {
                Purpose::Call(handle) | Purpose::Subscribe(handle) => self.fail(handle, error),
                Purpose::Level(handle) => self.send_call(handle),
                Purpose::Open(ask) => self.opening_unanswered(ask, Ended::Foreign(error.message()), now),
                Purpose::Quiet => {}
            }
            return;
        }
        self.violation(invalid.code, &[&invalid.error.message]);
        if let (false, Some(id), true) = (invalid.is_answer, &invalid.id, self.revision.server_may_ask()) {
            let text = message::write_error(Some(id), &invalid.error);
            self.post(text, None, Role::OneWay);
        }
    }

    /// A stream of its own ended.
    pub fn handle_stream_closed(&mut self, stream: u64, ended: Ended, now: Millis) {
        if self.is_closed() || self.confirmed(stream, &ended, now) {
            return;
        }
        let wire = self.by_stream.get(&stream).copied();
        let Some(found) = wire.and_then(|wire| self.forget(wire)) else {
            match ended {
                Ended::Status(status, body) => {
                    let message =
                        words::join(&["a notification or an answer: ", &super::call::status_message(status, &body)]);
                    self.violation("http_status", &[&message]);
                }
                Ended::Failed(reason) => self.violation("disconnected", &[&reason]),
                Ended::Complete | Ended::Foreign(_) => {}
            }
            return;
        };
        match found.purpose {
            Purpose::Open(ask) => self.opening_unanswered(ask, ended, now),
            Purpose::Call(handle) | Purpose::Subscribe(handle) => {
                // What stood in the place of the answer explains more than its absence.
                let spoiled = self.spoiled.take().filter(|(at, _)| *at == stream);
                let ended = match (ended, spoiled) {
                    (Ended::Complete, Some((_, why))) => Ended::Foreign(why),
                    (ended, _) => ended,
                };
                self.call_unanswered(handle, ended);
            }
            Purpose::Level(handle) => self.send_call(handle),
            Purpose::Quiet => {}
        }
    }

    /// Whether a request still waits on that stream.
    pub(crate) fn awaits(&self, stream: u64) -> bool {
        self.by_stream.contains_key(&stream)
    }

    fn take(&mut self, stream: u64, status: u16, message: Message<'_>, now: Millis) {
        if self.is_closed() {
            return;
        }
        match message {
            Message::Result { id, result } => self.answered(stream, status, Some(&id), Ok(result), now),
            Message::Error { id, error } => self.answered(stream, status, id.as_ref(), Err(error), now),
            Message::Request { id, method, params } => self.asked(id, &method, params),
            Message::Notification { method, params } => self.noticed(&method, params, now),
        }
    }

    fn answered(&mut self, stream: u64, status: u16, id: Option<&Id>, answer: Result<&str, RpcError>, now: Millis) {
        let number = id.and_then(Id::as_number);
        let named = number.filter(|wire| self.wires.contains_key(wire));
        // A refusal may name no request or a made-up one; its exchange says which one was meant.
        let loose = answer.is_err() && (id.is_none() || status >= 400);
        let wire = named.or_else(|| self.by_stream.get(&stream).copied().filter(|_| loose));
        let Some(found) = wire.and_then(|wire| self.drop_wire(wire)) else {
            if let Some(id) = id.filter(|_| self.config.own_streams) {
                self.spoiled = Some((stream, unawaited(id)));
            }
            self.unmatched(id, number, answer, now);
            return;
        };
        match found.purpose {
            Purpose::Open(ask) => {
                let answer = answer.as_ref().map(|result| *result);
                self.opening_answered(ask, answer, status, now);
            }
            Purpose::Call(handle) => self.call_answered(handle, answer, now),
            Purpose::Level(handle) => {
                if answer.is_err() {
                    self.level = None;
                }
                self.send_call(handle);
            }
            Purpose::Subscribe(handle) => self.subscribed(handle, answer.err()),
            Purpose::Quiet => {}
        }
    }

    /// An answer that no request waits for.
    fn unmatched(&mut self, id: Option<&Id>, number: Option<u64>, answer: Result<&str, RpcError>, now: Millis) {
        if let Some(number) = number.filter(|number| self.forgotten.remove(number).is_some()) {
            if let Ok(result) = answer {
                self.late_probe(number, result, now);
            }
            return;
        }
        match (id, answer) {
            (None, Err(error)) => {
                if self.config.own_streams || !self.opening_error(&error, now) {
                    let message = words::join(&[
                        "an error about no request: ",
                        &error.message,
                        " (",
                        &words::integer(error.code),
                        ")",
                    ]);
                    self.violation("peer_error", &[&message]);
                }
            }
            (Some(id), _) => {
                self.violation("unknown_response", &[&unawaited(id)]);
            }
            (None, Ok(_)) => self.violation("unknown_response", &["an answer to no request"]),
        }
    }

    /// A request of the server.
    fn asked(&mut self, id: Id, method: &str, params: Option<&str>) {
        if !self.revision.server_may_ask() && self.is_ready() {
            self.violation("unexpected_message", &["the server sent the request ", method]);
            return;
        }
        if method == "ping" {
            self.post(message::write_result(&id, "{}"), None, Role::OneWay);
            return;
        }
        let refusal = if self.is_ready() {
            self.revision.refusal(method, params, &self.config.capabilities)
        } else {
            let message = "nothing but ping can be asked before the connection is open";
            Some(RpcError::new(code::METHOD_NOT_FOUND, message))
        };
        match refusal {
            Some(error) => {
                self.post(message::write_error(Some(&id), &error), None, Role::OneWay);
            }
            None => self.ask_user(id, method, params),
        }
    }

    fn noticed(&mut self, method: &str, params: Option<&str>, now: Millis) {
        let params = params.unwrap_or("{}");
        match method {
            "notifications/progress" => self.progressed(params, now),
            "notifications/cancelled" => {
                if let Some(id) = json::get(params, "requestId").and_then(Id::read) {
                    self.withdrawn(&id);
                }
            }
            _ => {
                let mut listeners = self.listeners(method, params);
                if listeners.is_empty() {
                    listeners.push(0);
                }
                for handle in listeners {
                    self.tell(Event::Notice { handle, method: method.to_string(), params: params.to_string() });
                }
            }
        }
    }

    fn progressed(&mut self, params: &str, now: Millis) {
        let [token, progress, total, message] = json::pick(params, ["progressToken", "progress", "total", "message"]);
        let wire = token.and_then(Id::read).and_then(|id| id.as_number());
        let Some(Purpose::Call(handle)) = wire.and_then(|wire| self.wires.get(&wire)).map(|found| found.purpose) else {
            return;
        };
        let is_number = |value: &&str| matches!(value.as_bytes(), [b'-' | b'0'..=b'9', ..]);
        let Some(progress) = progress.filter(is_number) else {
            self.violation("invalid_message", &["progress without a number"]);
            return;
        };
        if !self.calls.get(&handle).is_some_and(|call| call.options.progress) {
            return;
        }
        self.arm(handle, now);
        let total = total.filter(is_number);
        let message = message.filter(|value| json::is_string(value));
        let progress = Object::new().raw("progress", progress).maybe("total", total).maybe("message", message).finish();
        self.tell(Event::Progress { handle, progress });
    }

    /// The server takes a request of its own back, or ends one that we listen by.
    fn withdrawn(&mut self, id: &Id) {
        if self.revision.server_may_ask() {
            self.input_withdrawn(id);
            return;
        }
        let wire = id.as_number();
        let Some(Purpose::Call(handle)) = wire.and_then(|wire| self.wires.get(&wire)).map(|found| found.purpose) else {
            return;
        };
        let listens = self
            .calls
            .get(&handle)
            .is_some_and(|call| call.method == listen::METHOD && matches!(call.phase, Phase::Sent(_)));
        if listens {
            self.succeed(handle, "{}".to_string());
        }
    }
}
