//! `memory --host NAME --server COMMAND… --client COMMAND…`: what large messages cost that host's server and its client in
//! resident memory, over stdio. Linux only.
//!
//! `tests/memory` has a server and a client in every language. The server has two tools: `take` is given a long text and
//! answers with its length, `give` is given a number and answers with a long text. The client is given the command of a
//! server, which is this program again (`memory --peer ERA`), and calls its tools when told to on its standard input.
//! Ends with `memory NAME: N passed, M failed`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use keel_tests::memory::{UNIT, WRITTEN, Watched, written};
use mcp_keel_core::revision::Revision;
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What a process may grow by, in multiples of the message.
const TIMES: f64 = 3.0;
/// What it may grow by besides: pages of code and of the allocator that are touched for the first time, buffers of pipes,
/// what the compiler of a virtual machine makes of code that has become hot. It does not grow with the message.
const ALLOWANCE: u64 = 8 << 20;

/// What is above that bound today, and why: host, role, tool, what it keeps to. Only for Node is it the host that leaves no room.
const REACHABLE: [(&str, &str, &str, f64); 5] = [
    // Copies that are alive together are three at most: with MALLOC_MMAP_THRESHOLD_ set, all of these stay at three. Without
    // it, glibc's allocator stops giving blocks of this size back at once after the first was freed, and holes that fit no
    // next block stay resident. The Rust crate has no unsafe code with which to give them back; the Python module does so
    // between two calls, but not within one.
    ("rust", "server", "take", 3.5),
    ("rust", "client", "take", 3.5),
    ("python", "client", "take", 4.0),
    // `JSON.stringify` makes its text of pieces, which are there together with the value and with the text that they are
    // joined to: 3.7 times the message in plain Node, before anything is sent. To that come the bytes to be sent.
    ("node", "server", "give", 4.0),
    // And, where the server may ask for the same request again, what it would be repeated from.
    ("node", "client", "take", 5.0),
];

/// One measurement: so many calls, one after the other, of a tool with a text of so many bytes.
struct Case {
    name: &'static str,
    tool: &'static str,
    bytes: usize,
    calls: usize,
}

const CASES: [Case; 4] = [
    Case { name: "8 MiB argument, 1 call", tool: "take", bytes: 8 << 20, calls: 1 },
    Case { name: "8 MiB argument, 5 calls", tool: "take", bytes: 8 << 20, calls: 5 },
    Case { name: "50 MB result, 1 call", tool: "give", bytes: 50_000_000, calls: 1 },
    Case { name: "50 MB result, 3 calls", tool: "give", bytes: 50_000_000, calls: 3 },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ended = match &*words {
        [flag, era] if flag == "--peer" => revision(era).and_then(peer).map(|()| true),
        [flag, host, rest @ ..] if flag == "--host" => measure(host, rest),
        _ => Err("usage: memory --host NAME --server COMMAND… --client COMMAND… | memory --peer ERA".into()),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "memory: {error}");
            ExitCode::FAILURE
        }
    }
}

fn revision(era: &str) -> Result<Revision> {
    match era {
        "legacy" => Ok(Revision::NEWEST_LEGACY),
        "modern" => Ok(Revision::NEWEST_MODERN),
        other => Err(format!("{other} is no era").into()),
    }
}

/// Both roles of a host in both eras; whether all stayed within their bounds.
fn measure(host: &str, commands: &[String]) -> Result<bool> {
    let between = |from: &str, to: &str| {
        let start = commands.iter().position(|word| word == from).ok_or_else(|| format!("no {from}"))? + 1;
        let end = commands[start..].iter().position(|word| word == to).map_or(commands.len(), |end| start + end);
        Ok::<_, String>(commands[start..end].to_vec())
    };
    let (server, client) = (between("--server", "--client")?, between("--client", "--server")?);
    let out = &mut std::io::stdout();
    let (mut passed, mut failed) = (0, 0);
    for era in ["legacy", "modern"] {
        let subjects: [(&str, Box<dyn Subject>); 2] = [
            ("server", Box::new(Server::start(&server, revision(era)?)?)),
            ("client", Box::new(Client::start(&client, era)?)),
        ];
        for (role, mut subject) in subjects {
            // What only the first calls touch is no cost of large messages.
            subject.call("take", 1)?;
            subject.call("give", 1)?;
            let watched = subject.watched();
            let before = watched.resident()?;
            for Case { name, tool, bytes, calls } in CASES {
                let units = bytes / WRITTEN;
                watched.forget_peak()?;
                for _ in 0..calls {
                    subject.call(tool, units)?;
                }
                let grown = watched.peak()?.saturating_sub(before);
                let message = (units * WRITTEN) as f64;
                let known = REACHABLE.iter().find(|known| (known.0, known.1, known.2) == (host, role, tool));
                let bound = known.map_or(TIMES, |known| known.3);
                let allowed = bound * message + ALLOWANCE as f64;
                let ok = grown as f64 <= allowed;
                let word = if ok { "ok    " } else { "FAILED" };
                let times = grown as f64 / message;
                let line = format!("{host} {role}, {era}, {name}: {times:.2} times ({} MiB)", grown >> 20);
                writeln!(out, "{word}  {line}, {bound} and {} MiB allowed", ALLOWANCE >> 20)?;
                if ok { passed += 1 } else { failed += 1 }
            }
        }
    }
    writeln!(out, "memory {host}: {passed} passed, {failed} failed")?;
    Ok(failed == 0)
}

