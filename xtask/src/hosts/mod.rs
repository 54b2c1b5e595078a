//! Hosts with toolchains of their own: what each needs, how it is built, its programs and its tests.
pub(crate) mod component;
pub(crate) mod kotlin;
pub(crate) mod swift;
pub(crate) mod wasm;

use crate::{Result, build::cargo, place::Place, run::need};

/// The generators, built; the program. Heavy, so apart from this command and made only where it is wanted.
pub(crate) fn generator(place: &Place) -> Result<String> {
    let build = cargo(place, &["build", "--quiet", "-p", "keel-generate"]);
    need("build the generators", &build, &place.log("build generators"))?;
    Ok(place.target.join("debug/keel-generate").to_string_lossy().into_owned())
}
