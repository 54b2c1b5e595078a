//! The client as hosts see it.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::{FlatError, Record, Records};
use crate::client::{Answer, Client, Config, Event, Options};
use crate::error::{Error, RpcError};
use crate::json::{self, Raw};
use crate::limits::Limits;
use crate::link::client_pipe::{PipeClient, PipeOutput};
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
    Pipe(PipeClient),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatConfig {
    link: String,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    info: Raw,
    capabilities: Option<Raw>,
    mode: Option<String>,
    revision: Option<String>,
    probe_ms: Option<u64>,
    timeout_ms: Option<u64>,
    max_rounds: Option<u32>,
    limits: Option<Limits>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct FlatOptions {
    timeout_ms: Option<u64>,
    max_timeout_ms: Option<u64>,
    progress: bool,
    all: bool,
    log_level: Option<String>,
    meta: Option<Raw>,
}

fn bad_config(message: impl Into<String>) -> FlatError {
    FlatError { code: "config_invalid", message: message.into() }
}

fn usage(message: impl Into<String>) -> FlatError {
    FlatError { code: "usage", message: message.into() }
}

impl From<Error> for FlatError {
    fn from(error: Error) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
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
            "pipe" => Link::Pipe(PipeClient::new(machine)),
            other => return Err(bad_config(format!("`link` is pipe or http, not {other}"))),
        };
        Ok(Self { link, nesting: limits.nesting })
    }

    /// Begins the opening. Requests made before or meanwhile are queued.
    ///
    /// # Errors
    /// `already_started`, `closed`.
    pub fn start(&mut self, now: u64) -> Records {
        self.machine().start(Millis(now))?;
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

    /// Sends a request. `params` and `options` are objects, or empty for none.
    ///
    /// # Errors
    /// `usage`, `unsupported`, `too_many_calls`, `closed`.
    pub fn request(&mut self, handle: u64, method: &str, params: &str, options: &str, now: u64) -> Records {
        if handle == 0 || handle >= MAX_NUMBER {
            return Err(usage("a handle is a number from 1 to 2^53 - 1"));
        }
        let params = self.object("params", params)?;
        let options = self.options(options)?;
        self.machine().request(handle, method, params, options, Millis(now))?;
        Ok(self.drain())
    }

    /// Cancels a request; one that is over is left alone.
    ///
    /// # Errors
    /// `closed`.
    pub fn cancel(&mut self, handle: u64, reason: &str, now: u64) -> Records {
        self.machine().cancel(handle, reason, Millis(now))?;
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
        self.machine().answer(token, answer, Millis(now))?;
        Ok(self.drain())
    }

    /// Sends a notification. One that the revision does not have is dropped.
    ///
    /// # Errors
    /// `usage`, `unsupported`, `queue_full`, `closed`.
    pub fn notify(&mut self, method: &str, params: &str, _now: u64) -> Records {
        let params = self.object("params", params)?;
        self.machine().notify(method, params)?;
        Ok(self.drain())
    }

    /// The deadline of `wait` has come.
    ///
    /// # Errors
    /// None.
    pub fn timeout(&mut self, now: u64) -> Records {
        self.machine().handle_timeout(Millis(now));
        Ok(self.drain())
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// `closed`.
    pub fn close(&mut self, _now: u64) -> Records {
        self.machine().close()?;
        Ok(self.drain())
    }

    fn machine(&mut self) -> &mut Client {
        match &mut self.link {
            Link::Pipe(pipe) => pipe.client(),
        }
    }

    fn pipe(&mut self) -> Result<&mut PipeClient, FlatError> {
        match &mut self.link {
            Link::Pipe(pipe) => Ok(pipe),
        }
    }

    fn object(&self, what: &str, text: &str) -> Result<Option<String>, FlatError> {
        if text.is_empty() || text == "null" {
            return Ok(None);
        }
        json::check(text, self.nesting).map_err(|fault| usage(format!("`{what}`: {}", fault.message())))?;
        if !json::is_object(text) {
            return Err(usage(format!("`{what}` must be an object")));
        }
        Ok(Some(text.to_string()))
    }

    fn options(&self, text: &str) -> Result<Options, FlatError> {
        let Some(text) = self.object("options", text)? else {
            return Ok(Options::default());
        };
        let options: FlatOptions = serde_json::from_str(&text).map_err(|error| usage(format!("`options`: {error}")))?;
        let meta = options.meta.map(Raw::into_string).filter(|meta| meta != "null");
        if meta.as_deref().is_some_and(|meta| !json::is_object(meta)) {
            return Err(usage("`meta` must be an object"));
        }
        Ok(Options {
            timeout_ms: options.timeout_ms,
            max_timeout_ms: options.max_timeout_ms,
            progress: options.progress,
            all: options.all,
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
                        PipeOutput::Write(line) => record("write", 0, 0, String::new(), line),
                        PipeOutput::Close => record("close", 0, 0, String::new(), String::new()),
                        PipeOutput::Event(event) => event_record(event),
                    });
                }
                pipe.machine().next_deadline()
            }
        };
        let until = deadline.map_or(0, |at| at.0.max(1));
        records.push(Record { until, ..record("wait", 0, 0, String::new(), String::new()) });
        records
    }
}

