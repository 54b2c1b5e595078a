//! The hosts, built, and the command lines of their programs.
use std::fs;

use crate::{
    Result, hosts,
    place::Place,
    run::{Job, need},
    setup,
};

/// A language of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Host {
    Rust,
    Python,
    Node,
    Wasm,
    Component,
    Kotlin,
    Swift,
}

impl Host {
    /// Those that have a server and a client for every transport, and take part in the interop.
    pub(crate) const NATIVE: [Self; 3] = [Self::Rust, Self::Python, Self::Node];
    pub(crate) const ALL: [Self; 7] =
        [Self::Rust, Self::Python, Self::Node, Self::Wasm, Self::Component, Self::Kotlin, Self::Swift];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Node => "node",
            Self::Wasm => "wasm",
            Self::Component => "component",
            Self::Kotlin => "kotlin",
            Self::Swift => "swift",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|host| host.name() == name);
        found.ok_or_else(|| format!("there is no host {name}; hosts: {}", Self::ALL.map(Self::name).join(" ")).into())
    }
}

/// A program that every host has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Program {
    Server,
    Client,
    Corpus,
    Probe,
    MemoryServer,
    MemoryClient,
}

/// The hosts that were built.
pub(crate) struct Built<'p> {
    place: &'p Place,
    python: Option<String>,
}

impl Built<'_> {
    /// The command line of the client that the README shows, with its server.
    pub(crate) fn example(&self, host: Host) -> Result<Vec<String>> {
        let place = self.place;
        let built = |name: &str| place.target.join("debug/examples").join(name).to_string_lossy().into_owned();
        Ok(match host {
            Host::Rust => vec![built("client"), built("server")],
            Host::Python => {
                vec![
                    self.python.clone().ok_or("python is not built")?,
                    place.word("bindings-python/examples/client.py"),
                ]
            }
            Host::Node => {
                let folder = |name: &str| place.word(&format!("bindings-node/examples/{name}"));
                vec!["node".into(), folder("client.mjs"), "node".into(), folder("server.mjs")]
            }
            other => return Err(format!("{} has no pair of examples", other.name()).into()),
        })
    }

    /// The command line of a program, without arguments.
    pub(crate) fn command(&self, host: Host, program: Program) -> Result<Vec<String>> {
        let place = self.place;
        let example = |name: &str| place.target.join("debug/examples").join(name).to_string_lossy().into_owned();
        Ok(match (host, program) {
            (Host::Rust, Program::Server) => vec![example("fixture_server")],
            (Host::Rust, Program::Client) => vec![example("fixture_client")],
            (Host::Rust, Program::Corpus) => vec![example("corpus_host")],
            (Host::Rust, Program::Probe) => vec![example("probe")],
            (Host::Rust, Program::MemoryServer) => vec![example("memory_server")],
            (Host::Rust, Program::MemoryClient) => vec![example("memory_client")],
            (Host::Python, _) => {
                let script = match program {
                    Program::Server => "bindings-python/fixture/server.py",
                    Program::Client => "bindings-python/fixture/client.py",
                    Program::Corpus => "bindings-python/tests/corpus_host.py",
                    Program::Probe => "tests/interop/probe/probe.py",
                    Program::MemoryServer => "tests/memory/server.py",
                    Program::MemoryClient => "tests/memory/client.py",
                };
                vec![self.python.clone().ok_or("python is not built")?, place.word(script)]
            }
            (Host::Node, _) => {
                let script = match program {
                    Program::Server => "bindings-node/fixture/server.mjs",
                    Program::Client => "bindings-node/fixture/client.mjs",
                    Program::Corpus => "bindings-node/tests/corpus_host.mjs",
                    Program::Probe => "tests/interop/probe/probe.mjs",
                    Program::MemoryServer => "tests/memory/server.mjs",
                    Program::MemoryClient => "tests/memory/client.mjs",
                };
                vec!["node".into(), place.word(script)]
            }
            (Host::Wasm, _) => return hosts::wasm::command(place, program),
            (Host::Component, _) => return hosts::component::command(place, program),
            (Host::Kotlin, _) => return hosts::kotlin::command(place, program),
            (Host::Swift, _) => return hosts::swift::command(place, program),
        })
    }
}

/// Builds hosts. Incremental: nothing happens where nothing changed, but for the packaging of the wheel.
pub(crate) fn hosts<'p>(place: &'p Place, wanted: &[Host]) -> Result<Built<'p>> {
    let mut built = Built { place, python: None };
    for host in wanted {
        match host {
            Host::Rust => rust(place)?,
            Host::Python => built.python = Some(wheel(place)?),
            Host::Node => package(place)?,
            Host::Wasm => hosts::wasm::build(place)?,
            Host::Component => hosts::component::build(place)?,
            Host::Kotlin => hosts::kotlin::build(place)?,
            Host::Swift => hosts::swift::build(place)?,
        }
    }
    Ok(built)
}

/// `cargo` with arguments, in the clone, building where everything builds.
pub(crate) fn cargo(place: &Place, arguments: &[&str]) -> Job {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    Job::of(vec![cargo]).args(arguments).folder(&place.root).env("CARGO_TARGET_DIR", &place.target).limit(1800)
}

fn rust(place: &Place) -> Result<()> {
    need("build rust", &cargo(place, &["build", "-p", "mcp-keel", "--examples"]), &place.log("build rust"))
}

/// Builds the wheel and installs it; the interpreter that has it.
fn wheel(place: &Place) -> Result<String> {
    let python = setup::python(place)?;
    let wheels = place.work.join("wheels");
    // Only one is in it, whatever its version is called.
    if wheels.is_dir() {
        fs::remove_dir_all(&wheels)?;
    }
    let build = Job::of(vec![python.tool("maturin")])
        .args(&["build", "--quiet", "--interpreter", &python.python, "--out", &wheels.to_string_lossy()])
        .folder(place.at("bindings-python"))
        .env("CARGO_TARGET_DIR", &place.target)
        .limit(1800);
    need("build python", &build, &place.log("build python"))?;
    let made = fs::read_dir(&wheels)?.next().ok_or("maturin made no wheel")??.path();
    let install = ["-m", "pip", "--quiet", "--disable-pip-version-check", "--python", &python.python, "install"];
    let install = Job::of(vec![python.tool("python")]).args(&install).args(&[
        "--force-reinstall",
        "--no-deps",
        "--no-index",
        &made.to_string_lossy(),
    ]);
    need("install the wheel", &install, &place.log("install wheel"))?;
    Ok(python.python)
}

pub(crate) fn package(place: &Place) -> Result<()> {
    setup::node_modules(place, "bindings-node")?;
    let build = Job::new(&["node", "scripts/build.mjs"])
        .folder(place.at("bindings-node"))
        .env("CARGO_TARGET_DIR", &place.target)
        .limit(1800);
    need("build node", &build, &place.log("build node"))
}
