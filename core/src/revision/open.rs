//! How a connection opens, as a table: what was asked × what came back → what next. And how a client's messages look in
//! the revision that came out of it.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Era, Revision, methods, shape};
use crate::error::{RpcError, code};
use crate::json::{self, Object};
use crate::words;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Which eras a client may end up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Whatever the server has; the newer era first.
    #[default]
    Auto,
    /// With a handshake only.
    Legacy,
    /// Without one only.
    Modern,
}

impl Mode {
    /// The mode with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "legacy" => Some(Self::Legacy),
            "modern" => Some(Self::Modern),
            _ => None,
        }
    }

    fn allows(self, revision: Revision) -> bool {
        match self {
            Self::Auto => true,
            Self::Legacy => revision.rules().era == Era::Legacy,
            Self::Modern => revision.rules().era == Era::Modern,
        }
    }
}

/// The question that is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// `server/discover` in this revision.
    Discover(Revision),
    /// `initialize` with this revision.
    Initialize(Revision),
}

impl Ask {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Discover(_) => "server/discover",
            Self::Initialize(_) => "initialize",
        }
    }

    pub(crate) const fn revision(self) -> Revision {
        match self {
            Self::Discover(revision) | Self::Initialize(revision) => revision,
        }
    }
}

/// What came back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome<'a> {
    /// A result.
    Result(&'a str),
    /// An error, and the HTTP status it came with (0 without HTTP).
    Error(&'a RpcError, u16),
    /// An answer that holds no message: a refusal by HTTP itself, an empty body, somebody else's page.
    Foreign,
    /// Nothing in time.
    Silence,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The connection is open in this revision.
    Ready(Revision),
    /// Ask on.
    Ask(Ask),
    /// It cannot be opened: a stable word and a sentence.
    Fail(&'static str, String),
}

/// What the configuration allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    mode: Mode,
    pinned: Option<Revision>,
}

impl Plan {
    /// A plan; nothing when the pinned revision is not of the mode's era.
    #[must_use]
    pub fn new(mode: Mode, pinned: Option<Revision>) -> Option<Self> {
        let Some(revision) = pinned else {
            return Some(Self { mode, pinned });
        };
        let own = if revision.is_stateless() { Mode::Modern } else { Mode::Legacy };
        mode.allows(revision).then_some(Self { mode: own, pinned })
    }

    /// The first question (VER-014, VER-019).
    pub(crate) fn first(&self) -> Ask {
        match self.mode {
            Mode::Legacy => Ask::Initialize(self.pinned.unwrap_or(Revision::NEWEST_LEGACY)),
            _ => Ask::Discover(self.pinned.unwrap_or(Revision::NEWEST_MODERN)),
        }
    }

    /// Whether silence leads to another question rather than to the end.
    pub(crate) fn falls_back(&self, ask: Ask) -> bool {
        matches!(ask, Ask::Discover(_)) && self.mode == Mode::Auto
    }

    /// The table.
    pub(crate) fn next(&self, ask: Ask, outcome: Outcome<'_>) -> Step {
        match (ask, outcome) {
            (Ask::Discover(_), Outcome::Result(result)) => match discovered(result) {
                Some(versions) => self.enter(versions),
                None => self.fall_back("the answer to server/discover is no such result"),
            },
            (Ask::Discover(asked), Outcome::Error(error, status)) => match recognise(error, status) {
                Some(Modern::Versions(versions)) => match self.choose(versions) {
                    // It refused what it lists: asking again would go on for ever.
                    Some(revision) if revision == asked => unsupported(versions),
                    Some(revision) => ask_for(revision),
                    None => unsupported(versions),
                },
                Some(Modern::Other) => Step::Ready(asked),
                None => self.fall_back(&error.message),
            },
            (Ask::Discover(_), Outcome::Foreign) => self.fall_back("the answer to server/discover holds no message"),
            (Ask::Discover(_), Outcome::Silence) => self.fall_back("no answer to server/discover in time"),
            (Ask::Initialize(asked), Outcome::Result(result)) => self.initialized(asked, result),
            (Ask::Initialize(asked), Outcome::Error(error, _)) => {
                let versions = error.data.as_deref().and_then(|data| json::get(data, "supported"));
                let versions = versions.unwrap_or("[]");
                match self.choose(versions) {
                    Some(revision) if revision != asked => ask_for(revision),
                    _ if labels(versions).next().is_none() => {
                        Step::Fail("opening_failed", words::join(&["the server refused: ", &error.message]))
                    }
                    _ => unsupported(versions),
                }
            }
            (Ask::Initialize(_), Outcome::Foreign) => {
                Step::Fail("opening_failed", "the answer to initialize holds no message".to_string())
            }
            (Ask::Initialize(_), Outcome::Silence) => {
                Step::Fail("timeout", "no answer to initialize in time".to_string())
            }
        }
    }

    fn initialized(&self, asked: Revision, result: &str) -> Step {
        let label = json::get_string(result, "protocolVersion").unwrap_or_default();
        let known = Revision::parse(&label).filter(|revision| !revision.is_stateless());
        let wanted = known.filter(|revision| self.pinned.is_none_or(|_| *revision == asked));
        match wanted {
            Some(revision) => Step::Ready(revision),
            // LIFE-009
            None => Step::Fail("version_unsupported", words::join(&["the server wants revision `", &label, "`"])),
        }
    }

    fn fall_back(&self, why: &str) -> Step {
        match self.mode {
            Mode::Modern => {
                Step::Fail("opening_failed", words::join(&["the server does not speak this revision: ", why]))
            }
            _ => Step::Ask(Ask::Initialize(Revision::NEWEST_LEGACY)),
        }
    }

    /// Enters the best of the versions that a server listed (VER-015, VER-028).
    fn enter(&self, versions: &str) -> Step {
        match self.choose(versions) {
            Some(revision) if revision.is_stateless() => Step::Ready(revision),
            Some(revision) => Step::Ask(Ask::Initialize(revision)),
            None => unsupported(versions),
        }
    }

    /// The best version of a list that this plan allows.
    fn choose(&self, versions: &str) -> Option<Revision> {
        let allowed =
            |revision: &Revision| self.mode.allows(*revision) && self.pinned.is_none_or(|pinned| pinned == *revision);
        let known = labels(versions).filter_map(|label| Revision::parse(&label));
        known.filter(allowed).max()
    }

    /// The version to try once more when an open connection refuses its own (VER-004).
    pub(crate) fn correct(&self, error: &RpcError) -> Option<Revision> {
        match recognise(error, 0) {
            Some(Modern::Versions(versions)) => self.choose(versions).filter(|revision| revision.is_stateless()),
            _ => None,
        }
    }
}

fn ask_for(revision: Revision) -> Step {
    Step::Ask(if revision.is_stateless() { Ask::Discover(revision) } else { Ask::Initialize(revision) })
}

fn unsupported(versions: &str) -> Step {
    let mut message = "no revision in common; the server names: ".to_string();
    for (at, label) in labels(versions).enumerate() {
        message.push_str(if at > 0 { ", " } else { "" });
        message.push_str(&label);
    }
    Step::Fail("version_unsupported", message)
}

/// The labels in an array.
fn labels(array: &str) -> impl Iterator<Item = Cow<'_, str>> {
    json::elements(array).filter_map(json::string)
}

