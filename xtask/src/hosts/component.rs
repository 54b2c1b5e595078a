//! The WebAssembly component.
use crate::{Result, build::Program, count::Count, place::Place};

/// Installs what it needs and this machine lacks.
pub(crate) fn setup(_place: &Place) -> Result<()> {
    Err("not there yet".into())
}

/// Builds the library and the programs.
pub(crate) fn build(place: &Place) -> Result<()> {
    setup(place)
}

/// The command line of a program, without arguments.
pub(crate) fn command(_place: &Place, program: Program) -> Result<Vec<String>> {
    Err(format!("component has no program {program:?}").into())
}

/// Its own tests.
pub(crate) fn test(place: &Place) -> Result<Count> {
    build(place)?;
    Ok(Count::default())
}
