//! Questions to the client in the course of a call. Where the server may send requests, a question is one; elsewhere the
//! answer to the call is "input required", and the call waits until the client comes back with what was asked for.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::arguments::Schema;
use super::params::Params;
use super::peers::ReplyTo;
use super::{CallId, Channel, Event, PeerId, Server};
use crate::error::{Error, RpcError, code};
use crate::json::{self, Object, Raw};
use crate::message::{self, Id};
use crate::model;
use crate::revision::Revision;
use crate::revision::methods::Method;
use crate::revision::wire::Sender;
use crate::time::Millis;

/// What a deadline is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A client that did not come back.
    Suspended(CallId),
}

impl Server {
    /// Asks the client of a running call; the answer comes as [`Event::Answer`] under the same key.
    ///
    /// # Errors
    /// `usage` when `request` is none, or the key is in use.
    pub fn ask(&mut self, number: CallId, key: &str, request: &str) -> Result<(), Error> {
        json::check(request, json::MAX_NESTING)
            .map_err(|fault| Error::usage("usage", format!("the request: {}", fault.message())))?;
        let [method, params] = json::pick(request, ["method", "params"]);
        let method =
            method.and_then(json::string).ok_or_else(|| Error::usage("usage", "a request has a string `method`"))?;
        if params.is_some_and(|params| !json::is_object(params)) {
            return Err(Error::usage("usage", "`params` must be an object"));
        }
        let Some(call) = self.calls.get_mut(&number) else { return Ok(()) };
        if call.questions.contains_key(key) {
            return Err(Error::usage("usage", format!("the question `{key}` is asked already")));
        }
        let revision = call.sender.revision;
        // An answer that came before its question and does not fit it is asked for again.
        let given = call.given.remove(key).filter(|given| answer_fault(&method, params, given).is_none());
        if let Some(given) = given {
            let outcome = Object::new().raw("result", &given).finish();
            self.event(Event::Answer { call: number, key: key.to_string(), outcome });
            return Ok(());
        }
        let ended = self.peers.get(&call.to.peer).is_some_and(|peer| peer.ended);
        let refusal = if !call.row.may_need_input {
            Some(RpcError::new(code::INTERNAL, format!("nothing can be asked during {}", call.row.name)))
        } else if ended && call.state.is_none() && revision.asks_by_request() {
            Some(RpcError::new(code::INTERNAL, "the client closed its side"))
        } else {
            revision.lacks(&method, params, &call.sender.capabilities)
        };
        if let Some(error) = refusal {
            let outcome = Object::new().raw("error", &error.write()).finish();
            self.event(Event::Answer { call: number, key: key.to_string(), outcome });
            return Ok(());
        }
        let params = params.map(|params| json::one_line(&revision.write_question(&method, params)).into_owned());
        let question = Object::new().string("method", &method).maybe("params", params.as_deref()).finish();
        call.questions.insert(key.to_string(), Raw::trusted(question));
        if revision.asks_by_request() {
            self.send_question(number, key, &method, params.as_deref());
        } else if !self.asking.contains(&number) {
            self.asking.push(number);
        }
        Ok(())
    }

    fn send_question(&mut self, number: CallId, key: &str, method: &str, params: Option<&str>) {
        let Some(call) = self.calls.get(&number) else { return };
        let to = call.to;
        let Some(peer) = self.peers.get_mut(&to.peer) else { return };
        peer.last_asked += 1;
        let id = peer.last_asked;
        peer.asked.insert(id, (number, key.to_string()));
        self.send_related(to, message::write_request(&Id::number(id), method, params.map(ToString::to_string)));
    }

    /// Nobody waits for the answer any more: the client need not go on asking its user (CANC-001).
    pub(super) fn withdraw_question(&mut self, to: ReplyTo, id: u64) {
        let params = Object::new().number("requestId", id).string("reason", "the call is over").finish();
        self.send_related(to, message::write_notification("notifications/cancelled", Some(&params)));
    }

