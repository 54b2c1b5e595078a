//! Everything that must pass, one area after the other; nothing is left out because something else failed.
use std::fs;

use crate::{
    Result,
    build::{self, Host, Program, cargo},
    cells::Flags,
    check, corpus,
    count::{self, Count},
    demo, hosts, interop,
    messages::Messages,
    place::Place,
    run::{Job, step, tell},
    setup,
};

type Area = fn(&Place) -> Result<Count>;

const AREAS: [(&str, Area); 13] = [
    ("check", check::run),
    ("core", core),
    ("python", python),
    ("node", node),
    ("wasm", hosts::wasm::test),
    ("component", hosts::component::test),
    ("kotlin", hosts::kotlin::test),
    ("swift", hosts::swift::test),
    ("examples", examples),
    ("corpus", all_corpora),
    ("memory", memory),
    ("interop", |place| interop::run(place, &Flags::default())),
    ("demo", |place| demo::run(place, &Flags { all: true, ..Flags::default() })),
];

pub(crate) fn run(place: &Place, wanted: &[&str]) -> Result<Count> {
    if let Some(other) = wanted.iter().find(|name| !AREAS.iter().any(|(area, _)| area == *name)) {
        let names: Vec<_> = AREAS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no area {other}; areas: {}", names.join(" ")).into());
    }
    if !place.has_specification() {
        println!("no specification data (../shared/spec, or KEEL_SPEC): seed cases and schema checks are left out");
    }
    let mut counts = Vec::new();
    for (name, area) in AREAS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        println!("\n== {name}");
        let count = area(place).unwrap_or_else(|error| {
            println!("FAILED  {name}: {error}");
            Count::of(false)
        });
        counts.push((name, count));
    }
    println!();
    let mut total = Count::default();
    for (name, count) in counts {
        println!("{name}: {count}");
        total.add(count);
    }
    Ok(total)
}

/// Runs a test program and reads its counts from its output.
pub(crate) fn counted(place: &Place, name: &str, job: &Job, read: fn(&str) -> Count) -> Result<Count> {
    let log = place.log(name);
    let ended = job.run(&log)?;
    tell(name, &ended, &log);
    let count = read(&String::from_utf8_lossy(&fs::read(&log)?)).with_exit(ended.ok);
    println!("        {count}");
    Ok(count)
}

/// Runs a program that only passes or fails.
pub(crate) fn passed(place: &Place, name: &str, job: &Job) -> Result<Count> {
    step(name, job, &place.log(name)).map(Count::of)
}

fn core(place: &Place) -> Result<Count> {
    let messages = Messages::of(place, "core")?;
    let job = messages.watch(cargo(place, &["test", "--no-fail-fast"]));
    let mut count = counted(place, "cargo test", &job, count::cargo)?;
    count.add(Count::of(messages.check()?));
    let driver = cargo(place, &["test", "--quiet", "-p", "xtask"]);
    count.add(counted(place, "cargo test -p xtask", &driver, count::cargo)?);
    Ok(count)
}

fn python(place: &Place) -> Result<Count> {
    build::hosts(place, &[Host::Python])?;
    let python = setup::python(place)?;

    let at = |words: &[&str]| {
        let job = Job::of(vec![python.python.clone(), "-m".into()]).args(words);
        job.folder(place.at("bindings-python")).limit(600)
    };
    let messages = Messages::of(place, "python")?;
    let job = messages.watch(at(&["pytest", "-q", "-rs", "tests"]));
    let mut count = counted(place, "pytest", &job, count::pytest)?;
    count.add(Count::of(messages.check()?));
    count.add(passed(place, "mypy mcp_keel", &at(&["mypy", "-p", "mcp_keel"]))?);
    // One by one, because modules of the same name are in them.
    for programs in [
        "fixture",
        "tests",
        "examples",
        "../tests/interop/probe/probe.py",
        "../tests/memory/server.py",
        "../tests/memory/client.py",
    ] {
        count.add(passed(place, &format!("mypy {programs}"), &at(&["mypy", programs]))?);
    }
    count.add(passed(place, "stubtest", &at(&["mypy.stubtest", "mcp_keel"]))?);
    Ok(count)
}

fn node(place: &Place) -> Result<Count> {
    build::hosts(place, &[Host::Node])?;
    let at = |words: &[&str]| Job::new(words).folder(place.at("bindings-node")).limit(600);
    let test = at(&["node", "--test", "--test-reporter=tap", "tests/"]);
    let messages = Messages::of(place, "node")?;
    let mut count = counted(place, "node --test", &messages.watch(test), count::node)?;
    count.add(Count::of(messages.check()?));
    let types = at(&["node", "node_modules/typescript/bin/tsc", "-p", "tsconfig.json"]);
    count.add(passed(place, "tsc", &types)?);
    Ok(count)
}

fn all_corpora(place: &Place) -> Result<Count> {
    let built = build::hosts(place, &Host::ALL)?;
    let mut count = Count::default();
    for host in Host::ALL {
        count.add(corpus::through(place, &built, host)?);
    }
    Ok(count)
}

/// What large messages cost each host in resident memory, looked at from outside.
fn memory(place: &Place) -> Result<Count> {
    if !cfg!(target_os = "linux") {
        println!("left out: only Linux tells the peak of a process's memory since a moment");
        return Ok(Count::default());
    }
    let built = build::hosts(place, &Host::NATIVE)?;
    let mut count = Count::default();
    for host in Host::NATIVE {
        let name = format!("memory {}", host.name());
        let program = ["run", "--quiet", "-p", "keel-tests", "--bin", "memory", "--", "--host", host.name()];
        let mut job = cargo(place, &program);
        for (flag, program) in [("--server", Program::MemoryServer), ("--client", Program::MemoryClient)] {
            let command = built.command(host, program)?;
            job = job.args(&[flag]).args(&command.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let log = place.log(&name);
        let ended = job.run(&log)?;
        tell(&name, &ended, &log);
        let text = fs::read_to_string(&log)?;
        // Of one that failed, the end of its log was told, which is all of it.
        text.lines().filter(|line| ended.ok && line.contains(" times (")).for_each(|line| println!("    {line}"));
        let one = count::ours(&text).with_exit(ended.ok);
        println!("        {one}");
        count.add(one);
    }
    Ok(count)
}

/// The programs that the README shows: each language's client starts its server and prints what that answers.
fn examples(place: &Place) -> Result<Count> {
    let built = build::hosts(place, &Host::NATIVE)?;
    let mut count = Count::default();
    for (host, expected) in [
        (Host::Rust, r#"{"sum":5}"#),
        (Host::Python, "{'day 1': 16, 'day 2': 17, 'day 3': 18}"),
        (Host::Node, "{ city: 'Oslo', days: 3, sky: 'clear' }"),
    ] {
        let name = format!("example of {}", host.name());
        let log = place.log(&name);
        let ended = Job::of(built.example(host)?).folder(&place.root).limit(60).run(&log)?;
        let printed = fs::read_to_string(&log)?;
        let ok = ended.ok && printed.lines().last() == Some(expected);
        println!("{}  {name}", if ok { "ok    " } else { "FAILED" });
        if !ok {
            println!("    {}; it printed:\n{printed}", ended.why);
        }
        count.add(Count::of(ok));
    }
    Ok(count)
}
