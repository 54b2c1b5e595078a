//! From a call to its one answer.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::peers::ReplyTo;
use super::{CallId, Channel, Event, PeerId, Server};
use crate::error::{Error, RpcError, code};
use crate::json::{self, Object, Raw};
use crate::message::Id;
use crate::model;
use crate::revision::methods::Method;
use crate::revision::wire::Sender;

/// A call in the hands of the host.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) to: ReplyTo,
    /// The request that waits for the answer now; a call can outlive its first request.
    pub(super) id: Id,
    pub(super) row: &'static Method,
    pub(super) key: String,
    /// What its input means, to know it again when the client comes back.
    pub(super) fingerprint: u128,
    pub(super) meta: Option<Raw>,
    pub(super) token: Option<Raw>,
    pub(super) last_progress: Option<f64>,
    pub(super) sender: Sender,
    /// Questions without an answer yet, by their key; their text once it is known, and our id where it is a request.
    pub(super) questions: BTreeMap<String, Raw>,
    /// Answers that came before the question.
    pub(super) given: BTreeMap<String, Raw>,
    /// What the client will show when it comes back; then nothing can be sent now.
    pub(super) state: Option<String>,
    /// The outcome that came while the client was away.
    pub(super) outcome: Option<String>,
}

impl Call {
    pub(super) fn new(
        to: ReplyTo,
        id: Id,
        row: &'static Method,
        key: String,
        fingerprint: u128,
        meta: Option<&str>,
        sender: Sender,
    ) -> Self {
        let mut call = Self {
            to,
            id,
            row,
            key,
            fingerprint,
            meta: None,
            token: None,
            last_progress: None,
            sender,
            questions: BTreeMap::new(),
            given: BTreeMap::new(),
            state: None,
            outcome: None,
        };
        call.read_meta(meta);
        call
    }

    /// Takes what the request says about itself.
    pub(super) fn read_meta(&mut self, meta: Option<&str>) {
        let token = meta.and_then(|meta| json::get(meta, "progressToken")).filter(|token| Id::read(token).is_some());
        self.meta = meta.map(Raw::trusted);
        self.token = token.map(Raw::trusted);
        self.last_progress = None;
    }
}

impl Server {
    /// The handler's outcome: `{"result":…}` or `{"error":{"code","message","data"?}}`. Nothing happens when the call is over.
    ///
    /// # Errors
    /// `usage` when the text is no outcome, `unknown_call` when there never was such a call.
    pub fn respond(&mut self, number: CallId, outcome: String) -> Result<(), Error> {
        if number == 0 || number > self.last_number {
            return Err(Error::usage("unknown_call", format!("there was no call {number}")));
        }
        json::check(&outcome, json::MAX_NESTING)
            .map_err(|fault| Error::usage("usage", format!("the outcome: {}", fault.message())))?;
        let [result, error] = json::pick(&outcome, ["result", "error"]);
        let error = error.map(RpcError::read);
        if result.is_some() == error.is_some() || error == Some(None) {
            return Err(Error::usage("usage", "an outcome has either `result` or `error` with `code` and `message`"));
        }
        let Some(call) = self.calls.get_mut(&number) else { return Ok(()) };
        if call.state.is_some() {
            call.outcome = Some(outcome);
            return Ok(());
        }
        let Some(call) = self.end_call(number) else { return Ok(()) };
        let revision = call.sender.revision;
        let ended = match (result, error.flatten()) {
            (_, Some(error)) => Err(error),
            (result, None) => complete(call.row.name, result.unwrap_or("null")).map_err(|why| {
                self.violation(call.to.stream, "invalid_result", why.clone());
                RpcError::new(code::INTERNAL, format!("the handler's result is not usable: {why}"))
            }),
        };
        match ended {
            Ok(result) => {
                let answer = match self.checked_output(&call, result) {
                    Cow::Owned(result) => revision.write_answer(&call.id, call.row, &result, &self.facts()),
                    Cow::Borrowed(result) => {
                        let start = result.as_ptr() as usize - outcome.as_ptr() as usize;
                        let at = start..start + result.len();
                        revision.write_answer_in_place(&call.id, call.row, outcome, at, &self.facts())
                    }
                };
                self.answer(call.to, answer, 200);
            }
            Err(error) => {
                let error = revision.write_error(error);
                self.answer_error(call.to, Some(&call.id), &error, revision.error_status(&error));
            }
        }
        self.close_if_idle(call.to.peer);
        Ok(())
    }