    /// The answer to a question that went out as a request.
    pub(super) fn answered(&mut self, to: ReplyTo, id: Option<&Id>, outcome: String) {
        let peer = self.peers.get_mut(&to.peer);
        let stands_alone = peer.as_ref().is_some_and(|peer| peer.channel == Channel::Exchange);
        let number = id.and_then(Id::as_number);
        let withdrawn =
            number.is_some_and(|number| peer.as_ref().is_some_and(|peer| (1..=peer.last_asked).contains(&number)));
        let found = peer.and_then(|peer| peer.asked.remove(&number?));
        let Some((call, key)) = found else {
            // It crossed with the end of its call (CANC-010).
            if withdrawn {
                return self.done(to);
            }
            self.violation(to.stream, "unknown_response", "an answer to nothing that was asked");
            if stands_alone {
                let error = RpcError::new(code::INVALID_REQUEST, "nothing was asked");
                return self.answer_error(to, None, &error, 400);
            }
            return self.done(to);
        };
        let question = self.calls.get_mut(&call).and_then(|call| call.questions.remove(&key));
        let fault = question.zip(json::get(&outcome, "result")).and_then(|(question, answer)| {
            let [method, params] = json::pick(&question, ["method", "params"]);
            answer_fault(&method.and_then(json::string)?, params, answer)
        });
        let outcome = match fault {
            None => outcome,
            Some(fault) => {
                let message = format!("the client's answer is not usable: {fault}");
                self.violation(to.stream, "invalid_result", message.clone());
                Object::new().raw("error", &RpcError::new(code::INVALID_PARAMS, message).write()).finish()
            }
        };
        self.event(Event::Answer { call, key, outcome });
        self.done(to);
    }

    /// Nobody will answer the questions of this peer.
    pub(super) fn fail_questions(&mut self, peer: PeerId, reason: &str) {
        let asked = self.peers.get_mut(&peer).map(|peer| core::mem::take(&mut peer.asked)).unwrap_or_default();
        for (call, key) in asked.into_values() {
            if let Some(call) = self.calls.get_mut(&call) {
                call.questions.remove(&key);
            }
            let error = RpcError::new(code::INTERNAL, reason).write();
            self.event(Event::Answer { call, key, outcome: Object::new().raw("error", &error).finish() });
        }
        let waiting: Vec<_> = self
            .calls
            .iter()
            .filter(|(_, call)| call.to.peer == peer && call.state.is_some())
            .map(|(id, _)| *id)
            .collect();
        for call in waiting {
            self.drop_call(call, reason);
        }
    }

    /// Answers calls that have questions by asking for input (MRTR-002): the request ends, the call waits.
    pub(super) fn send_questions(&mut self, now: Millis) {
        for number in core::mem::take(&mut self.asking) {
            if self.calls.get(&number).is_none_or(|call| call.state.is_some() || call.questions.is_empty()) {
                continue;
            }
            if self.suspended.len() >= self.config.limits.suspended {
                self.drop_oldest();
            }
            let state = self.secret();
            let Some(call) = self.calls.get_mut(&number) else { continue };
            let requests =
                call.questions.iter().fold(Object::new(), |out, (key, question)| out.raw(key, question)).finish();
            call.state = Some(state.clone());
            let (to, id, revision) = (call.to, call.id.clone(), call.sender.revision);
            let answer = revision.write_input_required(&id, &requests, &state, &self.facts());
            self.suspended.insert(state, number);
            self.timers.set(Timer::Suspended(number), now.after(self.config.limits.suspended_ms));
            if let Some(peer) = self.peers.get_mut(&to.peer) {
                peer.running.remove(&id);
            }
            self.answer(to, answer, 200);
            self.close_if_idle(to.peer);
        }
    }

    /// Makes room: who waits longest is the likeliest never to come back.
    fn drop_oldest(&mut self) {
        let oldest = self.timers.keys().next().cloned();
        if let Some(Timer::Suspended(call)) = oldest {
            self.drop_call(call, "too many calls wait for their clients");
        }
    }

