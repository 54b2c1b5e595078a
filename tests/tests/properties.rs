//! What must hold for every input: generated sessions, repeatable by the number in the failure.

mod generate;

use std::collections::{BTreeMap, BTreeSet};

use generate::{Actor, session_opening};
use keel_tests::host::{Arg, Host, InProcess, Reply, method};
use keel_tests::json::Json;
use keel_tests::random::Random;
use keel_tests::record::Record;

const SESSIONS: u64 = 300;

/// Random commands and random input, in any order: nothing panics, every rule of `keel_tests::invariants` holds, and a
/// second run with the same inputs is the same byte for byte.
#[test]
fn any_life_of_a_server() {
    for seed in 0..SESSIONS {
        let first = Actor::server(seed).live(80);
        let second = Actor::server(seed).live(80);
        assert_eq!(first, second, "server session {seed} differs when run again");
    }
}

/// The same for clients on a pipe and on HTTP; after `close` everything that was asked has its one ending.
#[test]
fn any_life_of_a_client() {
    for seed in 0..SESSIONS {
        for link in ["pipe", "http"] {
            let first = Actor::client(seed, link).live(80);
            let second = Actor::client(seed, link).live(80);
            assert_eq!(first, second, "client session {seed} on {link} differs when run again");
        }
    }
}

/// The generator is worth something only while it reaches what there is to reach.
#[test]
fn generated_lives_see_everything() {
    let kinds = |actors: &mut dyn Iterator<Item = Actor>| {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for reply in actors.flat_map(|actor| actor.live(80)) {
            match reply {
                Reply::Records(records) => {
                    records.into_iter().for_each(|record| *seen.entry(record.kind).or_default() += 1);
                }
                Reply::Refused { code, .. } => *seen.entry(format!("refused {code}")).or_default() += 1,
                Reply::Text(_) => {}
            }
        }
        seen
    };
    let server = kinds(&mut (0..SESSIONS).map(Actor::server));
    for kind in ["write", "close", "head", "body", "call", "answer", "cancelled", "opened", "violation", "closed"] {
        assert!(server.get(kind).is_some_and(|count| *count > 20), "servers hardly see `{kind}`: {server:?}");
    }
    let client = kinds(&mut (0..SESSIONS).flat_map(|seed| [Actor::client(seed, "pipe"), Actor::client(seed, "http")]));
    for kind in
        ["write", "fetch", "abort", "ready", "result", "error", "progress", "input", "notice", "violation", "closed"]
    {
        assert!(client.get(kind).is_some_and(|count| *count > 20), "clients hardly see `{kind}`: {client:?}");
    }
}

/// Noise, cut lines and mutated messages on everything that takes bytes.
#[test]
fn no_bytes_break_anything() {
    for seed in 0..SESSIONS {
        let mut random = Random::new(seed);
        for (object, transport) in [("server", "pipe"), ("server", "http1"), ("client", "pipe"), ("http1", "")] {
            let mut actor = Actor::bare(object, transport);
            for _ in 0..20 {
                let bytes = generate::noise(&mut random, transport);
                actor.feed(bytes);
            }
        }
    }
}

/// Requests with ids of their own, answered in any order, some cancelled: each that was not cancelled gets exactly one
/// answer, each that was gets none.
#[test]
fn one_answer_for_each_request() {
    for seed in 0..SESSIONS {
        let mut random = Random::new(seed);
        let mut host = opened();
        let (mut waiting, mut answered, mut running) = (BTreeSet::new(), Vec::new(), BTreeMap::new());
        let mut cancelled = BTreeSet::new();
        for number in 0..40 {
            let (method, params) = *random.pick(generate::REQUESTS);
            let line = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{params}}}"#);
            waiting.insert(number.to_string());
            let called = receive(&mut host, &(line + "\n"), &mut answered);
            running.extend(called.into_iter().map(|call| (call, number)));
            if random.once_in(3)
                && let Some((call, id)) = running.pop_first()
            {
                if random.once_in(2) {
                    let cancel = format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                    );
                    receive(&mut host, &(cancel + "\n"), &mut answered);
                    cancelled.insert(id.to_string());
                } else {
                    respond(&mut host, call, &mut answered);
                }
            }
        }
        for (call, _) in running {
            respond(&mut host, call, &mut answered);
        }
        let once: BTreeSet<String> = answered.iter().cloned().collect();
        assert_eq!(once.len(), answered.len(), "session {seed}: an id was answered twice");
        let expected: BTreeSet<String> = waiting.difference(&cancelled).cloned().collect();
        assert_eq!(once, expected, "session {seed}: answers (left) and requests (right) differ");
    }
}

