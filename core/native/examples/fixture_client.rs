//! The fixture client: the same checks as in every other language, for tests across languages.
//!
//! `fixture_client --era legacy|modern|auto (--http URL | --stdio -- COMMAND ARGS...) [--verbose]`
use std::{
    io::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_keel::{
    Client, Direction, ElicitRequest, ElicitResult, Era, Error, McpError, Mode, Options, Target,
    serde_json::{json, value::RawValue},
};
use serde::Deserialize;

const TOOLS: [&str; 7] = ["echo", "add", "count", "ask_name", "slow", "fail", "chatty"];
/// What comes after `connect`.
const CHECKS: [&str; 13] = [
    "tools",
    "echo",
    "big",
    "progress",
    "elicitation",
    "resource",
    "template",
    "prompt",
    "completion",
    "error",
    "tool_error",
    "cancel",
    "close",
];
const ODD: &str = "grüß 🦀 \u{0}\n\"";
const EACH: Duration = Duration::from_secs(10);

type Check = Result<(), String>;

fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ok = runtime.block_on(run())?;
    Ok(if ok { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE })
}

struct Arguments {
    mode: Mode,
    target: Target,
    verbose: bool,
}

fn arguments() -> Result<Arguments, String> {
    let (mut mode, mut target, mut verbose) = (Mode::Auto, None, false);
    let mut arguments = std::env::args().skip(1);
    let mut stdio = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--era" => {
                mode = match arguments.next().as_deref() {
                    Some("legacy") => Mode::Legacy,
                    Some("modern") => Mode::Modern,
                    Some("auto") => Mode::Auto,
                    other => return Err(format!("no era: {other:?}")),
                }
            }
            "--http" => target = arguments.next().map(Target::http),
            "--stdio" => stdio = true,
            "--verbose" => verbose = true,
            "--" if stdio => {
                let program = arguments.next().ok_or("no command")?;
                target = Some(Target::command(program, arguments.by_ref()));
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Arguments { mode, target: target.ok_or("neither --http URL nor --stdio -- COMMAND")?, verbose })
}

async fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let Arguments { mode, target, verbose } = arguments()?;
    let mut report = Report { all_ok: true };
    let mut options = Options::new().info("keel-fixture-client", "1.0.0").mode(mode).on_elicit(elicit);
    if verbose {
        options = options.trace(trace);
    }
    let mut client = None;
    report.check("connect", connect(target, options, mode, &mut client)).await;
    let Some(client) = client else {
        for name in CHECKS {
            report.check(name, async { Err("not connected".into()) }).await;
        }
        return Ok(false);
    };
    report.check("tools", tools(&client)).await;
    report.check("echo", echo(&client)).await;
    report.check("big", big(&client)).await;
    report.check("progress", progress(&client)).await;
    report.check("elicitation", elicitation(&client)).await;
    report.check("resource", read(&client, "memo://greeting", "Hello from the fixture")).await;
    report.check("template", read(&client, "memo://item/7", "item 7")).await;
    report.check("prompt", prompt(&client)).await;
    report.check("completion", completion(&client)).await;
    report.check("error", unknown_tool(&client)).await;
    report.check("tool_error", tool_error(&client)).await;
    report.check("cancel", cancel(&client)).await;
    report.check("close", close(&client)).await;
    Ok(report.all_ok)
}

struct Report {
    all_ok: bool,
}

