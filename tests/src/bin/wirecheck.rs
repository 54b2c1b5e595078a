//! `wirecheck [--us client|server|both] [file…]`: checks transcripts against the schemas. Lines are
//! `{"from": "client"|"server", "message": {…}, "revision"?: "…", "conversation"?: any}`, or raw: `> {…}` sent by us,
//! `< {…}` received (`--us` says who we are; client by default; with `both` the transcript is a client's and the
//! server is ours too). Other lines are passed over.
//! Ends with `wirecheck: N passed, M failed`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;

use keel_tests::spec_dir;
use keel_tests::wire::{Conversation, Schemas, Side};
use mcp_keel_core::revision::Revision;
use serde_json::Value;

struct Checker {
    schemas: Schemas,
    us: Side,
    /// What is received is ours as well.
    both: bool,
    conversations: BTreeMap<String, Conversation>,
    passed: usize,
    failed: usize,
}

impl Checker {
    fn line(&mut self, place: &str, line: &str, out: &mut dyn Write) -> std::io::Result<()> {
        let Some((from, message, revision, key)) = self.read(place, line) else { return Ok(()) };
        let talk = self.conversations.entry(key).or_insert_with(|| Conversation::in_revision(revision));
        match talk.check(&self.schemas, from, &message) {
            Ok(()) => self.passed += 1,
            Err(fault) => {
                self.failed += 1;
                writeln!(out, "{place}: {fault}\n  {message}")?;
            }
        }
        Ok(())
    }

    /// The sender, the message, its revision when the line says so, and which conversation it belongs to.
    fn read(&mut self, place: &str, line: &str) -> Option<(Side, Value, Option<Revision>, String)> {
        let file = place.rsplit_once(':').map_or(place, |(file, _)| file).to_owned();
        let other = if self.us == Side::Client { Side::Server } else { Side::Client };
        for (sign, side) in [("> ", self.us), ("< ", other)] {
            if let Some(text) = line.strip_prefix(sign) {
                let message: Value = serde_json::from_str(text).ok()?;
                if side != self.us && !self.both {
                    // What a peer sends is noted, not judged.
                    self.conversations.entry(file).or_default().note(side, &message);
                    return None;
                }
                return Some((side, message, None, file));
            }
        }
        let mut whole: Value = serde_json::from_str(line).ok()?;
        let side = match whole.get("from")?.as_str()? {
            "client" => Side::Client,
            "server" => Side::Server,
            _ => return None,
        };
        let revision = whole["revision"].as_str().and_then(Revision::parse);
        let message = whole.get_mut("message")?.take();
        let key = format!("{file} {} {}", whole["conversation"], whole["revision"]);
        Some((side, message, revision, key))
    }
}

fn work(out: &mut dyn Write) -> Result<bool, String> {
    let io = |fault: std::io::Error| fault.to_string();
    let Some(spec) = spec_dir() else {
        writeln!(out, "wirecheck: no specification data, nothing checked").map_err(io)?;
        return Ok(true);
    };
    let (mut us, mut both) = (Side::Client, false);
    let mut files = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--us" => match args.next().as_deref() {
                Some("server") => us = Side::Server,
                Some("both") => both = true,
                _ => {}
            },
            _ => files.push(arg),
        }
    }
    let mut checker =
        Checker { schemas: Schemas::load(&spec)?, us, both, conversations: BTreeMap::new(), passed: 0, failed: 0 };
    if files.is_empty() {
        files.push("-".to_owned());
    }
    for file in files {
        let reader: Box<dyn BufRead> = if file == "-" {
            Box::new(BufReader::new(std::io::stdin()))
        } else {
            Box::new(BufReader::new(std::fs::File::open(&file).map_err(|fault| format!("{file}: {fault}"))?))
        };
        for (number, line) in reader.lines().enumerate() {
            checker.line(&format!("{file}:{}", number + 1), &line.map_err(io)?, out).map_err(io)?;
        }
    }
    writeln!(out, "wirecheck: {} passed, {} failed", checker.passed, checker.failed).map_err(io)?;
    Ok(checker.failed == 0)
}

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match work(&mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            let _ = writeln!(out, "wirecheck: {fault}");
            ExitCode::from(2)
        }
    }
}
