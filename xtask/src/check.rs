//! What can be seen without running anything of ours: format, lints, purity, sizes, versions, licences.
use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{Result, build::cargo, count::Count, licence, place::Place, run::step, setup};

pub(crate) fn run(place: &Place) -> Result<Count> {
    let mut count = Count::default();
    let programs = [
        ("fmt", vec!["fmt", "--all", "--check", "--", "--color", "never"]),
        ("clippy", vec!["clippy", "--quiet", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
    ];
    for (name, arguments) in programs {
        count.add(Count::of(step(name, &cargo(place, &arguments), &place.log(name))?));
    }
    count.add(Count::of(no_std(place)?));
    let looks: [(&str, Look); 3] = [("sizes", sizes), ("versions", versions), ("licences", licence::refused)];
    for (name, look) in looks {
        let complaints = look(place).unwrap_or_else(|error| vec![error.to_string()]);
        println!("{}  {name}", if complaints.is_empty() { "ok    " } else { "FAILED" });
        complaints.iter().for_each(|complaint| println!("    {complaint}"));
        count.add(Count::of(complaints.is_empty()));
    }
    Ok(count)
}

/// Looks at something and gives complaints.
type Look = fn(&Place) -> Result<Vec<String>>;

/// The core without a standard library: no clock, no thread, no file can slip in.
fn no_std(place: &Place) -> Result<bool> {
    let target = setup::no_std_target(place)?;
    let job = cargo(place, &["build", "--quiet", "-p", "mcp-keel-core", "--lib", "--target", target]);
    step(&format!("core on {target}"), &job, &place.log("no_std"))
}

/// How many code lines something may have.
struct Budget {
    what: &'static str,
    folders: &'static [&'static str],
    /// File names without their ending; none for all in the folders.
    names: &'static [&'static str],
    ending: &'static str,
    lines: usize,
}

const PYTHON: &[&str] = &["bindings-python/python/mcp_keel"];
const NODE: &[&str] = &["bindings-node/ts", "bindings-wasm/js"];

/// A facade is what users call. Since I/O runs in the host's own loop its drivers are written in the host's language too;
/// they are counted apart, and so is what turns the host's types into schemas and values. Typed models are tables, and free.
const BUDGETS: [Budget; 8] = [
    Budget { what: "Rust part of Python", folders: &["bindings-python/src"], names: &[], ending: "rs", lines: 400 },
    Budget { what: "Rust part of Node", folders: &["bindings-node/src"], names: &[], ending: "rs", lines: 400 },
    Budget {
        what: "facade of Python",
        folders: PYTHON,
        names: &["__init__", "client", "context", "errors", "inputs", "server", "sync"],
        ending: "py",
        lines: 1000,
    },
    Budget {
        what: "drivers of Python",
        folders: PYTHON,
        names: &["driver", "eager", "engine", "http", "links", "machine", "trace"],
        ending: "py",
        lines: 1400,
    },
    Budget { what: "types of Python", folders: PYTHON, names: &["schema"], ending: "py", lines: 450 },
    Budget {
        what: "facade of Node",
        folders: NODE,
        names: &["client", "context", "errors", "index", "outcomes", "server"],
        ending: "ts",
        lines: 1000,
    },
    Budget {
        what: "drivers of Node",
        folders: NODE,
        names: &[
            "addon",
            "child",
            "connection",
            "driver",
            "fetch_handler",
            "fetch_link",
            "flat",
            "http",
            "journal",
            "link",
            "memory",
            "memory_link",
            "serving",
            "sockets",
            "stdio",
            "trace",
        ],
        ending: "ts",
        lines: 1500,
    },
    Budget { what: "types of Node", folders: NODE, names: &["json", "schema"], ending: "ts", lines: 250 },
];

/// Typed models are tables, and not counted.
const MODELS: [&str; 2] = ["types.py", "types.ts"];

