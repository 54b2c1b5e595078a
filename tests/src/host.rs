//! Where a case runs: over the core in this process, or in a program that wraps the same surface in another language.

use std::io::{BufRead as _, BufReader, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use mcp_keel_core::flat::{self, FlatClient, FlatHttp1, FlatServer};

use crate::json::Json;
use crate::record::Record;

/// A method of the flat surface: its arguments, each `i` number, `t` text, `j` JSON text or `b` bytes.
#[derive(Debug)]
pub struct Method {
    /// `server`, `client` or `http1`.
    pub object: &'static str,
    /// The name.
    pub name: &'static str,
    /// One letter for each argument, without the time.
    pub args: &'static str,
    /// Whether the time is the last argument.
    pub now: bool,
}

const fn timed(object: &'static str, name: &'static str, args: &'static str) -> Method {
    Method { object, name, args, now: true }
}

const fn plain(object: &'static str, name: &'static str, args: &'static str) -> Method {
    Method { object, name, args, now: false }
}

/// The whole surface.
pub const METHODS: &[Method] = &[
    timed("server", "set_catalog", "j"),
    timed("server", "open", "it"),
    timed("server", "receive", "ib"),
    timed("server", "end", "i"),
    timed("server", "request", "itb"),
    timed("server", "gone", "i"),
    timed("server", "respond", "ij"),
    timed("server", "ask", "itj"),
    timed("server", "progress", "ij"),
    timed("server", "log", "ij"),
    timed("server", "publish", "j"),
    plain("server", "call_info", "i"),
    timed("server", "timeout", ""),
    timed("server", "close", ""),
    timed("client", "start", ""),
    timed("client", "receive", "b"),
    timed("client", "ended", "t"),
    timed("client", "response", "iit"),
    timed("client", "body", "ib"),
    timed("client", "end", "i"),
    timed("client", "failed", "it"),
    timed("client", "request", "itjj"),
    timed("client", "cancel", "it"),
    timed("client", "answer", "ij"),
    timed("client", "notify", "tj"),
    timed("client", "timeout", ""),
    timed("client", "close", ""),
    plain("http1", "encode", "tj"),
    plain("http1", "receive", "b"),
    plain("http1", "finish", ""),
    plain("http1", "target", "t"),
];

/// The method of this name.
#[must_use]
pub fn method(object: &str, name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.object == object && method.name == name)
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// A number.
    Int(u64),
    /// Text, also JSON text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// What a call came back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Records.
    Records(Vec<Record>),
    /// A text.
    Text(String),
    /// The surface refused.
    Refused {
        /// Stable word.
        code: String,
        /// For people.
        message: String,
    },
}

/// Something that holds one object of the flat surface at a time.
pub trait Host {
    /// Makes the object, in place of the one before; says so when the surface refuses.
    ///
    /// # Errors
    /// When the host itself fails.
    fn create(&mut self, object: &'static str, config: &Json, seed: &[u8; 32]) -> Result<Option<Reply>, String>;
    /// Calls a method of it.
    ///
    /// # Errors
    /// When the host itself fails.
    fn call(&mut self, method: &'static Method, args: &[Arg]) -> Result<Reply, String>;
    /// Calls a method of it once for each list of arguments, in order. A host may be given them all before it answers.
    ///
    /// # Errors
    /// When the host itself fails.
    fn calls(&mut self, method: &'static Method, lists: &[Vec<Arg>]) -> Result<Vec<Reply>, String> {
        lists.iter().map(|args| self.call(method, args)).collect()
    }
}

/// The core in this process.
#[derive(Debug, Default)]
pub struct InProcess(Option<Object>);

#[derive(Debug)]
enum Object {
    Server(Box<FlatServer>),
    Client(Box<FlatClient>),
    Http1(Box<FlatHttp1>),
}

impl Host for InProcess {
    fn create(&mut self, object: &'static str, config: &Json, seed: &[u8; 32]) -> Result<Option<Reply>, String> {
        let config = config.to_string();
        let made = guarded(|| match object {
            "server" => FlatServer::new(&config, seed).map(|it| Object::Server(Box::new(it))),
            "client" => FlatClient::new(&config, seed).map(|it| Object::Client(Box::new(it))),
            _ => Ok(Object::Http1(Box::new(FlatHttp1::new()))),
        })?;
        Ok(match made {
            Ok(object) => {
                self.0 = Some(object);
                None
            }
            Err(error) => Some(refused(error)),
        })
    }

    fn call(&mut self, method: &'static Method, args: &[Arg]) -> Result<Reply, String> {
        let args = Args(args);
        guarded(|| match self.0.as_mut() {
            Some(Object::Server(server)) => on_server(server, method.name, args),
            Some(Object::Client(client)) => on_client(client, method.name, args),
            Some(Object::Http1(codec)) => on_http1(codec, method.name, args),
            None => Err("no object was made".to_owned()),
        })?
    }
}

fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("the core panicked: {}", text.unwrap_or("?"))
    })
}