/// How bytes are cut changes nothing: the same writes in the end, the same other records in the same order.
#[test]
fn cutting_changes_nothing() {
    for seed in 0..SESSIONS {
        let mut random = Random::new(seed);
        let mut text = Vec::new();
        for _ in 0..12 {
            text.extend_from_slice(&generate::line(&mut random));
        }
        let whole = run_cut(&[text.clone()]);
        assert_eq!(run_cut(&random.split(&text, 20)), whole, "session {seed}, random pieces");
        let bytes: Vec<Vec<u8>> = text.iter().map(|byte| vec![*byte]).collect();
        assert_eq!(run_cut(&bytes), whole, "session {seed}, single bytes");
    }
}

/// One session, cut in two at every single position.
#[test]
fn every_position() {
    let text = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"é🦀"}}}"#,
        "\r\n\n",
        r#"{"jsonrpc":"2.0","id":"\u00e9","method":"ping"}"#,
        "\nnoise\n[1]\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n"
    );
    let text = text.as_bytes();
    let whole = run_cut(&[text.to_vec()]);
    for at in 0..text.len() {
        assert_eq!(run_cut(&[text[..at].to_vec(), text[at..].to_vec()]), whole, "cut at {at}");
    }
}

/// Kind, id, name, text.
type Said = (String, u64, String, Vec<u8>);

fn run_cut(pieces: &[Vec<u8>]) -> (Vec<u8>, Vec<Said>) {
    let mut host = opened();
    let (mut written, mut others) = (Vec::new(), Vec::new());
    for piece in pieces {
        for record in records(call(&mut host, "receive", vec![Arg::Int(1), Arg::Bytes(piece.clone())])) {
            match &*record.kind {
                "write" => written.extend_from_slice(&record.text),
                "wait" => {}
                _ => others.push((record.kind, record.id, record.name, record.text)),
            }
        }
    }
    (written, others)
}

/// A server whose pipe 1 is in a session.
fn opened() -> InProcess {
    let mut host = InProcess::default();
    let config = Json::parse(generate::SERVER).expect("test JSON");
    host.create("server", &config, &[7; 32]).expect("a server");
    call(&mut host, "set_catalog", vec![Arg::Text(generate::CATALOG.to_owned())]);
    call(&mut host, "open", vec![Arg::Int(1), Arg::Text("pipe".to_owned())]);
    call(&mut host, "receive", vec![Arg::Int(1), Arg::Bytes(session_opening().into_bytes())]);
    host
}

fn call(host: &mut InProcess, name: &str, mut args: Vec<Arg>) -> Reply {
    args.push(Arg::Int(5));
    host.call(method("server", name).expect("a method"), &args).expect("the core does not panic")
}

fn records(reply: Reply) -> Vec<Record> {
    let Reply::Records(records) = reply else { panic!("refused: {reply:?}") };
    records
}

fn note(reply: Reply, answered: &mut Vec<String>) -> Vec<u64> {
    let mut calls = Vec::new();
    for record in records(reply) {
        match &*record.kind {
            "call" => calls.push(record.id),
            "write" => {
                for line in record.text().lines() {
                    let message = Json::parse(line).expect("we write JSON");
                    answered.extend(message.get("id").filter(|_| message.get("method").is_none()).map(Json::to_string));
                }
            }
            _ => {}
        }
    }
    calls
}

fn receive(host: &mut InProcess, text: &str, answered: &mut Vec<String>) -> Vec<u64> {
    note(call(host, "receive", vec![Arg::Int(1), Arg::Bytes(text.as_bytes().to_vec())]), answered)
}

fn respond(host: &mut InProcess, id: u64, answered: &mut Vec<String>) {
    let outcome = r#"{"result":{"content":[],"messages":[],"contents":[],"completion":{"values":[]}}}"#;
    note(call(host, "respond", vec![Arg::Int(id), Arg::Text(outcome.to_owned())]), answered);
}