fn sizes(place: &Place) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    let mut counted = Vec::new();
    for Budget { what, folders, names, ending, lines: budget } in BUDGETS {
        let mut lines = 0;
        for file in source_files(place, folders, ending)? {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if names.is_empty() || names.contains(&stem) {
                lines += code_lines(&fs::read_to_string(&file)?, ending);
                counted.push(file);
            }
        }
        println!("    {what}: {lines} code lines of {budget}");
        if lines > budget {
            complaints.push(format!("{what} has {lines} code lines, {budget} are allowed"));
        }
    }
    for (folders, ending) in [(PYTHON, "py"), (NODE, "ts")] {
        for file in source_files(place, folders, ending)?.iter().filter(|file| !counted.contains(file)) {
            complaints.push(format!("{} belongs to no budget", file.display()));
        }
    }
    Ok(complaints)
}

/// Files of a language in these folders, without the typed models.
fn source_files(place: &Place, folders: &[&str], ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        found.extend(files(&place.at(folder))?);
    }
    found.retain(|file| {
        let is_model = MODELS.iter().any(|name| file.ends_with(name));
        file.extension().is_some_and(|extension| extension == ending) && !is_model
    });
    Ok(found)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// Lines that are neither blank nor only a comment or a documentation string.
fn code_lines(text: &str, ending: &str) -> usize {
    let python = ending == "py";
    let (mark, open, close) = if python { ("#", "\"\"\"", "\"\"\"") } else { ("//", "/*", "*/") };
    let (mut count, mut inside) = (0, false);
    for line in text.lines().map(str::trim) {
        if inside {
            inside = !line.contains(close);
        } else if let Some(rest) = line.strip_prefix(open) {
            inside = !rest.contains(close);
        } else if !line.is_empty() && !line.starts_with(mark) {
            count += 1;
        }
    }
    count
}

/// One version everywhere.
fn versions(place: &Place) -> Result<Vec<String>> {
    let cargo = fs::read_to_string(place.at("Cargo.toml"))?;
    let version = value(section(&cargo, "[workspace.package]"), "version").ok_or("the workspace has no version")?;
    let mut complaints = Vec::new();
    let mut expect = |what: &str, found: Option<&str>| {
        if found != Some(version) {
            complaints.push(format!("{what} has version {found:?}, the workspace {version}"));
        }
    };
    for line in section(&cargo, "[workspace.dependencies]").lines().filter(|line| line.contains("path =")) {
        let found = line.split_once("version = \"").and_then(|(_, rest)| rest.split_once('"'));
        expect(line, found.map(|(found, _)| found));
    }
    let python = fs::read_to_string(place.at("bindings-python/pyproject.toml"))?;
    let project = section(&python, "[project]");
    // Usually it is taken from the crate when the wheel is made.
    if !project.contains("dynamic = [\"version\"]") {
        expect("pyproject.toml", value(project, "version"));
    }
    for file in ["bindings-node/package.json", "bindings-node/package-lock.json"] {
        let package: Value = serde_json::from_str(&fs::read_to_string(place.at(file))?)?;
        expect(file, package["version"].as_str());
    }
    Ok(complaints)
}

/// The lines of a TOML table.
fn section<'a>(text: &'a str, head: &str) -> &'a str {
    let rest = text.split_once(head).map_or("", |(_, rest)| rest);
    rest.split("\n[").next().unwrap_or_default()
}

fn value<'a>(section: &'a str, name: &str) -> Option<&'a str> {
    let line = section.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='));
    line.map(|line| line.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_code() {
        assert_eq!(code_lines("//! a\n\nuse b; // c\n/* d\n e */\nf();\n", "rs"), 2);
        assert_eq!(code_lines("\"\"\"One.\"\"\"\n# two\nx = 1\n\"\"\"More\n\nthan one\n\"\"\"\ny = 2\n", "py"), 2);
    }

    #[test]
    fn versions_are_found() {
        let text = "[a]\nversion = \"1\"\n[workspace.package]\nversion = \"0.1.0\"\nx = 1\n\n[b]\nversion = \"2\"\n";
        assert_eq!(value(section(text, "[workspace.package]"), "version"), Some("0.1.0"));
    }
}
