//! Makes up sessions: a server or a client, and a random peer and a random host around it.

mod client;
mod server;

use keel_tests::host::{Arg, Host, InProcess, Reply, method};
use keel_tests::invariants::Invariants;
use keel_tests::json::Json;
use keel_tests::random::Random;
use keel_tests::record::Record;
use keel_tests::spec_dir;
use keel_tests::tap::Tap;
use keel_tests::wire::Schemas;
use mcp_keel_core::revision::Revision;
use std::sync::OnceLock;

pub(crate) const SERVER: &str = r#"{"info":{"name":"s","version":"1"},"completions":true,"pageSize":2}"#;
pub(crate) const CATALOG: &str = r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}},
{"name":"c","inputSchema":{"type":"object"}}],"resources":[{"uri":"m:a","name":"a"}],
"resourceTemplates":[{"uriTemplate":"m:x/{id}","name":"x"}],"prompts":[{"name":"p"}]}"#;
const SMALLER: &str = r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#;

/// Requests of the handshake revisions, good and bad.
pub(crate) const REQUESTS: &[(&str, &str)] = &[
    ("tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#),
    ("tools/call", r#"{"name":"echo","_meta":{"progressToken":3}}"#),
    ("tools/call", r#"{"name":"nope"}"#),
    ("tools/list", "{}"),
    ("tools/list", r#"{"cursor":"?"}"#),
    ("prompts/get", r#"{"name":"p"}"#),
    ("resources/read", r#"{"uri":"m:x/7"}"#),
    ("resources/read", r#"{"uri":"m:none"}"#),
    ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}"#),
    ("ping", "{}"),
    ("logging/setLevel", r#"{"level":"debug"}"#),
    ("resources/subscribe", r#"{"uri":"m:a"}"#),
    ("zap", "{}"),
];

const OUTCOMES: &[&str] = &[
    r#"{"result":{"content":[],"messages":[],"contents":[],"completion":{"values":[]}}}"#,
    r#"{"result":{"content":[{"type":"text","text":"x"}],"isError":true}}"#,
    r#"{"error":{"code":-32603,"message":"broken"}}"#,
    r#"{"result":3}"#,
    "no json",
];

const ANSWERS: &[&str] = &[
    r#""result":{"action":"accept","content":{}}"#,
    r#""result":{"roots":[]}"#,
    r#""error":{"code":-1,"message":"no"}"#,
    r#""result":7"#,
    r#""result":{}"#,
];

const CAPABILITIES: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;

fn label(random: &mut Random) -> &'static str {
    random.pick(&Revision::ALL).label()
}

fn meta(random: &mut Random) -> String {
    format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","io.modelcontextprotocol/clientCapabilities":{CAPABILITIES},"progressToken":"t"}}"#,
        if random.once_in(6) { label(random) } else { Revision::NEWEST_MODERN.label() }
    )
}

/// The handshake of a client.
pub(crate) fn session_opening() -> String {
    format!(
        "{}\n{}\n",
        initialize(0, Revision::NEWEST_LEGACY.label()).replace("\"id\":0", "\"id\":\"open\""),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    )
}

fn initialize(id: u64, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{CAPABILITIES},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A message that a client may send, well-formed or not, with its line feed.
pub(crate) fn line(random: &mut Random) -> Vec<u8> {
    let id = random.next() % 200;
    let mut text = match random.below(12) {
        0 => initialize(id, label(random)),
        1 => r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        2 => format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{{}}}}}"#, meta(random)),
        4 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["m:a"]}},{}}}}}"#,
            meta(random)
        ),
        5 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo",{}}}}}"#,
            meta(random)
        ),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},{}}}"#, random.pick(ANSWERS)),
        7 => format!(r#"[{{"jsonrpc":"2.0","id":{id},"method":"ping"}},{{"jsonrpc":"2.0","method":"x"}}]"#),
        _ => {
            let (method, params) = *random.pick(REQUESTS);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
        }
    }
    .into_bytes();
    if random.once_in(8) {
        mutate(random, &mut text);
    }
    text.push(b'\n');
    text
}

fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    if text.is_empty() {
        return;
    }
    let at = random.below(text.len());
    match random.below(4) {
        0 => text[at] = (random.next() & 0xff) as u8,
        1 => text.truncate(at),
        2 => text.insert(at, *random.pick(br#"{}[]",:\0n"#)),
        _ => {
            text.remove(at);
        }
    }
}

/// Bytes of any kind; for HTTP some that nearly are requests or answers.
pub(crate) fn noise(random: &mut Random, transport: &str) -> Vec<u8> {
    let mut bytes = match random.below(4) {
        0 => (0..random.below(60)).map(|_| (random.next() & 0xff) as u8).collect(),
        1 if transport == "pipe" => line(random),
        _ => {
            let body = line(random);
            let start = if transport == "http1" { "POST /mcp HTTP/1.1" } else { "HTTP/1.1 200 OK" };
            let length = if random.once_in(5) { random.below(99) } else { body.len() };
            let head = format!(
                "{start}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            [head.into_bytes(), body].concat()
        }
    };
    if random.once_in(3) {
        mutate(random, &mut bytes);
    }
    bytes
}

/// The schemas, when there are any.
fn schemas() -> Option<&'static Schemas> {
    static ALL: OnceLock<Option<Schemas>> = OnceLock::new();
    ALL.get_or_init(|| spec_dir().map(|spec| Schemas::load(&spec).expect("the schemas are readable"))).as_ref()
}

/// A session with everything that happens in it.
pub(crate) struct Actor {
    host: InProcess,
    object: &'static str,
    link: &'static str,
    random: Random,
    rules: Invariants,
    tap: Option<Tap<'static>>,
    now: u64,
    due: u64,
    next: u64,
    /// Calls, tokens and exchanges that were seen.
    seen: Vec<Record>,
    streams: Vec<(u64, &'static str)>,
    log: Vec<Reply>,
    closed: bool,
    asked: usize,
    ended: usize,
}

impl Actor {
    fn new(object: &'static str, link: &'static str, config: &str, seed: u64) -> Self {
        let mut host = InProcess::default();
        let config = Json::parse(config).expect("test JSON");
        let refused = host.create(object, &config, &[3; 32]).expect("the core does not panic");
        assert_eq!(refused, None, "the configuration is good");
        Self {
            host,
            object,
            link,
            random: Random::new(seed),
            rules: Invariants::new(object, link),
            tap: schemas().filter(|_| object != "http1").map(|schemas| Tap::new(schemas, object, link)),
            now: 1,
            due: 0,
            next: 0,
            seen: Vec::new(),
            streams: Vec::new(),
            log: Vec::new(),
            closed: false,
            asked: 0,
            ended: 0,
        }
    }

    /// A server with a catalog.
    pub(crate) fn server(seed: u64) -> Self {
        let mut actor = Self::new("server", "", SERVER, seed);
        actor.call("set_catalog", vec![Arg::Text(CATALOG.to_owned())]);
        if !seed.is_multiple_of(5) {
            let number = actor.fresh();
            actor.streams.push((number, "pipe"));
            actor.call("open", vec![Arg::Int(number), Arg::Text("pipe".to_owned())]);
            actor.call("receive", vec![Arg::Int(number), Arg::Bytes(session_opening().into_bytes())]);
        }
        actor
    }

    /// A client on a pipe or on HTTP.
    pub(crate) fn client(seed: u64, link: &'static str) -> Self {
        let modes = ["auto", "legacy", "modern"];
        let mode = modes[usize::try_from(seed % 3).unwrap_or_default()];
        let config = format!(
            r#"{{"link":"{link}","url":"http://localhost/mcp","mode":"{mode}","info":{{"name":"c","version":"1"}},"capabilities":{CAPABILITIES}}}"#
        );
        Self::new("client", link, &config, seed)
    }

    /// An object that only gets bytes.
    pub(crate) fn bare(object: &'static str, transport: &'static str) -> Self {
        let mut actor = match object {
            "client" => Self::client(0, "pipe"),
            "server" => Self::server(0),
            _ => Self::new("http1", "", "{}", 0),
        };
        match object {
            "server" => actor.call("open", vec![Arg::Int(1), Arg::Text(transport.to_owned())]),
            "client" => actor.call("start", Vec::new()),
            _ => {}
        }
        actor
    }

    /// Hands in bytes.
    pub(crate) fn feed(&mut self, bytes: Vec<u8>) {
        let args = if self.object == "server" { vec![Arg::Int(1), Arg::Bytes(bytes)] } else { vec![Arg::Bytes(bytes)] };
        self.call("receive", args);
    }

    /// Lives through so many random steps, then closes; gives everything that came back.
    pub(crate) fn live(mut self, steps: usize) -> Vec<Reply> {
        for _ in 0..steps {
            if self.object == "server" { self.server_step() } else { self.client_step() }
        }
        self.call("close", Vec::new());
        if self.object == "client" {
            // What closing still waits for ends at its deadline.
            self.pass(3_600_000);
            assert!(self.closed, "a closed client says so");
            assert_eq!(self.asked, self.ended, "each request has its one ending");
        }
        self.log
    }

    fn call(&mut self, name: &str, mut args: Vec<Arg>) {
        let found = method(self.object, name).expect("a method of the surface");
        if found.now {
            args.push(Arg::Int(self.now));
        }
        let reply = self.host.call(found, &args).unwrap_or_else(|panic| panic!("{name} {args:?}: {panic}"));
        if let Err(broken) = self.rules.watch(name, &args, &reply) {
            panic!("{broken}\n  args: {args:?}");
        }
        if let Some(tap) = &mut self.tap {
            tap.hear(name, &args, &reply);
            assert!(tap.faults.is_empty(), "after {name} {args:?}: {}", tap.faults.join("\n"));
        }
        if let Reply::Records(records) = &reply {
            if (self.object, name) == ("client", "request") {
                self.asked += 1;
            }
            for record in records {
                match &*record.kind {
                    "wait" => self.due = record.until,
                    "result" | "error" => self.ended += 1,
                    "closed" => self.closed = true,
                    _ => self.seen.push(record.clone()),
                }
            }
        }
        self.log.push(reply);
    }

    /// Lets time pass, with a stop at each deadline.
    fn pass(&mut self, millis: u64) {
        let target = self.now + millis;
        let mut stops = 0;
        while self.due != 0 && self.due <= target {
            self.now = self.now.max(self.due);
            self.call("timeout", Vec::new());
            stops += 1;
            assert!(stops < 5000, "deadlines without end");
        }
        self.now = target;
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn some_seen(&mut self, kind: &str) -> Option<Record> {
        let all: Vec<&Record> = self.seen.iter().filter(|record| record.kind == kind).collect();
        if all.is_empty() { None } else { Some((*self.random.pick(&all)).clone()) }
    }

    fn some_call(&mut self) -> Arg {
        let id = self.some_seen("call").map_or(99, |record| record.id);
        Arg::Int(if self.random.once_in(20) { 12345 } else { id })
    }

    /// A request of ours that the peer has seen.
    fn ours(&mut self) -> (String, String) {
        let written: Vec<String> = self
            .seen
            .iter()
            .filter(|record| matches!(&*record.kind, "write" | "fetch"))
            .map(|record| if record.kind == "write" { record.text() } else { body_of(record) })
            .collect();
        let lines: Vec<&str> = written.iter().flat_map(|text| text.lines()).collect();
        let found = lines.iter().rev().take(4).filter_map(|line| {
            let message = Json::parse(line).ok()?;
            Some((message.get("id")?.to_string(), message.get("method")?.as_str()?.to_owned()))
        });
        let found: Vec<_> = found.collect();
        if found.is_empty() { ("1".to_owned(), "ping".to_owned()) } else { self.random.pick(&found).clone() }
    }
}

fn body_of(fetch: &Record) -> String {
    let text = fetch.text();
    let parsed = Json::parse(&text).expect("a fetch is JSON");
    parsed.get("body").and_then(Json::as_str).unwrap_or_default().to_owned()
}