fn refused(error: flat::FlatError) -> Reply {
    Reply::Refused { code: error.code.to_owned(), message: error.message }
}

#[derive(Clone, Copy)]
struct Args<'a>(&'a [Arg]);

impl Args<'_> {
    fn int(&self, at: usize) -> u64 {
        if let Some(Arg::Int(value)) = self.0.get(at) { *value } else { 0 }
    }

    fn text(&self, at: usize) -> &str {
        if let Some(Arg::Text(text)) = self.0.get(at) { text } else { "" }
    }

    fn bytes(&self, at: usize) -> &[u8] {
        if let Some(Arg::Bytes(bytes)) = self.0.get(at) { bytes } else { b"" }
    }

    fn now(&self) -> u64 {
        self.int(self.0.len().saturating_sub(1))
    }
}

fn records(result: flat::Records) -> Reply {
    let own = |record: flat::Record| Record {
        kind: record.kind.to_owned(),
        stream: record.stream,
        id: record.id,
        name: record.name,
        text: record.text,
        until: record.until,
    };
    match result {
        Ok(records) => Reply::Records(records.into_iter().map(own).collect()),
        Err(error) => refused(error),
    }
}

fn text(result: Result<String, flat::FlatError>) -> Reply {
    result.map_or_else(refused, Reply::Text)
}

fn on_server(server: &mut FlatServer, name: &str, a: Args<'_>) -> Result<Reply, String> {
    let now = a.now();
    Ok(records(match name {
        "set_catalog" => server.set_catalog(a.text(0), now),
        "open" => server.open(a.int(0), a.text(1), now),
        "receive" => server.receive(a.int(0), a.bytes(1), now),
        "end" => server.end(a.int(0), now),
        "request" => server.request(a.int(0), a.text(1), a.bytes(2), now),
        "gone" => server.gone(a.int(0), now),
        "respond" => server.respond(a.int(0), a.text(1), now),
        "ask" => server.ask(a.int(0), a.text(1), a.text(2), now),
        "progress" => server.progress(a.int(0), a.text(1), now),
        "log" => server.log(a.int(0), a.text(1), now),
        "publish" => server.publish(a.text(0), now),
        "call_info" => return Ok(text(server.call_info(a.int(0)))),
        "timeout" => server.timeout(now),
        "close" => server.close(now),
        _ => return Err(format!("no method `{name}`")),
    }))
}

fn on_client(client: &mut FlatClient, name: &str, a: Args<'_>) -> Result<Reply, String> {
    let now = a.now();
    Ok(records(match name {
        "start" => client.start(now),
        "receive" => client.receive(a.bytes(0), now),
        "ended" => client.ended(a.text(0), now),
        "response" => {
            let status = u16::try_from(a.int(1)).map_err(|_| "a status has three digits")?;
            client.response(a.int(0), status, a.text(2), now)
        }
        "body" => client.body(a.int(0), a.bytes(1), now),
        "end" => client.end(a.int(0), now),
        "failed" => client.failed(a.int(0), a.text(1), now),
        "request" => client.request(a.int(0), a.text(1), a.text(2), a.text(3), now),
        "cancel" => client.cancel(a.int(0), a.text(1), now),
        "answer" => client.answer(a.int(0), a.text(1), now),
        "notify" => client.notify(a.text(0), a.text(1), now),
        "timeout" => client.timeout(now),
        "close" => client.close(now),
        _ => return Err(format!("no method `{name}`")),
    }))
}

