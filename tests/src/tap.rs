//! Listens to one session of a host and hands the messages in it to the schema check.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::host::{Arg, Reply};
use crate::http;
use crate::json::Json;
use crate::record::{Record, clip};
use crate::wire::{Conversation, Schemas, Side};
use mcp_keel_core::revision::Revision;

/// What was heard so far.
#[derive(Debug)]
pub struct Tap<'a> {
    schemas: &'a Schemas,
    ours: Side,
    link: String,
    /// What each stream of a server was opened as.
    transports: BTreeMap<u64, String>,
    /// By session id on HTTP, else by stream.
    conversations: BTreeMap<String, Conversation>,
    /// Which conversation an exchange belongs to.
    exchange: BTreeMap<u64, String>,
    /// What came from the peer and makes no whole line yet.
    peer: BTreeMap<u64, Vec<u8>>,
    /// What was written on HTTP; whether it is an event stream.
    written: BTreeMap<u64, (bool, Vec<u8>)>,
    /// How many messages of raw HTTP were checked.
    judged: BTreeMap<u64, usize>,
    /// How many messages were checked.
    pub checked: usize,
    /// What was wrong with them.
    pub faults: Vec<String>,
}

impl<'a> Tap<'a> {
    /// For one object; `object` is the role we play.
    #[must_use]
    pub fn new(schemas: &'a Schemas, object: &str, link: &str) -> Self {
        Self {
            schemas,
            ours: if object == "client" { Side::Client } else { Side::Server },
            link: link.to_owned(),
            transports: BTreeMap::new(),
            conversations: BTreeMap::new(),
            exchange: BTreeMap::new(),
            peer: BTreeMap::new(),
            written: BTreeMap::new(),
            judged: BTreeMap::new(),
            checked: 0,
            faults: Vec::new(),
        }
    }

    /// One call and what came back.
    pub fn hear(&mut self, method: &str, args: &[Arg], reply: &Reply) {
        match (self.ours, method, args) {
            (Side::Server, "open", [Arg::Int(stream), Arg::Text(transport), ..]) => {
                self.transports.insert(*stream, transport.clone());
                self.exchange.insert(*stream, format!("stream {stream}"));
            }
            (Side::Server, "receive", [Arg::Int(stream), Arg::Bytes(bytes), ..]) => self.arrived(*stream, bytes),
            (Side::Client, "receive", [Arg::Bytes(bytes), ..]) => self.arrived(0, bytes),
            (Side::Server, "end", [Arg::Int(stream), ..]) => self.ended(*stream),
            (Side::Server, "request", [Arg::Int(stream), Arg::Text(head), Arg::Bytes(body), ..]) => {
                self.asked(*stream, &http::headers(head), body);
            }
            (Side::Client, "response", [Arg::Int(stream), _, Arg::Text(head), ..]) => {
                let sse = is_sse(&http::headers(head));
                self.peer.insert(*stream, if sse { Vec::new() } else { b" ".to_vec() });
            }
            (Side::Client, "body", [Arg::Int(stream), Arg::Bytes(bytes), ..]) => {
                self.peer.entry(*stream).or_default().extend_from_slice(bytes);
                self.http_answer(*stream);
            }
            _ => {}
        }
        if let Reply::Records(records) = reply {
            records.iter().for_each(|record| self.record(record));
        }
    }

    fn talk(&mut self, key: &str) -> &mut Conversation {
        self.conversations.entry(key.to_owned()).or_default()
    }

    fn link(&self, stream: u64) -> &str {
        self.transports.get(&stream).unwrap_or(&self.link)
    }

    fn key(&self, stream: u64) -> String {
        self.exchange.get(&stream).cloned().unwrap_or_default()
    }

    fn peer_side(&self) -> Side {
        if self.ours == Side::Client { Side::Server } else { Side::Client }
    }

