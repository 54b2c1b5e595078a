//! The client as a machine: commands and messages go in, [`Output`]s come out.
//!
//! Contract: change (a command, a message, a deadline) → drain [`Client::poll_output`] → change. Time is an argument.

mod call;
mod event;
mod incoming;
mod inputs;
mod listen;
mod mirror;
mod opening;

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

pub use call::Options;
pub use event::{Ended, Event, Outgoing, Output, Role};
pub use inputs::Answer;

use crate::error::Error;
use crate::json::{self, Object};
use crate::limits::Limits;
use crate::link::marks;
use crate::message::{self, Id};
use crate::revision::open::{Ask, Extra, Plan, Speaker};
use crate::revision::{Revision, methods};
use crate::table::{Alarms, Queue, Table};
use crate::time::Millis;
use crate::words;
use call::{Call, Phase};
use inputs::Input;
use opening::State;

/// Faults of the server that are reported.
const VIOLATIONS: u32 = 1000;
/// Answered or abandoned ids that a late answer may still name.
const REMEMBERED: usize = 4096;

/// What a client is made from; texts are checked JSON.
#[derive(Debug, Clone)]
pub struct Config {
    /// Name and version of the program, an object.
    pub info: String,
    /// What it can be asked, an object.
    pub capabilities: String,
    /// Which revisions it may open.
    pub plan: Plan,
    /// Milliseconds until a silent probe counts as answered by an older server.
    pub probe_ms: u64,
    /// Milliseconds until a request without an answer ends.
    pub timeout_ms: u64,
    /// How often one request may come back for input.
    pub max_rounds: u32,
    /// Bounds.
    pub limits: Limits,
    /// Tell every message that comes and goes.
    pub trace: bool,
    /// Every message goes on a stream of its own (HTTP), rather than all on one.
    pub own_streams: bool,
}

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    config: Config,
    state: State,
    /// Fixed once the connection is open.
    revision: Revision,
    /// The server's capabilities, an object.
    offered: String,
    next_wire: u64,
    next_stream: u64,
    next_token: u64,
    calls: Table<u64, Box<Call>>,
    /// Requests and notifications that wait for the connection to open, in order.
    queue: Vec<Early>,
    wires: Table<u64, Wire>,
    by_stream: Table<u64, u64>,
    forgotten: Table<u64, ()>,
    inputs: Table<u64, Input>,
    /// Of calls by their handles, and of the opening.
    deadlines: Alarms,
    /// The level that the whole connection logs at, where that is how it is asked for.
    level: Option<String>,
    /// Arguments that become headers, by tool.
    mirrored: Table<String, Vec<marks::Mirrored>>,
    violations: u32,
    /// The last stream with something unusable in it, and what that was.
    spoiled: Option<(u64, String)>,
    out: Queue<Output>,
}

#[derive(Debug)]
enum Early {
    Call(u64),
    Notification(String, Option<String>),
}

/// A request of ours that waits for its answer.
#[derive(Debug)]
struct Wire {
    purpose: Purpose,
    stream: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Open(Ask),
    Call(u64),
    /// Sets the log level before this call is sent.
    Level(u64),
    /// One subscription of this call.
    Subscribe(u64),
    /// Nobody waits for it.
    Quiet,
}

/// The opening among the deadlines: no call has this handle.
const OPENING: u64 = 0;