/// The array of versions in a DiscoverResult; nothing when it is none.
fn discovered(result: &str) -> Option<&str> {
    let [versions, capabilities] = json::pick(result, ["supportedVersions", "capabilities"]);
    let versions = versions.filter(|value| json::is_array(value))?;
    capabilities.filter(|value| json::is_object(value))?;
    Some(versions)
}

/// Whether a probe's late result shows that its server is of the newer era after all.
pub(crate) fn is_discovery(result: &str) -> bool {
    discovered(result).is_some()
}

/// Whether an HTTP status says nothing about the era: it is about permission, load or faults.
pub(crate) fn is_undecided(status: u16) -> bool {
    matches!(status, 401 | 403 | 407 | 408 | 425 | 429 | 500..)
}

#[derive(Debug)]
enum Modern<'a> {
    /// An array of labels.
    Versions(&'a str),
    Other,
}

/// A recognised modern error: one that only a server of the newer era can have sent (VER-012, VER-023).
fn recognise(error: &RpcError, status: u16) -> Option<Modern<'_>> {
    let data = error.data.as_deref().unwrap_or("null");
    match (error.code, status) {
        (-32022, _) => {
            let [supported, requested] = json::pick(data, ["supported", "requested"]);
            requested.filter(|value| json::is_string(value))?;
            supported.filter(|value| json::is_array(value)).map(Modern::Versions)
        }
        (-32021, _) => {
            json::get(data, "requiredCapabilities").filter(|value| json::is_object(value)).map(|_| Modern::Other)
        }
        (-32020, _) | (-32601, 404) => Some(Modern::Other),
        _ => None,
    }
}

