//! The client through its flat surface: against scripted servers here, against our own server at the end.

use std::collections::VecDeque;

use mcp_keel_core::flat::{FlatClient, FlatServer, Record};

const LEGACY: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"logging":{}},"serverInfo":{"name":"s","version":"1"}}"#;
const MODERN: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#;
const ALL: &str = r#","capabilities":{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}"#;

/// A client on a pipe or on HTTP, and what its host saw.
struct Host {
    client: FlatClient,
    now: u64,
    until: u64,
    seen: VecDeque<Record>,
}

fn text(record: &Record) -> &str {
    core::str::from_utf8(&record.text).expect("text")
}

fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

impl Host {
    fn new(link: &str, more: &str) -> Self {
        let config = format!(
            r#"{{"link":"{link}","url":"http://127.0.0.1:1/mcp","headers":{{"Authorization":"Bearer x"}},"info":{{"name":"c","version":"1"}}{more}}}"#
        );
        let client = FlatClient::new(&config, &[1; 32]).expect("config");
        let mut host = Self { client, now: 1000, until: 0, seen: VecDeque::new() };
        host.run(|client, now| client.start(now));
        host
    }

    fn pipe(more: &str) -> Self {
        Self::new("pipe", more)
    }

    fn http(more: &str) -> Self {
        Self::new("http", more)
    }

    fn run(&mut self, act: impl FnOnce(&mut FlatClient, u64) -> Result<Vec<Record>, mcp_keel_core::flat::FlatError>) {
        let mut records = act(&mut self.client, self.now).expect("allowed");
        let wait = records.pop().expect("a last record");
        assert_eq!(wait.kind, "wait");
        self.until = wait.until;
        self.seen.extend(records);
    }

    /// Lets the clock run to the next deadline.
    fn wait(&mut self) {
        assert!(self.until > self.now, "a deadline");
        self.now = self.until;
        self.run(FlatClient::timeout);
    }

    fn line(&mut self, line: &str) {
        self.run(|client, now| client.receive(format!("{line}\n").as_bytes(), now));
    }

