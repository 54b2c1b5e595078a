//! What the eras put on the wire around a payload: the metadata of a request that stands alone, the members of a result,
//! the declared capabilities, the codes.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::methods::{self, Method};
use super::{Era, Revision, shape};
use crate::error::{RpcError, code};
use crate::json::{self, Object, Raw};
use crate::message::{self, Id};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Severity of a log message, rising (LOG-005).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(u8);

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Level {
    /// The level with this name.
    #[must_use]
    pub(crate) fn parse(name: &str) -> Option<Self> {
        LEVELS.iter().position(|level| *level == name).and_then(|at| u8::try_from(at).ok()).map(Self)
    }

    /// Its name on the wire.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        LEVELS[usize::from(self.0)]
    }
}

/// What a request says about its sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) revision: Revision,
    pub(crate) client: Option<Raw>,
    pub(crate) capabilities: Raw,
    /// The level asked for with this very request.
    pub(crate) level: Option<Level>,
}

/// The version that a request names for itself, when it stands alone.
pub(crate) fn own_version(meta: &str) -> Option<&str> {
    json::get(meta, VERSION)
}

/// Reads the metadata of a request that stands alone (META-011 to META-016).
pub(crate) fn read_sender(meta: Option<&str>, served: &[Revision]) -> Result<Sender, RpcError> {
    let meta = meta.unwrap_or("{}");
    let [version, capabilities, client, level] = json::pick(meta, [VERSION, CAPABILITIES, CLIENT, LEVEL]);
    let missing = |key: &str| RpcError::new(code::INVALID_PARAMS, format!("`_meta` lacks `{key}`"));
    let Some(label) = version.and_then(json::string) else {
        return Err(missing(VERSION));
    };
    let Some(capabilities) = capabilities.filter(|value| json::is_object(value)) else {
        return Err(missing(CAPABILITIES));
    };
    let known = Revision::parse(&label).filter(|revision| revision.is_stateless() && served.contains(revision));
    let Some(revision) = known else {
        return Err(unsupported(&label, served));
    };
    let level = match level {
        None => None,
        Some(value) => match json::string(value).and_then(|name| Level::parse(&name)) {
            Some(level) => Some(level),
            None => return Err(RpcError::new(code::INVALID_PARAMS, "the log level is none of the eight")),
        },
    };
    Ok(Sender { revision, client: client.map(Raw::trusted), capabilities: Raw::trusted(capabilities), level })
}

/// The refusal of a version that is not served (ERR-013).
pub(crate) fn unsupported(requested: &str, served: &[Revision]) -> RpcError {
    let supported = labels(served);
    let data = Object::new().raw("supported", &supported).string("requested", requested).finish();
    RpcError::new(code::UNSUPPORTED_VERSION, "this protocol version is not served").with_data(data)
}

/// The labels of revisions as an array.
pub(crate) fn labels(revisions: &[Revision]) -> String {
    let quoted: Vec<_> = revisions.iter().map(|revision| json::quote(revision.label())).collect();
    json::array(quoted.iter().map(String::as_str))
}

/// What a server adds to its results.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) server: &'a str,
    pub(crate) ttl_ms: u64,
    pub(crate) cache_scope: &'a str,
}

impl Revision {
    /// The answer with a complete result of `method`, as this revision wants it: neutral text in, wire text out.
    pub(crate) fn write_answer(self, id: &Id, method: &Method, result: &str, facts: &Facts<'_>) -> String {
        match self.rules().era {
            Era::Legacy => message::write_result(id, &shape::result(method.name, result, self)),
            Era::Modern => stand_alone(id, "complete", Some(method), result, facts),
        }
    }

    /// The same around a result that stands at `at` in a text which is handed over, where it is if that can be: long ones
    /// are worth it.
    pub(crate) fn write_answer_in_place(
        self,
        id: &Id,
        method: &Method,
        mut text: String,
        at: Range<usize>,
        facts: &Facts<'_>,
    ) -> String {
        let result = &text[at.clone()];
        let one_line = !result.contains('\n') && !result.contains('\r');
        let (head, from) = match self.rules().era {
            Era::Legacy if one_line && shape::result(method.name, result, self).len() == result.len() => {
                (message::begin_result(id, 0), at.start)
            }
            Era::Modern if one_line && json::pick(result, OWN_MEMBERS) == [None; 4] => {
                let mut head = begin_stand_alone(id, 0, "complete", Some(method), [None; 3], facts).unfinished();
                if json::members(result).next().is_some() {
                    head.push(',');
                }
                (head, at.start + 1)
            }
            _ => return self.write_answer(id, method, result, facts),
        };
        text.truncate(at.end);
        text.replace_range(..from, &head);
        text.push('}');
        text
    }

