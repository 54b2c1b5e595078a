//! Requests: what the core answers by itself, and what becomes a call of the host.

use alloc::format;
use alloc::string::{String, ToString};

use super::calls::{Call, failure};
use super::inputs::given_answers;
use super::params::Params;
use super::peers::{Listen, ReplyTo, Session};
use super::{Channel, Event, Server};
use crate::error::{RpcError, code};
use crate::json::{self, Object, Raw};
use crate::message::{self, Id};
use crate::revision::Revision;
use crate::revision::methods::{self, Method};
use crate::revision::shape::{self, Of};
use crate::revision::wire::{self, Level, Sender};
use crate::time::Millis;

/// How a request ends before it becomes a call.
enum Refusal {
    /// An error, with the HTTP status when that is not the usual one.
    Error(RpcError, Option<u16>),
    /// A result of a tool that failed.
    Tool(String),
}

impl From<RpcError> for Refusal {
    fn from(error: RpcError) -> Self {
        Self::Error(error, None)
    }
}

fn invalid(message: impl Into<String>) -> Refusal {
    RpcError::new(code::INVALID_PARAMS, message).into()
}

impl Server {
    pub(super) fn request(&mut self, to: ReplyTo, id: Id, method: &str, params: Params<'_>, now: Millis) {
        let Some(peer) = self.peers.get(&to.peer) else { return };
        if peer.running.contains_key(&id) || peer.listens.contains_key(&id) {
            let error = RpcError::new(code::INVALID_REQUEST, "a request with this id is still being served");
            self.violation(to.stream, "invalid_message", error.message.clone());
            return self.answer_error(to, Some(&id), &error, 400);
        }
        if method == "initialize" && params.own_version.is_none() && peer.channel != Channel::Exchange {
            return self.initialize(to, &id, params.text);
        }
        match self.sender(to, method, &params) {
            Ok(sender) => self.dispatch(to, id, method, &params, sender, now),
            Err((error, status)) => self.answer_error(to, Some(&id), &error, status),
        }
    }

    /// Who sends this: by its own metadata, or by the handshake before it.
    fn sender(&mut self, to: ReplyTo, method: &str, params: &Params<'_>) -> Result<Sender, (RpcError, u16)> {
        let bad = |message: &str| (RpcError::new(code::INVALID_PARAMS, message), 400);
        let Some(peer) = self.peers.get(&to.peer) else { return Err(bad("unknown peer")) };
        if params.own_version.is_some() || peer.channel == Channel::Exchange {
            let sender = wire::read_sender(params.meta, &self.config.served).map_err(|error| (error, 400))?;
            self.greet(to, &sender);
            return Ok(sender);
        }
        if let Some(session) = &peer.session {
            return Ok(Sender {
                revision: session.revision,
                client: Some(session.client.clone()),
                capabilities: session.capabilities.clone(),
                level: session.level,
            });
        }
        // Ping is answered even before the handshake (PING-001).
        if let (true, Some(revision)) = (method == "ping", self.config.newest_with_handshake()) {
            return Ok(Sender { revision, client: None, capabilities: Raw::trusted("{}"), level: None });
        }
        Err(bad("`_meta` names no protocol version, and no initialize came before"))
    }

    fn greet(&mut self, to: ReplyTo, sender: &Sender) {
        let Some(peer) = self.peers.get_mut(&to.peer) else { return };
        let is_pipe = matches!(peer.channel, Channel::Pipe(_));
        if is_pipe && !core::mem::replace(&mut peer.greeted, true) {
            self.opened(to.stream, sender.revision.label(), sender.client.as_ref(), &sender.capabilities);
        }
    }

    fn initialize(&mut self, to: ReplyTo, id: &Id, params: &str) {
        match self.handshake(to, params) {
            Ok(result) => self.answer(to, message::write_result(id, &result), 200),
            Err(error) => self.answer_error(to, Some(id), &error, 400),
        }
    }

