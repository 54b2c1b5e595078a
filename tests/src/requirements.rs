//! The ids of `requirements.tsv` and which of them the corpus cites.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::case::Case;

/// Every id with its level.
///
/// # Errors
/// A missing or malformed file.
pub fn load(spec: &Path) -> Result<BTreeMap<String, String>, String> {
    let file = spec.join("requirements.tsv");
    let text = fs::read_to_string(&file).map_err(|fault| format!("{}: {fault}", file.display()))?;
    let row = |line: &str| {
        let mut cells = line.split('\t');
        Some((cells.next()?.to_owned(), cells.nth(2)?.to_owned()))
    };
    Ok(text.lines().skip(1).filter_map(row).collect())
}

/// The ids that these cases cite.
#[must_use]
pub fn cited(cases: &[Case]) -> BTreeSet<String> {
    cases.iter().flat_map(|case| case.spec.iter().cloned()).collect()
}