    /// The client came back with what was asked for (MRTR-011, MRTR-012).
    #[expect(clippy::too_many_arguments, reason = "everything that a request is made of")]
    pub(super) fn resume(
        &mut self,
        to: ReplyTo,
        id: &Id,
        state: &str,
        key: &str,
        input: &str,
        params: &Params<'_>,
        sender: Sender,
        now: Millis,
    ) -> Result<(), RpcError> {
        // One refusal whatever is wrong: a state says nothing to somebody who guesses.
        let refused = || RpcError::new(code::INVALID_PARAMS, "`requestState` is not valid for this request");
        let number = *self.suspended.get(state).ok_or_else(refused)?;
        let call = self.calls.get(&number).ok_or_else(refused)?;
        let same_peer = match self.peers.get(&call.to.peer).map(|peer| peer.channel) {
            Some(Channel::Pipe(_)) => call.to.peer == to.peer,
            _ => true,
        };
        if !same_peer || call.key != key || call.fingerprint != self.fingerprint(call.row, input, sender.revision) {
            return Err(refused());
        }
        let mut given = given_answers(params)?;
        for (key, question) in &call.questions {
            let [method, params] = json::pick(question, ["method", "params"]);
            let method = method.and_then(json::string).unwrap_or_default();
            if let Some(fault) = given.get(key).and_then(|answer| answer_fault(&method, params, answer)) {
                let message = format!("`inputResponses` at `{key}`: {fault}");
                return Err(RpcError::new(code::INVALID_PARAMS, message));
            }
        }
        self.suspended.remove(state);
        self.timers.clear(&Timer::Suspended(number));
        let Some(call) = self.calls.get_mut(&number) else { return Err(refused()) };
        call.state = None;
        call.to = to;
        call.id = id.clone();
        call.sender = sender;
        call.read_meta(params.meta);
        let answered: Vec<_> =
            call.questions.keys().filter_map(|key| Some((key.clone(), given.remove(key)?))).collect();
        for (key, _) in &answered {
            call.questions.remove(key);
        }
        // What is still open is asked again (MRTR-022).
        let (outcome, open) = (call.outcome.take(), !call.questions.is_empty());
        if let Some(peer) = self.peers.get_mut(&to.peer) {
            peer.running.insert(id.clone(), number);
        }
        for (key, answer) in answered {
            let outcome = Object::new().raw("result", &answer).finish();
            self.event(Event::Answer { call: number, key, outcome });
        }
        if let Some(outcome) = outcome {
            // Checked when it came.
            let _ = self.respond(number, outcome);
        } else if open {
            self.asking.push(number);
            self.send_questions(now);
        }
        Ok(())
    }

    /// What the input of a call means, where a client may have to come back with the same.
    pub(super) fn fingerprint(&self, row: &Method, input: &str, revision: Revision) -> u128 {
        if row.may_need_input && !revision.asks_by_request() { json::fingerprint(input, &self.key) } else { 0 }
    }
}

/// The answers that a request brings along; unknown keys are kept aside and do no harm (MRTR-021).
pub(super) fn given_answers(params: &Params<'_>) -> Result<BTreeMap<String, Raw>, RpcError> {
    let Some(responses) = params.responses else { return Ok(BTreeMap::new()) };
    let bad = |message: String| RpcError::new(code::INVALID_PARAMS, message);
    if !json::is_object(responses) {
        return Err(bad("`inputResponses` must be an object".to_string()));
    }
    let mut given = BTreeMap::new();
    for (key, value) in json::members(responses) {
        if !json::is_object(value) {
            return Err(bad(format!("`inputResponses` at `{key}` must be an object")));
        }
        given.insert(key.into_owned(), Raw::trusted(value));
    }
    Ok(given)
}

/// What is wrong with the client's answer to a question: its shape, or content that does not fit the form asked for.
fn answer_fault(method: &str, params: Option<&str>, answer: &str) -> Option<String> {
    if let Err(fault) = model::result(method, answer) {
        return Some(fault);
    }
    if method != "elicitation/create" || json::get_string(answer, "action").as_deref() != Some("accept") {
        return None;
    }
    let schema = params.and_then(|params| json::get(params, "requestedSchema"))?;
    match json::get(answer, "content") {
        Some(content) => Schema::compile(schema).check(content),
        None => Some("it accepts, but has no `content`".to_string()),
    }
}
