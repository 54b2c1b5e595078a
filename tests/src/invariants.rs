//! What holds in every session, whatever the case is about. Broken invariants fail the case.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::{Arg, Reply};
use crate::json::Json;
use crate::record::Record;

/// Watches one object from its first call on.
#[derive(Debug, Default)]
pub struct Invariants {
    object: &'static str,
    pipes: BTreeSet<u64>,
    closed_streams: BTreeSet<u64>,
    heads: BTreeMap<u64, bool>,
    calls: BTreeSet<u64>,
    asked: BTreeSet<u64>,
    ended: BTreeSet<u64>,
    closed: bool,
}

impl Invariants {
    /// For an object of this kind; `link` says what a client's one connection is.
    #[must_use]
    pub fn new(object: &'static str, link: &str) -> Self {
        let mut fresh = Self { object, ..Self::default() };
        if object == "client" && link == "pipe" {
            fresh.pipes.insert(0);
        }
        fresh
    }

    /// Takes note of one call and what came back.
    ///
    /// # Errors
    /// Which rule was broken.
    pub fn watch(&mut self, method: &str, args: &[Arg], reply: &Reply) -> Result<(), String> {
        let Reply::Records(records) = reply else { return Ok(()) };
        match (method, args) {
            ("open", [Arg::Int(stream), Arg::Text(transport), ..]) if transport == "pipe" => {
                self.pipes.insert(*stream);
            }
            ("request", [Arg::Int(handle), Arg::Text(_), ..]) if self.object == "client" => {
                self.asked.insert(*handle);
            }
            _ => {}
        }
        if self.object != "http1" {
            let waits = records.iter().filter(|record| record.kind == "wait").count();
            if waits != 1 || records.last().is_none_or(|record| record.kind != "wait") {
                return Err(format!("`{method}` did not end with one `wait`"));
            }
        }
        records.iter().try_for_each(|record| self.record(record)).map_err(|why| format!("after `{method}`: {why}"))
    }

    fn record(&mut self, record: &Record) -> Result<(), String> {
        if self.closed && self.object == "client" && record.kind != "wait" {
            return Err(format!("after `closed` came {}", record.show()));
        }
        match (self.object, &*record.kind) {
            (_, "write") => {
                if self.closed_streams.contains(&record.stream) {
                    return Err(format!("written after `close`: {}", record.show()));
                }
                if self.pipes.contains(&record.stream) {
                    whole_lines(&record.text)?;
                }
            }
            (_, "close") => {
                self.closed_streams.insert(record.stream);
            }
            ("server", "head") if self.heads.insert(record.stream, false).is_some() => {
                return Err(format!("a second head: {}", record.show()));
            }
            ("server", "body") => match self.heads.get_mut(&record.stream) {
                Some(done @ false) => *done = record.until == 1,
                _ => return Err(format!("a body before its head or after its end: {}", record.show())),
            },
            ("server", "call") if !self.calls.insert(record.id) => {
                return Err(format!("call {} came twice", record.id));
            }
            ("client", "result" | "error") if !(self.asked.contains(&record.id) && self.ended.insert(record.id)) => {
                return Err(format!("no request, or a second ending: {}", record.show()));
            }
            ("client", "closed") => {
                self.closed = true;
                if let Some(open) = self.asked.difference(&self.ended).next() {
                    return Err(format!("closed while request {open} has no ending"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A pipe carries whole lines, each a JSON message without a line break in it.
fn whole_lines(text: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(text).map_err(|_| "written text is not UTF-8")?;
    let lines = text.strip_suffix('\n').ok_or("written text does not end with a line feed")?;
    for line in lines.split('\n') {
        Json::parse(line).map_err(|fault| format!("a written line is no JSON: {fault}: {line}"))?;
        if line.contains('\r') {
            return Err("a written line has a carriage return".to_owned());
        }
    }
    Ok(())
}
