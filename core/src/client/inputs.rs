//! What a server wants from the user: by a request of its own, or by a result that asks for input first. To hosts both
//! look the same.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Client, Event, Phase, Role};
use crate::error::{Error, RpcError, code};
use crate::json::{self, Object};
use crate::message::{self, Id};
use crate::revision::methods;
use crate::table::Table;
use crate::time::Millis;
use crate::words;

#[derive(Debug)]
pub(super) enum Input {
    /// Answered by a message.
    Request(Id),
    /// Answered, with the others of its round, by sending the request again.
    Round { handle: u64, key: String },
}

/// The questions of one result that asks for input.
#[derive(Debug)]
pub(super) struct Round {
    open: usize,
    answers: Table<String, String>,
}

/// Key, method, parameters.
type Question<'a> = (String, String, Option<&'a str>);

/// What the host's user said.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A result, checked JSON, an object.
    Result(String),
    /// The user or the host refused.
    Error(RpcError),
}

impl Client {
    /// Answers an [`Event::Input`].
    ///
    /// Where the revision has no way to answer with an error, [`Answer::Error`] ends the request that asked, with kind
    /// `usage` and code `input_failed` (SAMP-022).
    ///
    /// # Errors
    /// `unknown_token`, `closed`.
    pub fn answer(&mut self, token: u64, answer: Answer, now: Millis) -> Result<(), Error> {
        self.check_open()?;
        let Some(input) = self.inputs.remove(&token) else {
            return Err(Error::refused("unknown_token", &["no input waits for ", &words::digits(token)]));
        };
        match (input, answer) {
            (Input::Request(id), answer) => {
                let text = match &answer {
                    Answer::Result(result) => message::write_result(&id, result),
                    Answer::Error(error) => message::write_error(Some(&id), error),
                };
                self.post(text, None, Role::OneWay);
            }
            (Input::Round { handle, key }, Answer::Result(result)) => self.collect(handle, key, &result, now),
            (Input::Round { handle, .. }, Answer::Error(error)) => {
                self.fail(handle, Error::refused("input_failed", &["the input failed: ", &error.message]));
            }
        }
        Ok(())
    }

    /// Whether the server waits for our user by requests of its own.
    pub(super) fn is_asked(&self) -> bool {
        self.inputs.values().any(|input| matches!(input, Input::Request(_)))
    }

    pub(super) fn ask_user(&mut self, id: Id, method: &str, params: Option<&str>) {
        if self.inputs.len() >= self.config.limits.pending_calls {
            let error = RpcError::new(code::INTERNAL, "too many requests wait for the user");
            self.post(message::write_error(Some(&id), &error), None, Role::OneWay);
            return;
        }
        self.put(Input::Request(id), method, params);
    }

    fn put(&mut self, input: Input, method: &str, params: Option<&str>) {
        let token = self.next_token;
        self.next_token += 1;
        self.inputs.insert(token, input);
        let params = params.unwrap_or("{}").to_string();
        self.tell(Event::Input { token, method: method.to_string(), params });
    }

    /// The server takes a request back.
    pub(super) fn input_withdrawn(&mut self, id: &Id) {
        let same = |input: &Input| matches!(input, Input::Request(own) if own == id);
        let found = self.inputs.find_key(same);
        if let Some(token) = found {
            self.inputs.remove(&token);
            self.tell(Event::InputCancelled { token });
        }
    }

    /// Drops every input.
    pub(super) fn drop_inputs(&mut self) {
        for (token, _) in core::mem::take(&mut self.inputs) {
            self.tell(Event::InputCancelled { token });
        }
    }

    /// Drops the inputs of a request that is over.
    pub(super) fn drop_round(&mut self, handle: u64) {
        let own = |input: &Input| matches!(input, Input::Round { handle: other, .. } if *other == handle);
        while let Some(token) = self.inputs.find_key(own) {
            self.inputs.remove(&token);
            self.tell(Event::InputCancelled { token });
        }
    }

    /// A result asks for input first.
    pub(super) fn input_required(&mut self, handle: u64, result: &str, now: Millis) {
        let max = self.config.max_rounds;
        let Some(call) = self.calls.get_mut(&handle) else {
            return;
        };
        let known = methods::any(&call.method);
        if known.is_some_and(|row| !row.may_need_input) {
            let message = words::join(&[&call.method, " cannot ask for input"]);
            self.fail(handle, Error::broken("invalid_result", &[&message]));
            return;
        }
        call.rounds += 1;
        if call.rounds > max {
            let message = words::join(&["the server asked for input more than ", &words::digits(max.into()), " times"]);
            self.fail(handle, Error::bound("input_rounds", &[&message]));
            return;
        }
        let [requests, state] = json::pick(result, ["inputRequests", "requestState"]);
        // Only the latest state counts, and none means none (MRTR-014).
        call.state = state.map(ToString::to_string);
        call.answers = None;
        match self.questions(requests, state) {
            Err(error) => self.fail(handle, error),
            Ok(questions) if questions.is_empty() => {
                self.arm(handle, now);
                self.send_call(handle);
            }
            Ok(questions) => {
                self.set_phase(handle, Phase::Asking(Round { open: questions.len(), answers: Table::default() }));
                self.arm(handle, now);
                for (key, method, params) in questions {
                    self.put(Input::Round { handle, key }, &method, params);
                }
            }
        }
    }

    /// Reads the questions of a result: key, method, parameters.
    fn questions<'a>(&self, requests: Option<&'a str>, state: Option<&str>) -> Result<Vec<Question<'a>>, Error> {
        let broken = |what: &str| Error::broken("invalid_result", &["the request for input is broken: ", what]);
        if state.is_some_and(|state| !json::is_string(state)) {
            return Err(broken("requestState: not a string"));
        }
        if requests.is_none() && state.is_none() {
            return Err(broken("neither inputRequests nor requestState"));
        }
        if requests.is_some_and(|requests| !json::is_object(requests)) {
            return Err(broken("inputRequests: not an object"));
        }
        let mut questions: Vec<Question<'_>> = Vec::new();
        for (key, request) in json::members(requests.unwrap_or("{}")) {
            let [method, params] = json::pick(request, ["method", "params"]);
            let Some(method) = method.and_then(json::string) else {
                return Err(broken("a method is missing"));
            };
            if params.is_some_and(|params| !json::is_object(params)) || questions.iter().any(|known| known.0 == key) {
                return Err(broken(&words::join(&["inputRequests.", &key])));
            }
            if let Some(error) = self.revision.refusal(&method, params, &self.config.capabilities) {
                return Err(Error::refused("unsupported", &[&error.message]));
            }
            questions.push((key.into_owned(), method.into_owned(), params));
        }
        if self.inputs.len() + questions.len() > self.config.limits.pending_calls {
            return Err(Error::bound("too_many_calls", &["too many inputs are pending"]));
        }
        Ok(questions)
    }

    fn collect(&mut self, handle: u64, key: String, result: &str, now: Millis) {
        let Some(call) = self.calls.get_mut(&handle) else {
            return;
        };
        let Phase::Asking(round) = &mut call.phase else {
            return;
        };
        round.answers.insert(key, json::one_line(result).into_owned());
        round.open -= 1;
        if round.open > 0 {
            return;
        }
        // All of them are there before the retry (MRTR-009), under their keys (MRTR-011).
        let all = round.answers.iter().fold(Object::new(), |out, (key, answer)| out.raw(key, answer));
        call.answers = Some(all.finish());
        self.send_call(handle);
        self.arm(handle, now);
    }
}
