//! The server through its flat surface: what goes in as bytes and what comes out.

use mcp_keel_core::flat::{FlatServer, Record};

const CATALOG: &str = r#"{"tools":[
  {"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]},
   "outputSchema":{"type":"object","properties":{"result":{"type":"integer"}}}},
  {"name":"ask","inputSchema":{"type":"object"}}],
 "resources":[{"uri":"memo://greeting","name":"greeting"}],
 "resourceTemplates":[{"uriTemplate":"memo://item/{id}","name":"item"}],
 "prompts":[{"name":"greet","arguments":[{"name":"name","required":true}]}]}"#;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

fn server() -> FlatServer {
    let mut server =
        FlatServer::new(r#"{"info":{"name":"t","version":"1"},"completions":true}"#, &[7; 32]).expect("config");
    server.set_catalog(CATALOG, 0).expect("catalog");
    server
}

fn piped() -> FlatServer {
    let mut server = server();
    server.open(1, "pipe", 0).expect("a new stream");
    server
}

fn feed(server: &mut FlatServer, line: &str) -> Vec<Record> {
    let mut records = server.receive(1, format!("{line}\n").as_bytes(), 0).expect("no error");
    assert_eq!(records.pop().map(|last| last.kind), Some("wait"));
    records
}

fn text(record: &Record) -> &str {
    core::str::from_utf8(&record.text).expect("text")
}

fn written(records: &[Record]) -> String {
    records.iter().filter(|record| record.is_bytes()).map(text).collect()
}

fn call_in(records: &[Record]) -> u64 {
    records.iter().find(|record| record.kind == "call").expect("a call").id
}

fn initialize(server: &mut FlatServer, version: &str, capabilities: &str) -> String {
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    );
    let answer = written(&feed(server, &line));
    assert_eq!(feed(server, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), []);
    answer
}

