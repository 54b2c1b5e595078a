//! One client against one server: what was checked, and what came of it.
use std::{collections::BTreeMap, fs};

use serde_json::Value;

use crate::{
    Result,
    count::Count,
    messages::Messages,
    place::Place,
    run::{Job, Server, tail},
};

/// How a client reaches a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
}

impl Way {
    pub(crate) const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// What the user asked of a matrix.
#[derive(Default)]
pub(crate) struct Flags {
    /// Show what is exchanged.
    pub(crate) verbose: bool,
    /// Every host, also those that need root or a browser.
    pub(crate) all: bool,
    /// Only cells with this in their name.
    pub(crate) only: Option<String>,
}

impl Flags {
    pub(crate) fn read(words: &[&str]) -> Result<Self> {
        match words {
            [] => Ok(Self::default()),
            ["--verbose", rest @ ..] => Ok(Self { verbose: true, ..Self::read(rest)? }),
            ["--all", rest @ ..] => Ok(Self { all: true, ..Self::read(rest)? }),
            ["--only", text, rest @ ..] => Ok(Self { only: Some((*text).into()), ..Self::read(rest)? }),
            [other, ..] => Err(format!("unknown option {other}").into()),
        }
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|text| name.contains(text.as_str()))
    }
}

/// A cell of a matrix.
pub(crate) struct Cell<'a> {
    /// Its name in words, for people and for its logs.
    pub(crate) name: String,
    /// The client's command line, with all that does not depend on the server.
    pub(crate) client: Vec<String>,
    /// The server's command line, with all that does not depend on the way.
    pub(crate) server: Vec<String>,
    pub(crate) way: Way,
    /// Checks that this server is known to fail, with reasons. One that holds is a failure of this list.
    pub(crate) known: Option<&'a BTreeMap<String, String>>,
    /// The server is ours: it has to end when asked to.
    pub(crate) ours: bool,
    /// Where programs of ours write down what they exchange.
    pub(crate) messages: &'a Messages<'a>,
}

/// What came of a cell.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Checks that held.
    pub(crate) held: usize,
    /// Check and reason.
    pub(crate) failed: Vec<(String, String)>,
    /// Check and reason.
    pub(crate) skipped: Vec<(String, String)>,
}

impl Outcome {
    pub(crate) fn ok(&self) -> bool {
        self.failed.is_empty()
    }

    /// One word for a matrix: `ok`, or the checks that failed.
    pub(crate) fn word(&self) -> String {
        match self.failed.as_slice() {
            [] => "ok".into(),
            failed => failed.iter().map(|(check, _)| check.as_str()).collect::<Vec<_>>().join(","),
        }
    }

    /// Prints what came of the cell of this name.
    pub(crate) fn tell(&self, name: &str) {
        println!("{}  {name} ({} checks)", if self.ok() { "ok    " } else { "FAILED" }, self.held);
        for (check, why) in &self.failed {
            println!("    {check}: {why}");
        }
    }

    fn fail(&mut self, check: &str, why: impl Into<String>) {
        self.failed.push((check.into(), why.into()));
    }
}

impl Cell<'_> {
    /// Runs it and tells what came of it.
    pub(crate) fn run(&self, place: &Place, flags: &Flags) -> Result<Outcome> {
        let outcome = self.outcome(place, flags)?;
        outcome.tell(&self.name);
        Ok(outcome)
    }

    fn outcome(&self, place: &Place, flags: &Flags) -> Result<Outcome> {
        let mut words = self.client.clone();
        if flags.verbose {
            words.push("--verbose".into());
        }
        let mut serving = None;
        match self.way {
            Way::Stdio => {
                words.extend(["--stdio".into(), "--".into()]);
                words.extend(self.server.iter().cloned());
                words.push("--stdio".into());
            }
            Way::Http => {
                match self.messages.watch(Job::of(self.server.clone()).args(&["--http", "0"])).serve("listening ") {
                    Ok(server) => {
                        words.extend(["--http".into(), format!("http://127.0.0.1:{}/mcp", server.ready)]);
                        serving = Some(server);
                    }
                    Err(error) => {
                        let mut outcome = Outcome::default();
                        outcome.fail("listen", error.to_string());
                        return Ok(outcome);
                    }
                }
            }
        }
        let job = self.messages.watch(Job::of(words).limit(90));
        let mut outcome = finish(place, flags, &self.name, &job, self.known)?;
        if let Some(server) = serving {
            self.stop(server, &mut outcome, flags)?;
        }
        Ok(outcome)
    }

    fn stop(&self, server: Server, outcome: &mut Outcome, flags: &Flags) -> Result<()> {
        if (flags.verbose || !outcome.ok()) && !server.said().is_empty() {
            println!("  the server of {} said:\n{}", self.name, server.said());
        }
        if !server.stop()? && self.ours {
            outcome.fail("sigterm", "the server did not end within 3 s of SIGTERM");
        }
        Ok(())
    }
}