    fn handshake(&mut self, to: ReplyTo, params: &str) -> Result<String, RpcError> {
        let names = ["protocolVersion", "capabilities", "clientInfo"];
        let [version, capabilities, client] = json::pick(params, names);
        let missing = |name: &str| RpcError::new(code::INVALID_PARAMS, format!("initialize needs `{name}`"));
        let requested = version.and_then(json::string).ok_or_else(|| missing("protocolVersion"))?;
        let capabilities =
            capabilities.filter(|value| json::is_object(value)).ok_or_else(|| missing("capabilities"))?;
        let client = client.filter(|value| json::is_object(value)).ok_or_else(|| missing("clientInfo"))?;
        for name in ["name", "version"] {
            if json::get_string(client, name).is_none() {
                return Err(missing(&format!("clientInfo.{name}")));
            }
        }
        if self.peers.get(&to.peer).is_some_and(|peer| peer.session.is_some()) {
            return Err(RpcError::new(code::INVALID_REQUEST, "this session is initialized already"));
        }
        let Some(newest) = self.config.newest_with_handshake() else {
            // Only revisions without a handshake are served: name them (VER-024).
            return Err(wire::unsupported(&requested, &self.config.served));
        };
        let wanted = Revision::parse(&requested).filter(|revision| !revision.is_stateless());
        let revision = wanted.filter(|revision| self.config.served.contains(revision)).unwrap_or(newest);
        let (client, capabilities) = (Raw::trusted(client), Raw::trusted(capabilities));
        self.opened(to.stream, revision.label(), Some(&client), &capabilities);
        let session = Session {
            revision,
            client,
            capabilities,
            ready: false,
            level: None,
            subscriptions: alloc::collections::BTreeSet::new(),
        };
        if let Some(peer) = self.peers.get_mut(&to.peer) {
            peer.session = Some(session);
        }
        let info = shape::object(Of::Implementation, &self.config.info, revision).into_owned();
        let instructions = self.config.instructions.as_deref().map(json::quote);
        Ok(Object::new()
            .string("protocolVersion", revision.label())
            .raw("capabilities", &self.capabilities(revision))
            .raw("serverInfo", &info)
            .maybe("instructions", instructions.as_deref())
            .finish())
    }

