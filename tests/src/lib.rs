//! Tests shared by the whole project: the corpus and its runner, the seed cases, the check of every message that we send
//! against the schema of its revision.
//!
//! The corpus runs over the flat surface, in this process ([`host::InProcess`]) or in any other program that speaks the
//! line protocol of `corpus/README.md` ([`host::Program`]). So one set of cases is the proof for every language.

pub mod bytes;
pub mod case;
pub mod env;
pub mod host;
pub mod http;
pub mod invariants;
pub mod json;
pub mod memory;
pub mod pattern;
pub mod random;
pub mod record;
pub mod report;
pub mod requirements;
pub mod run;
pub mod seed;
pub mod tap;
pub mod wire;

use std::path::PathBuf;

/// The folder of this crate's `corpus`.
#[must_use]
pub fn corpus_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The folder with the published specification's data, when there is one: `KEEL_SPEC`, else `../shared/spec` beside the
/// repository.
#[must_use]
pub fn spec_dir() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec");
    let dir = std::env::var_os("KEEL_SPEC").map_or_else(beside, PathBuf::from);
    dir.join("requirements.tsv").is_file().then_some(dir)
}
