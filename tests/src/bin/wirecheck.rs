//! `wirecheck FOLDER…`: checks what `KEEL_TRACE=FOLDER` wrote down against the schemas. Each line is
//! `ROLE#OBJECT.CONVERSATION > JSON` (sent by us, checked) or `<` (came, noted: what a result must look like depends on the
//! request). Ends with `wirecheck: N passed, M failed`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use keel_tests::json::Json;
use keel_tests::record::clip;
use keel_tests::spec_dir;
use keel_tests::wire::{Conversation, Schemas, Side};
use serde_json::Value;

#[derive(Default)]
struct Tally {
    passed: usize,
    faults: Vec<String>,
}

/// The messages of one process.
fn file(schemas: &Schemas, path: &Path, tally: &mut Tally) -> Result<(), String> {
    let text = fs::read(path).map_err(|fault| format!("{}: {fault}", path.display()))?;
    let mut talks: BTreeMap<&str, Conversation> = BTreeMap::new();
    let text = String::from_utf8_lossy(&text);
    for (number, line) in text.lines().enumerate() {
        let mut fail = |fault: &str| {
            let name = path.file_name().unwrap_or_default().display();
            tally.faults.push(format!("{name}:{}: {fault}\n  {}", number + 1, clip(line)));
        };
        let mut words = line.splitn(3, ' ');
        let (Some(whose), Some(sign), Some(message)) = (words.next(), words.next(), words.next()) else {
            fail("not a line of a trace");
            continue;
        };
        let (ours, theirs) = match whose.split_once('#').map(|(role, _)| role) {
            Some("client") => (Side::Client, Side::Server),
            Some("server") => (Side::Server, Side::Client),
            _ => {
                fail("not a line of a trace");
                continue;
            }
        };
        let talk = talks.entry(whose).or_default();
        match (sign, serde_json::from_str::<Value>(message)) {
            // What a peer sends may be anything.
            ("<", message) => talk.note(theirs, &message.unwrap_or_default()),
            (_, Ok(message)) => match talk.check(schemas, ours, &message) {
                Ok(()) => tally.passed += 1,
                Err(fault) => fail(&fault),
            },
            // Values that are nested too deeply for the validator are at least JSON.
            (_, Err(_)) if Json::parse(message).is_ok() => tally.passed += 1,
            (_, Err(fault)) => fail(&fault.to_string()),
        }
    }
    Ok(())
}

fn traces(folder: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|fault| format!("{folder}: {fault}"))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "trace"));
    files.sort();
    Ok(files)
}

fn work(out: &mut dyn Write) -> Result<bool, String> {
    let schemas = Schemas::load(&spec_dir().ok_or("there is no specification data")?)?;
    let mut tally = Tally::default();
    for folder in std::env::args().skip(1) {
        for path in traces(&folder)? {
            file(&schemas, &path, &mut tally)?;
        }
    }
    let io = |fault: std::io::Error| fault.to_string();
    tally.faults.iter().try_for_each(|fault| writeln!(out, "{fault}")).map_err(io)?;
    writeln!(out, "wirecheck: {} passed, {} failed", tally.passed, tally.faults.len()).map_err(io)?;
    Ok(tally.faults.is_empty() && tally.passed > 0)
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