impl FlatConfig {
    fn machine(&self, limits: Limits) -> Result<Config, FlatError> {
        let named = ["name", "version"].iter().all(|name| json::get_string(&self.info, name).is_some());
        if !named {
            return Err(bad_config("`info` needs a `name` and a `version`"));
        }
        let capabilities = self.capabilities.as_deref().filter(|value| *value != "null").unwrap_or("{}");
        if !json::is_object(capabilities) || json::members(capabilities).any(|(_, value)| !json::is_object(value)) {
            return Err(bad_config("`capabilities` is an object of objects"));
        }
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
            capabilities: json::one_line(capabilities).into_owned(),
            plan,
            probe_ms: self.probe_ms.unwrap_or(3000),
            timeout_ms: self.timeout_ms.unwrap_or(60_000),
            max_rounds: self.max_rounds.unwrap_or(16),
            limits,
            own_streams: false,
        })
    }
}

fn record(kind: &'static str, stream: u64, id: u64, name: impl Into<String>, text: impl Into<String>) -> Record {
    Record { kind, stream, id, name: name.into(), text: text.into().into_bytes(), until: 0 }
}

fn event_record(event: Event) -> Record {
    match event {
        Event::Ready { revision, about } => record("ready", 0, 0, revision.label(), about),
        Event::Result { handle, result } => record("result", 0, handle, "", result),
        Event::Failed { handle, error } => record("error", 0, handle, error.code(), error.to_json()),
        Event::Progress { handle, progress } => record("progress", 0, handle, "", progress),
        Event::Input { token, method, params } => record("input", 0, token, method, params),
        Event::InputCancelled { token } => record("input_cancelled", 0, token, "", ""),
        Event::Notice { method, params } => record("notice", 0, 0, method, params),
        Event::Violation { code, message } => record("violation", 0, 0, code, message),
        Event::Closed { code, message } => record("closed", 0, 0, code, message),
    }
}

impl FlatClient {
    /// Head of an HTTP answer.
    pub fn response(&mut self, _stream: u64, _status: u16, _headers: &str, _now: u64) -> Records {
        Err(usage("this client has no HTTP link"))
    }
    /// Part of an HTTP answer.
    pub fn body(&mut self, _stream: u64, _bytes: &[u8], _now: u64) -> Records {
        Err(usage("this client has no HTTP link"))
    }
    /// An HTTP answer is complete.
    pub fn end(&mut self, _stream: u64, _now: u64) -> Records {
        Err(usage("this client has no HTTP link"))
    }
    /// An exchange failed.
    pub fn failed(&mut self, _stream: u64, _reason: &str, _now: u64) -> Records {
        Err(usage("this client has no HTTP link"))
    }
}