    /// A tool's result, or the failure that it is when it breaks the tool's own promise (TOOL-020).
    fn checked_output<'a>(&mut self, call: &Call, result: Cow<'a, str>) -> Cow<'a, str> {
        let fault = call.key.strip_prefix("tools/call ").and_then(|tool| self.catalog.output_fault(tool, &result));
        let Some(fault) = fault else { return result };
        let text = format!("the tool's output does not fit its output schema: {fault}");
        self.violation(call.to.stream, "invalid_result", text.clone());
        Cow::Owned(failure(&text))
    }

    /// What is known about a running call, as JSON.
    ///
    /// # Errors
    /// `unknown_call` when it is over.
    pub fn call_info(&self, number: CallId) -> Result<String, Error> {
        let call = self.calls.get(&number).ok_or_else(|| Error::usage("unknown_call", "the call is over"))?;
        let level = call.sender.level.map(|level| json::quote(level.name()));
        Ok(Object::new()
            .raw("client", call.sender.client.as_deref().unwrap_or("null"))
            .raw("capabilities", &call.sender.capabilities)
            .string("revision", call.sender.revision.label())
            .raw("meta", call.meta.as_deref().unwrap_or("null"))
            .bool("progress", call.token.is_some())
            .raw("logLevel", level.as_deref().unwrap_or("null"))
            .number("stream", call.to.stream)
            .finish())
    }

    /// Takes a call out of every table.
    pub(super) fn end_call(&mut self, number: CallId) -> Option<Call> {
        let call = self.calls.remove(&number)?;
        self.asking.retain(|other| *other != number);
        if let Some(state) = &call.state {
            self.suspended.remove(state);
            self.timers.clear(&super::Timer::Suspended(number));
        }
        if let Some(peer) = self.peers.get_mut(&call.to.peer) {
            if peer.running.get(&call.id) == Some(&number) {
                peer.running.remove(&call.id);
            }
            let open: Vec<_> = peer.asked.extract_if(.., |_, (other, _)| *other == number).map(|(id, _)| id).collect();
            for id in open {
                self.withdraw_question(call.to, id);
            }
        }
        Some(call)
    }

    /// Ends a call because the server stops: its sender is told so.
    pub(super) fn abort_call(&mut self, number: CallId, reason: &str) {
        let Some(call) = self.end_call(number) else { return };
        self.event(Event::Cancelled { call: number, reason: reason.to_string() });
        if call.state.is_none() {
            self.answer_error(call.to, Some(&call.id), &RpcError::new(code::INTERNAL, reason), 503);
        }
    }

    /// Ends a call without an answer.
    pub(super) fn drop_call(&mut self, number: CallId, reason: &str) {
        let Some(call) = self.end_call(number) else { return };
        self.event(Event::Cancelled { call: number, reason: reason.to_string() });
        if call.state.is_none() {
            match call.to.batch {
                Some(_) => self.settle_batch(call.to, None),
                None => self.done(call.to),
            }
        }
        self.close_if_idle(call.to.peer);
    }

    /// The sender does not want the answer any more; unknown and finished ones are ignored (CANC-009).
    pub(super) fn cancelled_by_peer(&mut self, peer: PeerId, id: &Id, reason: &str) {
        let Some(found) = self.peers.get_mut(&peer) else { return };
        if found.channel == Channel::Exchange {
            return;
        }
        if let Some(listen) = found.listens.remove(id) {
            return self.done(ReplyTo { peer, stream: listen.stream, batch: None });
        }
        if let Some(call) = found.running.get(id).copied() {
            self.drop_call(call, reason);
        }
    }

    /// The client of this exchange left: its requests are over where that means so (HTTP-036).
    pub fn handle_stream_closed(&mut self, peer: PeerId, reason: &str) {
        if self.peers.get(&peer).is_some_and(|peer| peer.channel == Channel::Exchange) {
            self.handle_gone(peer, reason);
        }
    }
}

/// The result of a tool that failed.
pub(super) fn failure(text: &str) -> String {
    let block = Object::new().string("type", "text").string("text", text).finish();
    Object::new().raw("content", &json::array([&*block])).bool("isError", true).finish()
}

/// The result that a handler gave, with what every answer must have; or why it cannot be sent.
fn complete<'a>(method: &str, result: &'a str) -> Result<Cow<'a, str>, String> {
    if !json::is_object(result) {
        return Err("it is no object".to_string());
    }
    let result = match method {
        // Structured content is repeated as text for those who read only that (TOOL-014, TOOL-015).
        "tools/call" if json::get(result, "content").is_none() => {
            let text = json::get(result, "structuredContent");
            let block = text.map(|text| Object::new().string("type", "text").string("text", text).finish());
            let out = Object::with_capacity(2 * result.len()).raw("content", &json::array(block.as_deref()));
            Cow::Owned(json::members(result).fold(out, |out, (name, value)| out.raw(&name, value)).finish())
        }
        "completion/complete" => {
            let values = json::get(result, "completion").and_then(|completion| json::get(completion, "values"));
            match values {
                Some(values) if json::elements(values).count() > 100 => Cow::Owned(first_hundred(values)),
                _ => Cow::Borrowed(result),
            }
        }
        _ => Cow::Borrowed(result),
    };
    model::result(method, &result)?;
    Ok(result)
}

/// At most a hundred values go out, and the client is told that there are more (COMP-005).
fn first_hundred(values: &str) -> String {
    let total = json::elements(values).count();
    let kept = json::array(json::elements(values).take(100));
    let completion = Object::new().raw("values", &kept).number("total", total).bool("hasMore", true).finish();
    Object::new().raw("completion", &completion).finish()
}
