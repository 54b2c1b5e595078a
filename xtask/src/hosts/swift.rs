//! Swift, in a Debian of its own where this machine has no compiler.
use std::{
    env::consts::{ARCH, OS},
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    build::{self, Host, Program, cargo},
    cells::{Cell, Flags, Way},
    count::{self, Count},
    hosts::generator,
    messages::Messages,
    place::Place,
    run::{Job, need},
    test::{counted, passed},
};

const PACKAGE: &str = "bindings-swift/swift";
const LIBRARY: &str = "libmcp_keel_uniffi.a";
/// What the example of the README prints.
const FORECAST: &str = "day 1: 16, day 2: 17, day 3: 18";

/// Where the compiler is.
enum Tools {
    /// On this machine.
    Here,
    /// In a Debian with this root.
    Root(PathBuf),
}

impl Tools {
    /// The compiler of this machine, or else one in a root, which may have to be made.
    fn find(place: &Place) -> Self {
        let version = Job::new(&["swift", "--version"]).text().unwrap_or_default();
        if major(&version).is_some_and(|major| major >= 6) { Self::Here } else { Self::Root(place.cache.join("swift")) }
    }

    /// Makes the root, when that is where the compiler is to be. Nothing happens when it is there.
    fn make(&self, place: &Place) -> Result<()> {
        let Self::Root(root) = self else { return Ok(()) };
        if OS != "linux" {
            return Err("Swift 6 is needed; it comes with Xcode 16".into());
        }
        if Job::new(&["id", "-u"]).text()?.trim() != "0" {
            return Err(
                "Swift 6 is not on PATH, and only root can make and enter a Debian that has it; install swift 6".into(),
            );
        }
        let make = Job::of(vec![place.word("bindings-swift/swift/scripts/root.sh")]).args(&[&text(root)]);
        need("a root with Swift", &make.limit(1800), &place.log("swift root"))
    }

    /// `swift` with arguments in the package, everything else built beforehand.
    fn swift(&self, place: &Place, arguments: &[&str]) -> Job {
        let words = match self {
            Self::Here => vec!["swift".into()],
            Self::Root(root) => {
                let mut words = vec![place.word("bindings-swift/swift/scripts/enter.sh"), text(root)];
                words.extend([
                    place.word(PACKAGE),
                    text(&place.root),
                    text(&place.target),
                    "--".into(),
                    "swift".into(),
                ]);
                words
            }
        };
        let (verb, rest) = arguments.split_first().unwrap_or((&"build", &[]));
        let search = format!("-L{}", place.word("bindings-swift/swift/Generated/lib"));
        Job::of(words)
            .args(&[verb, "-c", "release", "--scratch-path", &text(&scratch(place))])
            .args(&["-Xswiftc", "-enable-testing", "-Xlinker", &search])
            .args(rest)
            .folder(place.at(PACKAGE))
            .limit(1800)
    }