    /// The answer that asks the client for input first (MRTR-004).
    pub(crate) fn write_input_required(self, id: &Id, requests: &str, state: &str, facts: &Facts<'_>) -> String {
        let result = Object::new().raw("inputRequests", requests).string("requestState", state).finish();
        stand_alone(id, "input_required", None, &result, facts)
    }

    /// Whether a server asks by a request of its own, rather than by its answer.
    pub(crate) fn asks_by_request(self) -> bool {
        self.rules().era == Era::Legacy
    }

    /// An error with a code that this revision knows.
    pub(crate) fn write_error(self, error: RpcError) -> RpcError {
        let modern_only = (-32022..=-32020).contains(&error.code);
        let translated = match (self.rules().modern_codes, error.code) {
            (false, _) if modern_only => code::INVALID_REQUEST,
            (true, -32002) => code::INVALID_PARAMS,
            _ => return error,
        };
        RpcError { code: i64::from(translated), ..error }
    }

    /// The HTTP status of an error answer (HTTP-056, VER-003, CAP-005).
    pub(crate) fn error_status(self, error: &RpcError) -> u16 {
        match (self.rules().era, error.code) {
            (Era::Modern, -32601) => 404,
            (Era::Modern, -32022..=-32020) => 400,
            _ => 200,
        }
    }

    /// Whether a client with these capabilities can be asked `method` (CAP-004); if not, what it lacks.
    pub(crate) fn lacks(self, method: &str, params: Option<&str>, capabilities: &str) -> Option<RpcError> {
        let known = match self.rules().era {
            Era::Legacy => methods::from_server(method, self).is_some(),
            Era::Modern => true,
        };
        if !known || !methods::INPUTS.contains(&method) {
            return Some(RpcError::new(
                code::METHOD_NOT_FOUND,
                format!("clients of {self} cannot be asked for {method}"),
            ));
        }
        let key = match method {
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => "elicitation",
        };
        let declared = json::get(capabilities, key).filter(|value| json::is_object(value));
        let mode = params.and_then(|params| json::get_string(params, "mode"));
        let mode = mode.as_deref().unwrap_or("form");
        let enough = declared.is_some_and(|declared| {
            if key != "elicitation" || !self.rules().elicitation_modes {
                return mode == "form";
            }
            // An empty object means the form mode alone (CAP-011).
            let modes = json::pick(declared, ["form", "url"]);
            match mode {
                "url" => modes[1].is_some(),
                _ => modes[0].is_some() || modes[1].is_none(),
            }
        });
        let part = if key == "sampling" { self.sampling_part(params, declared.unwrap_or("{}")) } else { None };
        if enough && part.is_none() {
            return None;
        }
        let wanted = match part {
            Some(part) => Object::new().raw(part, "{}").finish(),
            None if key == "elicitation" && mode == "url" => r#"{"url":{}}"#.to_string(),
            None => "{}".to_string(),
        };
        let required = Object::new().raw(key, &wanted).finish();
        let data = Object::new().raw("requiredCapabilities", &required).finish();
        let message = format!("the client did not declare `{key}`");
        Some(RpcError::new(code::MISSING_CAPABILITY, message).with_data(data))
    }

    /// The part of the sampling capability that this request needs but the client does not have (SAMP-012, SAMP-020).
    fn sampling_part(self, params: Option<&str>, declared: &str) -> Option<&'static str> {
        if !self.rules().sampling_parts {
            return None;
        }
        let [tools, choice, context] = json::pick(params.unwrap_or("{}"), ["tools", "toolChoice", "includeContext"]);
        let has = |part: &str| json::get(declared, part).is_some();
        if (tools.is_some() || choice.is_some()) && !has("tools") {
            return Some("tools");
        }
        (context.is_some_and(|context| context != "\"none\"") && !has("context")).then_some("context")
    }

    /// The parameters of a question as this revision wants them.
    pub(crate) fn write_question<'a>(self, method: &str, params: &'a str) -> Cow<'a, str> {
        match self.rules().era {
            Era::Modern if method == "elicitation/create" => shape::without(params, &["elicitationId"]),
            Era::Legacy if method == "elicitation/create" && !self.rules().elicitation_modes => {
                shape::without(params, &["mode"])
            }
            _ => Cow::Borrowed(params),
        }
    }
}

