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

/// An object of settings; `null` counts as absent, as hosts write it.
#[derive(Clone, Copy)]
struct Settings<'a>(&'a str);

impl<'a> Settings<'a> {
    /// Refuses what has another name than these.
    fn only(self, names: &[&str]) -> Result<(), String> {
        match self.members().find(|(name, _)| !names.contains(&&**name)) {
            Some((name, _)) => Err(words::join(&["there is no setting `", &name, "`"])),
            None => Ok(()),
        }
    }

    fn members(self) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
        json::members(self.0).filter(|(_, value)| *value != "null")
    }

    fn value(self, name: &str) -> Option<&'a str> {
        json::get(self.0, name).filter(|value| *value != "null")
    }

    fn text(self, name: &str) -> Result<Option<String>, String> {
        self.value(name).map(|value| text(name, value)).transpose()
    }

    fn flag(self, name: &str) -> Result<bool, String> {
        match self.value(name) {
            Some("true") => Ok(true),
            None | Some("false") => Ok(false),
            Some(_) => Err(must_be(name, "true or false")),
        }
    }

    fn object(self, name: &str) -> Result<Option<&'a str>, String> {
        self.value(name).map(|value| object(name, value)).transpose()
    }

    fn millis(self, name: &str) -> Result<Option<u64>, String> {
        self.value(name).map(|value| millis(value).ok_or_else(|| must_be(name, "a number of milliseconds"))).transpose()
    }
}

fn must_be(name: &str, what: &str) -> String {
    words::join(&["`", name, "` must be ", what])
}

fn text(name: &str, value: &str) -> Result<String, String> {
    json::string(value).map(Cow::into_owned).ok_or_else(|| must_be(name, "a string"))
}

fn object<'a>(name: &str, value: &'a str) -> Result<&'a str, String> {
    if json::is_object(value) { Ok(value) } else { Err(must_be(name, "an object")) }
}

/// Hosts may count time in fractions; whole milliseconds are enough. What is below 0 is 0.
fn millis(value: &str) -> Option<u64> {
    let (digits, exponent) = value.split_once(['e', 'E']).unwrap_or((value, "0"));
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
    let settings = Settings(text);
    settings.only(SETTINGS)?;
    let link = settings.text("link")?;
    let url = settings.text("url")?.unwrap_or_default();
    let headers = read_headers(settings.object("headers")?.unwrap_or("{}"))?;
    let info = read_info(settings.object("info")?.unwrap_or("{}"))?;
    let capabilities = read_capabilities(settings.object("capabilities")?.unwrap_or("{}"))?;
    let mode = match settings.text("mode")? {
        Some(mode) => Mode::parse(&mode).ok_or("`mode` is auto, legacy or modern")?,
        None => Mode::Auto,
    };
    let revision = match settings.text("revision")? {
        Some(label) => Some(Revision::parse(&label).ok_or_else(|| words::join(&["unknown revision `", &label, "`"]))?),
        None => None,
    };
    let probe_ms = settings.millis("probeMs")?.unwrap_or(3000);
    let timeout_ms = settings.millis("timeoutMs")?.unwrap_or(60_000);
    let max_rounds = match settings.value("maxRounds") {
        Some(value) => {
            let number = words::read_digits(value).and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| must_be("maxRounds", "a whole number"))?
        }
        None => 16,
    };
    let limits = settings.value("limits").map(Limits::read).transpose()?.unwrap_or_default();
    let trace = settings.flag("trace")?;
    let plan = Plan::new(mode, revision).ok_or("`revision` is not of the era that `mode` wants")?;
    let own_streams = false;
    let machine = Config { info, capabilities, plan, probe_ms, timeout_ms, max_rounds, limits, trace, own_streams };
    let link = match link.as_deref() {
        Some("pipe") => Link::Pipe(Box::new(PipeClient::new(machine))),
        Some("http") => {
            Url::check(&url).map_err(|fault| words::join(&["`url` cannot be used: ", fault.code()]))?;
            Link::Http { client: Box::new(HttpClient::new(machine, &headers)), url: json::quote(&url) }
        }
        _ => return Err("`link` is pipe or http".into()),
    };
    Ok((link, limits.nesting))
}

fn read_info(text: &str) -> Result<String, String> {
    let named = ["name", "version"].iter().all(|name| json::get_string(text, name).is_some());
    if named { Ok(json::one_line(text).into_owned()) } else { Err("`info` needs a `name` and a `version`".into()) }
}

/// An empty object is a declaration, an absent value is none.
fn read_capabilities(text: &str) -> Result<String, String> {
    let mut declared = Object::new();
    for (name, value) in Settings(text).members() {
        declared = declared.raw(&name, object(&name, value)?);
    }
    Ok(json::one_line(&declared.finish()).into_owned())
}

fn read_headers(lines: &str) -> Result<Headers, String> {
    let mut headers = Headers::new();
    for (name, value) in Settings(lines).members() {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let plain = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7F);
        let value = text(&name, value)?;
        if name.is_empty() || !name.bytes().all(token) || !value.bytes().all(plain) {
            return Err(words::join(&["the header `", &name, "` cannot be sent"]));
        }
        headers.push(&name, &value);
    }
    Ok(headers)
}

/// The options of a request.
pub(super) fn options(text: &str) -> Result<Options, String> {
    let settings = Settings(text);
    settings.only(&["timeoutMs", "maxTimeoutMs", "progress", "all", "logLevel", "meta"])?;
    Ok(Options {
        timeout_ms: settings.millis("timeoutMs")?,
        max_timeout_ms: settings.millis("maxTimeoutMs")?,
        progress: settings.flag("progress")?,
        all: settings.flag("all")?,
        log_level: settings.text("logLevel")?,
        meta: settings.object("meta")?.map(ToString::to_string),
    })
}