/// A process that is measured.
trait Subject {
    fn watched(&self) -> Watched;

    /// One call of a tool with a text of so many units, checked to its end.
    fn call(&mut self, tool: &str, units: usize) -> Result<()>;
}

/// A process and its two pipes. It ends with this value.
struct Piped {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Piped {
    fn start(words: &[String]) -> Result<Self> {
        let (program, arguments) = words.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        Ok(Self { child, input, output: BufReader::with_capacity(1 << 20, output), line: Vec::new() })
    }

    fn read(&mut self) -> Result<&str> {
        self.line.clear();
        if self.output.read_until(b'\n', &mut self.line)? == 0 {
            return Err("the process ended its output".into());
        }
        Ok(std::str::from_utf8(&self.line)?.trim_end())
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server, and this program as its client.
struct Server {
    piped: Piped,
    revision: Revision,
    last: u64,
}

impl Server {
    fn start(command: &[String], revision: Revision) -> Result<Self> {
        let mut server = Self { piped: Piped::start(command)?, revision, last: 0 };
        if !revision.is_stateless() {
            let version = revision.label();
            let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "memory", "version": "1"}});
            let text = params.to_string();
            server.request("initialize", &text)?;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            writeln!(server.piped.input, "{ready}")?;
        }
        Ok(server)
    }

    fn request(&mut self, method: &str, params: &str) -> Result<Value> {
        self.last += 1;
        let id = self.last;
        writeln!(self.piped.input, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)?;
        let mut answer: Value = serde_json::from_str(self.piped.read()?)?;
        if answer["id"] != id || !answer["result"].is_object() {
            let text = answer.to_string();
            return Err(format!("no answer to {method}: {}", text.chars().take(300).collect::<String>()).into());
        }
        Ok(answer["result"].take())
    }
}

impl Subject for Server {
    fn watched(&self) -> Watched {
        Watched(self.piped.child.id())
    }

    fn call(&mut self, tool: &str, units: usize) -> Result<()> {
        let argument = match tool {
            "take" => format!(r#"{{"text":"{}"}}"#, written(units)),
            _ => format!(r#"{{"units":{units}}}"#),
        };
        let meta = if self.revision.is_stateless() { about(self.revision) } else { json!({}) };
        let params = format!(r#"{{"_meta":{meta},"name":"{tool}","arguments":{argument}}}"#);
        let result = self.request("tools/call", &params)?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let wanted = UNIT.chars().count() * units;
        let found = if tool == "take" { text.parse()? } else { text.chars().count() };
        if found == wanted { Ok(()) } else { Err(format!("{tool}: {found} characters, not {wanted}").into()) }
    }
}

/// What a request says of itself where it stands alone.
fn about(revision: Revision) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": revision.label(),
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "memory", "version": "1"},
    })
}

/// A client, with this program as its server.
struct Client {
    piped: Piped,
}

impl Client {
    fn start(command: &[String], era: &str) -> Result<Self> {
        let own = std::env::current_exe()?.to_string_lossy().into_owned();
        let words = [command, &[own, "--peer".into(), era.into()]].concat();
        let mut client = Self { piped: Piped::start(&words)? };
        client.expect("ready")?;
        Ok(client)
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        let said = self.piped.read()?;
        if said == word { Ok(()) } else { Err(format!("the client said `{said}`, not `{word}`").into()) }
    }
}

impl Subject for Client {
    fn watched(&self) -> Watched {
        Watched(self.piped.child.id())
    }

    fn call(&mut self, tool: &str, units: usize) -> Result<()> {
        writeln!(self.piped.input, "{tool} {units}")?;
        // The client counts what it gets, and what the server says that it got.
        self.expect(&(UNIT.chars().count() * units).to_string())
    }
}

/// A server that speaks one era.
fn peer(revision: Revision) -> Result<()> {
    let out = &mut std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let (Some(method), Some(id)) = (request["method"].as_str(), request.get("id")) else { continue };
        let params = &request["params"];
        let text = match (method, revision.is_stateless()) {
            ("initialize", false) => None,
            ("server/discover", true) => None,
            ("tools/call", _) => {
                let arguments = &params["arguments"];
                Some(match params["name"].as_str() {
                    Some("take") => arguments["text"].as_str().unwrap_or_default().chars().count().to_string(),
                    _ => written(usize::try_from(arguments["units"].as_u64().unwrap_or_default())?),
                })
            }
            _ => {
                writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}))?;
                out.flush()?;
                continue;
            }
        };
        let result = match text {
            Some(text) => format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}"#),
            None if revision.is_stateless() => {
                let discovered = json!({"supportedVersions": [revision.label()], "capabilities": {"tools": {}}, "ttlMs": 0,
                    "cacheScope": "private", "resultType": "complete"});
                discovered.to_string()
            }
            None => {
                let opened = json!({"protocolVersion": revision.label(), "capabilities": {"tools": {}},
                    "serverInfo": {"name": "memory", "version": "1"}});
                opened.to_string()
            }
        };
        writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
        out.flush()?;
    }
    Ok(())
}
