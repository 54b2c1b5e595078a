//! What a client is told once, and with a request. Read by hand: a derived reader is a third of the code that a page that
//! only is a client has to load.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};

use super::FlatError;
use crate::client::{Config, Options};
use crate::json::{self, Fault, Object};
use crate::limits::Limits;
use crate::link::client_http::HttpClient;
use crate::link::client_pipe::PipeClient;
use crate::link::headers::Headers;
use crate::link::http1::Url;
use crate::revision::Revision;
use crate::revision::open::{Mode, Plan};
use crate::words;

/// How a client is connected.
#[derive(Debug)]
pub(super) enum Link {
    Pipe(Box<PipeClient>),
    Http {
        client: Box<HttpClient>,
        /// The endpoint, as a JSON string.
        url: String,
    },
}

/// An object of settings; `null` counts as absent, as hosts write it. The first fault is kept until all were read, so that
/// each of them is one line.
struct Settings<'a> {
    text: &'a str,
    fault: Option<String>,
}

impl<'a> Settings<'a> {
    /// Settings with these names and no others.
    fn new(text: &'a str, names: &[&str]) -> Self {
        let mut settings = Self { text, fault: None };
        if let Some((name, _)) = present(text).find(|(name, _)| !names.contains(&&**name)) {
            settings.fail(&["there is no setting `", &name, "`"]);
        }
        settings
    }

    fn fail(&mut self, message: &[&str]) {
        self.fault.get_or_insert_with(|| words::join(message));
    }

    fn must_be(&mut self, name: &str, what: &str) {
        self.fail(&["`", name, "` must be ", what]);
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        json::get(self.text, name).filter(|value| *value != "null")
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        self.text_of(name, value)
    }

    fn text_of(&mut self, name: &str, value: &str) -> Option<String> {
        let text = json::string(value).map(Cow::into_owned);
        if text.is_none() {
            self.must_be(name, "a string");
        }
        text
    }

    fn flag(&mut self, name: &str) -> bool {
        let value = self.value(name).unwrap_or("false");
        if !matches!(value, "true" | "false") {
            self.must_be(name, "true or false");
        }
        value == "true"
    }

    fn object(&mut self, name: &str) -> Option<&'a str> {
        let value = self.value(name)?;
        self.object_of(name, value)
    }

    fn object_of(&mut self, name: &str, value: &'a str) -> Option<&'a str> {
        let found = Some(value).filter(|value| json::is_object(value));
        if found.is_none() {
            self.must_be(name, "an object");
        }
        found
    }

    fn millis(&mut self, name: &str) -> Option<u64> {
        let millis = millis(self.value(name)?);
        if millis.is_none() {
            self.must_be(name, "a number of milliseconds");
        }
        millis
    }

    /// An empty object is a declaration, an absent value is none.
    fn capabilities(&mut self) -> String {
        let mut declared = Object::new();
        for (name, value) in present(self.object("capabilities").unwrap_or("{}")) {
            declared = declared.raw(&name, self.object_of(&name, value).unwrap_or("{}"));
        }
        json::one_line(&declared.finish()).into_owned()
    }

    fn headers(&mut self) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in present(self.object("headers").unwrap_or("{}")) {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let plain = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7F);
            let value = self.text_of(&name, value).unwrap_or_default();
            if name.is_empty() || !name.bytes().all(token) || !value.bytes().all(plain) {
                self.fail(&["the header `", &name, "` cannot be sent"]);
            }
            headers.push(&name, &value);
        }
        headers
    }

    /// The name and version of the program, and what else it says of itself.
    fn info(&mut self) -> String {
        let info = self.object("info").unwrap_or("{}");
        if ["name", "version"].iter().any(|name| !json::get(info, name).is_some_and(json::is_string)) {
            self.fail(&["`info` needs a `name` and a `version`"]);
        }
        json::one_line(info).into_owned()
    }

    /// How the connection is to be opened.
    fn plan(&mut self) -> Option<Plan> {
        let mode = self.text("mode").map_or(Some(Mode::Auto), |mode| Mode::parse(&mode));
        let label = self.text("revision");
        let revision = label.as_deref().and_then(Revision::parse);
        if mode.is_none() {
            self.fail(&["`mode` is auto, legacy or modern"]);
        }
        if let (Some(label), None) = (&label, revision) {
            self.fail(&["unknown revision `", label, "`"]);
        }
        let plan = mode.and_then(|mode| Plan::new(mode, revision));
        if plan.is_none() {
            self.fail(&["`revision` is not of the era that `mode` wants"]);
        }
        plan
    }

    fn limits(&mut self) -> Limits {
        let limits = self.value("limits").map_or_else(|| Ok(Limits::default()), Limits::read);
        limits.unwrap_or_else(|why| {
            self.fail(&[&why]);
            Limits::default()
        })
    }
}

