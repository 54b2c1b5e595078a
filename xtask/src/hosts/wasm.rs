//! The module for browsers and edge runtimes, and its TypeScript.
use std::path::Path;

use crate::{
    Result,
    build::{self, Host, Program},
    count::{self, Count},
    messages::Messages,
    place::Place,
    run::{Job, need},
    setup, size, test,
};

const FOLDER: &str = "bindings-wasm";
const TARGET: &str = "wasm32-unknown-unknown";
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Installs what it needs and this machine lacks.
pub(crate) fn setup(place: &Place) -> Result<()> {
    target(place)?;
    setup::node_modules(place, FOLDER)?;
    browser(place)
}

fn target(place: &Place) -> Result<()> {
    let installed = Job::new(&["rustup", "target", "list", "--installed"]).folder(&place.root).text()?;
    if installed.lines().any(|line| line == TARGET) {
        return Ok(());
    }
    need(
        "install the target",
        &Job::new(&["rustup", "target", "add", TARGET]).folder(&place.root),
        &place.log("rustup wasm"),
    )
}

/// Chromium of the system. Where it cannot be installed the tests that want it say so; all else works.
fn browser(place: &Place) -> Result<()> {
    let there = std::env::var_os("KEEL_CHROMIUM").is_some() || BROWSERS.iter().any(|path| Path::new(path).exists());
    if there {
        return Ok(());
    }
    if !Job::new(&["id", "-u"]).text().is_ok_and(|id| id.trim() == "0") || !Path::new("/usr/bin/apt-get").exists() {
        println!("        no Chromium: install it, or name it in KEEL_CHROMIUM; tests in the browser fail without it");
        return Ok(());
    }
    let install =
        "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium";
    need("install Chromium", &Job::new(&["sh", "-c", install]).limit(900), &place.log("apt chromium"))
}

/// Builds the package.
pub(crate) fn build(place: &Place) -> Result<()> {
    target(place)?;
    setup::node_modules(place, FOLDER)?;
    let generator = super::generator(place)?;
    let build = Job::new(&["node", "scripts/build.mjs", "--generator", &generator])
        .folder(place.at(FOLDER))
        .env("CARGO_TARGET_DIR", &place.target)
        .limit(1800);
    need("build wasm", &build, &place.log("build wasm"))
}

/// The command line of a program, without arguments. Server and client run in an edge runtime, and speak HTTP alone.
pub(crate) fn command(place: &Place, program: Program) -> Result<Vec<String>> {
    Ok(match program {
        Program::Server => node(place, "fixture/server.mjs", &[]),
        Program::Client => node(place, "fixture/client.mjs", &["--in", "edge"]),
        Program::Corpus => node(place, "tests/corpus_host.mjs", &[]),
        _ => return Err(format!("wasm has no program {program:?}").into()),
    })
}

/// The fixture client in Chromium. The page reaches the server by way of the page's own origin.
pub(crate) fn browser_client(place: &Place) -> Vec<String> {
    node(place, "fixture/client.mjs", &["--in", "browser"])
}

/// The host of the corpus in Chromium.
pub(crate) fn browser_corpus(place: &Place) -> Vec<String> {
    node(place, "tests/corpus_browser.mjs", &[])
}

fn node(place: &Place, script: &str, more: &[&str]) -> Vec<String> {
    let script = place.word(&format!("{FOLDER}/{script}"));
    ["node", &script].iter().chain(more).map(|&word| word.to_owned()).collect()
}

/// What a page loads, each with its bytes when compressed. The package must be built.
pub(crate) fn sizes(place: &Place) -> Result<Vec<(String, u64)>> {
    let told = Job::new(&["node", "scripts/sizes.mjs"]).folder(place.at(FOLDER)).text()?;
    told.lines()
        .map(|line| {
            let (bytes, name) = line.split_once(' ').ok_or_else(|| format!("no size: {line}"))?;
            Ok((name.to_owned(), bytes.parse()?))
        })
        .collect()
}

/// Its own tests.
pub(crate) fn test(place: &Place) -> Result<Count> {
    setup(place)?;
    build(place)?;
    let at = |words: &[&str]| Job::new(words).folder(place.at(FOLDER)).limit(900);
    // The page talks to a server of ours in Python, and to an official one.
    let server = build::hosts(place, &[Host::Python])?.command(Host::Python, Program::Server)?;
    setup::node_modules(place, "tests/interop/servers")?;
    setup::node_modules(place, "bindings-node")?;
    let tests = ["package", "port", "edge", "pulse", "page"].map(|name| format!("tests/{name}.test.mjs"));
    let own = at(&["node", "--test", "--test-reporter=tap"]).args(&tests.each_ref().map(String::as_str));
    let own = own.env("KEEL_OUT", &place.work).env("KEEL_FIXTURE_SERVER", serde_json::to_string(&server)?);
    let messages = Messages::of(place, "wasm")?;
    let mut count = test::counted(place, "node --test, wasm", &messages.watch(own), count::node)?;
    count.add(Count::of(messages.check()?));
    // What Node's package is held to, on this one.
    let shared = ["../bindings-node/tests/memory.test.mjs", "../bindings-node/tests/json.test.mjs"];
    let node = at(&["node", "--import", "./tests/on_wasm.mjs", "--test", "--test-reporter=tap"]).args(&shared);
    count.add(test::counted(place, "tests of Node's package on wasm", &node, count::node)?);
    for project in ["tsconfig.json", "tests/types/tsconfig.json"] {
        let types = at(&["node", "node_modules/typescript/bin/tsc", "-p", project]);
        count.add(test::passed(place, &format!("tsc -p {FOLDER}/{project}"), &types)?);
    }
    count.add(size::compare(place, &sizes(place)?, false)?);
    Ok(count)
}
