//! One row for each method: who sends it, in which revisions it exists, and the facts that code asks about it.

use super::Revision;
use super::Revision::{V2024_11_05 as A, V2025_06_18 as C, V2025_11_25 as D, V2026_07_28 as E};

/// Whether a method wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It gets exactly one.
    Request,
    /// It gets none.
    Notification,
}

/// Who sends a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The client only.
    Client,
    /// The server only.
    Server,
    /// Either side.
    Both,
}

/// A method and what is true of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// Request or notification.
    pub kind: Kind,
    /// Who sends it.
    pub from: From,
    /// The first revision that has it.
    pub since: Revision,
    /// The last revision that has it; none when it is in the newest.
    pub until: Option<Revision>,
    /// The parameter that names what is meant, mirrored as a header where headers are mirrored (HDR-002, HDR-003).
    pub target: Option<&'static str>,
    /// The server may answer that it needs input first (MRTR-002).
    pub may_need_input: bool,
    /// The result says how long it may be kept (DISC-003).
    pub cacheable: bool,
    /// The result's array, for lists that come in pages (PAGE-001).
    pub list: Option<&'static str>,
    /// The answer is a stream that stays open (HTTP-067).
    pub streams: bool,
    /// The server capability that offers it; none when always there.
    pub capability: Option<&'static str>,
}

const fn row(name: &'static str, kind: Kind, from: From, since: Revision, until: Option<Revision>) -> Method {
    Method {
        name,
        kind,
        from,
        since,
        until,
        target: None,
        may_need_input: false,
        cacheable: false,
        list: None,
        streams: false,
        capability: None,
    }
}

const fn request(name: &'static str, from: From, since: Revision, until: Option<Revision>) -> Method {
    row(name, Kind::Request, from, since, until)
}

const fn notification(name: &'static str, from: From, since: Revision, until: Option<Revision>) -> Method {
    row(name, Kind::Notification, from, since, until)
}

impl Method {
    const fn of(self, capability: &'static str) -> Self {
        Self { capability: Some(capability), ..self }
    }

    const fn target(self, parameter: &'static str) -> Self {
        Self { target: Some(parameter), may_need_input: true, ..self }
    }

    const fn list(self, key: &'static str) -> Self {
        Self { list: Some(key), cacheable: true, ..self }
    }

    const fn streams(self) -> Self {
        Self { streams: true, ..self }
    }

    const fn cacheable(self) -> Self {
        Self { cacheable: true, ..self }
    }

    /// Whether `revision` has this method.
    #[must_use]
    pub fn exists_in(&self, revision: Revision) -> bool {
        self.since <= revision && self.until.is_none_or(|last| revision <= last)
    }
}

/// Every method of every revision's core protocol (tasks are not served yet).
pub const METHODS: &[Method] = &[
    request("initialize", From::Client, A, Some(D)),
    request("server/discover", From::Client, E, None).cacheable(),
    request("ping", From::Both, A, Some(D)),
    request("tools/list", From::Client, A, None).of("tools").list("tools"),
    request("tools/call", From::Client, A, None).of("tools").target("name"),
    request("resources/list", From::Client, A, None).of("resources").list("resources"),
    request("resources/templates/list", From::Client, A, None).of("resources").list("resourceTemplates"),
    request("resources/read", From::Client, A, None).of("resources").target("uri").cacheable(),
    request("resources/subscribe", From::Client, A, Some(D)).of("resources"),
    request("resources/unsubscribe", From::Client, A, Some(D)).of("resources"),
    request("prompts/list", From::Client, A, None).of("prompts").list("prompts"),
    request("prompts/get", From::Client, A, None).of("prompts").target("name"),
    request("completion/complete", From::Client, A, None).of("completions"),
    request("logging/setLevel", From::Client, A, Some(D)).of("logging"),
    request("subscriptions/listen", From::Client, E, None).streams(),
    request("sampling/createMessage", From::Server, A, Some(D)),
    request("roots/list", From::Server, A, Some(D)),
    request("elicitation/create", From::Server, C, Some(D)),
    notification("notifications/initialized", From::Client, A, Some(D)),
    notification("notifications/cancelled", From::Both, A, None),
    notification("notifications/progress", From::Both, A, Some(D)),
    notification("notifications/progress", From::Server, E, None),
    notification("notifications/message", From::Server, A, None),
    notification("notifications/tools/list_changed", From::Server, A, None),
    notification("notifications/resources/list_changed", From::Server, A, None),
    notification("notifications/prompts/list_changed", From::Server, A, None),
    notification("notifications/resources/updated", From::Server, A, None),
    notification("notifications/roots/list_changed", From::Client, A, Some(D)),
    notification("notifications/elicitation/complete", From::Server, D, Some(D)),
    notification("notifications/subscriptions/acknowledged", From::Server, E, None),
];

/// What a server may ask of a client in the course of a call, in whichever way the revision has for it.
pub const INPUTS: &[&str] = &["elicitation/create", "sampling/createMessage", "roots/list"];

/// The row of a method that a client sends in `revision`. A method missing here is unknown there: the table is the gate.
#[must_use]
pub fn from_client(name: &str, revision: Revision) -> Option<&'static Method> {
    find(name, revision, From::Client)
}

/// The row of a request that a client sends in `revision`: a notification's name with an id is no request.
#[must_use]
pub fn request_from_client(name: &str, revision: Revision) -> Option<&'static Method> {
    from_client(name, revision).filter(|row| row.kind == Kind::Request)
}

/// The row of a method that a server sends in `revision`.
#[must_use]
pub fn from_server(name: &str, revision: Revision) -> Option<&'static Method> {
    find(name, revision, From::Server)
}

fn find(name: &str, revision: Revision, sender: From) -> Option<&'static Method> {
    METHODS.iter().find(|method| {
        method.name == name && method.exists_in(revision) && (method.from == sender || method.from == From::Both)
    })
}

/// The row of `name` in any revision: the neutral model's own view of it.
#[must_use]
pub fn any(name: &str) -> Option<&'static Method> {
    METHODS.iter().rev().find(|method| method.name == name)
}
