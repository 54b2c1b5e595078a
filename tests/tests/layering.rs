//! Dates of revisions and matches on eras stand in the core's `revision` folder and nowhere else: all other code asks
//! for facts. So a new revision is a change of tables.

use std::fs;
use std::path::{Path, PathBuf};

/// Sources of the core, the Rust SDK and the bindings. Their tests may name revisions: they test them.
const ROOTS: &[&str] = &[
    "core/src",
    "core/native/src",
    "bindings-python/src",
    "bindings-python/python",
    "bindings-node/src",
    "bindings-node/ts",
    "bindings-wasm/js",
];
const ENDINGS: &[&str] = &["rs", "py", "pyi", "ts", "mts", "cts", "js", "mjs", "swift", "kt"];
const SKIPPED: &[&str] = &["core/src/revision", "node_modules", "target", "dist", "__pycache__", "tests", "test"];

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let skipped = SKIPPED.iter().any(|end| path.ends_with(end));
        if path.is_dir() && !skipped {
            sources(&path, out);
        } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            out.push(path);
        }
    }
}

/// The code of a Rust file without the tests at its end.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with('*') || line.starts_with("/*") || line.starts_with('#')
}

/// A date as revisions are named by, or as code would spell it.
fn has_date(line: &str) -> bool {
    let bytes = line.as_bytes();
    let shape = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => matches!(byte, b'-' | b'_'),
            _ => byte.is_ascii_digit(),
        })
    };
    bytes.windows(10).any(|window| shape(window) && window.starts_with(b"202"))
}

/// A decision by era, in the languages at hand; passing an era on to the user is none.
fn asks_era(line: &str) -> bool {
    let decides = ["=>", "==", "!=", "matches!", "if let", "let else"].iter().any(|sign| line.contains(sign));
    line.contains("Era::") && decides
}

#[test]
fn revisions_are_known_in_one_place() {
    let root = repository();
    let mut files = Vec::new();
    for dir in ROOTS {
        let before = files.len();
        sources(&root.join(dir), &mut files);
        assert!(files.len() > before, "no sources in {dir}: was it renamed?");
    }
    let mut faults = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source is readable");
        for (number, line) in without_tests(&text).lines().enumerate() {
            if is_comment(line) {
                continue;
            }
            if has_date(line) || asks_era(line) {
                let shown = file.strip_prefix(&root).unwrap_or(&file).display();
                faults.push(format!("{shown}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "revisions or eras outside core/src/revision:\n{}", faults.join("\n"));
}

#[test]
fn the_guard_sees_what_it_looks_for() {
    assert!(has_date("let x = \"2025-06-18\";") && has_date("Revision::V2025_06_18"));
    assert!(asks_era("Era::Modern => {}") && asks_era("if era == Era::Legacy"));
    assert!(!has_date("1234-5") && !has_date("RFC 2046-1"));
}