/// What a client says about itself in its messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speaker<'a> {
    pub(crate) info: &'a str,
    pub(crate) capabilities: &'a str,
}

/// What one request carries besides its own parameters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extra<'a> {
    /// Metadata of the caller.
    pub(crate) meta: Option<&'a str>,
    /// The progress token.
    pub(crate) token: Option<u64>,
    /// The log level asked for.
    pub(crate) level: Option<&'a str>,
    /// The answers to the questions of the last round, and its state, as JSON.
    pub(crate) answers: Option<&'a str>,
    pub(crate) state: Option<&'a str>,
}

impl Revision {
    /// The parameters of `initialize` (LIFE-002).
    pub(crate) fn opening_params(self, speaker: &Speaker<'_>) -> String {
        Object::new()
            .string("protocolVersion", self.label())
            .raw("capabilities", &self.declare(speaker.capabilities))
            .raw("clientInfo", &shape::object(shape::Of::Implementation, speaker.info, self))
            .finish()
    }

    /// The parameters of a request or notification as this revision wants them (META-011 to META-016).
    pub(crate) fn client_params(
        self,
        params: Option<&str>,
        extra: &Extra<'_>,
        speaker: &Speaker<'_>,
    ) -> Option<String> {
        let own = params.and_then(|params| json::get(params, "_meta"));
        let stands_alone = self.rules().era == Era::Modern;
        let meta = self.client_meta(own.unwrap_or("{}"), extra, speaker);
        let has_meta = stands_alone || own.is_some() || meta != "{}";
        if params.is_none() && !has_meta {
            return None;
        }
        let params = params.unwrap_or("{}");
        let mut out = Object::with_capacity(params.len() + 400);
        for (name, value) in json::members(params) {
            let replaced = match &*name {
                "_meta" => true,
                "inputResponses" | "requestState" => extra.answers.is_some() || extra.state.is_some(),
                _ => false,
            };
            if !replaced {
                out = out.line(&name, value);
            }
        }
        out = out.maybe("inputResponses", extra.answers).maybe("requestState", extra.state);
        if has_meta {
            out = out.raw("_meta", &meta);
        }
        Some(out.finish())
    }

    /// The same around parameters that are handed over, where they are if that can be: long ones are worth it.
    pub(crate) fn client_params_in_place(
        self,
        params: Option<String>,
        extra: &Extra<'_>,
        speaker: &Speaker<'_>,
    ) -> Option<String> {
        let plain = |text: &String| {
            let one_line = !text.contains('\n') && !text.contains('\r');
            one_line && extra.answers.is_none() && extra.state.is_none() && json::get(text, "_meta").is_none()
        };
        let mut text = match params {
            Some(text) if plain(&text) => text,
            params => return self.client_params(params.as_deref(), extra, speaker),
        };
        let meta = self.client_meta("{}", extra, speaker);
        if self.rules().era == Era::Modern || meta != "{}" {
            text.truncate(text.trim_ascii_end().len() - 1);
            let comma = if text.trim_ascii_end().ends_with('{') { "" } else { "," };
            for part in [comma, "\"_meta\":", &meta, "}"] {
                text.push_str(part);
            }
        }
        Some(text)
    }