impl Client {
    /// A client that has not started yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let revision = config.plan.first().revision();
        Self {
            config,
            state: State::Idle,
            revision,
            offered: "{}".to_string(),
            next_wire: 1,
            next_stream: 1,
            next_token: 1,
            calls: Table::default(),
            queue: Vec::new(),
            wires: Table::default(),
            by_stream: Table::default(),
            forgotten: Table::default(),
            inputs: Table::default(),
            deadlines: Alarms::default(),
            level: None,
            mirrored: Table::default(),
            violations: 0,
            spoiled: None,
            out: Queue::default(),
        }
    }

    /// Begins the opening.
    ///
    /// # Errors
    /// `already_started`.
    pub fn start(&mut self, now: Millis) -> Result<(), Error> {
        self.check_open()?;
        if !matches!(self.state, State::Idle) {
            return Err(Error::refused("already_started", &["the client was started before"]));
        }
        self.ask(self.config.plan.first(), now);
        Ok(())
    }

    /// Sends a request, or queues it until the connection is open. `params` is checked JSON, an object.
    ///
    /// # Errors
    /// `usage` (the handle is in use), `unsupported` (not in this revision), `too_many_calls`, `closed`.
    pub fn request(
        &mut self,
        handle: u64,
        method: &str,
        params: Option<String>,
        options: Options,
        now: Millis,
    ) -> Result<(), Error> {
        self.check_open()?;
        if self.calls.contains_key(&handle) {
            return Err(Error::refused("usage", &["handle ", &words::digits(handle), " is in use"]));
        }
        if method == "initialize" || method.starts_with("notifications/") {
            return Err(Error::refused("unsupported", &[method, " is no request of a user"]));
        }
        if self.calls.len() >= self.config.limits.pending_calls {
            let message = [&*words::digits(self.calls.len() as u64), " requests are pending already"];
            return Err(Error::bound("too_many_calls", &message));
        }
        if self.is_ready() {
            self.check_method(method)?;
        }
        self.calls.insert(handle, Box::new(Call::new(method, params, options)));
        if self.is_ready() {
            self.dispatch(handle, now);
        } else {
            self.queue.push(Early::Call(handle));
        }
        Ok(())
    }

    /// Ends a request; one that is over already is left alone.
    ///
    /// # Errors
    /// `closed`.
    pub fn cancel(&mut self, handle: u64, reason: &str) -> Result<(), Error> {
        self.check_open()?;
        self.abandon(handle, Some(reason), Error::Cancelled);
        Ok(())
    }

    /// Sends a notification, or queues it until the connection is open. One that this revision does not have is dropped:
    /// what it would say travels otherwise there.
    ///
    /// # Errors
    /// `unsupported`, `queue_full`, `closed`.
    pub fn notify(&mut self, method: &str, params: Option<String>) -> Result<(), Error> {
        self.check_open()?;
        let own = matches!(method, "notifications/initialized" | "notifications/cancelled");
        if own || methods::any(method).is_some_and(|row| row.kind == methods::Kind::Request) {
            return Err(Error::refused("unsupported", &[method, " is no notification of a user"]));
        }
        // What was not declared is not used (LIFE-014).
        let roots = json::get(&self.config.capabilities, "roots").and_then(|roots| json::get(roots, "listChanged"));
        if method == "notifications/roots/list_changed" && roots != Some("true") {
            return Err(Error::refused("unsupported", &["changes of roots need the capability `roots.listChanged`"]));
        }
        if self.is_ready() {
            self.send_notification(method, params.as_deref());
        } else if self.queue.len() >= self.config.limits.pending_calls {
            return Err(Error::bound("queue_full", &["too much waits for the connection to open"]));
        } else {
            self.queue.push(Early::Notification(method.to_string(), params));
        }
        Ok(())
    }

    /// Ends everything.
    ///
    /// # Errors
    /// `closed`, when that was done before.
    pub fn close(&mut self) -> Result<(), Error> {
        self.check_open()?;
        self.shut("closed", "closed by the client");
        Ok(())
    }

    /// The connection was lost; in words, why.
    pub fn handle_lost(&mut self, reason: &str) {
        self.shut("disconnected", reason);
    }

    /// Deadlines may have come.
    pub fn handle_timeout(&mut self, now: Millis) {
        while let Some(due) = self.deadlines.take_due(now) {
            match due {
                OPENING => self.opening_silent(now),
                handle => self.call_silent(handle, now),
            }
        }
    }

    /// What is to be done, in order.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }

    /// The next deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.next()
    }

    /// Whether everything is over.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Whether the connection is open.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready)
    }

    /// A stream number for an exchange of the link's own.
    pub(crate) fn new_stream(&mut self) -> u64 {
        self.next_stream += 1;
        self.next_stream - 1
    }

    /// Whether a stream number was ever given out.
    pub(crate) const fn knows_stream(&self, stream: u64) -> bool {
        stream > 0 && stream < self.next_stream
    }

    /// Reports that the server broke a rule; one that does nothing else is reported so many times only.
    pub(crate) fn violation(&mut self, code: &'static str, message: &[&str]) {
        self.violations += 1;
        if self.violations > VIOLATIONS {
            return;
        }
        let last: &[&str] = &[&words::digits(VIOLATIONS.into()), " faults of the server were reported; more are not"];
        let message = if self.violations == VIOLATIONS { last } else { message };
        self.tell(Event::Violation { code, message: words::join(message) });
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.is_closed() { Err(Error::refused("closed", &["the connection is closed"])) } else { Ok(()) }
    }

    /// A method that other revisions have but this one does not; unheard-of methods belong to extensions and pass.
    fn check_method(&self, method: &str) -> Result<(), Error> {
        let here = methods::from_client(method, self.revision).is_some() || method == listen::METHOD;
        if here || methods::any(method).is_none() {
            return Ok(());
        }
        Err(Error::refused("unsupported", &["revision ", self.revision.label(), " has no ", method]))
    }

    fn speaker(&self) -> Speaker<'_> {
        Speaker { info: &self.config.info, capabilities: &self.config.capabilities }
    }

    fn tell(&mut self, event: Event) {
        self.out.push(Output::Event(Box::new(event)));
    }

    fn trace(&mut self, sent: bool, text: &str) {
        if self.config.trace {
            self.tell(Event::Trace { sent, text: text.to_string() });
        }
    }

    /// Sends a message without an answer.
    fn post(&mut self, text: String, method: Option<&str>, role: Role) -> u64 {
        self.transmit(text, method, None, Vec::new(), role)
    }

    fn transmit(
        &mut self,
        text: String,
        method: Option<&str>,
        target: Option<String>,
        mirrored: Vec<(String, String)>,
        role: Role,
    ) -> u64 {
        let stream = if self.config.own_streams { self.new_stream() } else { 0 };
        let method = method.map(ToString::to_string);
        self.trace(true, &text);
        let outgoing = Outgoing { stream, text, method, target, mirrored, revision: self.revision, role };
        self.out.push(Output::Send(Box::new(outgoing)));
        stream
    }

    /// Sends a request whose parameters are complete.
    fn send_request(&mut self, purpose: Purpose, method: &str, params: Option<String>) -> u64 {
        let wire = self.next_wire;
        self.next_wire += 1;
        let named = methods::any(method).and_then(|row| row.target).zip(params.as_deref());
        let target = named.and_then(|(name, params)| json::get_string(params, name)).map(|name| name.into_owned());
        let role = match purpose {
            Purpose::Open(Ask::Initialize(_)) => Role::Opening,
            _ => Role::Request,
        };
        let mirrored = self.mirrored_arguments(method, params.as_deref());
        let text = message::write_request(&Id::number(wire), method, params);
        let stream = self.transmit(text, Some(method), target, mirrored, role);
        if self.config.own_streams {
            self.by_stream.insert(stream, wire);
        }
        self.wires.insert(wire, Wire { purpose, stream });
        wire
    }

    fn send_notification(&mut self, method: &str, params: Option<&str>) {
        if methods::any(method).is_some() && methods::from_client(method, self.revision).is_none() {
            return;
        }
        let params = self.revision.client_params(params, &Extra::default(), &self.speaker());
        let text = message::write_notification(method, params.as_deref());
        self.post(text, Some(method), Role::OneWay);
    }

    /// Takes a request of ours out of the table, answered or given up.
    fn drop_wire(&mut self, wire: u64) -> Option<Wire> {
        let found = self.wires.remove(&wire)?;
        self.by_stream.remove(&found.stream);
        Some(found)
    }

    /// Gives a request up: its answer may still come, and then means nothing.
    fn forget(&mut self, wire: u64) -> Option<Wire> {
        let found = self.drop_wire(wire)?;
        self.forgotten.insert(wire, ());
        if self.forgotten.len() > REMEMBERED {
            self.forgotten.pop_first();
        }
        Some(found)
    }

    /// Ends everything, once.
    fn shut(&mut self, code: &'static str, message: &str) {
        if self.is_closed() {
            return;
        }
        self.state = State::Closed;
        while let Some(handle) = self.calls.first() {
            self.fail(handle, Error::Disconnected(message.to_string()));
        }
        for (token, _) in mem::take(&mut self.inputs) {
            self.tell(Event::InputCancelled { token });
        }
        self.queue.clear();
        self.wires.clear();
        self.by_stream.clear();
        self.deadlines = Alarms::default();
        self.tell(Event::Closed { code, message: message.to_string() });
    }

    fn cancelled_notification(wire: u64, reason: Option<&str>) -> String {
        let params = Object::new().raw("requestId", &words::digits(wire));
        let params = match reason {
            Some(reason) if !reason.is_empty() => params.string("reason", reason),
            _ => params,
        };
        message::write_notification("notifications/cancelled", Some(&params.finish()))
    }

    /// Stops the work for a request of ours in the way that the link and the revision have for it (CANC-015).
    fn cancel_on_wire(&mut self, wire: u64, reason: Option<&str>) {
        let Some(found) = self.forget(wire) else {
            return;
        };
        if !(self.config.own_streams && self.revision.closing_cancels()) {
            let text = Self::cancelled_notification(wire, reason);
            self.post(text, Some("notifications/cancelled"), Role::OneWay);
        }
        if self.config.own_streams {
            self.out.push(Output::Abort(found.stream));
        }
    }

    /// Ends a request from our side.
    fn abandon(&mut self, handle: u64, reason: Option<&str>, error: Error) {
        let Some(call) = self.calls.get(&handle) else {
            return;
        };
        match call.phase {
            Phase::Sent(wire) => self.cancel_on_wire(wire, reason),
            Phase::Listening { .. } => self.unsubscribe(handle),
            _ => {}
        }
        self.fail(handle, error);
    }
}
