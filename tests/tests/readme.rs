//! The programs that README.md shows are files of the repository, word for word. `KEEL_BLESS=1` writes them into it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const MARK: &str = "<!-- file: ";
const FENCE: &str = "```";

/// `text` with every marked block holding its file.
fn filled(text: &str, root: &Path) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines();
    let mut shown = 0;
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        let Some(path) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let open = lines.next().filter(|line| line.starts_with(FENCE) && line.len() > FENCE.len());
        let open = open.ok_or_else(|| format!("{path}: a fence with its language must follow"))?;
        lines.find(|line| *line == FENCE).ok_or_else(|| format!("{path}: the fence has no end"))?;
        let program = fs::read_to_string(root.join(path)).map_err(|fault| format!("{path}: {fault}"))?;
        if program.lines().any(|line| line.starts_with(FENCE)) {
            return Err(format!("{path}: a fence within a fence"));
        }
        let _ = writeln!(out, "{open}\n{}\n{FENCE}", program.trim_end());
        shown += 1;
    }
    if shown == 0 { Err("no line marks a file".to_owned()) } else { Ok(out) }
}

#[test]
fn readme_shows_what_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let place = root.join("README.md");
    let text = fs::read_to_string(&place).expect("README.md");
    let wanted = filled(&text, &root).unwrap_or_else(|fault| panic!("README.md: {fault}"));
    if std::env::var_os("KEEL_BLESS").is_some_and(|value| value == "1") {
        fs::write(&place, wanted).expect("README.md can be written");
        return;
    }
    let differs = text.lines().zip(wanted.lines()).enumerate().find(|(_, (is, should))| is != should);
    if let Some((at, (is, should))) = differs {
        panic!("README.md:{}: `{is}` should be `{should}`; KEEL_BLESS=1 brings it up to date", at + 1);
    }
    assert_eq!(text, wanted, "README.md is cut short or does not end with one line feed");
}

#[test]
fn a_block_that_went_stale_is_seen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stale = "# A\n\n<!-- file: Cargo.toml -->\n```toml\nold = 1\n```\n\nB\n";
    let fresh = filled(stale, root).expect("a well-formed page");
    assert!(!fresh.contains("old = 1") && fresh.contains("name = \"keel-tests\"") && fresh.ends_with("```\n\nB\n"));
    assert_eq!(filled(&fresh, root).as_ref(), Ok(&fresh));
    assert!(filled("# A\n", root).is_err());
    assert!(filled("<!-- file: Cargo.toml -->\n\ntext\n", root).is_err());
    assert!(filled("<!-- file: Cargo.toml -->\n```toml\n", root).is_err());
    assert!(filled("<!-- file: none.toml -->\n```toml\n```\n", root).is_err());
}
