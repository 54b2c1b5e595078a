//! The server as hosts see it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{FlatError, Record, Records, direction};
use crate::link::headers::Headers;
use crate::link::server::{Effect, ServerLink};
use crate::server::{Config, Event};
use crate::time::Millis;

/// One server with all its connections.
#[derive(Debug)]
pub struct FlatServer {
    link: ServerLink,
}

impl FlatServer {
    /// A server from its configuration (JSON) and 32 bytes from the host's source of entropy.
    ///
    /// # Errors
    /// `config_invalid`, naming what is wrong.
    pub fn new(config: &str, seed: &[u8; 32]) -> Result<Self, FlatError> {
        Ok(Self { link: ServerLink::new(Config::parse(config)?, *seed) })
    }

    /// Replaces the whole catalog; what changed is announced.
    ///
    /// # Errors
    /// `config_invalid`, naming the entry.
    pub fn set_catalog(&mut self, catalog: &str, now: u64) -> Records {
        self.link.server().set_catalog(catalog)?;
        self.drain(now)
    }

    /// A connection was opened: `pipe` (newline-delimited JSON) or `http1` (raw HTTP/1.1).
    ///
    /// # Errors
    /// `usage` when the number is in use or the transport unknown.
    pub fn open(&mut self, stream: u64, transport: &str, now: u64) -> Records {
        match transport {
            "pipe" => self.link.open_pipe(stream)?,
            "http1" => self.link.open_http1(stream, Millis(now))?,
            other => return Err(FlatError::new("usage", format!("no transport `{other}`: `pipe` or `http1`"))),
        }
        self.drain(now)
    }

    /// Bytes arrived on a pipe or an http1 stream. Bytes for a stream that is gone are dropped.
    ///
    /// # Errors
    /// None today.
    pub fn receive(&mut self, stream: u64, bytes: &[u8], now: u64) -> Records {
        self.link.receive(stream, bytes, Millis(now));
        self.drain(now)
    }

    /// No more input on this stream. A pipe's calls in flight are still answered, then `close` comes.
    ///
    /// # Errors
    /// None today.
    pub fn end(&mut self, stream: u64, now: u64) -> Records {
        self.link.end(stream, Millis(now));
        self.drain(now)
    }

    /// An HTTP request from the host's own stack. `head` is `METHOD TARGET` and then one `name: value` line a field.
    ///
    /// # Errors
    /// `usage` when the number is in use or the first line has no method and target.
    pub fn request(&mut self, stream: u64, head: &str, body: &[u8], now: u64) -> Records {
        let (first, fields) = head.split_once('\n').unwrap_or((head, ""));
        let (method, target) = first
            .trim_end()
            .split_once(' ')
            .ok_or_else(|| FlatError::new("usage", "the head starts with `METHOD TARGET`"))?;
        self.link.http_open(stream)?;
        self.link.http_request(stream, method, target, &Headers::parse_lines(fields), body, Millis(now));
        self.drain(now)
    }

    /// Nothing can be delivered on this stream any more.
    ///
    /// # Errors
    /// None today.
    pub fn gone(&mut self, stream: u64, now: u64) -> Records {
        self.link.gone(stream);
        self.drain(now)
    }

    /// The handler's outcome: `{"result":{…}}` or `{"error":{"code","message","data"?}}`. A long one is best handed over.
    ///
    /// # Errors
    /// `usage` when the text is no outcome; `unknown_call` when there never was such a call.
    pub fn respond(&mut self, call: u64, outcome: impl Into<String>, now: u64) -> Records {
        self.link.server().respond(call, outcome.into())?;
        self.drain(now)
    }

    /// Asks the client something inside a call: `{"method","params"?}`; the answer comes as `answer` with this key.
    ///
    /// # Errors
    /// `usage` when the text is no request or the key is in use.
    pub fn ask(&mut self, call: u64, key: &str, request: &str, now: u64) -> Records {
        self.link.server().ask(call, key, request)?;
        self.drain(now)
    }

