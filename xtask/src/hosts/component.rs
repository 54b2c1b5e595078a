//! The WebAssembly component: in Node by jco, in Python by wasmtime.
use crate::{
    Result,
    build::{Program, cargo},
    cells::{Flags, finish},
    count::{self, Count},
    place::Place,
    run::{Job, need},
    setup, size, test,
};

const FOLDER: &str = "bindings-wasm/component";
const TARGET: &str = "wasm32-unknown-unknown";
const REQUIREMENTS: &str = "xtask/component.txt";

/// Installs what it needs and this machine lacks.
pub(crate) fn setup(place: &Place) -> Result<()> {
    let installed = Job::new(&["rustup", "target", "list", "--installed"]).folder(&place.root).text()?;
    if !installed.lines().any(|line| line == TARGET) {
        let add = Job::new(&["rustup", "target", "add", TARGET]).folder(&place.root);
        need("install the target", &add, &place.log("rustup component"))?;
    }
    setup::node_modules(place, FOLDER)?;
    // Node's package runs on the component, and its tests with it.
    setup::node_modules(place, "bindings-node")?;
    setup::environment(place, REQUIREMENTS).map(drop)
}

/// Builds the component, and what Node needs of it.
pub(crate) fn build(place: &Place) -> Result<()> {
    setup(place)?;
    let module = ["build", "--quiet", "--target", TARGET, "--profile", "wasm-release", "-p", "mcp-keel-component"];
    need("build the module", &cargo(place, &module), &place.log("build component module"))?;
    let module = place.target.join(TARGET).join("wasm-release/mcp_keel_component.wasm");
    let build = ["node", "scripts/build.mjs", &module.to_string_lossy(), &super::generator(place)?].map(str::to_owned);
    let build = Job::of(build.to_vec()).folder(place.at(FOLDER));
    need("build component", &build, &place.log("build component"))
}

/// The command line of a program, without arguments. It has no transports of its own: its client comes with its server.
pub(crate) fn command(place: &Place, program: Program) -> Result<Vec<String>> {
    match program {
        Program::Client => Ok(node(place, "fixture/in_process.mjs")),
        Program::Corpus => Ok(node(place, "tests/corpus_host.mjs")),
        _ => Err(format!("component has no program {program:?}").into()),
    }
}

fn node(place: &Place, script: &str) -> Vec<String> {
    vec!["node".into(), place.word(&format!("{FOLDER}/{script}"))]
}

/// Its own tests.
pub(crate) fn test(place: &Place) -> Result<Count> {
    build(place)?;
    let mut count = encoding(place)?;
    let at = |words: &[&str]| Job::new(words).folder(place.at(FOLDER)).limit(600);

    let own = at(&["node", "--test", "--test-reporter=tap", "tests/node.test.mjs"]);
    count.add(test::counted(place, "component in Node", &own, count::node)?);
    let types = at(&["node", "../../bindings-node/node_modules/typescript/bin/tsc", "-p", "tsconfig.json"]);
    count.add(test::passed(place, "tsc of the component's adapter", &types)?);
    count.add(in_process(place)?);
    count.add(package(place)?);
    count.add(wasmtime(place)?);
    Ok(count)
}

/// Valid, without imports, with the documented exports; and its sizes.
fn encoding(place: &Place) -> Result<Count> {
    let component = place.word(&format!("{FOLDER}/dist/keel-mcp.wasm"));
    let wit = place.word(&format!("{FOLDER}/wit"));
    let check = Job::of(vec![super::generator(place)?]).args(&["component-check", &component, &wit]);
    let mut count = test::passed(place, "component against its WIT", &check)?;
    count.add(size::compare(place, &sizes(place)?, false)?);
    Ok(count)
}

/// The component's bytes, plain and compressed. It must be built.
pub(crate) fn sizes(place: &Place) -> Result<Vec<(String, u64)>> {
    let told = Job::new(&["node", "scripts/sizes.mjs"]).folder(place.at(FOLDER)).text()?;
    told.lines()
        .map(|line| {
            let (bytes, name) = line.split_once(' ').ok_or_else(|| format!("no size: {line}"))?;
            Ok((name.to_owned(), bytes.parse()?))
        })
        .collect()
}

/// The fixture's client and server, both on one component, by both ways that need no transport.
fn in_process(place: &Place) -> Result<Count> {
    let mut count = Count::default();
    for (way, more) in [("pipe", &[][..]), ("fetch", &["--fetch"][..])] {
        for era in ["legacy", "modern"] {
            let name = format!("component in process, {way}, {era}");
            let job = Job::of(command(place, Program::Client)?).args(&["--era", era]).args(more).limit(90);
            let outcome = finish(place, &Flags::default(), &name, &job, None)?;
            outcome.tell(&name);
            count.add(Count::of(outcome.ok()));
        }
    }
    Ok(count)
}

/// What Node's package is held to, on the component. Of the tests about processes only the fixture's: the others look at
/// what the addon sees of descriptors, which is not for a component to see.
fn package(place: &Place) -> Result<Count> {
    let on_component = place.word(&format!("{FOLDER}/js/on_component.mjs"));
    let run = |more: &[&str]| {
        let job = Job::new(&["node", "--import", &on_component, "--test", "--test-reporter=tap"]).args(more);
        job.folder(place.at("bindings-node")).limit(300)
    };
    let all = ["memory", "json", "http", "sockets"].map(|name| format!("tests/{name}.test.mjs"));
    let all = run(&all.each_ref().map(String::as_str));
    let mut count = test::counted(place, "tests of Node's package on the component", &all, count::node)?;
    let stdio = run(&["--test-name-pattern=fixture client and server", "tests/stdio.test.mjs"]);
    count.add(test::counted(place, "the fixture by stdio on the component", &stdio, count::node)?);
    Ok(count)
}

/// In wasmtime: its tests, their types, and the whole corpus.
fn wasmtime(place: &Place) -> Result<Count> {
    let python = setup::bin(&setup::environment(place, REQUIREMENTS)?, "python");
    let at = |words: &[&str]| Job::of(vec![python.clone(), "-m".into()]).args(words).folder(place.at(FOLDER));
    let mut count = test::counted(place, "component in wasmtime", &at(&["pytest", "-q", "tests"]), count::pytest)?;
    let types = at(&["mypy", "--strict", "tests", "examples/wasmtime"]).env("MYPYPATH", "examples/wasmtime");
    count.add(test::passed(place, "mypy of the component's hosts", &types)?);

    let host = format!("'{python}' '{}'", place.word(&format!("{FOLDER}/tests/corpus_host.py")));
    let corpus = ["run", "--quiet", "-p", "keel-tests", "--bin", "corpus", "--", "--host", "component"];
    let corpus = cargo(place, &corpus).args(&["--host-command", &host]);
    count.add(test::counted(place, "corpus component, in wasmtime", &corpus, count::ours)?);
    Ok(count)
}
