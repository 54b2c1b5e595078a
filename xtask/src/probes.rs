//! Our clients with the public servers: a list of steps with what is expected of each.
use std::{fs, net::TcpListener};

use crate::{
    Result,
    build::{Built, Host, Program},
    cells::{Flags, Outcome, Tally, Way, finish},
    messages::Messages,
    place::Place,
    run::Job,
};

const EVERYTHING: &str = "tests/interop/servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const FILESYSTEM: &str = "tests/interop/servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";

pub(crate) fn run(
    place: &Place,
    flags: &Flags,
    built: &Built<'_>,
    messages: &Messages<'_>,
    tally: &mut Tally,
) -> Result<()> {
    for host in Host::NATIVE {
        for (server, way) in [("everything", Way::Stdio), ("everything", Way::Http), ("filesystem", Way::Stdio)] {
            let name = format!("{} client, {server} server, {}", host.name(), way.name());
            if !flags.wants(&name) {
                continue;
            }
            let client = messages.watch(Job::of(built.command(host, Program::Probe)?));
            let outcome = probe(place, flags, client, server, way, &name)?;
            outcome.tell(&name);
            tally.take(&format!("{server} server:"), &outcome);
        }
    }
    Ok(())
}

fn probe(place: &Place, flags: &Flags, client: Job, server: &str, way: Way, name: &str) -> Result<Outcome> {
    let steps = place.word(&format!("tests/interop/servers/{server}.json"));
    let client = client.args(&["--steps", &steps]).limit(120);
    if way == Way::Http {
        // It cannot tell which port it got, so one is chosen that is free now.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let job = Job::new(&["node", &place.word(EVERYTHING), "streamableHttp"]).env("PORT", port.to_string());
        let running = job.serve("listening on port")?;
        let client = client.args(&["--http", &format!("http://127.0.0.1:{port}/mcp")]);
        let outcome = finish(place, flags, name, &client, None)?;
        running.stop()?;
        return Ok(outcome);
    }
    let folder = place.work.join("folder");
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let folder = fs::canonicalize(&folder)?.to_string_lossy().into_owned();
    let client = client.args(&["--dir", &folder, "--stdio", "--", "node"]);
    let client = match server {
        "filesystem" => client.args(&[&place.word(FILESYSTEM), &folder]),
        _ => client.args(&[&place.word(EVERYTHING), "stdio"]),
    };
    finish(place, flags, name, &client, None)
}
