//! The client as hosts see it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::config::{self, Link};
use super::{FlatError, Record, Records, direction};
use crate::client::{Answer, Client, Event, Options};
use crate::error::RpcError;
use crate::json::{self, Object};
use crate::link::client_http::{Fetch, HttpClient, HttpOutput};
use crate::link::client_pipe::{PipeClient, PipeOutput};
use crate::link::headers::Headers;
use crate::time::Millis;
use crate::words;

/// Numbers beyond this are not exact in every host.
const MAX_NUMBER: u64 = 1 << 53;

/// One connection to a server.
#[derive(Debug)]
pub struct FlatClient {
    link: Link,
    nesting: usize,
}

fn usage(message: &[&str]) -> FlatError {
    FlatError { code: "usage", message: words::join(message) }
}

impl FlatClient {
    /// A client from its configuration. The seed is not needed yet: nothing that a client sends has to be unguessable.
    ///
    /// # Errors
    /// `config_invalid`.
    pub fn new(config: &str, _seed: &[u8; 32]) -> Result<Self, FlatError> {
        let (link, nesting) = config::client(config)?;
        Ok(Self { link, nesting })
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
            return Err(usage(&["a handle is a number from 1 to 2^53 - 1"]));
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
        json::check(outcome, self.nesting).map_err(|fault| usage(&[fault.message()]))?;
        let answer = match json::pick(outcome, ["result", "error"]) {
            [Some(result), None] if json::is_object(result) => Answer::Result(result.to_string()),
            [None, Some(error)] => {
                Answer::Error(RpcError::read(error).ok_or_else(|| usage(&["no such error object"]))?)
            }
            _ => return Err(usage(&["an outcome has a `result` object or an `error`"])),
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
            Link::Http { .. } => Err(usage(&["this client has no pipe"])),
        }
    }

    /// The HTTP link; a stream that is over is left alone, one that never was is an error.
    fn http(&mut self, stream: u64) -> Result<&mut HttpClient, FlatError> {
        match &mut self.link {
            Link::Pipe(_) => Err(usage(&["this client has no HTTP"])),
            Link::Http { client, .. } if client.knows_stream(stream) => Ok(client),
            Link::Http { .. } => Err(FlatError::new(
                "unknown_stream",
                words::join(&["no fetch had the number ", &words::digits(stream)]),
            )),
        }
    }

    fn object(&self, what: &str, text: String) -> Result<Option<String>, FlatError> {
        if text.is_empty() || text == "null" {
            return Ok(None);
        }
        json::check(&text, self.nesting).map_err(|fault| usage(&["`", what, "`: ", fault.message()]))?;
        if !json::is_object(&text) {
            return Err(usage(&["`", what, "` must be an object"]));
        }
        Ok(Some(text))
    }

    fn options(&self, text: &str) -> Result<Options, FlatError> {
        let Some(text) = self.object("options", text.to_string())? else {
            return Ok(Options::default());
        };
        config::options(&text).map_err(|why| usage(&["`options`: ", &why]))
    }

    fn drain(&mut self) -> Vec<Record> {
        let mut records = Vec::new();
        let deadline = match &mut self.link {
            Link::Pipe(pipe) => {
                while let Some(output) = pipe.poll_output() {
                    records.push(match output {
                        PipeOutput::Write(line) => record("write", 0, String::new(), line),
                        PipeOutput::Close => Record::new("close", 0),
                        PipeOutput::Event(event) => event_record(*event),
                    });
                }
                pipe.client().next_deadline()
            }
            Link::Http { client, url } => {
                while let Some(output) = client.poll_output() {
                    records.push(match output {
                        HttpOutput::Fetch(fetch) => fetch_record(&fetch, url),
                        HttpOutput::Abort(stream) => Record::new("abort", stream),
                        HttpOutput::Event(event) => event_record(*event),
                    });
                }
                client.next_deadline()
            }
        };
        records.push(Record::wait(deadline));
        records
    }
}

fn record(kind: &'static str, id: u64, name: String, text: String) -> Record {
    Record { id, name, text: text.into_bytes(), ..Record::new(kind, 0) }
}

fn fetch_record(fetch: &Fetch, url: &str) -> Record {
    let mut headers = String::from("[");
    for (name, value) in fetch.headers.iter() {
        headers.push_str(if headers.len() > 1 { ",[" } else { "[" });
        json::push_string(&mut headers, name);
        headers.push(',');
        json::push_string(&mut headers, value);
        headers.push(']');
    }
    headers.push(']');
    let text = Object::with_capacity(fetch.body.as_deref().map_or(0, str::len) + 400).raw("url", url);
    let text = text.raw("headers", &headers);
    let text = match &fetch.body {
        Some(body) => text.string("body", body),
        None => text.raw("body", "null"),
    };
    Record { stream: fetch.stream, ..record("fetch", 0, fetch.method.to_string(), text.finish()) }
}

fn event_record(event: Event) -> Record {
    let none = String::new;
    let (kind, id, name, text) = match event {
        Event::Ready { revision, about } => ("ready", 0, revision.label().to_string(), about),
        Event::Result { handle, result } => ("result", handle, none(), result),
        Event::Failed { handle, error } => ("error", handle, error.code().to_string(), error.to_json()),
        Event::Progress { handle, progress } => ("progress", handle, none(), progress),
        Event::Input { token, method, params } => ("input", token, method, params),
        Event::InputCancelled { token } => ("input_cancelled", token, none(), none()),
        Event::Notice { handle, method, params } => ("notice", handle, method, params),
        Event::Trace { sent, text } => ("trace", 0, direction(sent).to_string(), text),
        Event::Violation { code, message } => ("violation", 0, code.to_string(), message),
        Event::Closed { code, message } => ("closed", 0, code.to_string(), message),
    };
    record(kind, id, name, text)
}