fn present(object: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    json::members(object).filter(|(_, value)| *value != "null")
}

/// Hosts may count time in fractions; whole milliseconds are enough. What is below 0 is 0.
fn millis(value: &str) -> Option<u64> {
    let end = value.bytes().position(|byte| matches!(byte, b'e' | b'E'));
    let digits = words::part(value, 0..end.unwrap_or(value.len()));
    let exponent = end.map_or("0", |end| words::part(value, end + 1..value.len()));
    match digits.as_bytes() {
        [b'-', b'0'..=b'9', ..] => Some(0),
        [b'0'..=b'9', ..] if exponent.starts_with('-') => Some(0),
        // Only numbers that are longer than any wait are written like that.
        [b'0'..=b'9', ..] if exponent != "0" => Some(u64::MAX),
        [b'0'..=b'9', ..] => {
            let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
            Some(words::read_digits(whole).unwrap_or(u64::MAX))
        }
        _ => None,
    }
}

/// What a client is told.
const SETTINGS: &[&str] = &[
    "link",
    "url",
    "headers",
    "info",
    "capabilities",
    "mode",
    "revision",
    "probeMs",
    "timeoutMs",
    "maxRounds",
    "limits",
    "trace",
];

/// The client of a configuration, and the nesting that it allows.
pub(super) fn client(text: &str) -> Result<(Link, usize), FlatError> {
    read(text).map_err(|message| FlatError { code: "config_invalid", message })
}

fn read(text: &str) -> Result<(Link, usize), String> {
    json::check(text, json::MAX_NESTING).map_err(Fault::message)?;
    if !json::is_object(text) {
        return Err("a configuration is an object".into());
    }
    let mut settings = Settings::new(text, SETTINGS);
    let link = settings.text("link").unwrap_or_default();
    let url = settings.text("url").unwrap_or_default();
    if !matches!(&*link, "pipe" | "http") {
        settings.fail(&["`link` is pipe or http"]);
    }
    if let (Err(fault), "http") = (Url::check(&url), &*link) {
        settings.fail(&["`url` cannot be used: ", fault.code()]);
    }
    let headers = settings.headers();
    let info = settings.info();
    let capabilities = settings.capabilities();
    let plan = settings.plan();
    let probe_ms = settings.millis("probeMs").unwrap_or(3000);
    let timeout_ms = settings.millis("timeoutMs").unwrap_or(60_000);
    let rounds = words::read_digits(settings.value("maxRounds").unwrap_or("16"));
    let max_rounds = rounds.and_then(|number| u32::try_from(number).ok()).unwrap_or_else(|| {
        settings.must_be("maxRounds", "a whole number");
        0
    });
    let limits = settings.limits();
    let trace = settings.flag("trace");
    let (Some(plan), None) = (plan, &settings.fault) else {
        return Err(settings.fault.unwrap_or_default());
    };
    let own_streams = false;
    let machine = Config { info, capabilities, plan, probe_ms, timeout_ms, max_rounds, limits, trace, own_streams };
    let link = if link == "pipe" {
        Link::Pipe(Box::new(PipeClient::new(machine)))
    } else {
        Link::Http { client: Box::new(HttpClient::new(machine, &headers)), url: json::quote(&url) }
    };
    Ok((link, limits.nesting))
}

/// The options of a request.
pub(super) fn options(text: &str) -> Result<Options, String> {
    let names = ["timeoutMs", "maxTimeoutMs", "progress", "all", "logLevel", "meta"];
    let mut settings = Settings::new(text, &names);
    let options = Options {
        timeout_ms: settings.millis("timeoutMs"),
        max_timeout_ms: settings.millis("maxTimeoutMs"),
        progress: settings.flag("progress"),
        all: settings.flag("all"),
        log_level: settings.text("logLevel"),
        meta: settings.object("meta").map(ToString::to_string),
    };
    settings.fault.map_or(Ok(options), Err)
}
