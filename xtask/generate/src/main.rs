//! The generators of the bindings that are libraries, as one program: `generate web|component|uniffi …`.
mod component;
mod uniffi;
mod web;

use std::{env, error::Error, path::Path, process::ExitCode};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the only output of this program")]
            {
                eprintln!("{}: {error}", words.join(" "));
            }
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["web", input, output] => web::run(Path::new(input), Path::new(output)),
        ["uniffi", "kotlin", library, output] => uniffi::kotlin(Path::new(library), Path::new(output)),
        ["uniffi", "swift", library, sources, headers] => {
            uniffi::swift(Path::new(library), Path::new(sources), Path::new(headers))
        }
        ["component", input, output] => component::run(Path::new(input), Path::new(output)),
        ["component-check", component, wit] => component::check(Path::new(component), Path::new(wit)),
        _ => Err("usage: keel-generate web IN OUT | component IN OUT | component-check COMPONENT WIT".into()),
    }
}