    /// What follows from the catalog and the configuration.
    fn own_capabilities(&self, revision: Revision) -> [(bool, &'static str, &'static str); 5] {
        let once = |kind| self.offered.contains(kind);
        [
            (once("tools"), "tools", r#"{"listChanged":true}"#),
            (once("resources"), "resources", r#"{"subscribe":true,"listChanged":true}"#),
            (once("prompts"), "prompts", r#"{"listChanged":true}"#),
            (true, "logging", "{}"),
            (self.config.completions && revision.rules().completions_capability, "completions", "{}"),
        ]
    }

    /// What is offered, as `revision` declares it; a key from the configuration wins.
    fn capabilities(&self, revision: Revision) -> String {
        let forced = &self.config.capabilities;
        let mut out = Object::new();
        for (offered, name, value) in self.own_capabilities(revision) {
            if offered && json::get(forced, name).is_none() {
                out = out.raw(name, value);
            }
        }
        json::members(forced).fold(out, |out, (name, value)| out.raw(&name, value)).finish()
    }

    fn offers(&self, capability: &str, revision: Revision) -> bool {
        // Where there is no capability for completions they may just be tried (CAP-009).
        let undeclared = capability == "completions" && !revision.rules().completions_capability;
        let own = self.own_capabilities(revision).iter().any(|(offered, name, _)| *offered && *name == capability);
        own || (undeclared && self.config.completions) || json::get(&self.config.capabilities, capability).is_some()
    }

    fn dispatch(&mut self, to: ReplyTo, id: Id, name: &str, params: &Params<'_>, sender: Sender, now: Millis) {
        let revision = sender.revision;
        let row = methods::request_from_client(name, revision);
        let row = row.filter(|row| row.capability.is_none_or(|capability| self.offers(capability, revision)));
        let Some(row) = row else {
            let error = RpcError::new(code::METHOD_NOT_FOUND, format!("no method `{name}` here"));
            return self.answer_error(to, Some(&id), &error, revision.error_status(&error));
        };
        let refusal = match self.serve(to, &id, row, params, sender, now) {
            Ok(None) => return,
            Ok(Some(result)) => {
                let answer = revision.write_answer(&id, row, &result, &self.facts());
                return self.answer(to, answer, 200);
            }
            Err(refusal) => refusal,
        };
        match refusal {
            Refusal::Error(error, status) => {
                let error = revision.write_error(error);
                let status = status.unwrap_or_else(|| revision.error_status(&error));
                self.answer_error(to, Some(&id), &error, status);
            }
            Refusal::Tool(text) => {
                let answer = revision.write_answer(&id, row, &failure(&text), &self.facts());
                self.answer(to, answer, 200);
            }
        }
    }

    /// A result, or nothing when the answer comes later.
    fn serve(
        &mut self,
        to: ReplyTo,
        id: &Id,
        row: &'static Method,
        params: &Params<'_>,
        sender: Sender,
        now: Millis,
    ) -> Result<Option<String>, Refusal> {
        if let Some(list) = row.list {
            let cursor = match params.cursor {
                None => None,
                Some(cursor) => Some(json::string(cursor).ok_or_else(|| invalid("`cursor` must be a string"))?),
            };
            let page = self.catalog.page(list, cursor.as_deref(), self.config.page_size, sender.revision)?;
            return Ok(Some(page));
        }
        match row.name {
            "ping" => Ok(Some("{}".to_string())),
            "server/discover" => Ok(Some(self.discover(sender.revision))),
            "logging/setLevel" => self.set_level(to, params.text).map(Some),
            "resources/subscribe" | "resources/unsubscribe" => self.subscribe(to, row.name, params).map(Some),
            "subscriptions/listen" => self.listen(to, id, params.text, sender.revision).map(|()| None),
            _ => self.call(to, id, row, params, sender, now).map(|()| None),
        }
    }

    fn discover(&self, revision: Revision) -> String {
        let instructions = self.config.instructions.as_deref().map(json::quote);
        Object::new()
            .raw("supportedVersions", &wire::labels(&self.config.served))
            .raw("capabilities", &self.capabilities(revision))
            .maybe("instructions", instructions.as_deref())
            .finish()
    }

    fn set_level(&mut self, to: ReplyTo, params: &str) -> Result<String, Refusal> {
        let level = json::get_string(params, "level").and_then(|name| Level::parse(&name));
        let level = level.ok_or_else(|| invalid("`level` is none of the eight log levels"))?;
        if let Some(session) = self.peers.get_mut(&to.peer).and_then(|peer| peer.session.as_mut()) {
            session.level = Some(level);
        }
        Ok("{}".to_string())
    }

    fn subscribe(&mut self, to: ReplyTo, method: &str, params: &Params<'_>) -> Result<String, Refusal> {
        let uri = params.uri.and_then(json::string).ok_or_else(|| invalid("`uri` must be a string"))?;
        let bound = self.config.limits.subscriptions;
        let Some(session) = self.peers.get_mut(&to.peer).and_then(|peer| peer.session.as_mut()) else {
            return Ok("{}".to_string());
        };
        if method == "resources/unsubscribe" {
            session.subscriptions.remove(&*uri);
        } else if session.subscriptions.len() >= bound && !session.subscriptions.contains(&*uri) {
            return Err(invalid(format!("a client subscribes to {bound} resources at most")));
        } else {
            session.subscriptions.insert(uri.into_owned());
        }
        Ok("{}".to_string())
    }

    /// Begins a subscription: what is honoured is registered before it is acknowledged (SUB-004, SUB-005).
    fn listen(&mut self, to: ReplyTo, id: &Id, params: &str, revision: Revision) -> Result<(), Refusal> {
        let filter = json::get(params, "notifications").filter(|value| json::is_object(value));
        let filter = filter.ok_or_else(|| invalid("`notifications` must be an object"))?;
        let bound = self.config.limits.listens;
        if self.peers.get(&to.peer).is_some_and(|peer| peer.listens.len() >= bound) {
            return Err(invalid(format!("a client listens on {bound} streams at most")));
        }
        let mut listen = Listen { stream: to.stream, lists: Default::default(), resources: Default::default() };
        let mut honoured = Object::new();
        for (member, kind) in
            [("toolsListChanged", "tools"), ("promptsListChanged", "prompts"), ("resourcesListChanged", "resources")]
        {
            if json::get(filter, member) == Some("true") && self.offers(kind, revision) {
                listen.lists.insert(kind);
                honoured = honoured.bool(member, true);
            }
        }
        let uris = json::get(filter, "resourceSubscriptions").filter(|value| json::is_array(value));
        if let (Some(uris), true) = (uris, self.offers("resources", revision)) {
            let uris: alloc::vec::Vec<_> = json::elements(uris).filter_map(json::string).collect();
            if uris.len() > self.config.limits.subscriptions {
                return Err(invalid("too many resources in one subscription"));
            }
            let quoted: alloc::vec::Vec<_> = uris.iter().map(|uri| json::quote(uri)).collect();
            honoured = honoured.raw("resourceSubscriptions", &json::array(quoted.iter().map(String::as_str)));
            listen.resources = uris.into_iter().map(alloc::borrow::Cow::into_owned).collect();
        }
        if let Some(peer) = self.peers.get_mut(&to.peer) {
            peer.listens.insert(id.clone(), listen);
        }
        let members = [("notifications", honoured.finish())];
        let members = members.each_ref().map(|(name, value)| (*name, value.as_str()));
        let text = wire::subscription_notice("notifications/subscriptions/acknowledged", id, &members);
        self.send_related(to, text);
        Ok(())
    }

    /// Hands a request to the host.
    fn call(
        &mut self,
        to: ReplyTo,
        id: &Id,
        row: &'static Method,
        params: &Params<'_>,
        sender: Sender,
        now: Millis,
    ) -> Result<(), Refusal> {
        let (key, input) = self.resolve(row, params, sender.revision)?;
        if let Some(state) = params.state.filter(|_| row.may_need_input && sender.revision.is_stateless()) {
            let state = json::string(state).ok_or_else(|| invalid("`requestState` must be a string"))?;
            return self.resume(to, id, &state, &key, &input, params, sender, now).map_err(Refusal::from);
        }
        let bound = self.config.limits.pending_calls;
        let running = self.peers.get(&to.peer).map_or(0, |peer| peer.running.len());
        if running >= bound {
            let message = format!("{bound} calls are in flight already");
            let data = r#"{"code":"too_many_calls"}"#;
            return Err(RpcError::new(code::INTERNAL, message).with_data(data).into());
        }
        let fingerprint = self.fingerprint(row, &input, sender.revision);
        let mut call = Call::new(to, id.clone(), row, key.clone(), fingerprint, params.meta, sender);
        if row.may_need_input && call.sender.revision.is_stateless() {
            call.given = given_answers(params)?;
        }
        let number = self.number();
        self.calls.insert(number, call);
        if let Some(peer) = self.peers.get_mut(&to.peer) {
            peer.running.insert(id.clone(), number);
        }
        self.event(Event::Call { call: number, stream: to.stream, key, input });
        Ok(())
    }

    /// Which handler, with what input.
    fn resolve(&self, row: &Method, params: &Params<'_>, revision: Revision) -> Result<(String, String), Refusal> {
        let text = |value: Option<&str>, member: &str| {
            let text = value.and_then(json::string).map(alloc::borrow::Cow::into_owned);
            text.ok_or_else(|| invalid(format!("`{member}` must be a string")))
        };
        // Absent arguments are no arguments.
        let arguments = params.arguments.unwrap_or("{}");
        if !json::is_object(arguments) {
            return Err(invalid("`arguments` must be an object"));
        }
        match row.name {
            "tools/call" => {
                let name = text(params.name, "name")?;
                let tool = self.catalog.tool(&name).ok_or_else(|| invalid(format!("unknown tool `{name}`")))?;
                match tool.input.check(arguments) {
                    Some(fault) if revision.rules().invalid_arguments_as_result => Err(Refusal::Tool(fault)),
                    Some(fault) => Err(invalid(fault)),
                    None => Ok((format!("tools/call {name}"), arguments.to_string())),
                }
            }
            "prompts/get" => {
                let name = text(params.name, "name")?;
                if self.catalog.prompts.get(&name).is_none() {
                    return Err(invalid(format!("unknown prompt `{name}`")));
                }
                if let Some((argument, _)) = json::members(arguments).find(|(_, value)| json::string(value).is_none()) {
                    return Err(invalid(format!("/{argument}: a prompt's arguments are strings")));
                }
                if let Some(missing) = self.catalog.missing_argument(&name, arguments) {
                    return Err(invalid(format!("`{missing}` is required")));
                }
                Ok((format!("prompts/get {name}"), arguments.to_string()))
            }
            "resources/read" => {
                let uri = text(params.uri, "uri")?;
                self.catalog.resource(&uri).ok_or_else(|| {
                    let data = Object::new().string("uri", &uri).finish();
                    RpcError::new(revision.rules().not_found_code, "no such resource").with_data(data).into()
                })
            }
            _ => self.completion(params.text).map(|input| ("completion/complete".to_string(), input)),
        }
    }

    fn completion(&self, params: &str) -> Result<String, Refusal> {
        let [reference, argument, context] = json::pick(params, ["ref", "argument", "context"]);
        let reference = reference.unwrap_or("null");
        let known = match json::get_string(reference, "type").as_deref() {
            Some("ref/prompt") => {
                json::get_string(reference, "name").is_some_and(|name| self.catalog.prompts.get(&name).is_some())
            }
            Some("ref/resource") => json::get_string(reference, "uri")
                .is_some_and(|uri| self.catalog.templates.get(&uri).is_some() || self.catalog.resource(&uri).is_some()),
            _ => return Err(invalid("`ref` must be a ref/prompt with `name` or a ref/resource with `uri`")),
        };
        if !known {
            return Err(invalid("`ref` names nothing that is offered"));
        }
        let argument = argument.unwrap_or("null");
        if json::get_string(argument, "name").is_none() || json::get_string(argument, "value").is_none() {
            return Err(invalid("`argument` needs a string `name` and a string `value`"));
        }
        Ok(Object::new().raw("ref", reference).raw("argument", argument).maybe("context", context).finish())
    }
}
