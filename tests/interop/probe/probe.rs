//! Runs a list of steps against any server with the Rust client: one JSON line for each step.
//!
//! `probe --steps FILE [--dir FOLDER] (--http URL | --stdio -- COMMAND ARGS...)`
use std::{
    error::Error as StdError,
    io::Write as _,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_keel::{
    Client, ElicitRequest, ElicitResult, Error, McpError, Options, Target,
    serde_json::{self, Value, json},
};

/// Every step is bounded by this.
const EACH: Duration = Duration::from_secs(20);

type Check = Result<(), String>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn StdError>> {
    let Arguments { plan, target } = arguments()?;
    let mut fine = true;
    let mut client = None;
    report("connect", connect(target, options(&plan["answers"]), &mut client), &mut fine).await;
    let Some(client) = client else { return Ok(ExitCode::FAILURE) };
    for what in plan["steps"].as_array().into_iter().flatten() {
        report(what["check"].as_str().unwrap_or_default(), step(&client, what), &mut fine).await;
    }
    let close = async {
        client.close().await;
        Ok(())
    };
    report("close", close, &mut fine).await;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Arguments {
    plan: Value,
    target: Target,
}

fn arguments() -> Result<Arguments, Box<dyn StdError>> {
    let (mut steps, mut dir, mut target) = (None, String::new(), None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--steps" => steps = words.next(),
            "--dir" => dir = words.next().ok_or("no folder")?,
            "--http" => target = words.next().map(Target::http),
            "--stdio" => {}
            "--" => target = Some(Target::command(words.next().ok_or("no command")?, words.by_ref())),
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    // As text inside of JSON, whatever is in the folder's name.
    let dir = serde_json::to_string(&dir)?;
    let text = std::fs::read_to_string(steps.ok_or("no --steps FILE")?)?.replace("$DIR", dir.trim_matches('"'));
    let target = target.ok_or("neither --http URL nor --stdio -- COMMAND")?;
    Ok(Arguments { plan: serde_json::from_str(&text)?, target })
}

fn options(answers: &Value) -> Options {
    let mut options = Options::new();
    if let Some(form) = answers.get("elicitation/create").cloned() {
        options = options.on_elicit(move |_: ElicitRequest| {
            let answer = ElicitResult::accept(form["content"].clone());
            async move { Ok::<_, McpError>(answer) }
        });
    }
    if let Some(sample) = answers.get("sampling/createMessage").cloned() {
        options = options.on_sample(move |_| {
            let answer = sample.clone();
            async move { Ok::<_, McpError>(answer) }
        });
    }
    options
}

async fn report(name: &str, check: impl Future<Output = Check>, fine: &mut bool) {
    let outcome = tokio::time::timeout(EACH, check).await.unwrap_or_else(|_| Err(format!("no end within {EACH:?}")));
    let line = match outcome {
        Ok(()) => json!({"check": name, "ok": true}),
        Err(error) => {
            *fine = false;
            json!({"check": name, "ok": false, "error": error})
        }
    };
    // A reader that is gone sees nothing, and the exit code still tells.
    let _ = writeln!(std::io::stdout(), "{line}");
}

async fn connect(target: Target, options: Options, place: &mut Option<Client>) -> Check {
    *place = Some(Client::connect(target, options).await.map_err(|error| error.to_string())?);
    Ok(())
}

async fn step(client: &Client, what: &Value) -> Check {
    let method = what["method"].as_str().ok_or("the step has no method")?;
    let params = what.get("params").cloned().unwrap_or_else(|| json!({}));
    let seen = Arc::<Mutex<Vec<f64>>>::default();
    let mut request = client.request::<Value>(method, params);
    if what.get("progress").is_some() {
        let seen = Arc::clone(&seen);
        request = request.progress(move |step| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(step.progress);
        });
    }
    match (request.await, what.get("error").and_then(Value::as_i64)) {
        (Ok(result), None) => misses(&result, &what["expect"]).map_or(Ok(()), Err)?,
        (Err(Error::Peer { code, .. }), Some(wanted)) if code == wanted => {}
        (Ok(result), Some(_)) => return Err(format!("no error, but {result}")),
        (Err(error), _) => return Err(error.to_string()),
    }
    let steps: Vec<_> = what["progress"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if *seen == steps { Ok(()) } else { Err(format!("progress {seen:?}")) }
}

/// What of `wanted` is not in `got`: members of objects, elements of lists in their order, `{"contains": text}`.
fn misses(got: &Value, wanted: &Value) -> Option<String> {
    match (got, wanted) {
        (Value::String(text), Value::Object(rule)) if rule.keys().eq(["contains"]) => {
            let part = rule["contains"].as_str().unwrap_or_default();
            (!text.contains(part)).then(|| format!("{text:?} has no {part:?}"))
        }
        (Value::Object(got), Value::Object(wanted)) => wanted.iter().find_map(|(name, value)| match got.get(name) {
            Some(found) => misses(found, value).map(|why| format!("{name}: {why}")),
            None => Some(format!("no {name}")),
        }),
        (Value::Array(all), Value::Array(wanted)) => {
            let mut rest = all.iter();
            let missing = wanted.iter().find(|value| !rest.any(|element| misses(element, value).is_none()));
            missing.map(|value| format!("no {value} in {got}"))
        }
        // Wire formats do not tell 1 from 1.0.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        _ => (got != wanted).then(|| format!("got {got}, wanted {wanted}")),
    }
}
