//! The generators of the bindings that are libraries, as one program: `generate web|component|uniffi …`.
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::FAILURE
}