/// Runs a client to its end and reads the lines about its checks.
pub(crate) fn finish(
    place: &Place,
    flags: &Flags,
    name: &str,
    job: &Job,
    known: Option<&BTreeMap<String, String>>,
) -> Result<Outcome> {
    let (stdout, stderr) = (place.log(name).with_extension("out"), place.log(name));
    let ended = job.run_apart(&stdout, &stderr)?;
    let mut outcome = Outcome::default();
    if flags.verbose {
        print!("{name}\n{}", tail(&stderr, usize::MAX));
    }
    let text = fs::read(&stdout)?;
    for line in String::from_utf8_lossy(&text).lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(line) => take(&line, known, &mut outcome),
            Err(_) => outcome.fail("output", format!("not a line about a check: {line}")),
        }
    }
    let expected_failure = known.is_some_and(|known| !known.is_empty());
    if ended.late {
        outcome.fail("time", ended.why);
    } else if !ended.ok && outcome.ok() && !(expected_failure && ended.why == "exit status: 1") {
        outcome.fail("exit", format!("{}\n{}", ended.why, tail(&stderr, 15)));
    }
    if outcome.ok() && outcome.held == 0 {
        outcome.fail("nothing", format!("no check was made\n{}", tail(&stderr, 15)));
    }
    Ok(outcome)
}

fn take(line: &Value, known: Option<&BTreeMap<String, String>>, outcome: &mut Outcome) {
    let check = line["check"].as_str().unwrap_or("?");
    let reason = known.and_then(|known| known.get(check));
    if let Some(why) = line["skip"].as_str() {
        outcome.skipped.push((check.into(), why.into()));
        return;
    }
    match (line["ok"].as_bool() == Some(true), reason) {
        (true, None) => outcome.held += 1,
        (true, Some(why)) => outcome.fail(check, format!("it holds, but is listed as known to fail: {why}")),
        (false, Some(why)) => outcome.skipped.push((check.into(), why.clone())),
        (false, None) => outcome.fail(check, line["error"].as_str().unwrap_or("no reason given")),
    }
}

/// Outcomes of a matrix: the count, and skips by reason with how many cells have them.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) count: Count,
    skips: BTreeMap<(String, String), usize>,
}

impl Tally {
    pub(crate) fn take(&mut self, peer: &str, outcome: &Outcome) {
        self.count.add(Count::of(outcome.ok()));
        for (check, why) in &outcome.skipped {
            *self.skips.entry((format!("{peer} {check}"), why.clone())).or_default() += 1;
        }
    }

    pub(crate) fn tell_skips(&self) {
        for ((what, why), cells) in &self.skips {
            println!("skipped {what} in {cells} cells: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_failures_are_skips_and_stale_ones_are_failures() {
        let known = BTreeMap::from([("big".to_owned(), "rounded".to_owned())]);
        let of = |line: Value| {
            let mut outcome = Outcome::default();
            take(&line, Some(&known), &mut outcome);
            (outcome.held, outcome.failed.len(), outcome.skipped.len())
        };
        assert_eq!(of(json!({"check": "echo", "ok": true})), (1, 0, 0));
        assert_eq!(of(json!({"check": "echo", "ok": false, "error": "why"})), (0, 1, 0));
        assert_eq!(of(json!({"check": "echo", "skip": "why"})), (0, 0, 1));
        assert_eq!(of(json!({"check": "big", "ok": false, "error": "why"})), (0, 0, 1));
        assert_eq!(of(json!({"check": "big", "ok": true})), (0, 1, 0));
    }
}
