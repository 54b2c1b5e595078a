//! The main job: every language's client talks to every language's server, over what both have, in both eras.
use crate::{
    Result,
    build::{self, Built, Host, Program},
    cells::{Cell, Flags, Tally, Way, finish},
    count::Count,
    hosts,
    messages::Messages,
    place::Place,
    run::Job,
};

const ERAS: [&str; 2] = ["legacy", "modern"];
/// Those of the plain demo; wasm stands for an edge runtime.
const PLAIN: [Host; 4] = [Host::Rust, Host::Python, Host::Node, Host::Wasm];

/// A client or a server in the matrix.
struct Side {
    name: &'static str,
    program: Vec<String>,
    ways: &'static [Way],
}

pub(crate) fn run(place: &Place, flags: &Flags) -> Result<Count> {
    let wanted: &[Host] = if flags.all { &Host::ALL } else { &PLAIN };
    let built = build::hosts(place, wanted)?;
    let (clients, servers) = sides(place, &built, wanted, flags.all)?;
    let messages = Messages::of(place, "demo")?;
    let mut tally = Tally::default();
    let mut matrix = Vec::new();
    for client in &clients {
        for server in &servers {
            let words = row(place, flags, &messages, (client, server), &mut tally)?;
            matrix.push((client.name, server.name, words));
        }
    }
    if flags.all {
        matrix.push(("component", "component", in_process(place, flags, &messages, &built, &mut tally)?));
    }
    print(&matrix);
    tally.tell_skips();
    // The count stays that of the cells; a message that breaks its schema adds a failure.
    if !messages.check()? {
        tally.count.add(Count::of(false));
    }
    Ok(tally.count)
}

/// The clients and the servers of these hosts. A component has no transports of its own.
fn sides(place: &Place, built: &Built<'_>, wanted: &[Host], all: bool) -> Result<(Vec<Side>, Vec<Side>)> {
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for host in wanted.iter().copied().filter(|host| *host != Host::Component) {
        let (client, server) = (built.command(host, Program::Client)?, built.command(host, Program::Server)?);
        if host != Host::Wasm {
            clients.push(Side { name: host.name(), ways: &Way::ALL, program: client });
            servers.push(Side { name: host.name(), ways: &Way::ALL, program: server });
            continue;
        }
        clients.push(Side { name: "edge", ways: &[Way::Http], program: client });
        if all {
            // The same package; a browser serves nothing.
            let program = hosts::wasm::browser_client(place);
            clients.push(Side { name: "browser", ways: &[Way::Http], program });
        }
        servers.push(Side { name: "edge", ways: &[Way::Http], program: server });
    }
    Ok((clients, servers))
}

/// What came of one pair, a word for each transport and era.
fn row(
    place: &Place,
    flags: &Flags,
    messages: &Messages<'_>,
    (client, server): (&Side, &Side),
    tally: &mut Tally,
) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for way in Way::ALL {
        for era in ERAS {
            let name = format!("{} client, {} server, {}, {era}", client.name, server.name, way.name());
            let possible = client.ways.contains(&way) && server.ways.contains(&way);
            if !possible || !flags.wants(&name) {
                words.push("-".into());
                continue;
            }
            let mut program = client.program.clone();
            program.extend(["--era".into(), era.into()]);
            let cell =
                Cell { name, client: program, server: server.program.clone(), way, known: None, ours: true, messages };
            let outcome = cell.run(place, flags)?;
            words.push(outcome.word());
            tally.take(client.name, &outcome);
        }
    }
    Ok(words)
}

/// The component's client with the component's server, in one process; told where stdio is told.
fn in_process(
    place: &Place,
    flags: &Flags,
    messages: &Messages<'_>,
    built: &Built<'_>,
    tally: &mut Tally,
) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for era in ERAS {
        let name = format!("component client, component server, in process, {era}");
        if !flags.wants(&name) {
            words.push("-".into());
            continue;
        }
        let program = built.command(Host::Component, Program::Client)?;
        let job = messages.watch(Job::of(program).args(&["--era", era]).limit(90));
        let outcome = finish(place, flags, &name, &job, None)?;
        outcome.tell(&name);
        words.push(outcome.word());
        tally.take("component", &outcome);
    }
    words.extend(["-".into(), "-".into()]);
    Ok(words)
}

fn print(matrix: &[(&str, &str, Vec<String>)]) {
    let heads: Vec<_> = Way::ALL.iter().flat_map(|way| ERAS.map(|era| format!("{} {era}", way.name()))).collect();
    let width = |column: usize| {
        let cells = matrix.iter().map(|(_, _, words)| words[column].len());
        cells.chain([heads[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..heads.len()).map(width).collect();
    let row = |words: &[String]| {
        let cells = words.iter().zip(&widths).map(|(word, &width)| format!("{word:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    println!("\n{:10}{:10}{}", "client", "server", row(&heads));
    for (client, server, words) in matrix {
        println!("{client:10}{server:10}{}", row(words));
    }
    println!();
}
