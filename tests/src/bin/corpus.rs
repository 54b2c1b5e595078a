//! `corpus [--host-command "CMD"] [--host NAME] [--case substring] [--requirements] [dir]`: the corpus through a host program,
//! or over the core in this process when no command is given; with `--requirements` which of them a passing case proves. Ends with `corpus: N passed, M failed`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use keel_tests::host::{Host, InProcess, Program};
use keel_tests::report::{Report, run_all};
use keel_tests::wire::Schemas;
use keel_tests::{case, corpus_dir, requirements, seed, spec_dir};

#[derive(Default)]
struct Options {
    command: Option<String>,
    host: Option<String>,
    filter: Option<String>,
    dir: Option<PathBuf>,
    requirements: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--host-command" => options.command = Some(value()?),
            "--host" => options.host = Some(value()?),
            "--case" => options.filter = Some(value()?),
            "--requirements" => options.requirements = true,
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}")),
            _ => options.dir = Some(PathBuf::from(arg)),
        }
    }
    Ok(options)
}

fn work(out: &mut dyn std::io::Write) -> Result<bool, String> {
    let options = options()?;
    let io = |fault: std::io::Error| fault.to_string();
    let dir = options.dir.clone().unwrap_or_else(corpus_dir);
    let mut cases = case::load(&dir)?;
    let schemas = match spec_dir() {
        Some(spec) => {
            cases.extend(seed::cases(&spec, &case::Shared::load(&dir)?)?);
            Some(Schemas::load(&spec)?)
        }
        None => {
            writeln!(out, "corpus: no specification data, so no seed cases and no schema check").map_err(io)?;
            None
        }
    };
    if let Some(filter) = &options.filter {
        cases.retain(|case| case.name.contains(filter.as_str()));
    }
    let nameless = if options.command.is_some() { "program" } else { "core" };
    let name = options.host.as_deref().unwrap_or(nameless);
    // A panic of the core is a result here; its message is in the report.
    std::panic::set_hook(Box::new(|_| {}));
    let report = run_all(&cases, name, schemas.as_ref(), || match &options.command {
        Some(command) => Ok(Box::new(Program::start(command)?) as Box<dyn Host>),
        None => Ok(Box::new(InProcess::default())),
    });
    print(out, &report).map_err(io)?;
    if options.requirements
        && let Some(spec) = spec_dir()
    {
        let passed: BTreeSet<&String> = report.passed.iter().collect();
        cases.retain(|case| passed.contains(&case.name));
        let cited = requirements::cited(&cases);
        let known = requirements::load(&spec)?;
        let open = known.iter().filter(|(id, level)| level.starts_with("MUST") && !cited.contains(*id));
        let open: Vec<&str> = open.map(|(id, _)| id.as_str()).collect();
        writeln!(out, "MUSTs without a case: {}", open.join(" ")).map_err(io)?;
        let proved = known.keys().filter(|id| cited.contains(*id)).count();
        writeln!(out, "requirements: {proved} proved, {} MUSTs open", open.len()).map_err(io)?;
    }
    Ok(report.failed.is_empty())
}

fn print(out: &mut dyn std::io::Write, report: &Report) -> std::io::Result<()> {
    for (name, why) in &report.known {
        writeln!(out, "known {name}: {why}")?;
    }
    for (name, why) in &report.failed {
        writeln!(out, "FAILED {name}\n  {why}")?;
    }
    let seeds = |names: &mut dyn Iterator<Item = &String>| names.filter(|name| name.starts_with("seed/")).count();
    let (good, bad) = (seeds(&mut report.passed.iter()), seeds(&mut report.failed.iter().map(|(name, _)| name)));
    if good + bad > 0 {
        writeln!(out, "seed: {good} of {} hold", good + bad)?;
    }
    writeln!(out, "schema: {} messages checked", report.checked)?;
    writeln!(out, "corpus: {} passed, {} failed", report.passed.len(), report.failed.len())
}

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match work(&mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            let _ = writeln!(out, "corpus: {fault}");
            ExitCode::from(2)
        }
    }
}
