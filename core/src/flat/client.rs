//! The client as hosts see it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::{FlatError, Record, Records};
use crate::client::{Answer, Client, Config, Event, Options};
use crate::error::RpcError;
use crate::json::{self, Object, Raw};
use crate::limits::Limits;
use crate::link::client_http::{Fetch, HttpClient, HttpOutput};
use crate::link::client_pipe::{PipeClient, PipeOutput};
use crate::link::headers::Headers;
use crate::link::http1::Url;
use crate::revision::Revision;
use crate::revision::open::{Mode, Plan};
use crate::time::Millis;

/// Numbers beyond this are not exact in every host.
const MAX_NUMBER: u64 = 1 << 53;

/// One connection to a server.
#[derive(Debug)]
pub struct FlatClient {
    link: Link,
    nesting: usize,
}

#[derive(Debug)]
enum Link {
    Pipe(Box<PipeClient>),
    Http {
        client: Box<HttpClient>,
        /// The endpoint, as a JSON string.
        url: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FlatConfig {
    link: String,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    info: Raw,
    capabilities: Option<Raw>,
    mode: Option<String>,
    revision: Option<String>,
    probe_ms: Option<f64>,
    timeout_ms: Option<f64>,
    max_rounds: Option<u32>,
    limits: Option<Limits>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[derive(Default)]
struct FlatOptions {
    timeout_ms: Option<f64>,
    max_timeout_ms: Option<f64>,
    progress: Option<bool>,
    all: Option<bool>,
    log_level: Option<String>,
    meta: Option<Raw>,
}

/// Hosts may count time in fractions; whole milliseconds are enough. What is below 0 or no number is 0.
const fn millis(value: f64) -> u64 {
    value as u64
}

fn bad_config(message: impl Into<String>) -> FlatError {
    FlatError { code: "config_invalid", message: message.into() }
}

fn usage(message: impl Into<String>) -> FlatError {
    FlatError { code: "usage", message: message.into() }
}

impl FlatClient {
    /// A client from its configuration. The seed is not needed yet: nothing that a client sends has to be unguessable.
    ///
    /// # Errors
    /// `config_invalid`.
    pub fn new(config: &str, _seed: &[u8; 32]) -> Result<Self, FlatError> {
        json::check(config, json::MAX_NESTING).map_err(|fault| bad_config(fault.message()))?;
        let config: FlatConfig = serde_json::from_str(config).map_err(|error| bad_config(error.to_string()))?;
        let limits = config.limits.unwrap_or_default();
        let machine = config.machine(limits)?;
        let link = match &*config.link {
            "pipe" => Link::Pipe(Box::new(PipeClient::new(machine))),
            "http" => config.http(machine)?,
            other => return Err(bad_config(format!("`link` is pipe or http, not {other}"))),
        };
        Ok(Self { link, nesting: limits.nesting })
    }

    /// Begins the opening. Requests made before or meanwhile are queued.
    ///
    /// # Errors
    /// `already_started`, `closed`.
    pub fn start(&mut self, now: u64) -> Records {
        self.machine(now).start(Millis(now))?;
        Ok(self.drain())
    }

    /// Bytes arrived on the pipe.
    ///
    /// # Errors
    /// `usage`, when there is no pipe.
    pub fn receive(&mut self, bytes: &[u8], now: u64) -> Records {
        self.pipe()?.receive(bytes, Millis(now));
        Ok(self.drain())
    }

    /// The pipe is gone; in words, why.
    ///
    /// # Errors
    /// `usage`, when there is no pipe.
    pub fn ended(&mut self, reason: &str, now: u64) -> Records {
        self.pipe()?.end(reason, Millis(now));
        Ok(self.drain())
    }

    /// Sends a request. `params` and `options` are objects, or empty for none. Long `params` are best handed over.
    ///
    /// # Errors
    /// `usage`, `unsupported`, `too_many_calls`, `closed`.
    pub fn request(
        &mut self,
        handle: u64,
        method: &str,
        params: impl Into<String>,
        options: &str,
        now: u64,
    ) -> Records {
        if handle == 0 || handle >= MAX_NUMBER {
            return Err(usage("a handle is a number from 1 to 2^53 - 1"));
        }
        let params = self.object("params", params.into())?;
        let options = self.options(options)?;
        self.machine(now).request(handle, method, params, options, Millis(now))?;
        Ok(self.drain())
    }

    /// Cancels a request; one that is over is left alone.
    ///
    /// # Errors
    /// `closed`.
    pub fn cancel(&mut self, handle: u64, reason: &str, now: u64) -> Records {
        self.machine(now).cancel(handle, reason)?;
        Ok(self.drain())
    }

    /// Answers an `input` with `{"result":{...}}` or `{"error":{"code","message","data"?}}`.
    ///
    /// # Errors
    /// `unknown_token`, `usage`, `closed`.
    pub fn answer(&mut self, token: u64, outcome: &str, now: u64) -> Records {
        json::check(outcome, self.nesting).map_err(|fault| usage(fault.message()))?;
        let answer = match json::pick(outcome, ["result", "error"]) {
            [Some(result), None] if json::is_object(result) => Answer::Result(result.to_string()),
            [None, Some(error)] => Answer::Error(RpcError::read(error).ok_or_else(|| usage("no such error object"))?),
            _ => return Err(usage("an outcome has a `result` object or an `error`")),
        };
        self.machine(now).answer(token, answer, Millis(now))?;
        Ok(self.drain())
    }

    /// Sends a notification. One that the revision does not have is dropped.
    ///
    /// # Errors
    /// `usage`, `unsupported`, `queue_full`, `closed`.
    pub fn notify(&mut self, method: &str, params: &str, now: u64) -> Records {
        let params = self.object("params", params.to_string())?;
        self.machine(now).notify(method, params)?;
        Ok(self.drain())
    }

    /// The deadline of `wait` has come.
    ///
    /// # Errors
    /// None.
    pub fn timeout(&mut self, now: u64) -> Records {
        match &mut self.link {
            Link::Pipe(pipe) => pipe.client().handle_timeout(Millis(now)),
            Link::Http { client, .. } => client.handle_timeout(Millis(now)),
        }
        Ok(self.drain())
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// `closed`.
    pub fn close(&mut self, now: u64) -> Records {
        self.machine(now).close()?;
        Ok(self.drain())
    }

    /// The head of the answer to `fetch` number `stream`; `headers` are `name: value` lines.
    ///
    /// # Errors
    /// `unknown_stream`; `usage`, when there is no HTTP.
    pub fn response(&mut self, stream: u64, status: u16, headers: &str, now: u64) -> Records {
        self.http(stream)?.response(stream, status, &Headers::parse_lines(headers), Millis(now));
        Ok(self.drain())
    }

    /// A part of that answer's body.
    ///
    /// # Errors
    /// `unknown_stream`; `usage`, when there is no HTTP.
    pub fn body(&mut self, stream: u64, bytes: &[u8], now: u64) -> Records {
        self.http(stream)?.body(stream, bytes, Millis(now));
        Ok(self.drain())
    }

    /// That answer is complete.
    ///
    /// # Errors
    /// `unknown_stream`; `usage`, when there is no HTTP.
    pub fn end(&mut self, stream: u64, now: u64) -> Records {
        self.http(stream)?.end(stream, Millis(now));
        Ok(self.drain())
    }

    /// The network failed, or the body was cut short; in words, how.
    ///
    /// # Errors
    /// `unknown_stream`; `usage`, when there is no HTTP.
    pub fn failed(&mut self, stream: u64, reason: &str, now: u64) -> Records {
        self.http(stream)?.failed(stream, reason, Millis(now));
        Ok(self.drain())
    }

    fn machine(&mut self, now: u64) -> &mut Client {
        match &mut self.link {
            Link::Pipe(pipe) => pipe.client(),
            Link::Http { client, .. } => client.client(Millis(now)),
        }
    }

    fn pipe(&mut self) -> Result<&mut PipeClient, FlatError> {
        match &mut self.link {
            Link::Pipe(pipe) => Ok(pipe),
            Link::Http { .. } => Err(usage("this client has no pipe")),
        }
    }

    /// The HTTP link; a stream that is over is left alone, one that never was is an error.
    fn http(&mut self, stream: u64) -> Result<&mut HttpClient, FlatError> {
        match &mut self.link {
            Link::Pipe(_) => Err(usage("this client has no HTTP")),
            Link::Http { client, .. } if client.knows_stream(stream) => Ok(client),
            Link::Http { .. } => Err(FlatError::new("unknown_stream", format!("no fetch had the number {stream}"))),
        }
    }

    fn object(&self, what: &str, text: String) -> Result<Option<String>, FlatError> {
        if text.is_empty() || text == "null" {
            return Ok(None);
        }
        json::check(&text, self.nesting).map_err(|fault| usage(format!("`{what}`: {}", fault.message())))?;
        if !json::is_object(&text) {
            return Err(usage(format!("`{what}` must be an object")));
        }
        Ok(Some(text))
    }

    fn options(&self, text: &str) -> Result<Options, FlatError> {
        let Some(text) = self.object("options", text.to_string())? else {
            return Ok(Options::default());
        };
        let options: FlatOptions = serde_json::from_str(&text).map_err(|error| usage(format!("`options`: {error}")))?;
        let meta = options.meta.map(Raw::into_string).filter(|meta| meta != "null");
        if meta.as_deref().is_some_and(|meta| !json::is_object(meta)) {
            return Err(usage("`meta` must be an object"));
        }
        Ok(Options {
            timeout_ms: options.timeout_ms.map(millis),
            max_timeout_ms: options.max_timeout_ms.map(millis),
            progress: options.progress.unwrap_or(false),
            all: options.all.unwrap_or(false),
            log_level: options.log_level,
            meta,
        })
    }

    fn drain(&mut self) -> Vec<Record> {
        let mut records = Vec::new();
        let deadline = match &mut self.link {
            Link::Pipe(pipe) => {
                while let Some(output) = pipe.poll_output() {
                    records.push(match output {
                        PipeOutput::Write(line) => record("write", 0, "", line),
                        PipeOutput::Close => Record::new("close", 0),
                        PipeOutput::Event(event) => event_record(event),
                    });
                }
                pipe.client().next_deadline()
            }
            Link::Http { client, url } => {
                while let Some(output) = client.poll_output() {
                    records.push(match output {
                        HttpOutput::Fetch(fetch) => fetch_record(fetch, url),
                        HttpOutput::Abort(stream) => Record::new("abort", stream),
                        HttpOutput::Event(event) => event_record(event),
                    });
                }
                client.next_deadline()
            }
        };
        records.push(Record::wait(deadline));
        records
    }
}

impl FlatConfig {
    fn http(&self, machine: Config) -> Result<Link, FlatError> {
        let url = self.url.as_deref().unwrap_or_default();
        Url::parse(url).map_err(|fault| bad_config(format!("`url` cannot be used: {}", fault.code())))?;
        let mut headers = Headers::new();
        for (name, value) in self.headers.iter().flatten() {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let plain = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7F);
            if name.is_empty() || !name.bytes().all(token) || !value.bytes().all(plain) {
                return Err(bad_config(format!("the header `{name}` cannot be sent")));
            }
            headers.push(name, value);
        }
        Ok(Link::Http { client: Box::new(HttpClient::new(machine, &headers)), url: json::quote(url) })
    }

    fn machine(&self, limits: Limits) -> Result<Config, FlatError> {
        let named = ["name", "version"].iter().all(|name| json::get_string(&self.info, name).is_some());
        if !named {
            return Err(bad_config("`info` needs a `name` and a `version`"));
        }
        let capabilities = self.capabilities.as_deref().filter(|value| *value != "null").unwrap_or("{}");
        // An absent value may be written as null by hosts; an empty object is a declaration.
        let declared: Vec<_> = json::members(capabilities).filter(|(_, value)| *value != "null").collect();
        let sound = json::is_object(capabilities) && declared.iter().all(|(_, value)| json::is_object(value));
        if !sound {
            return Err(bad_config("`capabilities` is an object of objects"));
        }
        let capabilities = declared.iter().fold(Object::new(), |out, (name, value)| out.raw(name, value)).finish();
        let mode = match self.mode.as_deref() {
            None => Mode::Auto,
            Some(name) => Mode::parse(name).ok_or_else(|| bad_config("`mode` is auto, legacy or modern"))?,
        };
        let pinned = match self.revision.as_deref() {
            None => None,
            Some(label) => {
                Some(Revision::parse(label).ok_or_else(|| bad_config(format!("unknown revision `{label}`")))?)
            }
        };
        let plan =
            Plan::new(mode, pinned).ok_or_else(|| bad_config("`revision` is not of the era that `mode` wants"))?;
        Ok(Config {
            info: json::one_line(&self.info).into_owned(),
            capabilities: json::one_line(&capabilities).into_owned(),
            plan,
            probe_ms: self.probe_ms.map_or(3000, millis),
            timeout_ms: self.timeout_ms.map_or(60_000, millis),
            max_rounds: self.max_rounds.unwrap_or(16),
            limits,
            own_streams: false,
        })
    }
}

fn record(kind: &'static str, id: u64, name: impl Into<String>, text: impl Into<String>) -> Record {
    Record { id, name: name.into(), text: text.into().into_bytes(), ..Record::new(kind, 0) }
}

fn fetch_record(fetch: Fetch, url: &str) -> Record {
    let headers: Vec<_> = fetch
        .headers
        .iter()
        .map(|(name, value)| json::array([json::quote(name).as_str(), json::quote(value).as_str()]))
        .collect();
    let body = fetch.body.map_or_else(|| "null".to_string(), |body| json::quote(&body));
    let text = Object::with_capacity(body.len() + 400)
        .raw("url", url)
        .raw("headers", &json::array(headers.iter().map(String::as_str)))
        .raw("body", &body);
    Record { stream: fetch.stream, ..record("fetch", 0, fetch.method, text.finish()) }
}

fn event_record(event: Event) -> Record {
    match event {
        Event::Ready { revision, about } => record("ready", 0, revision.label(), about),
        Event::Result { handle, result } => record("result", handle, "", result),
        Event::Failed { handle, error } => record("error", handle, error.code(), error.to_json()),
        Event::Progress { handle, progress } => record("progress", handle, "", progress),
        Event::Input { token, method, params } => record("input", token, method, params),
        Event::InputCancelled { token } => record("input_cancelled", token, "", ""),
        Event::Notice { handle, method, params } => record("notice", handle, method, params),
        Event::Violation { code, message } => record("violation", 0, code, message),
        Event::Closed { code, message } => record("closed", 0, code, message),
    }
}