    /// Bytes of the peer: lines on a pipe, HTTP requests otherwise.
    fn arrived(&mut self, stream: u64, bytes: &[u8]) {
        let mut waiting = self.peer.remove(&stream).unwrap_or_default();
        waiting.extend_from_slice(bytes);
        let side = self.peer_side();
        if self.link(stream) == "http1" {
            let Ok((messages, rest)) = http::split(&waiting) else { return };
            let whole = messages.iter().all(|message| message.complete);
            let rest = rest.to_vec();
            // A body that is still under way is read again with its rest.
            if whole {
                messages.iter().for_each(|message| self.asked(stream, &message.headers, &message.body));
            }
            self.peer.insert(stream, if whole { rest } else { waiting });
            return;
        }
        let key = self.key(stream);
        while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = waiting.drain(..=end).collect();
            if let Some(message) = read(&line) {
                self.talk(&key).note(side, &message);
            }
        }
        self.peer.insert(stream, waiting);
    }

    /// No more input: what is left counts as a line.
    fn ended(&mut self, stream: u64) {
        if self.link(stream) == "pipe" && self.peer.get(&stream).is_some_and(|rest| !rest.is_empty()) {
            self.arrived(stream, b"\n");
        }
    }

    /// An HTTP request of the peer.
    fn asked(&mut self, stream: u64, headers: &[(String, String)], body: &[u8]) {
        let key = http::header(headers, "mcp-session-id").map_or_else(|| format!("stream {stream}"), str::to_owned);
        let revision = http::header(headers, "mcp-protocol-version").and_then(Revision::parse);
        self.exchange.insert(stream, key.clone());
        let side = self.peer_side();
        self.conversations.entry(key.clone()).or_insert_with(|| Conversation::in_revision(revision));
        if let Some(message) = read(body) {
            self.talk(&key).note(side, &message);
        }
    }

    /// As much of an HTTP answer as came.
    fn http_answer(&mut self, stream: u64) {
        let side = self.peer_side();
        let Some(body) = self.peer.get(&stream) else { return };
        let heard: Vec<Value> = if body.first() == Some(&b' ') {
            serde_json::from_slice(body).into_iter().collect()
        } else {
            let data = http::events(body);
            let data = data.iter().filter_map(|event| serde_json::from_str(event.get("data")?.as_str()?).ok());
            data.collect()
        };
        for message in heard {
            self.talk("").note(side, &message);
        }
    }

    fn record(&mut self, record: &Record) {
        match (self.ours, &*record.kind) {
            (_, "write") if self.link(record.stream) == "http1" => {
                self.written.entry(record.stream).or_default().1.extend_from_slice(&record.text);
                self.raw_http(record.stream);
            }
            (_, "write") => {
                let key = self.key(record.stream);
                for line in record.text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    self.judge(&key, line);
                }
            }
            (Side::Server, "head") => {
                let headers = http::headers(&record.text());
                self.written.insert(record.stream, (is_sse(&headers), Vec::new()));
                if let Some(session) = http::header(&headers, "mcp-session-id") {
                    self.exchange.insert(record.stream, session.to_owned());
                    if let Some(begun) = self.conversations.remove(&format!("stream {}", record.stream)) {
                        self.conversations.insert(session.to_owned(), begun);
                    }
                }
            }
            (Side::Server, "body") => self.http_body(record),
            (Side::Client, "fetch") => {
                let fetch: Value = serde_json::from_slice(&record.text).unwrap_or_default();
                if let Some(body) = fetch["body"].as_str() {
                    self.judge("", body.as_bytes());
                }
            }
            _ => {}
        }
    }

    fn http_body(&mut self, record: &Record) {
        let key = self.key(record.stream);
        let Some((sse, text)) = self.written.get_mut(&record.stream) else { return };
        text.extend_from_slice(&record.text);
        if *sse {
            let messages = http::event_messages(text);
            let end = text.windows(2).rposition(|two| two == b"\n\n").map_or(0, |end| end + 2);
            text.drain(..end);
            match messages {
                Ok(messages) => messages.iter().for_each(|message| self.judge(&key, message.to_string().as_bytes())),
                Err(fault) => self.faults.push(fault),
            }
        } else if record.until == 1 && !text.is_empty() {
            let text = std::mem::take(text);
            self.judge(&key, &text);
        }
    }

    /// What was written as raw HTTP, as far as it was not checked yet.
    fn raw_http(&mut self, stream: u64) {
        let Some((_, text)) = self.written.get(&stream) else { return };
        let messages = match http::split(text) {
            Ok((messages, _)) => messages,
            Err(fault) => return self.faults.push(format!("raw HTTP: {fault}")),
        };
        let mut key = self.key(stream);
        let mut said = Vec::new();
        for message in messages.iter().filter(|message| !message.body.is_empty()) {
            if let Some(session) = message.header("mcp-session-id") {
                key = session.to_owned();
                if let Some(begun) = self.conversations.remove(&format!("stream {stream}")) {
                    self.conversations.insert(key.clone(), begun);
                }
            }
            if is_sse(&message.headers) {
                let all = http::event_messages(&message.body).unwrap_or_default();
                said.extend(all.iter().map(|message| (key.clone(), message.to_string().into_bytes())));
            } else if message.complete {
                said.push((key.clone(), message.body.clone()));
            }
        }
        let done = self.judged.insert(stream, said.len()).unwrap_or_default();
        said.iter().skip(done).for_each(|(key, text)| self.judge(key, text));
    }

    fn judge(&mut self, key: &str, text: &[u8]) {
        let ours = self.ours;
        let schemas = self.schemas;
        // Deep or huge values are beyond what the validator reads; the pattern of the case covers them.
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            let readable = std::str::from_utf8(text).is_ok_and(|text| Json::parse(text).is_ok());
            if !readable {
                self.faults.push(format!("sent text is no JSON: {}", clip(&String::from_utf8_lossy(text))));
            }
            return;
        };
        self.checked += 1;
        if let Err(fault) = self.talk(key).check(schemas, ours, &message) {
            self.faults.push(format!("{fault}\n    message: {}", clip(&message.to_string())));
        }
    }
}

/// A message, or just its envelope when the rest is nested too deeply for the validator.
fn read(text: &[u8]) -> Option<Value> {
    if let Ok(message) = serde_json::from_slice(text) {
        return Some(message);
    }
    let text = std::str::from_utf8(text).ok()?.trim();
    if let Some(inner) = text.strip_prefix('[') {
        return Some(Value::Array(elements(inner).into_iter().filter_map(|part| read(part.as_bytes())).collect()));
    }
    let deep = Json::parse(text).ok()?;
    let members = ["id", "method"].into_iter().filter_map(|key| Some((key.to_owned(), deep.get(key)?.clone())));
    serde_json::from_str(&Json::Object(members.collect()).to_string()).ok()
}

/// The elements of an array of which not every one is JSON: cut at the commas between brackets.
fn elements(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut escaped, mut from) = (0_i32, false, false, 0);
    let mut parts = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            b'}' | b']' => {
                depth -= 1;
                if depth < 0 {
                    parts.push(&text[from..at]);
                    break;
                }
            }
            _ => {}
        }
    }
    parts
}

fn is_sse(headers: &[(String, String)]) -> bool {
    http::header(headers, "content-type").is_some_and(|value| value.starts_with("text/event-stream"))
}
