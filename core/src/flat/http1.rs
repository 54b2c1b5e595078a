//! Client side HTTP/1.1 for hosts without an HTTP stack.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{FlatError, Record, Records};
use crate::json::{self, Object};
use crate::link::http1::{ClientConn, ClientEvent, Http1Fault, Http1Limits, Url, encode_request};

/// Client side HTTP/1.1, one object per connection.
#[derive(Debug)]
pub struct FlatHttp1 {
    connection: ClientConn,
}

impl Default for FlatHttp1 {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Http1Fault> for FlatError {
    fn from(fault: Http1Fault) -> Self {
        let code = match fault {
            Http1Fault::Truncated | Http1Fault::ClosedBeforeResponse => "http_truncated",
            Http1Fault::InvalidHead | Http1Fault::Busy => "usage",
            _ => "http_malformed",
        };
        Self::new(code, fault.why())
    }
}

impl FlatHttp1 {
    /// A codec for a fresh connection.
    #[must_use]
    pub const fn new() -> Self {
        // Response bodies are handed on as they come: their bound is the client's.
        let limits = Http1Limits { head_bytes: 64 * 1024, headers: 100, body_bytes: 0 };
        Self { connection: ClientConn::new(limits) }
    }

    /// The bytes of one `fetch` record: its `name` and its `text`. Its response is what is received next.
    ///
    /// # Errors
    /// `usage`: the connection is busy or used up, or the record is none.
    pub fn encode(&mut self, name: &str, text: &str) -> Result<Vec<u8>, FlatError> {
        json::check(text, json::MAX_NESTING).map_err(|fault| FlatError::new("usage", fault.message()))?;
        let [url, headers, body] = json::pick(text, ["url", "headers", "body"]);
        let url = parse(&url.and_then(json::string).unwrap_or_default())?;
        let body = body.and_then(json::string);
        let fields: Vec<(Cow<'_, str>, Cow<'_, str>)> = json::elements(headers.unwrap_or("[]"))
            .filter_map(|pair| {
                let mut parts = json::elements(pair).filter_map(json::string);
                Some((parts.next()?, parts.next()?))
            })
            .collect();
        let fields = fields.iter().map(|(name, value)| (&**name, &**value));
        let mut out = Vec::new();
        encode_request(&mut out, name, &url, fields, body.as_deref().map(str::as_bytes))?;
        self.connection.begin(name)?;
        Ok(out)
    }

    /// Response bytes arrived.
    ///
    /// # Errors
    /// `http_malformed`: the connection is to be dropped, and what it carried has failed.
    pub fn receive(&mut self, bytes: &[u8]) -> Records {
        let mut events = Vec::new();
        self.connection.receive(bytes, &mut events)?;
        Ok(events.into_iter().map(record).collect())
    }

    /// The peer closed the connection.
    ///
    /// # Errors
    /// `http_truncated`: a response was due or not complete.
    pub fn finish(&mut self) -> Records {
        let mut events = Vec::new();
        self.connection.finish(&mut events)?;
        Ok(events.into_iter().map(record).collect())
    }

    /// Where to connect for a URL: `{"tls","host","port"}`.
    ///
    /// # Errors
    /// `usage`: no such URL.
    pub fn target(url: &str) -> Result<String, FlatError> {
        let url = parse(url)?;
        Ok(Object::new().bool("tls", url.tls).string("host", &url.host).number("port", url.port).finish())
    }
}

fn parse(url: &str) -> Result<Url, FlatError> {
    Url::parse(url).map_err(|fault| FlatError::new("usage", format!("the URL cannot be used: {}", fault.code())))
}

fn record(event: ClientEvent) -> Record {
    match event {
        ClientEvent::Head { status, headers } => {
            Record { id: u64::from(status), text: headers.to_lines().into_bytes(), ..Record::new("head", 0) }
        }
        ClientEvent::Body(bytes) => Record { text: bytes, ..Record::new("body", 0) },
        ClientEvent::End { reusable } => Record { id: u64::from(reusable), ..Record::new("end", 0) },
    }
}
