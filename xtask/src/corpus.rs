//! The shared corpus through one host.
use std::fs;

use crate::{
    Result,
    build::{self, Host, Program},
    count::{self, Count},
    hosts,
    place::Place,
    run::tell,
};

pub(crate) fn run(place: &Place, host: &str) -> Result<Count> {
    let host = Host::named(host)?;
    let built = build::hosts(place, &[host])?;
    through(place, &built, host)
}

/// Runs the corpus through a host that is built; through wasm in both its homes.
pub(crate) fn through(place: &Place, built: &build::Built<'_>, host: Host) -> Result<Count> {
    let mut count = by(place, host, host.name(), &built.command(host, Program::Corpus)?)?;
    if host == Host::Wasm {
        hosts::wasm::setup(place)?;
        count.add(by(place, host, "wasm in Chromium", &hosts::wasm::browser_corpus(place))?);
    }
    Ok(count)
}

fn by(place: &Place, host: Host, name: &str, command: &[String]) -> Result<Count> {
    let name = format!("corpus {name}");
    let log = place.log(&name);
    let arguments = ["run", "--quiet", "-p", "keel-tests", "--bin", "corpus", "--", "--host", host.name()];
    let job = build::cargo(place, &arguments).args(&["--host-command", &quoted(command)]);
    let ended = job.run(&log)?;
    tell(&name, &ended, &log);
    let text = fs::read(&log)?;
    let text = String::from_utf8_lossy(&text);
    // What it could not look at, it says before the count.
    text.lines().filter(|line| line.starts_with("corpus: no ")).for_each(|line| println!("        {line}"));
    let count = count::ours(&text).with_exit(ended.ok);
    println!("        {count}");
    Ok(count)
}

/// A command line for a shell, which is how the runner starts the host.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}
