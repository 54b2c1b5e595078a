//! What the artefacts weigh, against the budgets in `xtask/budgets.toml`.
use std::{fs, path::Path};

use serde::Deserialize;

use crate::{
    Result,
    build::{self, Host, cargo},
    count::Count,
    hosts,
    place::Place,
    run::{Job, need},
    setup,
};

#[derive(Deserialize)]
struct Budgets {
    artefact: Vec<Budget>,
}

#[derive(Deserialize)]
struct Budget {
    name: String,
    bytes: u64,
    why: String,
}

/// Builds everything as it is published, and weighs it.
pub(crate) fn run(place: &Place) -> Result<Count> {
    build::hosts(place, &[Host::Wasm, Host::Component])?;
    let mut sizes = hosts::wasm::sizes(place)?;
    sizes.extend(hosts::component::sizes(place)?);
    sizes.extend(native(place)?);
    compare(place, &sizes, true)
}

/// Compares these sizes; `all` when an artefact that is missing among them is a failure.
pub(crate) fn compare(place: &Place, sizes: &[(String, u64)], all: bool) -> Result<Count> {
    let budgets: Budgets = toml::from_str(&fs::read_to_string(place.at("xtask/budgets.toml"))?)?;
    let mut count = Count::default();
    for (name, size) in sizes {
        let Some(budget) = budgets.artefact.iter().find(|budget| budget.name == *name) else {
            println!("        {name}: {size}");
            continue;
        };
        let ok = *size <= budget.bytes;
        println!("{}  {name}: {size} of {} ({})", if ok { "ok    " } else { "FAILED" }, budget.bytes, budget.why);
        count.add(Count::of(ok));
    }
    for budget in budgets.artefact.iter().filter(|budget| !sizes.iter().any(|(name, _)| *name == budget.name)) {
        if all {
            println!("FAILED  {} was not weighed", budget.name);
            count.add(Count::of(false));
        }
    }
    Ok(count)
}

/// The release builds of Python, Node, Kotlin and Swift, and how long Python takes to import its package.
fn native(place: &Place) -> Result<Vec<(String, u64)>> {
    let python = setup::python(place)?;
    let wheels = place.work.join("release-wheels");
    if wheels.is_dir() {
        fs::remove_dir_all(&wheels)?;
    }
    let wheel = Job::of(vec![python.tool("maturin")])
        .args(&["build", "--release", "--quiet", "--interpreter", &python.python])
        .args(&["--out", &wheels.to_string_lossy()])
        .folder(place.at("bindings-python"))
        .env("CARGO_TARGET_DIR", &place.target)
        .limit(1800);
    need("build the wheel for release", &wheel, &place.log("release wheel"))?;
    let wheel = fs::read_dir(&wheels)?.next().ok_or("maturin made no wheel")??.path();
    let libraries = ["build", "--release", "--quiet", "-p", "mcp-keel-node", "-p", "mcp-keel-uniffi"];
    need("build the libraries for release", &cargo(place, &libraries), &place.log("release libraries"))?;
    let library = |name: &str| {
        let (before, after) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        weigh(&place.target.join("release").join(format!("{before}{name}{after}")))
    };
    Ok(vec![
        ("Python wheel".into(), weigh(&wheel)?),
        ("Node addon".into(), library("mcp_keel_node")?),
        ("library for Kotlin and Swift".into(), library("mcp_keel_uniffi")?),
        ("import mcp_keel, microseconds".into(), import(place)?),
    ])
}

fn weigh(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?.len())
}

/// What the import adds to a bare start, the fastest of several.
fn import(place: &Place) -> Result<u64> {
    build::hosts(place, &[Host::Python])?;
    let python = setup::python(place)?.python;
    let line =
        "import time; start = time.perf_counter_ns(); import mcp_keel; print((time.perf_counter_ns() - start) // 1000)";
    let mut fastest = u64::MAX;
    for _ in 0..11 {
        fastest = fastest.min(Job::new(&[&python, "-c", line]).text()?.trim().parse()?);
    }
    Ok(fastest)
}