    fn result(&mut self, id: u64, result: &str) {
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    fn error(&mut self, id: u64, code: i64) {
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#));
    }

    fn request(&mut self, handle: u64, method: &str, params: &str, options: &str) {
        self.run(|client, now| client.request(handle, method, params, options, now));
    }

    fn next(&mut self, kind: &str) -> Record {
        let record = self.seen.pop_front().unwrap_or_else(|| panic!("{kind} expected, nothing there"));
        assert_eq!(record.kind, kind, "{} {}", record.name, text(&record));
        record
    }

    fn nothing(&self) {
        let kinds: Vec<_> = self.seen.iter().map(|record| (record.kind, record.name.as_str(), text(record))).collect();
        assert!(kinds.is_empty(), "{kinds:?}");
    }

    /// The next message on the pipe: its method and the whole of it.
    fn sent(&mut self) -> serde_json::Value {
        let record = self.next("write");
        let line = text(&record);
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
        value(line)
    }

    /// The next exchange: its stream, its headers, the message in it.
    fn fetch(&mut self) -> (u64, serde_json::Value, serde_json::Value) {
        let record = self.next("fetch");
        let fetch = value(text(&record));
        assert_eq!(fetch["url"], "http://127.0.0.1:1/mcp");
        let pairs = fetch["headers"].as_array().expect("headers");
        let headers = pairs.iter().map(|pair| (pair[0].as_str().expect("name").to_owned(), pair[1].clone()));
        let headers: serde_json::Map<_, _> = headers.collect();
        assert_eq!(headers["authorization"], "Bearer x");
        let mut message = fetch["body"].as_str().map(value).unwrap_or_default();
        message["http"] = record.name.into();
        (record.stream, headers.into(), message)
    }

    fn answer(&mut self, stream: u64, status: u16, headers: &str, body: &str) {
        self.run(|client, now| client.response(stream, status, headers, now));
        if !body.is_empty() {
            self.run(|client, now| client.body(stream, body.as_bytes(), now));
        }
        self.run(|client, now| client.end(stream, now));
    }

    fn json(&mut self, stream: u64, status: u16, body: &str) {
        self.answer(stream, status, "content-type: application/json\n", body);
    }

    fn accept(&mut self, stream: u64) {
        self.answer(stream, 202, "", "");
    }

    fn legacy_pipe(more: &str) -> Self {
        let mut host = Self::pipe(&format!(r#"{more},"mode":"legacy""#));
        assert_eq!(host.sent()["method"], "initialize");
        host.result(1, LEGACY);
        assert_eq!(host.sent()["method"], "notifications/initialized");
        assert_eq!(host.next("ready").name, "2025-11-25");
        host
    }

    fn modern_pipe(more: &str) -> Self {
        let mut host = Self::pipe(more);
        assert_eq!(host.sent()["method"], "server/discover");
        host.result(1, MODERN);
        assert_eq!(host.next("ready").name, "2026-07-28");
        host
    }

    /// A legacy session on HTTP, with its stream for unasked messages.
    fn legacy_http(more: &str) -> (Self, u64) {
        let mut host = Self::http(&format!(r#"{more},"mode":"legacy""#));
        let (stream, headers, message) = host.fetch();
        assert_eq!(message["method"], "initialize");
        assert_eq!((headers.get("mcp-protocol-version"), headers.get("mcp-session-id")), (None, None));
        assert_eq!(headers["accept"], "application/json, text/event-stream");
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{LEGACY}}}"#, message["id"]);
        host.answer(stream, 200, "content-type: application/json\nMcp-Session-Id: S1\n", &body);
        let (stream, headers, message) = host.fetch();
        assert_eq!(message["method"], "notifications/initialized");
        assert_eq!(
            (&headers["mcp-protocol-version"], &headers["mcp-session-id"]),
            (&"2025-11-25".into(), &"S1".into())
        );
        host.nothing();
        host.accept(stream);
        host.next("ready");
        let (unasked, headers, message) = host.fetch();
        assert_eq!((message["http"].as_str(), &headers["accept"]), (Some("GET"), &"text/event-stream".into()));
        (host, unasked)
    }

    fn modern_http(more: &str) -> Self {
        let mut host = Self::http(more);
        let (stream, headers, message) = host.fetch();
        assert_eq!(
            (&headers["mcp-method"], &headers["mcp-protocol-version"]),
            (&"server/discover".into(), &"2026-07-28".into())
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{MODERN}}}"#, message["id"]);
        host.json(stream, 200, &body);
        host.next("ready");
        host
    }

    fn fails(&mut self, handle: u64, kind: &str, code: &str) -> serde_json::Value {
        let record = self.next("error");
        let error = value(text(&record));
        assert_eq!((record.id, record.name.as_str()), (handle, code), "{error}");
        assert_eq!((error["kind"].as_str(), error["code"].as_str()), (Some(kind), Some(code)));
        error
    }
}

const SSE: &str = "content-type: text/event-stream\n";
const DONE: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

#[test]
fn any_error_to_the_probe_but_a_modern_one_means_a_handshake() {
    for code in [-32601, -32602, -32000, -32001, -32600, 1] {
        let mut host = Host::pipe("");
        let probe = host.sent();
        assert_eq!(probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        host.error(1, code);
        let initialize = host.sent();
        assert_eq!(initialize["params"]["protocolVersion"], "2025-11-25");
        host.result(2, LEGACY);
        host.sent();
        let ready = host.next("ready");
        assert_eq!(value(text(&ready))["era"], "legacy");
        assert_eq!(value(text(&ready))["server"]["name"], "s");
    }
}

#[test]
fn silence_means_a_handshake_and_a_late_answer_corrects_it() {
    let mut host = Host::pipe("");
    host.sent();
    assert_eq!(host.until, 4000);
    host.wait();
    assert_eq!(host.sent()["method"], "initialize");
    host.result(1, MODERN);
    assert_eq!(host.next("ready").name, "2026-07-28");
    host.result(2, LEGACY);
    host.nothing();

    let mut host = Host::pipe("");
    host.sent();
    host.wait();
    host.sent();
    host.result(2, LEGACY);
    host.sent();
    host.next("ready");
    host.result(1, MODERN);
    host.nothing();

    let mut host = Host::pipe("");
    host.request(7, "tools/list", "", "");
    host.sent();
    host.wait();
    host.sent();
    host.wait();
    host.fails(7, "disconnected", "disconnected");
    host.next("close");
    assert_eq!(host.next("closed").name, "timeout");
    host.nothing();
}

#[test]
fn an_id_less_error_counts_while_opening_only() {
    let mut host = Host::pipe("");
    host.sent();
    let line = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}"#;
    host.line(line);
    assert_eq!(host.sent()["method"], "initialize");
    host.result(2, LEGACY);
    host.sent();
    host.next("ready");
    host.line(line);
    assert_eq!(host.next("violation").name, "peer_error");
}

#[test]
fn modes_and_pins_hold() {
    let mut host = Host::pipe(r#","mode":"modern","timeoutMs":60000.5,"capabilities":{"roots":null},"revision":null"#);
    host.sent();
    host.error(1, -32601);
    host.next("close");
    assert_eq!(host.next("closed").name, "opening_failed");

    let mut host = Host::pipe(r#","revision":"2025-03-26""#);
    assert_eq!(host.sent()["params"]["protocolVersion"], "2025-03-26");
    host.result(1, LEGACY);
    host.next("close");
    assert_eq!(host.next("closed").name, "version_unsupported");
    host.nothing();
    for bad in [r#","revision":"2020-01-01""#, r#","mode":"modern","revision":"2025-03-26""#, r#","mode":"x""#] {
        let config = format!(r#"{{"link":"pipe","info":{{"name":"c","version":"1"}}{bad}}}"#);
        assert_eq!(FlatClient::new(&config, &[0; 32]).expect_err(bad).code, "config_invalid");
    }
}

#[test]
fn a_pipe_may_be_cut_anywhere() {
    let stream = format!(
        "\u{feff}\r\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{LEGACY}}}\r\n\nhello \u{1F980}\n{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}}\r\n{{broken}}\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}}"
    );
    let mut all = Vec::new();
    for size in [1, 2, 3, 7, 64, 10_000] {
        let mut host = Host::pipe(r#","mode":"legacy""#);
        for part in stream.as_bytes().chunks(size) {
            host.run(|client, now| client.receive(part, now));
        }
        host.run(|client, now| client.ended("exit code 1", now));
        all.push(host.seen);
    }
    let kinds: Vec<_> = all[0].iter().map(|record| record.kind).collect();
    assert_eq!(
        kinds,
        ["write", "write", "ready", "violation", "write", "violation", "notice", "closed"],
        "initialize, initialized, ready, stray output, pong, broken line, unterminated notice, end"
    );
    assert_eq!((all[0][3].name.as_str(), text(&all[0][7])), ("stray_output", "exit code 1"));
    assert!(all.iter().all(|seen| seen == &all[0]));
}

#[test]
fn too_long_a_line_is_skipped_and_fails_its_request() {
    let mut host = Host::legacy_pipe(r#","limits":{"messageBytes":1000}"#);
    host.request(5, "tools/call", r#"{"name":"a"}"#, "");
    host.sent();
    host.line(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"x":"{}"}}}}"#, "x".repeat(5000)));
    host.fails(5, "invalid", "message_too_big");
    host.line(&format!(r#"{{"x":"{}"}}"#, "x".repeat(5000)));
    assert_eq!(host.next("violation").name, "message_too_big");
    host.request(6, "ping", "", "");
    host.sent();
    host.result(3, "{}");
    assert_eq!(host.next("result").id, 6);
}

#[test]
fn requests_carry_what_their_era_wants() {
    let mut host = Host::legacy_pipe("");
    host.request(5, "tools/call", r#"{"name":"a","_meta":{"x":1}}"#, r#"{"meta":{"y":2},"progress":true}"#);
    assert_eq!(host.sent()["params"]["_meta"], value(r#"{"x":1,"y":2,"progressToken":2}"#));
    let mut host = Host::modern_pipe(ALL);
    host.request(5, "tools/call", r#"{"name":"a","_meta":{"x":1}}"#, r#"{"logLevel":"info"}"#);
    let meta = host.sent()["params"]["_meta"].clone();
    assert_eq!(meta["x"], 1);
    assert_eq!(meta["io.modelcontextprotocol/logLevel"], "info");
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        value(r#"{"elicitation":{},"sampling":{},"roots":{}}"#)
    );
    let error = host.client.request(6, "ping", "", "", 0).expect_err("not in this revision");
    assert_eq!(error.code, "unsupported");
    assert_eq!(host.client.request(5, "tools/list", "", "", 0).expect_err("in use").code, "usage");
    assert_eq!(host.client.request(8, "tools/list", "[]", "", 0).expect_err("no object").code, "usage");
    assert_eq!(host.client.answer(99, r#"{"result":{}}"#, 0).expect_err("unknown").code, "unknown_token");
}

#[test]
fn the_log_level_is_set_once_and_first() {
    let mut host = Host::legacy_pipe("");
    host.request(5, "tools/list", "", r#"{"logLevel":"info"}"#);
    let level = host.sent();
    assert_eq!((level["method"].as_str(), &level["params"]["level"]), (Some("logging/setLevel"), &"info".into()));
    host.nothing();
    host.result(2, "{}");
    assert_eq!(host.sent()["method"], "tools/list");
    host.request(6, "tools/list", "", r#"{"logLevel":"info"}"#);
    assert_eq!(host.sent()["method"], "tools/list");
}

#[test]
fn progress_restarts_the_clock_up_to_a_cap() {
    let mut host = Host::legacy_pipe("");
    host.request(5, "tools/call", r#"{"name":"a"}"#, r#"{"progress":true,"timeoutMs":100,"maxTimeoutMs":250}"#);
    host.sent();
    assert_eq!(host.until, 1100);
    for (at, until) in [(1090, 1190), (1180, 1250)] {
        host.now = at;
        host.line(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":0.5,"total":3,"message":"m","x":1}}"#,
        );
        assert_eq!(text(&host.next("progress")), r#"{"progress":0.5,"total":3,"message":"m"}"#);
        assert_eq!(host.until, until);
    }
    host.wait();
    let cancelled = host.sent();
    assert_eq!(
        (cancelled["method"].as_str(), &cancelled["params"]["requestId"]),
        (Some("notifications/cancelled"), &2.into())
    );
    host.fails(5, "timeout", "timeout");
    host.line(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#);
    host.result(2, DONE);
    host.nothing();
    host.result(2, DONE);
    assert_eq!(host.next("violation").name, "unknown_response");
    host.line(r#"{"jsonrpc":"2.0","id":"2","result":{}}"#);
    assert_eq!(host.next("violation").name, "unknown_response");
}

#[test]
fn cancelling_follows_era_and_link() {
    for mut host in [Host::legacy_pipe(""), Host::modern_pipe("")] {
        host.request(5, "tools/call", r#"{"name":"a"}"#, "");
        host.sent();
        host.run(|client, now| client.cancel(5, "enough", now));
        assert_eq!(host.sent()["params"], value(r#"{"requestId":2,"reason":"enough"}"#));
        host.fails(5, "cancelled", "cancelled");
        host.run(|client, now| client.cancel(5, "", now));
        host.error(2, -1);
        host.nothing();
    }
    let mut host = Host::modern_http("");
    host.request(5, "tools/call", r#"{"name":"a"}"#, "");
    let (stream, ..) = host.fetch();
    host.run(|client, now| client.cancel(5, "enough", now));
    assert_eq!(host.next("abort").stream, stream);
    host.fails(5, "cancelled", "cancelled");
    host.nothing();
    let (mut host, _) = Host::legacy_http("");
    host.request(5, "tools/call", r#"{"name":"a"}"#, "");
    let (stream, ..) = host.fetch();
    host.run(|client, now| client.cancel(5, "enough", now));
    assert_eq!(host.fetch().2["method"], "notifications/cancelled");
    assert_eq!(host.next("abort").stream, stream);
    host.fails(5, "cancelled", "cancelled");
    host.nothing();
}

#[test]
fn initialize_is_never_cancelled() {
    let mut host = Host::pipe(r#","mode":"legacy","timeoutMs":50"#);
    host.sent();
    host.wait();
    host.next("close");
    assert_eq!(host.next("closed").name, "timeout");
    host.nothing();
    assert_eq!(host.client.request(5, "ping", "", "", 0).expect_err("over").code, "closed");
    assert_eq!(host.client.close(0).expect_err("over").code, "closed");
}

#[test]
fn pages_are_walked() {
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#);
    let mut host = Host::legacy_pipe("");
    host.request(5, "tools/list", r#"{"x":1}"#, r#"{"all":true}"#);
    assert_eq!(host.sent()["params"], value(r#"{"x":1}"#));
    host.result(2, &format!(r#"{{"tools":[{}],"nextCursor":"","a":1}}"#, tool("a")));
    assert_eq!(host.sent()["params"], value(r#"{"x":1,"cursor":""}"#));
    host.result(3, r#"{"tools":[],"nextCursor":"z\u0041"}"#);
    assert_eq!(host.sent()["params"]["cursor"], "zA");
    host.result(4, &format!(r#"{{"tools":[{}]}}"#, tool("b")));
    assert_eq!(text(&host.next("result")), format!(r#"{{"tools":[{},{}],"a":1}}"#, tool("a"), tool("b")));

    host.request(6, "tools/list", "", r#"{"all":true}"#);
    host.sent();
    host.result(5, r#"{"tools":[],"nextCursor":"1"}"#);
    host.sent();
    host.result(6, r#"{"tools":[],"nextCursor":"1"}"#);
    assert_eq!(host.next("violation").name, "repeated_cursor");
    assert_eq!(text(&host.next("result")), r#"{"tools":[]}"#);

    host.request(7, "resources/templates/list", "", "");
    host.sent();
    host.result(7, r#"{"templates":[]}"#);
    let error = host.fails(7, "invalid", "invalid_result");
    assert!(error["message"].as_str().expect("text").contains("resourceTemplates"));
    host.request(8, "tools/list", "", "");
    host.sent();
    let kept = r#"{ "tools" : [], "next_cursor":"1"  }"#;
    host.result(8, kept);
    assert_eq!(text(&host.next("result")), kept);
}

#[test]
fn input_comes_in_rounds() {
    let mut host = Host::modern_pipe(&format!(r#"{ALL},"maxRounds":3"#));
    host.request(5, "tools/call", r#"{"name":"a","arguments":{"n":9007199254740993}}"#, r#"{"progress":true}"#);
    host.sent();
    let ask = r#"{"method":"elicitation/create","params":{"message":"?"}}"#;
    host.result(
        2,
        &format!(r#"{{"resultType":"input_required","inputRequests":{{"k\n1":{ask},"b":{{"method":"roots/list"}}}},"requestState":"s\u0031"}}"#),
    );
    let (first, second) = (host.next("input"), host.next("input"));
    assert_eq!((first.name.as_str(), second.name.as_str()), ("elicitation/create", "roots/list"));
    host.run(|client, now| client.answer(second.id, r#"{"result":{"roots":[]}}"#, now));
    host.nothing();
    host.run(|client, now| client.answer(first.id, r#"{"result":{"action":"accept","content":{}}}"#, now));
    let retry = host.next("write");
    assert!(text(&retry).contains(r#""requestState":"s\u0031""#), "echoed as it was written");
    let retry = value(text(&retry));
    assert_eq!(retry["id"], 3);
    assert_eq!(retry["params"]["_meta"]["progressToken"], 3);
    assert_eq!(
        retry["params"]["inputResponses"],
        value(r#"{"k\n1":{"action":"accept","content":{}},"b":{"roots":[]}}"#)
    );
    host.result(3, r#"{"resultType":"input_required","requestState":"s2"}"#);
    let retry = host.sent();
    assert_eq!((&retry["params"]["requestState"], retry["params"].get("inputResponses")), (&"s2".into(), None));
    host.result(4, &format!(r#"{{"resultType":"input_required","inputRequests":{{"c":{ask}}}}}"#));
    let third = host.next("input");
    host.run(|client, now| client.answer(third.id, r#"{"result":{"action":"decline"}}"#, now));
    let retry = host.sent();
    assert_eq!(retry["params"].get("requestState"), None, "only the latest state counts");
    assert_eq!(retry["params"]["arguments"].to_string(), r#"{"n":9007199254740993}"#);
    host.result(5, r#"{"resultType":"input_required","requestState":"s2"}"#);
    host.fails(5, "limit", "input_rounds");

    host.request(6, "tools/call", r#"{"name":"a"}"#, "");
    host.sent();
    host.result(6, &format!(r#"{{"resultType":"input_required","inputRequests":{{"a":{ask},"b":{ask}}}}}"#));
    let (a, b) = (host.next("input"), host.next("input"));
    host.run(|client, now| client.answer(a.id, r#"{"error":{"code":-1,"message":"user refused"}}"#, now));
    assert_eq!(host.next("input_cancelled").id, b.id);
    host.fails(6, "usage", "input_failed");
    host.nothing();
}

#[test]
fn strange_results_are_refused() {
    let mut host = Host::modern_pipe("");
    let cases = [
        ("tools/call", r#"{"resultType":"later","content":[]}"#, "invalid", "result_type_unknown"),
        ("tools/call", r#"{"resultType":7,"content":[]}"#, "invalid", "result_type_unknown"),
        ("tools/list", r#"{"resultType":"input_required","requestState":"x"}"#, "invalid", "invalid_result"),
        ("tools/call", r#"{"resultType":"input_required"}"#, "invalid", "invalid_result"),
        ("tools/call", r#"{"resultType":"input_required","requestState":1}"#, "invalid", "invalid_result"),
        (
            "tools/call",
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage"}}}"#,
            "usage",
            "unsupported",
        ),
        ("tools/call", r#"{"structuredContent":{}}"#, "invalid", "invalid_result"),
    ];
    for (at, (method, result, kind, code)) in (2..).zip(cases) {
        host.request(at, method, r#"{"name":"a"}"#, "");
        host.sent();
        host.result(at, result);
        host.fails(at, kind, code);
    }
    host.line(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(host.next("violation").name, "unexpected_message");
    host.nothing();
}

#[test]
fn a_legacy_server_may_ask() {
    let mut host = Host::legacy_pipe(ALL);
    host.line(r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"?"}}"#);
    let input = host.next("input");
    assert_eq!((input.name.as_str(), text(&input)), ("elicitation/create", r#"{"message":"?"}"#));
    host.run(|client, now| client.answer(input.id, r#"{"result":{"action":"accept"}}"#, now));
    assert_eq!(host.sent(), value(r#"{"jsonrpc":"2.0","id":"e1","result":{"action":"accept"}}"#));
    host.line(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    let input = host.next("input");
    host.run(|client, now| client.answer(input.id, r#"{"error":{"code":-1,"message":"no"}}"#, now));
    assert_eq!(host.sent()["error"]["code"], -1);
    host.line(r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}"#);
    let input = host.next("input");
    host.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    assert_eq!(host.next("input_cancelled").id, input.id);
    host.line(r#"{"jsonrpc":"2.0","id":3,"method":"vendor/x"}"#);
    assert_eq!(host.sent()["error"]["code"], -32601);
    host.line(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#);
    assert_eq!(host.sent(), value(r#"{"jsonrpc":"2.0","id":4,"result":{}}"#));
    let mut host = Host::legacy_pipe("");
    host.line(r#"{"jsonrpc":"2.0","id":3,"method":"roots/list"}"#);
    assert_eq!(host.sent()["error"]["code"], -32601);
}

#[test]
fn listening_is_emulated_by_subscriptions() {
    let mut host = Host::legacy_pipe("");
    let filter = r#"{"notifications":{"resourceSubscriptions":["a:1","a:2"],"toolsListChanged":true}}"#;
    host.request(5, "subscriptions/listen", filter, "");
    assert_eq!(host.until, 0, "no timeout");
    assert_eq!(
        (host.sent()["params"]["uri"].clone(), host.sent()["params"]["uri"].clone()),
        ("a:1".into(), "a:2".into())
    );
    host.result(2, "{}");
    host.result(3, "{}");
    let ack = host.next("notice");
    assert_eq!(ack.name, "notifications/subscriptions/acknowledged");
    assert_eq!(text(&ack), r#"{"notifications":{"resourceSubscriptions":["a:1","a:2"]}}"#);
    host.request(6, "subscriptions/listen", r#"{"notifications":{"resourceSubscriptions":["a:2"]}}"#, "");
    host.sent();
    host.run(|client, now| client.cancel(5, "", now));
    let over = host.sent();
    assert_eq!((over["method"].as_str(), &over["params"]["uri"]), (Some("resources/unsubscribe"), &"a:1".into()));
    host.fails(5, "cancelled", "cancelled");
    host.nothing();

    let mut host = Host::modern_pipe("");
    host.request(5, "subscriptions/listen", filter, "");
    assert_eq!((host.sent()["method"].as_str(), host.until), (Some("subscriptions/listen"), 0));
    host.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    assert_eq!(host.next("result").id, 5);
}

#[test]
fn http_carries_headers_and_both_kinds_of_answer() {
    let mut host = Host::modern_http("");
    host.request(5, "tools/call", r#"{"name":"grüß"}"#, r#"{"progress":true}"#);
    let (stream, headers, message) = host.fetch();
    assert_eq!((&headers["mcp-method"], &headers["mcp-name"]), (&"tools/call".into(), &"=?base64?Z3LDvMOf?=".into()));
    assert_eq!(headers["mcp-protocol-version"], message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]);
    host.run(|client, now| client.response(stream, 200, SSE, now));
    let events = format!(
        ": hi\n\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":2,\"progress\":1}}}}\n\ndata:\n\nid: 4\ndata: {{\"jsonrpc\":\"2.0\",\"id\":2,\ndata: \"result\":{DONE}}}\r\n\r\n"
    );
    for byte in events.as_bytes().chunks(1) {
        host.run(|client, now| client.body(stream, byte, now));
    }
    host.next("progress");
    assert_eq!(text(&host.next("result")), DONE);
    assert_eq!(host.until, host.now + 5000, "a stream that stays open is dropped in the end");
    host.wait();
    assert_eq!(host.next("abort").stream, stream);

    host.request(6, "tools/list", "", "");
    let (stream, ..) = host.fetch();
    host.json(stream, 404, r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32601,"message":"no such"}}"#);
    let error = host.fails(6, "peer", "peer_error");
    assert_eq!(error["rpc"]["code"], -32601);
    host.request(7, "tools/list", "", "");
    let (stream, ..) = host.fetch();
    host.answer(stream, 502, "content-type: text/html\n", "<h1>bad gateway</h1>");
    host.fails(7, "invalid", "http_status");
    host.request(8, "tools/list", "", "");
    let (stream, ..) = host.fetch();
    host.answer(stream, 200, SSE, ": nothing\n\n");
    host.fails(8, "disconnected", "disconnected");
    host.request(9, "tools/list", "", "");
    let (stream, ..) = host.fetch();
    host.run(|client, now| client.response(stream, 200, "content-type: application/json\n", now));
    host.run(|client, now| client.body(stream, b"{\"jsonrpc\":\"2.0\",\"id\":5,\"res", now));
    host.run(|client, now| client.failed(stream, "connection reset", now));
    let error = host.fails(9, "disconnected", "disconnected");
    assert!(error["message"].as_str().expect("text").contains("connection reset"));
    assert_eq!(host.client.end(99, 0).expect_err("never was").code, "unknown_stream");
    host.run(|client, now| client.end(stream, now));
    host.run(FlatClient::close);
    assert_eq!(host.next("closed").name, "closed");
    host.nothing();
}

#[test]
fn marked_arguments_become_headers() {
    let mut host = Host::modern_http("");
    host.request(5, "tools/list", "", r#"{"all":true}"#);
    let (stream, ..) = host.fetch();
    let good = r#"{"name":"a","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}"#;
    let bad = r#"{"name":"b","inputSchema":{"type":"object","properties":{"r":{"type":"number","x-mcp-header":"R"}}}}"#;
    host.json(stream, 200, &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{bad},{good}]}}}}"#));
    assert!(text(&host.next("violation")).contains("`b` is left out"));
    assert_eq!(text(&host.next("result")), format!(r#"{{"tools":[{good}]}}"#));
    host.request(6, "tools/call", r#"{"name":"a","arguments":{"r":"ü","n":null}}"#, "");
    let (_, headers, _) = host.fetch();
    assert_eq!((&headers["mcp-param-region"], headers.get("mcp-param-n")), (&"=?base64?w7w=?=".into(), None));
}

#[test]
fn http_statuses_decide_the_era_or_not() {
    let unsupported = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"],"requested":"2026-07-28"}}}"#;
    let cases: [(u16, &str, &str); 8] = [
        (400, "", "2025-11-25"),
        (400, "Bad Request: no session", "2025-11-25"),
        (404, "not found", "2025-11-25"),
        (405, "", "2025-11-25"),
        (200, "", "2025-11-25"),
        (200, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#, "2025-11-25"),
        (400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#, "2025-11-25"),
        (400, unsupported, "2025-06-18"),
    ];
    for (status, body, version) in cases {
        let mut host = Host::http("");
        let (stream, ..) = host.fetch();
        host.json(stream, status, body);
        let (_, headers, message) = host.fetch();
        assert_eq!(
            (message["method"].as_str(), &message["params"]["protocolVersion"]),
            (Some("initialize"), &version.into()),
            "{status} {body}"
        );
        assert_eq!(headers.get("mcp-method"), None);
    }
    for status in [401, 403, 429, 500, 503] {
        for body in ["", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"who?"}}"#] {
            let mut host = Host::http("");
            let (stream, ..) = host.fetch();
            host.json(stream, status, body);
            assert_eq!(host.next("closed").name, "http_status", "{status}");
            host.nothing();
        }
    }
    let mut host = Host::http("");
    let (stream, ..) = host.fetch();
    host.json(stream, 404, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#);
    assert_eq!(text(&host.next("ready")), r#"{"server":null,"capabilities":{},"instructions":null,"era":"modern"}"#);
    let mut host = Host::http("");
    let (stream, ..) = host.fetch();
    host.run(|client, now| client.failed(stream, "refused", now));
    assert_eq!(host.next("closed").name, "disconnected");
    let mut host = Host::http("");
    let (stream, ..) = host.fetch();
    host.wait();
    assert_eq!(host.next("abort").stream, stream);
    assert_eq!(host.fetch().2["method"], "initialize");
}

#[test]
fn a_session_lives_and_ends_on_http() {
    let (mut host, unasked) = Host::legacy_http(ALL);
    host.run(|client, now| client.response(unasked, 200, SSE, now));
    host.run(|client, now| {
        client.body(
            unasked,
            b"id: 7\nretry: 1500\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n\n",
            now,
        )
    });
    let input = host.next("input");
    host.run(|client, now| client.answer(input.id, r#"{"result":{"roots":[]}}"#, now));
    let (stream, headers, message) = host.fetch();
    assert_eq!((&headers["mcp-session-id"], &message["id"]), (&"S1".into(), &1.into()));
    host.accept(stream);
    host.run(|client, now| client.end(unasked, now));
    assert_eq!(host.until, host.now + 1500);
    for delay in [1500, 2000, 4000] {
        assert_eq!(host.until, host.now + delay);
        host.wait();
        let (again, headers, _) = host.fetch();
        assert_eq!(headers["last-event-id"], "7");
        host.run(|client, now| client.response(again, 200, SSE, now));
        host.run(|client, now| client.end(again, now));
    }
    assert_eq!(host.until, 0, "enough is enough");
    host.request(5, "tools/call", r#"{"name":"a"}"#, "");
    let (stream, ..) = host.fetch();
    host.run(FlatClient::close);
    host.fails(5, "disconnected", "disconnected");
    assert_eq!(host.next("abort").stream, stream);
    let (farewell, headers, message) = host.fetch();
    assert_eq!((message["http"].as_str(), &headers["mcp-session-id"]), (Some("DELETE"), &"S1".into()));
    host.nothing();
    host.answer(farewell, 405, "", "");
    assert_eq!(host.next("closed").name, "closed");
    assert_eq!(host.until, 0);

    let (mut host, unasked) = Host::legacy_http("");
    host.answer(unasked, 405, "", "");
    host.next("abort");
    host.run(FlatClient::close);
    host.fetch();
    host.wait();
    host.next("abort");
    host.next("closed");
    host.nothing();
}

#[test]
fn a_server_may_hang_up_and_answer_later() {
    let (mut host, unasked) = Host::legacy_http("");
    host.answer(unasked, 405, "", "");
    host.next("abort");
    let begin = |host: &mut Host, handle| {
        host.request(handle, "tools/call", r#"{"name":"a"}"#, "");
        let (stream, _, message) = host.fetch();
        host.answer(stream, 200, SSE, "id: 1\nretry: 250\ndata:\n\n");
        assert_eq!(host.until, host.now + 250);
        host.wait();
        let (stream, headers, get) = host.fetch();
        assert_eq!((get["http"].as_str(), &headers["last-event-id"]), (Some("GET"), &"1".into()));
        (stream, message["id"].clone())
    };
    let (stream, id) = begin(&mut host, 5);
    host.answer(stream, 200, SSE, "id: 2\ndata:\n\n");
    host.wait();
    let (stream, headers, _) = host.fetch();
    assert_eq!(headers["last-event-id"], "2");
    host.answer(stream, 200, SSE, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{DONE}}}\n\n"));
    assert_eq!(text(&host.next("result")), DONE);
    assert_eq!(host.until, 0);

    let (stream, _) = begin(&mut host, 6);
    host.run(|client, now| client.cancel(6, "", now));
    assert_eq!(host.fetch().2["method"], "notifications/cancelled");
    assert_eq!(host.next("abort").stream, stream);
    host.fails(6, "cancelled", "cancelled");

    let (stream, _) = begin(&mut host, 7);
    host.answer(stream, 405, "", "");
    host.next("abort");
    host.fails(7, "disconnected", "disconnected");

    let (mut stream, _) = begin(&mut host, 8);
    for _ in 0..2 {
        host.run(|client, now| client.failed(stream, "reset", now));
        host.wait();
        stream = host.fetch().0;
    }
    host.run(|client, now| client.failed(stream, "reset", now));
    host.fails(8, "disconnected", "disconnected");
    host.nothing();
}

#[test]
fn a_lost_session_is_replaced_once() {
    let (mut host, unasked) = Host::legacy_http("");
    host.run(|client, now| client.response(unasked, 200, SSE, now));
    host.request(5, "tools/call", r#"{"name":"a"}"#, "");
    host.request(6, "tools/call", r#"{"name":"b"}"#, "");
    let (other, ..) = host.fetch();
    let (stream, ..) = host.fetch();
    host.json(stream, 404, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#);
    let mut aborted = [host.next("abort").stream, host.next("abort").stream];
    aborted.sort_unstable();
    assert_eq!(aborted, [unasked, other]);
    host.fails(5, "disconnected", "disconnected");
    let (stream, headers, message) = host.fetch();
    assert_eq!((message["method"].as_str(), headers.get("mcp-session-id")), (Some("initialize"), None));
    host.request(7, "tools/list", "", "");
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{LEGACY}}}"#, message["id"]);
    host.answer(stream, 200, "content-type: application/json\nmcp-session-id: S2\n", &body);
    let (stream, headers, _) = host.fetch();
    assert_eq!(headers["mcp-session-id"], "S2");
    host.accept(stream);
    let (refused, _, message) = host.fetch();
    assert_eq!((message["method"].as_str(), &message["params"]["name"]), (Some("tools/call"), &"b".into()));
    assert_eq!(host.fetch().2["method"], "tools/list");
    assert_eq!(host.fetch().2["http"], "GET");
    host.json(refused, 404, "");
    while host.seen.front().is_some_and(|record| record.kind == "abort") {
        host.seen.pop_front();
    }
    host.fails(6, "disconnected", "disconnected");
    host.fails(7, "disconnected", "disconnected");
    assert_eq!(host.next("closed").name, "disconnected");
    host.nothing();
}

#[test]
fn an_open_modern_connection_corrects_its_version_once() {
    let mut host = Host::modern_http("");
    host.request(5, "tools/list", "", "");
    let refusal = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}}"#;
    for id in [2, 3] {
        let (stream, ..) = host.fetch();
        host.json(stream, 400, &format!(r#"{{"jsonrpc":"2.0","id":{id},{refusal}"#));
    }
    host.fails(5, "peer", "peer_error");
}

/// A client and our own server, joined by a pipe or by HTTP.
struct Pair {
    host: Host,
    server: FlatServer,
    http: bool,
    records: Vec<Record>,
}

impl Pair {
    fn new(http: bool, mode: &str) -> Self {
        let more = format!(r#"{ALL},"mode":"{mode}""#);
        let host = if http { Host::http(&more) } else { Host::pipe(&more) };
        let config = r#"{"info":{"name":"t","version":"1"},"http":{"path":"/mcp","hosts":null,"origins":null}}"#;
        let mut server = FlatServer::new(config, &[7; 32]).expect("config");
        let catalog = r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}}]}"#;
        server.set_catalog(catalog, 0).expect("catalog");
        if !http {
            server.open(1, "pipe", 0).expect("a new stream");
        }
        Self { host, server, http, records: Vec::new() }
    }

    /// Lets both talk until nothing moves; gives what the client's host saw.
    fn settle(&mut self) -> Vec<Record> {
        let mut seen = Vec::new();
        loop {
            let said = std::mem::take(&mut self.records);
            if said.is_empty() && self.host.seen.is_empty() {
                return seen;
            }
            for record in said {
                self.take(record);
            }
            while let Some(record) = self.host.seen.pop_front() {
                match record.kind {
                    "write" => self.records.extend(self.server.receive(1, &record.text, 0).expect("open")),
                    "fetch" => self.fetch(&record),
                    "abort" => self.records.extend(self.server.gone(record.stream, 0).expect("open")),
                    _ => seen.push(record),
                }
            }
        }
    }

    fn fetch(&mut self, record: &Record) {
        let fetch = value(text(record));
        let mut head = format!("{} /mcp", record.name);
        for pair in fetch["headers"].as_array().expect("headers") {
            head += &format!("\n{}: {}", pair[0].as_str().expect("name"), pair[1].as_str().expect("value"));
        }
        head += "\nhost: 127.0.0.1";
        let body = fetch["body"].as_str().unwrap_or_default();
        self.records.extend(self.server.request(record.stream, &head, body.as_bytes(), 0).expect("open"));
    }

    fn take(&mut self, record: Record) {
        match record.kind {
            "write" => self.host.run(|client, now| client.receive(&record.text, now)),
            "head" => {
                let (status, headers) = (u16::try_from(record.id).expect("status"), text(&record).to_owned());
                self.host.run(|client, now| client.response(record.stream, status, &headers, now));
            }
            "body" => {
                self.host.run(|client, now| client.body(record.stream, &record.text, now));
                if record.until == 1 {
                    self.host.run(|client, now| client.end(record.stream, now));
                }
            }
            "call" if record.name == "tools/call echo" => {
                let progress = self.server.progress(record.id, r#"{"progress":1}"#, 0).expect("runs");
                self.records.extend(progress);
                let result = format!(r#"{{"result":{{"content":[{{"type":"text","text":{:?}}}]}}}}"#, text(&record));
                self.records.extend(self.server.respond(record.id, &result, 0).expect("runs"));
            }
            "call" => {
                let ask = r#"{"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}}"#;
                self.records.extend(self.server.ask(record.id, "name", ask, 0).expect("runs"));
            }
            "answer" => {
                let result = format!(r#"{{"result":{{"content":[{{"type":"text","text":{:?}}}]}}}}"#, text(&record));
                self.records.extend(self.server.respond(record.id, &result, 0).expect("runs"));
            }
            "wait" | "opened" | "notice" | "closed" => {}
            other => panic!("{other} {}", text(&record)),
        }
    }
}

#[test]
fn our_own_server_is_understood() {
    for http in [false, true] {
        for (mode, era) in [("legacy", "legacy"), ("modern", "modern"), ("auto", "modern")] {
            let mut pair = Pair::new(http, mode);
            let seen = pair.settle();
            assert_eq!(seen.len(), 1, "{http} {mode}: {seen:?}");
            assert_eq!(value(text(&seen[0]))["era"], era);
            pair.host.request(1, "tools/list", "", r#"{"all":true}"#);
            let seen = pair.settle();
            assert_eq!((seen[0].kind, value(text(&seen[0]))["tools"][0]["name"].as_str()), ("result", Some("echo")));
            pair.host.request(2, "tools/call", r#"{"name":"echo","arguments":{"a":1}}"#, r#"{"progress":true}"#);
            let kinds: Vec<_> = pair.settle().iter().map(|record| record.kind).collect();
            assert_eq!(kinds, ["progress", "result"], "{http} {mode}");
            pair.host.request(3, "tools/call", r#"{"name":"ask"}"#, "");
            let seen = pair.settle();
            assert_eq!((seen.len(), seen[0].kind, seen[0].name.as_str()), (1, "input", "elicitation/create"));
            let token = seen[0].id;
            pair.host.run(|client, now| client.answer(token, r#"{"result":{"action":"decline"}}"#, now));
            let seen = pair.settle();
            assert_eq!((seen.len(), seen[0].kind, seen[0].id), (1, "result", 3), "{http} {mode}: {seen:?}");
            assert!(text(&seen[0]).contains("decline"), "{}", text(&seen[0]));
            pair.host.request(4, "tools/call", r#"{"name":"nope"}"#, "");
            let seen = pair.settle();
            assert_eq!(value(text(&seen[0]))["rpc"]["code"], -32602, "{http} {mode}");
            pair.host.run(FlatClient::close);
            let last = pair.settle().pop().expect("an end");
            assert!(last.kind == "closed" || !pair.http && last.kind == "close", "{}", last.kind);
        }
    }
}

#[test]
fn noise_without_end_is_reported_a_bounded_number_of_times() {
    let mut client = FlatClient::new(r#"{"link":"pipe","info":{"name":"c","version":"1"}}"#, &[7; 32]).expect("sound");
    client.start(0).expect("fine");
    let records = client.receive("noise\n".repeat(5000).as_bytes(), 1).expect("fine");
    assert_eq!(records.iter().filter(|record| record.kind == "violation").count(), 1000);
    let records = client.timeout(3000).expect("fine");
    assert!(records.iter().any(|record| record.kind == "write"), "the opening goes on");
}
