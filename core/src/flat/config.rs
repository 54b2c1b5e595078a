//! What a client is told once, and with a request. Read by hand: a derived reader is a third of the code that a page that
//! only is a client has to load.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use super::FlatError;
use crate::client::{Config, Options};
use crate::json::{self, Object};
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

/// Members of an object, read one by one; `null` counts as absent, as hosts write it.
struct Member<'a> {
    name: &'a str,
    value: &'a str,
}

impl Member<'_> {
    fn must_be(&self, what: &str) -> String {
        words::join(&["`", self.name, "` must be ", what])
    }

    fn text(&self) -> Result<String, String> {
        json::string(self.value).map(|text| text.into_owned()).ok_or_else(|| self.must_be("a string"))
    }

    fn flag(&self) -> Result<bool, String> {
        match self.value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.must_be("true or false")),
        }
    }

    fn object(&self) -> Result<&str, String> {
        if json::is_object(self.value) { Ok(self.value) } else { Err(self.must_be("an object")) }
    }

    /// Hosts may count time in fractions; whole milliseconds are enough. What is below 0 is 0.
    fn millis(&self) -> Result<u64, String> {
        let (digits, exponent) = self.value.split_once(['e', 'E']).unwrap_or((self.value, "0"));
        match digits.as_bytes() {
            [b'-', b'0'..=b'9', ..] => Ok(0),
            [b'0'..=b'9', ..] if exponent.starts_with('-') => Ok(0),
            // Only numbers that are longer than any wait are written like that.
            [b'0'..=b'9', ..] if exponent != "0" => Ok(u64::MAX),
            [b'0'..=b'9', ..] => {
                let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
                Ok(words::read_digits(whole).unwrap_or(u64::MAX))
            }
            _ => Err(self.must_be("a number of milliseconds")),
        }
    }
}

/// Hands each member to `take`, which gives back whether it knows it.
fn read(text: &str, mut take: impl FnMut(&Member<'_>) -> Result<bool, String>) -> Result<(), String> {
    for (name, value) in json::members(text).filter(|(_, value)| *value != "null") {
        if !take(&Member { name: &name, value })? {
            return Err(words::join(&["there is no setting `", &name, "`"]));
        }
    }
    Ok(())
}

fn bad(message: impl Into<String>) -> FlatError {
    FlatError { code: "config_invalid", message: message.into() }
}

/// The client of a configuration, and the nesting that it allows.
pub(super) fn client(text: &str) -> Result<(Link, usize), FlatError> {
    json::check(text, json::MAX_NESTING).map_err(|fault| bad(fault.message()))?;
    if !json::is_object(text) {
        return Err(bad("a configuration is an object"));
    }
    let (mut link, mut url, mut mode, mut revision) = (None, String::new(), Mode::Auto, None);
    let (mut info, mut capabilities, mut headers) = (None, "{}".to_string(), Headers::new());
    let (mut limits, mut trace) = (Limits::default(), false);
    let (mut probe_ms, mut timeout_ms, mut max_rounds) = (3000, 60_000, 16);
    read(text, |member| {
        match member.name {
            "link" => link = Some(member.text()?),
            "url" => url = member.text()?,
            "headers" => headers = read_headers(member.object()?)?,
            "info" => info = Some(read_info(member.object()?)?),
            "capabilities" => capabilities = read_capabilities(member.object()?)?,
            "mode" => {
                mode = Mode::parse(&member.text()?).ok_or("`mode` is auto, legacy or modern")?;
            }
            "revision" => {
                let label = member.text()?;
                let parsed =
                    Revision::parse(&label).ok_or_else(|| words::join(&["unknown revision `", &label, "`"]))?;
                revision = Some(parsed);
            }
            "probeMs" => probe_ms = member.millis()?,
            "timeoutMs" => timeout_ms = member.millis()?,
            "maxRounds" => {
                let rounds = words::read_digits(member.value).ok_or_else(|| member.must_be("a whole number"))?;
                max_rounds = u32::try_from(rounds).map_err(|_| member.must_be("a whole number"))?;
            }
            "limits" => limits = Limits::read(member.value)?,
            "trace" => trace = member.flag()?,
            _ => return Ok(false),
        }
        Ok(true)
    })
    .map_err(bad)?;
    let info = info.ok_or_else(|| bad("`info` needs a `name` and a `version`"))?;
    let plan = Plan::new(mode, revision).ok_or_else(|| bad("`revision` is not of the era that `mode` wants"))?;
    let own_streams = false;
    let machine = Config { info, capabilities, plan, probe_ms, timeout_ms, max_rounds, limits, trace, own_streams };
    let link = match link.as_deref() {
        Some("pipe") => Link::Pipe(Box::new(PipeClient::new(machine))),
        Some("http") => {
            Url::check(&url).map_err(|fault| bad(words::join(&["`url` cannot be used: ", fault.code()])))?;
            Link::Http { client: Box::new(HttpClient::new(machine, &headers)), url: json::quote(&url) }
        }
        _ => return Err(bad("`link` is pipe or http")),
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
    read(text, |member| {
        declared = core::mem::take(&mut declared).raw(member.name, member.object()?);
        Ok(true)
    })?;
    Ok(json::one_line(&declared.finish()).into_owned())
}

fn read_headers(text: &str) -> Result<Headers, String> {
    let mut headers = Headers::new();
    read(text, |member| {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let plain = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7F);
        let (name, value) = (member.name, member.text()?);
        if name.is_empty() || !name.bytes().all(token) || !value.bytes().all(plain) {
            return Err(words::join(&["the header `", name, "` cannot be sent"]));
        }
        headers.push(name, &value);
        Ok(true)
    })?;
    Ok(headers)
}

/// The options of a request.
pub(super) fn options(text: &str) -> Result<Options, String> {
    let mut options = Options::default();
    read(text, |member| {
        match member.name {
            "timeoutMs" => options.timeout_ms = Some(member.millis()?),
            "maxTimeoutMs" => options.max_timeout_ms = Some(member.millis()?),
            "progress" => options.progress = member.flag()?,
            "all" => options.all = member.flag()?,
            "logLevel" => options.log_level = Some(member.text()?),
            "meta" => options.meta = Some(member.object()?.to_string()),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(options)
}