    fn client_meta(self, own: &str, extra: &Extra<'_>, speaker: &Speaker<'_>) -> String {
        let token = extra.token.map(words::digits);
        let mut ours: Vec<(&str, Cow<'_, str>)> = Vec::new();
        if let Some(token) = &token {
            ours.push(("progressToken", Cow::Borrowed(token)));
        }
        if self.rules().era == Era::Modern {
            ours.push((VERSION, Cow::Owned(json::quote(self.label()))));
            ours.push((CAPABILITIES, Cow::Owned(self.declare(speaker.capabilities))));
            ours.push((CLIENT, Cow::Borrowed(speaker.info)));
            if let Some(level) = extra.level {
                ours.push((LEVEL, Cow::Owned(json::quote(level))));
            }
        }
        let given = extra.meta.unwrap_or("{}");
        let mut out = Object::new();
        for (name, value) in json::members(own) {
            let replaced = ours.iter().any(|(key, _)| *key == name) || json::get(given, &name).is_some();
            if !replaced {
                out = out.line(&name, value);
            }
        }
        for (name, value) in json::members(given) {
            if !ours.iter().any(|(key, _)| *key == name) {
                out = out.line(&name, value);
            }
        }
        ours.iter().fold(out, |out, (name, value)| out.raw(name, value)).finish()
    }

    /// The capabilities of a client as this revision knows them (CAP-011, ROOT-005).
    pub(crate) fn declare(self, capabilities: &str) -> String {
        let mut out = Object::new();
        for (name, value) in json::members(capabilities) {
            let legacy = self.rules().era == Era::Legacy;
            let value = match &*name {
                "elicitation" if legacy && methods::from_server("elicitation/create", self).is_none() => continue,
                "elicitation" if !self.rules().elicitation_modes => "{}",
                "roots" if !legacy => "{}",
                _ => value,
            };
            out = out.line(&name, value);
        }
        out.finish()
    }

    /// Why a server must not ask this of a client that declared `capabilities`; nothing when it may.
    pub(crate) fn refusal(self, method: &str, params: Option<&str>, capabilities: &str) -> Option<RpcError> {
        let known = self.rules().era == Era::Modern || methods::from_server(method, self).is_some();
        let key = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => return Some(RpcError::new(code::METHOD_NOT_FOUND, words::join(&["no such method: ", method]))),
        };
        let declared = self.declare(capabilities);
        let Some(declared) = json::get(&declared, key).filter(|value| known && json::is_object(value)) else {
            return Some(RpcError::new(code::METHOD_NOT_FOUND, words::join(&["the client does not offer ", method])));
        };
        if key == "elicitation" && self.rules().elicitation_modes {
            let mode = params.and_then(|params| json::get_string(params, "mode"));
            let mode = mode.as_deref().unwrap_or("form");
            let [form, url] = json::pick(declared, ["form", "url"]);
            // An empty declaration means the form mode (CAP-011); an undeclared mode is refused so (ELIC-014).
            let offered = match mode {
                "form" => form.is_some() || url.is_none(),
                "url" => url.is_some(),
                _ => false,
            };
            if !offered {
                return Some(RpcError::new(
                    code::INVALID_PARAMS,
                    words::join(&["the client does not offer the mode `", mode, "`"]),
                ));
            }
        }
        None
    }

    /// What hosts are told about the server once the connection is open.
    pub(crate) fn describe_server(self, result: &str) -> String {
        let [info, capabilities, instructions, meta] =
            json::pick(result, ["serverInfo", "capabilities", "instructions", "_meta"]);
        let info = match self.rules().era {
            Era::Legacy => info,
            Era::Modern => meta.and_then(|meta| json::get(meta, SERVER)),
        };
        Object::new()
            .raw("server", info.unwrap_or("null"))
            .raw("capabilities", capabilities.unwrap_or("{}"))
            .raw("instructions", instructions.unwrap_or("null"))
            .string("era", self.era_name())
            .finish()
    }