impl Report {
    async fn check(&mut self, name: &str, check: impl Future<Output = Check>) {
        let outcome =
            tokio::time::timeout(EACH, check).await.unwrap_or_else(|_| Err("it took longer than 10 s".into()));
        let line = match outcome {
            Ok(()) => json!({"check": name, "ok": true}),
            Err(error) => {
                self.all_ok = false;
                json!({"check": name, "ok": false, "error": error})
            }
        };
        // A reader that is gone sees nothing, and the exit code still tells.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

fn trace(direction: Direction, text: &str) {
    // Of event streams only the data lines hold messages.
    let text = text.strip_prefix("data:").map_or(text, str::trim_start);
    if text.starts_with(['{', '[']) {
        let arrow = if direction == Direction::Sent { '>' } else { '<' };
        let _ = writeln!(std::io::stderr(), "{arrow} {text}");
    }
}

async fn elicit(_: ElicitRequest) -> Result<ElicitResult, McpError> {
    Ok(ElicitResult::accept(json!({"name": "Ada"})))
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(got: &T, expected: &T) -> Check {
    if got == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {got:?}")) }
}

fn words(error: Error) -> String {
    format!("{}: {error}", error.code())
}

async fn connect(target: Target, options: Options, mode: Mode, place: &mut Option<Client>) -> Check {
    let client = place.insert(Client::connect(target, options).await.map_err(words)?);
    match (mode, client.era()) {
        (Mode::Auto, _) | (Mode::Legacy, Era::Legacy) | (Mode::Modern, Era::Modern) => Ok(()),
        (mode, era) => Err(format!("asked for {mode:?}, got {era:?} ({})", client.revision())),
    }
}

async fn tools(client: &Client) -> Check {
    let tools = client.list_tools().await.map_err(words)?;
    let missing: Vec<_> = TOOLS.iter().filter(|name| !tools.iter().any(|tool| tool.name == **name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("missing: {missing:?}")) }
}

async fn echo(client: &Client) -> Check {
    let result = client.call_tool("echo", json!({"text": ODD})).await.map_err(words)?;
    same(result.text().as_str(), ODD)
}

async fn big(client: &Client) -> Check {
    #[derive(Deserialize)]
    struct Sum {
        result: Box<RawValue>,
    }
    let result = client.call_tool("add", json!({"a": 9_007_199_254_740_993_u64, "b": 1})).await.map_err(words)?;
    same(result.data::<Sum>().map_err(words)?.result.get(), "9007199254740994")
}

async fn progress(client: &Client) -> Check {
    let steps = Arc::<Mutex<Vec<f64>>>::default();
    let seen = Arc::clone(&steps);
    let result = client
        .tool("count")
        .args(json!({"to": 3}))
        .progress(move |step| seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(step.progress))
        .call()
        .await
        .map_err(words)?;
    same(result.text().as_str(), "counted to 3")?;
    same(&*steps.lock().map_err(|error| error.to_string())?, &vec![1.0, 2.0, 3.0])
}

async fn elicitation(client: &Client) -> Check {
    let result = client.call_tool("ask_name", json!({})).await.map_err(words)?;
    same(result.text().as_str(), "Hello, Ada!")
}

async fn read(client: &Client, uri: &str, text: &str) -> Check {
    let result = client.read_resource(uri).await.map_err(words)?;
    same(&result.text(), &Some(text))
}

async fn prompt(client: &Client) -> Check {
    let result = client.get_prompt("greet", json!({"name": "Ada"})).await.map_err(words)?;
    let message = result.messages.first().ok_or("no message")?;
    same(message.role.as_str(), "user")?;
    same(&message.content.as_text().as_deref(), &Some("Please greet Ada."))
}

async fn completion(client: &Client) -> Check {
    let completion = client.complete_prompt("greet", "name", "a").await.map_err(words)?;
    same(&completion.values, &vec!["ada".to_owned(), "alan".to_owned()])
}

async fn unknown_tool(client: &Client) -> Check {
    match client.call_tool("nope", json!({})).await {
        Err(Error::Peer { code: -32602, .. }) => Ok(()),
        other => Err(format!("expected the protocol error -32602, got {other:?}")),
    }
}

async fn tool_error(client: &Client) -> Check {
    let result = client.call_tool("fail", json!({})).await.map_err(words)?;
    same(&result.is_error, &true)?;
    if result.text().contains("it failed") { Ok(()) } else { Err(format!("the text is {:?}", result.text())) }
}

async fn cancel(client: &Client) -> Check {
    let call = client.tool("slow").args(json!({"ms": 60_000})).send().await.map_err(words)?;
    call.cancel("not needed any more");
    match tokio::time::timeout(Duration::from_secs(1), call).await {
        Ok(Err(Error::Cancelled(_))) => echo(client).await,
        Ok(other) => Err(format!("expected that it is cancelled, got {other:?}")),
        Err(_) => Err("it was not cancelled within 1 s".into()),
    }
}

async fn close(client: &Client) -> Check {
    client.close().await;
    match client.call_tool("echo", json!({"text": ODD})).await {
        Err(Error::Disconnected(_) | Error::Usage { .. }) => Ok(()),
        other => Err(format!("a call after close gave {other:?}")),
    }
}
