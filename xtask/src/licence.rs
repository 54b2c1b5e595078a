//! Licences of all dependencies against the list of `deny.toml`.
use serde_json::Value;

use crate::{Result, build::cargo, place::Place};

/// The strings of the list `allow` of `deny.toml`.
fn allowed(text: &str) -> Vec<&str> {
    let list = text.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']'));
    let list = list.map_or("", |(list, _)| list);
    list.split(',').map(|word| word.trim().trim_matches('"')).filter(|word| !word.is_empty()).collect()
}

/// Whether an SPDX expression can be satisfied with these licences.
fn satisfied(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let ok = either(&mut words, allowed);
    ok && words.peek().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut ok = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        // Not `||`: the words have to be read in any case.
        ok |= both(words, allowed);
    }
    ok
}

fn both(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut ok = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        ok &= one(words, allowed);
    }
    ok
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    match words.next() {
        Some("(") => {
            let ok = either(words, allowed);
            words.next() == Some(")") && ok
        }
        Some(name) => {
            let with = words.next_if_eq(&"WITH").and_then(|_| words.next());
            let whole = with.map_or_else(|| name.to_owned(), |exception| format!("{name} WITH {exception}"));
            allowed.contains(&whole.as_str())
        }
        None => false,
    }
}

/// The crates whose licence is not on the list.
pub(crate) fn refused(place: &Place) -> Result<Vec<String>> {
    let deny = std::fs::read_to_string(place.at("deny.toml"))?;
    let allowed = allowed(&deny);
    let metadata = cargo(place, &["metadata", "--format-version", "1", "--locked"]).text()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let bad = packages.iter().filter(|package| !satisfied(package["license"].as_str().unwrap_or_default(), &allowed));
    Ok(bad.map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_satisfied_by_what_is_allowed() {
        let allowed =
            allowed("[licenses]\nallow = [\n  \"MIT\",\n  \"Apache-2.0 WITH LLVM-exception\",\n  \"ISC\",\n]\n");
        for good in
            ["MIT", "GPL-3.0 OR MIT", "MIT/Apache-2.0", "(MIT OR GPL-3.0) AND ISC", "Apache-2.0 WITH LLVM-exception"]
        {
            assert!(satisfied(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "MIT ISC"] {
            assert!(!satisfied(bad, &allowed), "{bad}");
        }
    }
}