    /// Progress of a call: `{"progress","total"?,"message"?}`.
    ///
    /// # Errors
    /// `usage` when the text is no progress.
    pub fn progress(&mut self, call: u64, progress: &str, now: u64) -> Records {
        self.link.server().progress(call, progress)?;
        self.drain(now)
    }

    /// A log message `{"level","data","logger"?}` about a call, or with 0 for every session.
    ///
    /// # Errors
    /// `usage` when the text is no log message.
    pub fn log(&mut self, call: u64, entry: &str, now: u64) -> Records {
        self.link.server().log(call, entry)?;
        self.drain(now)
    }

    /// Something changed: `{"resource": uri}`.
    ///
    /// # Errors
    /// `usage` when the text is no change.
    pub fn publish(&mut self, change: &str, now: u64) -> Records {
        self.link.server().publish(change)?;
        self.drain(now)
    }

    /// What is known about a running call, as JSON.
    ///
    /// # Errors
    /// `unknown_call` when it is over.
    pub fn call_info(&self, call: u64) -> Result<String, FlatError> {
        Ok(self.link.machine().call_info(call)?)
    }

    /// The deadline of `wait` has come.
    ///
    /// # Errors
    /// None today.
    pub fn timeout(&mut self, now: u64) -> Records {
        self.link.handle_timeout(Millis(now));
        self.drain(now)
    }

    /// Stops everything: calls are cancelled, streams closed.
    ///
    /// # Errors
    /// None today.
    pub fn close(&mut self, now: u64) -> Records {
        self.link.close(Millis(now));
        self.drain(now)
    }

    #[expect(clippy::unnecessary_wraps, reason = "every flat method ends with it")]
    fn drain(&mut self, now: u64) -> Records {
        let mut records = Vec::new();
        while let Some(effect) = self.link.poll_effect(Millis(now)) {
            records.push(record(effect));
        }
        records.push(Record::wait(self.link.deadline()));
        Ok(records)
    }
}

fn record(effect: Effect) -> Record {
    match effect {
        Effect::Write { stream, bytes } => Record { text: bytes, ..Record::new("write", stream) },
        Effect::Close { stream } => Record::new("close", stream),
        Effect::Head { stream, status, headers } => {
            Record { id: u64::from(status), text: headers.to_lines().into_bytes(), ..Record::new("head", stream) }
        }
        Effect::Body { stream, bytes, last } => {
            Record { text: bytes, until: u64::from(last), ..Record::new("body", stream) }
        }
        Effect::Event(event) => event_record(event),
    }
}

fn event_record(event: Event) -> Record {
    match event {
        Event::Call { call, stream, key, input } => {
            Record { id: call, name: key, text: input.into_bytes(), ..Record::new("call", stream) }
        }
        Event::Answer { call, key, outcome } => {
            Record { id: call, name: key, text: outcome.into_bytes(), ..Record::new("answer", 0) }
        }
        Event::Cancelled { call, reason } => {
            Record { id: call, text: reason.into_bytes(), ..Record::new("cancelled", 0) }
        }
        Event::Opened { stream, revision, text } => {
            Record { name: revision.to_string(), text: text.into_bytes(), ..Record::new("opened", stream) }
        }
        Event::Notice { stream, method, params } => {
            Record { name: method, text: params.into_bytes(), ..Record::new("notice", stream) }
        }
        Event::Trace { stream, peer, sent, text } => Record {
            id: peer,
            name: direction(sent).to_string(),
            text: text.into_bytes(),
            ..Record::new("trace", stream)
        },
        Event::Violation { stream, code, message } => {
            Record { name: code.to_string(), text: message.into_bytes(), ..Record::new("violation", stream) }
        }
        Event::Closed { stream, reason } => Record { text: reason.into_bytes(), ..Record::new("closed", stream) },
    }
}
