//! Our clients and servers with those of the official SDKs, and our clients with public servers.
use std::{collections::BTreeMap, fs};

use crate::{
    Result,
    build::{self, Built, Host, Program},
    cells::{Cell, Flags, Tally, Way},
    count::Count,
    place::Place,
    probes, setup,
};

/// Checks that servers are known to fail: reasons by peer and check.
type Known = BTreeMap<String, BTreeMap<String, String>>;

/// The fixture on an official SDK.
struct Peer {
    name: &'static str,
    /// What runs its scripts.
    runner: String,
    server: &'static str,
    client: &'static str,
    /// Eras that its server speaks, and `auto`, where a client of ours finds out.
    serves: &'static [&'static str],
    /// Eras that its client can be asked for.
    asks: &'static [&'static str],
}

fn peers(python: String) -> [Peer; 3] {
    let node = || "node".to_owned();
    [
        Peer {
            name: "py",
            runner: python,
            server: "tests/interop/py/server.py",
            client: "tests/interop/py/client.py",
            serves: &["legacy", "modern", "auto"],
            asks: &["legacy", "modern", "auto"],
        },
        Peer {
            name: "ts1",
            runner: node(),
            server: "tests/interop/ts1/server.mjs",
            client: "tests/interop/ts1/client.mjs",
            serves: &["legacy", "auto"],
            asks: &["legacy"],
        },
        Peer {
            name: "ts2",
            runner: node(),
            server: "tests/interop/ts2/server.mjs",
            client: "tests/interop/ts2/client.mjs",
            serves: &["legacy", "modern", "auto"],
            asks: &["legacy", "modern"],
        },
    ]
}

pub(crate) fn run(place: &Place, flags: &Flags) -> Result<Count> {
    let peers = peers(setup::interop(place)?);
    let built = build::hosts(place, &Host::NATIVE)?;
    let known: Known = serde_json::from_slice(&fs::read(place.at("tests/interop/known.json"))?)?;
    let mut tally = Tally::default();
    for peer in &peers {
        for host in Host::NATIVE {
            for way in Way::ALL {
                ours_to_theirs(place, flags, &built, (host, peer, way), known.get(peer.name), &mut tally)?;
                theirs_to_ours(place, flags, &built, (host, peer, way), &mut tally)?;
            }
        }
    }
    probes::run(place, flags, &built, &mut tally)?;
    tally.count.add(Count::of(tally.check_messages(place, "client")?));
    tally.tell_skips();
    Ok(tally.count)
}

fn ours_to_theirs(
    place: &Place,
    flags: &Flags,
    built: &Built<'_>,
    (host, peer, way): (Host, &Peer, Way),
    known: Option<&BTreeMap<String, String>>,
    tally: &mut Tally,
) -> Result<()> {
    for era in peer.serves {
        let name = format!("{} client, {} server, {}, {era}", host.name(), peer.name, way.name());
        if !flags.wants(&name) {
            continue;
        }
        let mut client = built.command(host, Program::Client)?;
        client.extend(["--era".into(), (*era).into()]);
        let server = vec![peer.runner.clone(), place.word(peer.server)];
        let outcome = Cell { name, client, server, way, known, ours: false, transcript: true }.run(place, flags)?;
        tally.take(&format!("{} server:", peer.name), &outcome);
    }
    Ok(())
}

fn theirs_to_ours(
    place: &Place,
    flags: &Flags,
    built: &Built<'_>,
    (host, peer, way): (Host, &Peer, Way),
    tally: &mut Tally,
) -> Result<()> {
    for era in peer.asks {
        let name = format!("{} client, {} server, {}, {era}", peer.name, host.name(), way.name());
        if !flags.wants(&name) {
            continue;
        }
        let client = vec![peer.runner.clone(), place.word(peer.client), "--era".into(), (*era).into()];
        let server = built.command(host, Program::Server)?;
        let outcome =
            Cell { name, client, server, way, known: None, ours: true, transcript: false }.run(place, flags)?;
        tally.take(&format!("{} client:", peer.name), &outcome);
    }
    Ok(())
}