    /// Whether a server may send requests of its own (MRTR took their place).
    pub(crate) fn server_may_ask(self) -> bool {
        self.rules().era == Era::Legacy
    }

    /// Whether results name their type (RPC-036).
    pub(crate) fn types_results(self) -> bool {
        self.rules().era == Era::Modern
    }

    /// Whether closing a request's own stream cancels it; otherwise a notification does (CANC-015).
    pub(crate) fn closing_cancels(self) -> bool {
        self.rules().era == Era::Modern
    }

    /// Whether HTTP requests repeat the method and what it is about in headers (HDR-001).
    pub(crate) fn mirrors_headers(self) -> bool {
        self.rules().era == Era::Modern
    }

    /// Whether an HTTP message after the opening carries the version (HTTP-050, HTTP-055).
    pub(crate) fn sends_version(self) -> bool {
        self.rules().version_header
    }

    /// Whether a server may hang up before an answer and hand it out on a later stream (HTTP-031).
    pub(crate) fn resumes_answers(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether a log level goes with each request, rather than once for the connection.
    pub(crate) fn level_with_request(self) -> bool {
        self.rules().era == Era::Modern
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    const MODERN: Revision = Revision::NEWEST_MODERN;
    const LEGACY: Revision = Revision::NEWEST_LEGACY;

    fn plan(mode: Mode) -> Plan {
        Plan::new(mode, None).expect("no pin")
    }

    fn error(code: i64, data: Option<&str>) -> RpcError {
        let error = RpcError::new(0, "no");
        let error = RpcError { code, ..error };
        match data {
            Some(data) => error.with_data(data),
            None => error,
        }
    }

    fn discover(mode: Mode, outcome: Outcome<'_>) -> Step {
        plan(mode).next(Ask::Discover(MODERN), outcome)
    }

    fn initialize(version: &str) -> String {
        format!(r#"{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}"#)
    }

    #[test]
    fn a_discover_result_chooses() {
        let both = r#"{"resultType":"complete","supportedVersions":["2025-06-18","2026-07-28","x"],"capabilities":{}}"#;
        assert_eq!(discover(Mode::Auto, Outcome::Result(both)), Step::Ready(MODERN));
        let old = r#"{"supportedVersions":["2025-06-18","2024-11-05"],"capabilities":{}}"#;
        assert_eq!(
            discover(Mode::Auto, Outcome::Result(old)),
            Step::Ask(Ask::Initialize(Revision::V2025_06_18)),
            "a legacy label is entered by its handshake"
        );
        assert!(matches!(discover(Mode::Modern, Outcome::Result(old)), Step::Fail("version_unsupported", _)));
        let strange = r#"{"hello":1}"#;
        assert_eq!(discover(Mode::Auto, Outcome::Result(strange)), Step::Ask(Ask::Initialize(LEGACY)));
    }

    #[test]
    fn only_recognised_errors_are_modern() {
        for code in [-32000, -32001, -32019, -32601, -32602, -32600, -32700, -32603, 0, 7] {
            let error = error(code, None);
            for status in [0, 200, 400] {
                let step = discover(Mode::Auto, Outcome::Error(&error, status));
                assert_eq!(step, Step::Ask(Ask::Initialize(LEGACY)), "{code} {status}");
            }
            let step = discover(Mode::Modern, Outcome::Error(&error, 200));
            assert!(matches!(step, Step::Fail("opening_failed", _)), "{code}");
        }
        let unknown = error(-32601, None);
        assert_eq!(discover(Mode::Auto, Outcome::Error(&unknown, 404)), Step::Ready(MODERN));
        let mismatch = error(-32020, None);
        assert_eq!(discover(Mode::Auto, Outcome::Error(&mismatch, 400)), Step::Ready(MODERN));
        let missing = error(-32021, Some(r#"{"requiredCapabilities":{"sampling":{}}}"#));
        assert_eq!(discover(Mode::Auto, Outcome::Error(&missing, 400)), Step::Ready(MODERN));
        let shapeless = error(-32021, None);
        assert_eq!(discover(Mode::Auto, Outcome::Error(&shapeless, 400)), Step::Ask(Ask::Initialize(LEGACY)));
    }

    #[test]
    fn an_unsupported_version_is_corrected() {
        let old = error(-32022, Some(r#"{"supported":["2025-11-25"],"requested":"2026-07-28"}"#));
        assert_eq!(discover(Mode::Auto, Outcome::Error(&old, 400)), Step::Ask(Ask::Initialize(LEGACY)));
        assert!(matches!(discover(Mode::Modern, Outcome::Error(&old, 400)), Step::Fail("version_unsupported", _)));
        let future = error(-32022, Some(r#"{"supported":["2030-01-01"],"requested":"2026-07-28"}"#));
        assert!(matches!(discover(Mode::Auto, Outcome::Error(&future, 0)), Step::Fail("version_unsupported", _)));
        let same = error(-32022, Some(r#"{"supported":["2026-07-28"],"requested":"2026-07-28"}"#));
        assert!(matches!(discover(Mode::Auto, Outcome::Error(&same, 0)), Step::Fail("version_unsupported", _)));
    }

    #[test]
    fn silence_and_foreign_answers_fall_back() {
        for outcome in [Outcome::Silence, Outcome::Foreign] {
            assert_eq!(discover(Mode::Auto, outcome), Step::Ask(Ask::Initialize(LEGACY)));
            assert!(matches!(discover(Mode::Modern, outcome), Step::Fail("opening_failed", _)));
        }
    }

    #[test]
    fn the_handshake_decides() {
        let ask = Ask::Initialize(LEGACY);
        for (version, revision) in [("2025-11-25", LEGACY), ("2024-11-05", Revision::V2024_11_05)] {
            let step = plan(Mode::Legacy).next(ask, Outcome::Result(&initialize(version)));
            assert_eq!(step, Step::Ready(revision));
        }
        for version in ["2026-07-28", "1.0", ""] {
            let step = plan(Mode::Auto).next(ask, Outcome::Result(&initialize(version)));
            assert!(matches!(step, Step::Fail("version_unsupported", _)), "{version}");
        }
        let modern_only = error(-32022, Some(r#"{"supported":["2026-07-28"],"requested":"2025-11-25"}"#));
        assert_eq!(plan(Mode::Auto).next(ask, Outcome::Error(&modern_only, 400)), Step::Ask(Ask::Discover(MODERN)));
        let step = plan(Mode::Legacy).next(ask, Outcome::Error(&modern_only, 400));
        assert!(matches!(step, Step::Fail("version_unsupported", _)));
        let older = error(-32602, Some(r#"{"supported":["2024-11-05"],"requested":"2025-11-25"}"#));
        let step = plan(Mode::Legacy).next(ask, Outcome::Error(&older, 0));
        assert_eq!(step, Step::Ask(Ask::Initialize(Revision::V2024_11_05)));
        assert!(matches!(plan(Mode::Auto).next(ask, Outcome::Silence), Step::Fail("timeout", _)));
    }

    #[test]
    fn a_pin_holds() {
        assert_eq!(Plan::new(Mode::Modern, Some(LEGACY)), None);
        let pinned = Plan::new(Mode::Auto, Some(Revision::V2025_06_18)).expect("fits");
        assert_eq!(pinned.first(), Ask::Initialize(Revision::V2025_06_18));
        let step = pinned.next(pinned.first(), Outcome::Result(&initialize("2025-11-25")));
        assert!(matches!(step, Step::Fail("version_unsupported", _)));
        let modern = Plan::new(Mode::Auto, Some(MODERN)).expect("fits");
        assert_eq!(modern.first(), Ask::Discover(MODERN));
        assert!(!modern.falls_back(modern.first()));
    }

    #[test]
    fn capabilities_follow_the_revision() {
        let all = r#"{"elicitation":{"url":{}},"roots":{"listChanged":true},"sampling":{},"x":{"y":[1]}}"#;
        assert_eq!(Revision::V2025_03_26.declare(all), r#"{"roots":{"listChanged":true},"sampling":{},"x":{"y":[1]}}"#);
        assert_eq!(json::get(&Revision::V2025_06_18.declare(all), "elicitation"), Some("{}"));
        assert_eq!(json::get(&MODERN.declare(all), "roots"), Some("{}"));
        assert_eq!(json::get(&MODERN.declare(all), "elicitation"), Some(r#"{"url":{}}"#));
        let refused = |revision: Revision, method, params, declared| {
            revision.refusal(method, params, declared).map(|error| error.code)
        };
        assert_eq!(refused(LEGACY, "elicitation/create", None, "{}"), Some(-32601));
        assert_eq!(refused(LEGACY, "elicitation/create", None, r#"{"elicitation":{}}"#), None);
        assert_eq!(refused(Revision::V2025_03_26, "elicitation/create", None, r#"{"elicitation":{}}"#), Some(-32601));
        let url = Some(r#"{"mode":"url"}"#);
        assert_eq!(refused(LEGACY, "elicitation/create", url, r#"{"elicitation":{}}"#), Some(-32602));
        assert_eq!(refused(MODERN, "elicitation/create", url, all), None);
        assert_eq!(refused(MODERN, "tools/list", None, all), Some(-32601));
    }

    #[test]
    fn parameters_keep_what_the_caller_gave() {
        let speaker = Speaker { info: r#"{"name":"c","version":"1"}"#, capabilities: "{}" };
        let plain = Extra::default();
        assert_eq!(LEGACY.client_params(None, &plain, &speaker), None);
        let extra = Extra { meta: Some(r#"{"a":2}"#), token: Some(7), ..plain };
        let params = r#"{"x":1,"_meta":{"a":1,"b":3,"progressToken":"mine"}}"#;
        assert_eq!(
            LEGACY.client_params(Some(params), &extra, &speaker).as_deref(),
            Some(r#"{"x":1,"_meta":{"b":3,"a":2,"progressToken":7}}"#)
        );
        let modern = MODERN.client_params(None, &plain, &speaker).expect("always there");
        let meta = json::get(&modern, "_meta").expect("always there");
        assert_eq!(json::get(meta, VERSION), Some("\"2026-07-28\""));
        assert_eq!(json::get(meta, CAPABILITIES), Some("{}"));
        assert_eq!(json::get(meta, CLIENT), Some(speaker.info));
    }

    #[test]
    fn in_place_is_the_same() {
        let speaker = Speaker { info: r#"{"name":"c","version":"1"}"#, capabilities: "{}" };
        let plain = Extra::default();
        let told = Extra { meta: Some(r#"{"a":2}"#), token: Some(7), ..plain };
        let again = Extra { answers: Some(r#"{"q":{}}"#), state: Some("\"s\""), ..plain };
        for revision in Revision::ALL {
            for extra in [&plain, &told, &again] {
                assert_eq!(
                    revision.client_params_in_place(None, extra, &speaker),
                    revision.client_params(None, extra, &speaker)
                );
                for params in
                    ["{}", " { } ", r#"{"x":"}"}"#, r#"{"_meta":{"a":1},"requestState":"old"}"#, "{\"x\":\n1}"]
                {
                    let known = revision.client_params(Some(params), extra, &speaker).expect("given");
                    let written = revision.client_params_in_place(Some(params.to_string()), extra, &speaker);
                    let written = written.expect("given");
                    assert!(json::same(&known, &written), "{revision}: {known} {written}");
                    assert!(!written.contains('\n'), "{written}");
                }
            }
        }
    }
}