fn on_http1(codec: &mut FlatHttp1, name: &str, a: Args<'_>) -> Result<Reply, String> {
    Ok(match name {
        "encode" => match codec.encode(a.text(0), a.text(1)) {
            Ok(bytes) => Reply::Text(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => refused(error),
        },
        "receive" => records(codec.receive(a.bytes(0))),
        "finish" => records(codec.finish()),
        "target" => text(FlatHttp1::target(a.text(0))),
        _ => return Err(format!("no method `{name}`")),
    })
}

/// A program that speaks the line protocol on its standard input and output.
#[derive(Debug)]
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts `command`, given as one line for the shell.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &str) -> Result<Self, String> {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut child = Command::new(shell)
            .args([flag, command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|fault| format!("{command}: {fault}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or("the host program has no output")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn exchange(&mut self, line: &Json) -> Result<Json, String> {
        self.send(&format!("{line}\n"))?;
        self.answer()
    }

    fn send(&mut self, lines: &str) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("the host program's input is closed")?;
        input.write_all(lines.as_bytes()).and_then(|()| input.flush()).map_err(|fault| fault.to_string())
    }

    fn answer(&mut self) -> Result<Json, String> {
        let mut answer = String::new();
        let length = self.output.read_line(&mut answer).map_err(|fault| fault.to_string())?;
        if length == 0 {
            return Err("the host program ended".to_owned());
        }
        Json::parse(&answer).map_err(|fault| format!("the host program wrote no JSON: {fault}"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // End of input is the sign to go; `wait` then reaps the child.
        self.input = None;
        let _ = self.child.wait();
    }
}

fn hex(seed: &[u8; 32]) -> String {
    seed.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Host for Program {
    fn create(&mut self, object: &'static str, config: &Json, seed: &[u8; 32]) -> Result<Option<Reply>, String> {
        let answer = self.exchange(&Json::object([
            ("op", Json::string("new")),
            ("object", Json::string(object)),
            ("config", Json::string(config.to_string())),
            ("seed", Json::string(hex(seed))),
        ]))?;
        if answer.get("ok") == Some(&Json::Bool(true)) { Ok(None) } else { reply(&answer).map(Some) }
    }

    fn call(&mut self, method: &'static Method, args: &[Arg]) -> Result<Reply, String> {
        let answer = self.exchange(&line(method, args))?;
        reply(&answer)
    }

    /// As many lines at once as any pipe takes without being read: both ends may write at the same time.
    fn calls(&mut self, method: &'static Method, lists: &[Vec<Arg>]) -> Result<Vec<Reply>, String> {
        let mut replies = Vec::with_capacity(lists.len());
        let (mut lines, mut sent) = (String::new(), 0);
        for (at, args) in lists.iter().enumerate() {
            lines.push_str(&format!("{}\n", line(method, args)));
            sent += 1;
            if lines.len() > PIPE / 2 || at + 1 == lists.len() {
                self.send(&lines)?;
                lines.clear();
                for _ in 0..std::mem::take(&mut sent) {
                    replies.push(reply(&self.answer()?)?);
                }
            }
        }
        Ok(replies)
    }
}

/// What a pipe holds at least.
const PIPE: usize = 1 << 14;

fn line(method: &Method, args: &[Arg]) -> Json {
    let args = args.iter().map(|arg| match arg {
        Arg::Int(value) => Json::int(*value),
        Arg::Text(text) => Json::string(text.clone()),
        Arg::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Json::object([("utf8", Json::string(text))]),
            Err(_) => Json::object([("bytes", Json::string(crate::bytes::to_base64(bytes)))]),
        },
    });
    Json::object([
        ("op", Json::string("call")),
        ("method", Json::string(method.name)),
        ("args", Json::Array(args.collect())),
    ])
}

fn reply(answer: &Json) -> Result<Reply, String> {
    if let Some(error) = answer.get("error") {
        let word = |key| error.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        return Ok(Reply::Refused { code: word("code"), message: word("message") });
    }
    if let Some(text) = answer.get("text").and_then(Json::as_str) {
        return Ok(Reply::Text(text.to_owned()));
    }
    let records = answer.get("records").and_then(Json::as_array);
    let records = records.ok_or_else(|| format!("no reply: {}", crate::record::clip(&answer.to_string())))?;
    Ok(Reply::Records(records.iter().map(Record::read).collect::<Result<_, _>>()?))
}