#[test]
fn a_call_in_both_eras_on_one_pipe() {
    let mut server = piped();
    let discovered = written(&feed(
        &mut server,
        &format!(r#"{{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{{{META}}}}}"#),
    ));
    assert!(discovered.contains(r#""resultType":"complete""#), "{discovered}");
    assert!(initialize(&mut server, "2025-06-18", "{}").contains(r#""protocolVersion":"2025-06-18""#));
    let records = feed(
        &mut server,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":9007199254740993,"b":1}}}"#,
    );
    assert_eq!((records[0].kind, records[0].name.as_str()), ("call", "tools/call add"));
    assert_eq!(text(&records[0]), r#"{"a":9007199254740993,"b":1}"#);
    let answer = server
        .respond(records[0].id, r#"{"result":{"structuredContent":{"result":9007199254740994}}}"#, 0)
        .expect("known");
    assert_eq!(
        text(&answer[0]),
        concat!(
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"result\":9007199254740994}"}],"#,
            r#""structuredContent":{"result":9007199254740994}}}"#,
            "\n"
        )
    );
    let records = feed(
        &mut server,
        &format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"add","arguments":{{"a":1,"b":1}},{META}}}}}"#
        ),
    );
    let answer = server.respond(records[0].id, r#"{"result":{"structuredContent":{"result":2}}}"#, 0).expect("known");
    assert!(text(&answer[0]).contains(r#""resultType":"complete""#));
}

#[test]
fn asking_in_both_eras() {
    let question = r#"{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let mut server = piped();
    initialize(&mut server, "2025-06-18", r#"{"elicitation":{}}"#);
    let call = feed(&mut server, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#)[0].id;
    let asked = server.ask(call, "k", question, 0).expect("asked");
    assert!(text(&asked[0]).contains(r#""method":"elicitation/create""#));
    assert!(!text(&asked[0]).contains("mode"), "this revision has no modes");
    let answered = feed(&mut server, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#);
    assert_eq!((answered[0].kind, text(&answered[0])), ("answer", r#"{"result":{"action":"decline"}}"#));

    let call = call_in(&feed(
        &mut server,
        &format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"ask",{META}}}}}"#),
    ));
    let asked = server.ask(call, "k", question, 0).expect("asked");
    let line = text(&asked[0]);
    assert!(line.contains(r#""resultType":"input_required""#), "{line}");
    let state = line.split(r#""requestState":""#).nth(1).and_then(|rest| rest.split('"').next()).expect("a state");
    let retry = format!(
        r#"{{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{{"name":"ask","requestState":"{state}","inputResponses":{{"k":{{"action":"cancel"}}}},{META}}}}}"#
    );
    let answered = feed(&mut server, &retry);
    assert_eq!((answered[0].kind, answered[0].id), ("answer", call));
    let done = server.respond(call, r#"{"result":{"content":[]}}"#, 0).expect("known");
    assert!(text(&done[0]).starts_with(r#"{"jsonrpc":"2.0","id":8,"#));
    assert!(written(&feed(&mut server, &retry)).contains("-32602"), "the state is used up");
}

#[test]
fn end_of_input_waits_for_the_answer() {
    let mut server = piped();
    initialize(&mut server, "2025-11-25", "{}");
    let tail = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}"#;
    let records = server.receive(1, tail.as_bytes(), 0).expect("fine");
    assert_eq!(records[0].kind, "wait");
    let call = server.end(1, 0).expect("fine")[0].clone();
    assert_eq!(call.kind, "call");
    let records = server.respond(call.id, r#"{"result":{"content":[]}}"#, 0).expect("known");
    let kinds: Vec<_> = records.iter().map(|record| record.kind).collect();
    assert_eq!(kinds, ["write", "close", "closed", "wait"]);
}

#[test]
fn http_in_both_eras() {
    let mut server = server();
    let head =
        "POST /mcp\nhost: localhost:1\naccept: application/json, text/event-stream\ncontent-type: application/json";
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let records = server.request(1, head, body.as_bytes(), 0).expect("fine");
    let opened = records.iter().find(|record| record.kind == "head").expect("an answer");
    assert_eq!(opened.id, 200);
    let session =
        text(opened).lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session").to_owned();
    let head_in = format!("{head}\nmcp-session-id: {session}\nmcp-protocol-version: 2025-11-25");
    let records =
        server.request(2, &head_in, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 0).expect("fine");
    assert_eq!((records[0].kind, records[0].id), ("head", 202));
    let records = server.request(3, &head_in, br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, 0).expect("fine");
    assert!(written(&records).contains("\"tools\""));
    let bad = head_in.replace(&session, "nope");
    assert_eq!(
        server.request(4, &bad, br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, 0).expect("fine")[0].id,
        404
    );
    let modern = format!("{head}\nmcp-protocol-version: 2026-07-28\nmcp-method: tools/call\nmcp-name: ask");
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask",{META},"_x":1}}}}"#);
    let records = server.request(5, &modern, body.as_bytes(), 0).expect("fine");
    let call = records.iter().find(|record| record.kind == "call").expect("a call").id;
    let records = server.respond(call, r#"{"result":{"content":[]}}"#, 0).expect("known");
    assert_eq!((records[0].kind, records[0].id, records[1].until), ("head", 200, 1));
    let wrong = modern.replace("mcp-name: ask", "mcp-name: add");
    let records = server.request(6, &wrong, body.as_bytes(), 0).expect("fine");
    assert_eq!(records[0].id, 400);
    assert!(written(&records).contains("-32020"));
}

#[test]
fn connections_do_not_wait_for_ever() {
    let mut server = server();
    server.open(1, "http1", 0).expect("a new stream");
    let until = |records: &[Record]| records.last().map(|last| last.until);
    // The first byte starts the clock of the request; the next ones do not wind it up again.
    assert_eq!(until(&server.receive(1, b"POST /mcp HTTP/1.1\r\n", 1000).expect("fine")), Some(61_000));
    assert_eq!(until(&server.receive(1, b"host: localhost\r\n", 50_000).expect("fine")), Some(61_000));
    let records = server.timeout(61_000).expect("fine");
    assert!(written(&records).starts_with("HTTP/1.1 408 "), "{records:?}");
    assert_eq!(records[records.len() - 2].kind, "close");
    server.open(2, "http1", 0).expect("a new stream");
    let get = b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert_eq!(until(&server.receive(2, get, 2000).expect("fine")), Some(77_000));
    let kinds: Vec<_> = server.timeout(77_000).expect("fine").iter().map(|record| record.kind).collect();
    assert_eq!(kinds, ["close", "wait"]);
}