/// An answer whose result has the members that every answer to a request that stands alone has (RPC-036, META-018).
fn stand_alone(id: &Id, result_type: &str, method: Option<&Method>, result: &str, facts: &Facts<'_>) -> String {
    let [meta, ttl, scope, _] = json::pick(result, OWN_MEMBERS);
    let mut out = begin_stand_alone(id, result.len(), result_type, method, [meta, ttl, scope], facts);
    for (name, value) in json::members(result) {
        if !OWN_MEMBERS.contains(&&*name) {
            out = out.line(&name, value);
        }
    }
    let mut out = out.finish();
    out.push('}');
    out
}

/// Members of a result that are ours to write.
const OWN_MEMBERS: [&str; 4] = ["_meta", "ttlMs", "cacheScope", "resultType"];

/// Such an answer up to the members that are its method's own; with what the handler said about ours.
fn begin_stand_alone(
    id: &Id,
    room: usize,
    result_type: &str,
    method: Option<&Method>,
    [meta, ttl, scope]: [Option<&str>; 3],
    facts: &Facts<'_>,
) -> Object {
    let mut merged = Object::new().raw(SERVER, facts.server);
    for (name, value) in json::members(meta.unwrap_or("{}")) {
        if name != SERVER {
            merged = merged.line(&name, value);
        }
    }
    let merged = merged.finish();
    let out = Object::after(message::begin_result(id, room + merged.len() + 128));
    let mut out = out.string("resultType", result_type).raw("_meta", &merged);
    if method.is_some_and(|method| method.cacheable) {
        let default_ttl = facts.ttl_ms.to_string();
        let default_scope = json::quote(facts.cache_scope);
        out = out.line("ttlMs", ttl.unwrap_or(&default_ttl)).line("cacheScope", scope.unwrap_or(&default_scope));
    }
    out
}

/// A notification that belongs to a subscription (META-020).
pub(crate) fn subscription_notice(method: &str, id: &Id, members: &[(&str, &str)]) -> String {
    let meta = Object::new().raw(SUBSCRIPTION, id.as_json()).finish();
    let mut params = Object::new().raw("_meta", &meta);
    for (name, value) in members {
        params = params.raw(name, value);
    }
    message::write_notification(method, Some(&params.finish()))
}

/// The subscription that a notification names.
pub(crate) fn subscription_of(params: &str) -> Option<Id> {
    Id::read(json::get(json::get(params, "_meta")?, SUBSCRIPTION)?)
}

/// The result that closes a subscription (SUB-011).
pub(crate) fn subscription_end(id: &Id, facts: &Facts<'_>) -> String {
    let meta = Object::new().raw(SUBSCRIPTION, id.as_json()).finish();
    let result = Object::new().raw("_meta", &meta).finish();
    stand_alone(id, "complete", None, &result, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_place_is_the_same() {
        let facts = Facts { server: r#"{"name":"s","version":"1"}"#, ttl_ms: 5, cache_scope: "private" };
        let id = Id::number(7);
        for revision in Revision::ALL {
            for name in ["tools/call", "resources/read", "prompts/get", "tools/list"] {
                let Some(method) = methods::any(name) else { panic!("{name}") };
                for result in [
                    "{}",
                    "{ }",
                    r#"{"content":[{"type":"text","text":"grüß \u0041"}],"contents":[],"messages":[]}"#,
                    r#"{"content":[{"type":"audio"}],"structuredContent":[1],"isError":true}"#,
                    r#"{"content":[],"_meta":{"a":1}}"#,
                    r#"{"ttlMs":7,"content":[]}"#,
                    "{\"content\":[]\n}",
                ] {
                    let outcome = format!(r#" {{"result":{result} }}"#);
                    let at = 11..11 + result.len();
                    assert_eq!(&outcome[at.clone()], result);
                    let known = revision.write_answer(&id, method, result, &facts);
                    let written = revision.write_answer_in_place(&id, method, outcome, at, &facts);
                    assert!(json::same(&known, &written), "{revision} {name}: {known} {written}");
                    assert!(!written.contains('\n'), "{written}");
                }
            }
        }
    }
}
