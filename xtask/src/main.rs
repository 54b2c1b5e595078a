//! The one driver command of the project: `cargo xtask <verb>`. Each verb installs what it lacks and ends with one line
//! `<what>: N passed, M failed`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is what it is for")]

mod build;
mod cells;
mod check;
mod corpus;
mod count;
mod demo;
mod hosts;
mod interop;
mod licence;
mod messages;
mod place;
mod probes;
mod run;
mod setup;
mod size;
mod test;

use std::{error::Error, process::ExitCode};

use count::Count;
use place::Place;

/// What the functions here return: an error is a reason in words.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: cargo xtask <verb>

  demo [--all] [--verbose] [--only TEXT]
                                   every language's client with every language's server, both transports and eras;
                                   --all adds the browser, Kotlin, Swift and the component
  test [area...]                   everything that must pass; areas: check core python node wasm component kotlin swift
                                   examples corpus memory interop demo
  setup [area...]                  installs what the areas need; areas: core python node wasm component kotlin swift interop
  interop [--verbose] [--only TEXT]  our clients and servers with the official SDKs and public servers
  corpus --host rust|python|node|wasm|component|kotlin|swift   the shared corpus through one host
  size                             what the artefacts weigh, against xtask/budgets.toml
  check                            format, lints, no_std, sizes, versions, licences";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match verb(&words) {
        Ok(count) if count.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            println!("{}: 0 passed, 1 failed", words.first().copied().unwrap_or("xtask"));
            ExitCode::FAILURE
        }
    }
}

fn verb(words: &[&str]) -> Result<Count> {
    let place = Place::find()?;
    let (name, count) = match *words {
        ["setup", ref areas @ ..] => ("setup".into(), setup::run(&place, areas)?),
        ["demo", ref flags @ ..] => ("demo".into(), demo::run(&place, &cells::Flags::read(flags)?)?),
        ["interop", ref flags @ ..] => ("interop".into(), interop::run(&place, &cells::Flags::read(flags)?)?),
        ["corpus", "--host", host] => (format!("corpus {host}"), corpus::run(&place, host)?),
        ["size"] => ("size".into(), size::run(&place)?),
        ["check"] => ("check".into(), check::run(&place)?),
        ["test", ref areas @ ..] => {
            let count = test::run(&place, areas)?;
            println!("{count}");
            return Ok(count);
        }
        _ => return Err(USAGE.into()),
    };
    println!("{name}: {count}");
    Ok(count)
}
