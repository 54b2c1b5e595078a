//! What holds for a client whatever happens: one end for each request, nothing after the end of all, same inputs same
//! outputs. And the HTTP codec that hosts without a stack use.

use std::collections::BTreeMap;

use mcp_keel_core::flat::{FlatClient, FlatHttp1, Record};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[usize::try_from(self.roll(from.len() as u64)).expect("small")]
    }
}

const BODIES: &[&str] = &[
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}"#,
    r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#,
    r#""result":{"content":[]}"#,
    r#""result":{"tools":[],"nextCursor":"a"}"#,
    r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}"#,
    r#""result":{"resultType":"input_required","requestState":"s"}"#,
    r#""result":7"#,
    r#""error":{"code":-32601,"message":"no"}"#,
    r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28","2025-06-18"],"requested":"x"}}"#,
    r#""method":"roots/list""#,
    r#""method":"ping""#,
];
const LOOSE: &[&str] = &[
    r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
    "[]",
    "{",
    "hello",
    "",
];
const METHODS: &[&str] = &["tools/call", "tools/list", "ping", "subscriptions/listen", "vendor/x", "prompts/get"];

fn message(dice: &mut Dice) -> String {
    if dice.roll(4) == 0 {
        return dice.pick(LOOSE).to_owned();
    }
    format!(r#"{{"jsonrpc":"2.0","id":{},{}}}"#, dice.roll(30), dice.pick(BODIES))
}

/// One life of a client; what its host saw.
fn life(seed: u64, http: bool) -> Vec<Record> {
    let mut dice = Dice(seed);
    let link = if http { "http" } else { "pipe" };
    let mode = dice.pick(&["auto", "legacy", "modern"]);
    let config = format!(
        r#"{{"link":"{link}","url":"https://a.b/mcp","info":{{"name":"c","version":"1"}},"capabilities":{{"roots":{{}}}},"mode":"{mode}","maxRounds":3,"limits":{{"messageBytes":400,"pendingCalls":6}}}}"#
    );
    let mut client = FlatClient::new(&config, &[0; 32]).expect("config");
    let mut seen = client.start(0).expect("first");
    let mut now = 0;
    for step in 1..120 {
        now += dice.roll(400);
        let streams: Vec<u64> =
            seen.iter().filter(|record| record.kind == "fetch").map(|record| record.stream).collect();
        let stream = streams
            .len()
            .checked_sub(1)
            .map_or(0, |last| streams[last - usize::try_from(dice.roll(3)).expect("small").min(last)]);
        let said = message(&mut dice);
        let done = match dice.roll(14) {
            0..=2 => {
                let options =
                    dice.pick(&["", r#"{"all":true,"progress":true}"#, r#"{"logLevel":"info","timeoutMs":300}"#]);
                let params = r#"{"name":"a","notifications":{"resourceSubscriptions":["a:b"]}}"#;
                client.request(step, dice.pick(METHODS), params, options, now)
            }
            3 => client.cancel(dice.roll(step), "why", now),
            4 => client.answer(
                1 + dice.roll(4),
                dice.pick(&[r#"{"result":{}}"#, r#"{"error":{"code":1,"message":"m"}}"#]),
                now,
            ),
            5 => client.notify("notifications/roots/list_changed", "", now),
            6 => client.timeout(now),
            7 if step > 60 && dice.roll(8) == 0 => client.close(now),
            7 if !http && dice.roll(20) == 0 => client.ended("gone", now),
            _ if !http => client.receive(format!("{said}\n").as_bytes(), now),
            8 => client.failed(stream, "reset", now),
            9 => client.end(stream, now),
            10 | 11 => {
                let head = dice.pick(&[
                    "content-type: text/event-stream\nmcp-session-id: x",
                    "content-type: application/json",
                    "",
                ]);
                let status = [200, 200, 200, 202, 400, 404, 500][usize::try_from(dice.roll(7)).expect("small")];
                client.response(stream, status, head, now)
            }
            12 => client.body(stream, format!("id: 1\ndata: {said}\n\n").as_bytes(), now),
            _ => client.body(stream, said.as_bytes(), now),
        };
        // Refused commands change nothing, and are not the subject here.
        seen.extend(done.unwrap_or_default());
    }
    seen.extend(client.close(now).unwrap_or_default());
    seen.extend(client.timeout(now + 10_000).expect("always allowed"));
    seen.retain(|record| record.kind != "wait");
    seen
}

#[test]
fn every_life_ends_well() {
    let mut kinds = BTreeMap::new();
    for seed in 0..3000 {
        for http in [false, true] {
            let seen = life(seed, http);
            if seed % 50 == 0 {
                assert_eq!(seen, life(seed, http), "{seed}");
            }
            let mut ends = BTreeMap::new();
            let mut inputs = BTreeMap::new();
            for record in &seen {
                *kinds.entry(record.kind).or_insert(0) += 1;
                match record.kind {
                    "result" | "error" => *ends.entry(record.id).or_insert(0) += 1,
                    "progress" => assert!(!ends.contains_key(&record.id), "{seed}: progress after the end"),
                    "input" => assert!(inputs.insert(record.id, ()).is_none(), "{seed}"),
                    "input_cancelled" => assert!(inputs.remove(&record.id).is_some(), "{seed}"),
                    _ => {}
                }
            }
            assert!(ends.values().all(|times| *times == 1), "{seed} {http}: {ends:?}");
            assert_eq!(seen.last().map(|record| record.kind), Some("closed"), "{seed} {http}: {seen:?}");
            assert_eq!(seen.iter().filter(|record| record.kind == "closed").count(), 1, "{seed} {http}");
            assert!(seen.iter().filter(|record| record.kind == "ready").count() <= 1, "{seed} {http}");
        }
    }
    for kind in
        ["ready", "result", "error", "progress", "input", "input_cancelled", "notice", "violation", "abort", "fetch"]
    {
        assert!(kinds.contains_key(kind), "{kind} never happened: {kinds:?}");
    }
}

#[test]
fn http1_carries_a_fetch() {
    let mut http = FlatHttp1::new();
    let fetch =
        r#"{"url":"http://[::1]:8080/mcp?x","headers":[["accept","a"],["mcp-name","b"]],"body":"{\"\u00fc\":1}"}"#;
    let bytes = http.encode("POST", fetch).expect("sound");
    assert_eq!(
        core::str::from_utf8(&bytes).expect("text"),
        "POST /mcp?x HTTP/1.1\r\nhost: [::1]:8080\r\naccept: a\r\nmcp-name: b\r\ncontent-length: 8\r\n\r\n{\"ü\":1}"
    );
    assert_eq!(http.encode("POST", fetch).expect_err("busy").code, "usage");
    let answer = b"HTTP/1.1 200 OK\r\nX: y\r\ncontent-length: 2\r\n\r\n{}";
    let mut seen = Vec::new();
    for byte in answer {
        seen.extend(http.receive(&[*byte]).expect("sound"));
    }
    let kinds: Vec<_> = seen.iter().map(|record| (record.kind, record.id)).collect();
    assert_eq!(kinds, [("head", 200), ("body", 0), ("body", 0), ("end", 1)]);
    assert_eq!(seen[0].text, b"x: y\ncontent-length: 2\n");
    http.encode("GET", r#"{"url":"http://a/","headers":[],"body":null}"#).expect("idle again");
    http.receive(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").expect("sound");
    assert_eq!(http.finish().expect_err("cut short").code, "http_truncated");
    let mut http = FlatHttp1::new();
    http.encode("GET", r#"{"url":"http://a/","headers":[],"body":null}"#).expect("fresh");
    assert_eq!(http.receive(b"nonsense\r\n\r\n").expect_err("no HTTP").code, "http_malformed");
    assert_eq!(FlatHttp1::target("https://A.b/x").expect("sound"), r#"{"tls":true,"host":"a.b","port":443}"#);
    assert_eq!(FlatHttp1::target("ftp://a").expect_err("no HTTP").code, "usage");
}
