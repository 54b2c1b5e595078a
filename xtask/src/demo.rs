//! The main job: every language's client talks to every language's server, over both transports, in both eras.
use crate::{
    Result,
    build::{self, Host, Program},
    cells::{Cell, Flags, Tally, Way},
    count::Count,
    place::Place,
};

const ERAS: [&str; 2] = ["legacy", "modern"];

pub(crate) fn run(place: &Place, flags: &Flags) -> Result<Count> {
    let built = build::hosts(place, &Host::NATIVE)?;
    let mut tally = Tally::default();
    let mut matrix = Vec::new();
    for client in Host::NATIVE {
        for server in Host::NATIVE {
            let mut words = Vec::new();
            for way in Way::ALL {
                for era in ERAS {
                    let name = format!("{} client, {} server, {}, {era}", client.name(), server.name(), way.name());
                    if !flags.wants(&name) {
                        words.push("-".into());
                        continue;
                    }
                    let mut program = built.command(client, Program::Client)?;
                    program.extend(["--era".into(), era.into()]);
                    let server = built.command(server, Program::Server)?;
                    let cell = Cell { name, client: program, server, way, known: None, ours: true, transcript: true };
                    let outcome = cell.run(place, flags)?;
                    words.push(outcome.word());
                    tally.take(client.name(), &outcome);
                }
            }
            matrix.push((client.name(), server.name(), words));
        }
    }
    print(&matrix);
    tally.tell_skips();
    // The count stays that of the cells; a message that breaks its schema adds a failure.
    if !tally.check_messages(place, "both")? {
        tally.count.add(Count::of(false));
    }
    Ok(tally.count)
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
    println!("\n{:8}{:8}{}", "client", "server", row(&heads));
    for (client, server, words) in matrix {
        println!("{client:8}{server:8}{}", row(words));
    }
    println!();
}