    /// The command line of a built program, to be run outside of the root.
    fn program(&self, place: &Place, name: &str) -> Vec<String> {
        let program = text(&scratch(place).join("release").join(name));
        let Self::Root(root) = self else { return vec![program] };
        // Its libraries are newer than those of this machine. Named to the loader alone, they are not given to children.
        let (loader, folder) = match ARCH {
            "aarch64" => ("ld-linux-aarch64.so.1", "aarch64-linux-gnu"),
            _ => ("ld-linux-x86-64.so.2", "x86_64-linux-gnu"),
        };
        let library = |path: &str| text(&root.join("usr").join(path));
        let path = format!("{}:{}", library(&format!("lib/{folder}")), library("libexec/swift/lib/swift/linux"));
        let loader = library(&format!("lib/{folder}/{loader}"));
        vec![loader, "--library-path".into(), path, program]
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn scratch(place: &Place) -> PathBuf {
    place.work.join("swift")
}

/// Of `Swift version 6.0.3 (…)`.
fn major(version: &str) -> Option<u32> {
    let rest = version.split("Swift version ").nth(1)?;
    rest.split('.').next()?.parse().ok()
}

/// Installs what it needs and this machine lacks.
pub(crate) fn setup(place: &Place) -> Result<()> {
    Tools::find(place).make(place)
}

/// Builds the library and the programs.
pub(crate) fn build(place: &Place) -> Result<()> {
    let tools = Tools::find(place);
    tools.make(place)?;
    generate(place)?;
    let build = tools.swift(place, &["build", "--build-tests"]);
    need("build swift", &build, &place.log("build swift"))
}

/// The library of the core and the Swift around it, in the package. Files that are the same are left alone, so that nothing
/// is compiled again.
fn generate(place: &Place) -> Result<()> {
    let library = cargo(place, &["build", "--quiet", "--release", "-p", "mcp-keel-uniffi"]);
    need("build the core for swift", &library, &place.log("build uniffi for swift"))?;
    let library = place.target.join("release").join(LIBRARY);
    let fresh = place.work.join("swift-generated");
    let folder = |name: &str| text(&fresh.join(name));
    for name in ["KeelFlat", "KeelFlatFFI"] {
        fs::create_dir_all(fresh.join(name))?;
    }
    let words = vec![generator(place)?, "uniffi".into(), "swift".into(), text(&library), folder("KeelFlat")];
    let make = Job::of(words).args(&[&folder("KeelFlatFFI")]);
    need("generate swift", &make, &place.log("generate swift"))?;
    let package = place.at(PACKAGE).join("Generated");
    update(&library, &package.join("lib").join(LIBRARY))?;
    for name in ["KeelFlat/KeelFlat.swift", "KeelFlatFFI/KeelFlatFFI.h", "KeelFlatFFI/module.modulemap"] {
        update(&fresh.join(name), &package.join(name))?;
    }
    Ok(())
}

fn update(from: &Path, to: &Path) -> Result<()> {
    let content = fs::read(from)?;
    if fs::read(to).is_ok_and(|found| found == content) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(to, content)?;
    Ok(())
}

/// The command line of a program, without arguments.
pub(crate) fn command(place: &Place, program: Program) -> Result<Vec<String>> {
    let name = match program {
        Program::Server => "fixture-server",
        Program::Client => "fixture-client",
        Program::Corpus => "corpus-host",
        _ => return Err(format!("swift has no program {program:?}").into()),
    };
    Ok(Tools::find(place).program(place, name))
}

/// Its own tests.
pub(crate) fn test(place: &Place) -> Result<Count> {
    build(place)?;
    let tools = Tools::find(place);
    let unit = tools.swift(place, &["test", "--skip-build", "--disable-xctest"]);
    let mut count = counted(place, "swift test", &unit, tested)?;
    count.add(example(place, &tools)?);
    let built = build::hosts(place, &[Host::Python])?;
    crate::setup::node_modules(place, "tests/interop/servers")?;
    let everything = "tests/interop/servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    for (name, options) in [("swift with real servers", &[][..]), ("swift by URLSession", &["--session"])] {
        let words = built.command(Host::Python, Program::Server)?;
        let words: Vec<_> = words.iter().map(String::as_str).chain(["--", "node"]).collect();
        let live =
            Job::of(tools.program(place, "live-tests")).args(options).args(&words).args(&[&place.word(everything)]);
        count.add(counted(place, name, &live, count::ours)?);
    }
    let messages = Messages::of(place, "swift")?;
    for (client, server) in [(Host::Swift, Host::Swift), (Host::Swift, Host::Python), (Host::Python, Host::Swift)] {
        count.add(pair(place, &built, &messages, client, server)?);
    }
    count.add(Count::of(messages.check()?));
    Ok(count)
}

/// The fixture's client in one language with its server in another, both ways and both eras.
fn pair(place: &Place, built: &build::Built<'_>, messages: &Messages<'_>, client: Host, server: Host) -> Result<Count> {
    let mut count = Count::default();
    for way in Way::ALL {
        for era in ["legacy", "modern"] {
            let name = format!("{} client, {} server, {}, {era}", client.name(), server.name(), way.name());
            let mut program = built.command(client, Program::Client)?;
            program.extend(["--era".into(), era.into()]);
            let server = built.command(server, Program::Server)?;
            let cell = Cell { name, client: program, server, way, known: None, ours: true, messages };
            let outcome = cell.run(place, &Flags::default())?;
            count.add(Count { passed: outcome.held, failed: outcome.failed.len() });
        }
    }
    Ok(count)
}

/// The client that the README shows starts the server that it shows.
fn example(place: &Place, tools: &Tools) -> Result<Count> {
    let mut words = tools.program(place, "example-client");
    words.extend(tools.program(place, "example-server"));
    let log = place.log("example of swift");
    let mut count = passed(place, "example of swift", &Job::of(words).limit(60))?;
    if count.failed == 0 && fs::read_to_string(&log)?.lines().last() != Some(FORECAST) {
        println!("FAILED  example of swift: it printed something else, {}", log.display());
        count = Count::of(false);
    }
    Ok(count)
}

/// Of `swift test` with Swift Testing: a line for each test and a line for all.
fn tested(text: &str) -> Count {
    let ended = |word: &str| text.lines().filter(|line| line.contains(" Test ") && line.contains(word)).count();
    let all = |word: &str| text.lines().filter(|line| line.contains(" Test run ") && line.contains(word)).count();
    let of = |word: &str| ended(word) - all(word);
    Count { passed: of(" passed after "), failed: of(" failed after ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_counts_are_read_where_they_are_printed() {
        assert_eq!(major("Swift version 6.0.3 (swift-6.0.3-RELEASE)"), Some(6));
        assert_eq!(major("Apple Swift version 5.10 (swiftlang-5.10.0.13)"), Some(5));
        assert_eq!(major("nothing"), None);
        let text = "✔ Test a() passed after 0.1 seconds.\n✘ Test b() failed after 0.1 seconds with 1 issue.\n\
                    ✔ Suite X passed after 0.1 seconds.\n✘ Test run with 2 tests failed after 0.1 seconds with 1 issue.";
        assert_eq!(tested(text), Count { passed: 1, failed: 1 });
    }
}
