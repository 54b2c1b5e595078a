//! The fixture server: the same tools, resources and prompts as in every other language, for tests across languages.
//!
//! `fixture_server --stdio`, or `fixture_server --http PORT` (0 picks one; prints `listening PORT`).
use std::{io::Write as _, time::Duration};

use mcp_keel::{
    CompletionRequest, Context, Error, Json, Level, Prompt, PromptArgument, PromptResult, Read, Resource,
    ResourceTemplate, Server, Tool, serde_json::value::RawValue,
};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct Add {
    a: Integer,
    b: Integer,
}

#[derive(Serialize)]
struct Sum {
    result: i128,
}

#[derive(Deserialize)]
struct Count {
    to: Integer,
}

#[derive(Deserialize)]
struct Slow {
    ms: Integer,
}

#[derive(Deserialize)]
struct Greet {
    name: String,
}

#[derive(Deserialize)]
struct Nothing {}

const INTEGER: &str = r#"{"type":"integer"}"#;
const STRING: &str = r#"{"type":"string"}"#;

/// An integer as JSON Schema has it: `3.0` is one.
struct Integer(i128);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        if let Ok(integer) = text.get().parse() {
            return Ok(Self(integer));
        }
        match text.get().parse::<f64>() {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and saturating beyond 128 bits")]
            Ok(number) if number.fract() == 0.0 => Ok(Self(number as i128)),
            _ => Err(serde::de::Error::custom(format!("{} is no integer", text.get()))),
        }
    }
}

/// Written out, so that the members come in the same order as in the other languages.
fn object(properties: &[(&str, &str)]) -> Box<RawValue> {
    let members: Vec<_> = properties.iter().map(|(name, schema)| format!(r#""{name}":{schema}"#)).collect();
    let names: Vec<_> = properties.iter().map(|(name, _)| format!(r#""{name}""#)).collect();
    let required = if names.is_empty() { String::new() } else { format!(r#","required":[{}]"#, names.join(",")) };
    let schema = format!(r#"{{"type":"object","properties":{{{}}}{required}}}"#, members.join(","));
    RawValue::from_string(schema).unwrap_or_default()
}

fn server() -> Result<Server, Error> {
    Server::builder("keel-fixture", "1.0.0")
        .tool(
            Tool::new("echo").description("Gives back the text.").input_schema(object(&[("text", STRING)])),
            |args: Echo, _: Context| async move { args.text },
        )
        .tool(
            Tool::new("add")
                .description("Adds two integers.")
                .input_schema(object(&[("a", INTEGER), ("b", INTEGER)]))
                .output_schema(object(&[("result", INTEGER)])),
            |args: Add, _: Context| async move {
                let sum = args.a.0.checked_add(args.b.0).ok_or("the sum is too large")?;
                Ok::<_, &str>(Json(Sum { result: sum }))
            },
        )
        .tool(
            Tool::new("count")
                .description("Counts, and tells how far it is.")
                .input_schema(object(&[("to", r#"{"type":"integer","minimum":1}"#)])),
            count,
        )
        .tool(Tool::new("ask_name").description("Asks for a name and greets.").input_schema(object(&[])), ask_name)
        .tool(
            Tool::new("slow").description("Waits, and may be cancelled.").input_schema(object(&[("ms", INTEGER)])),
            |args: Slow, _: Context| async move {
                tokio::time::sleep(Duration::from_millis(u64::try_from(args.ms.0.max(0)).unwrap_or(u64::MAX))).await;
                "done"
            },
        )
        .tool(
            Tool::new("fail").description("Always fails.").input_schema(object(&[])),
            |_: Nothing, _: Context| async move { Err::<String, _>("it failed") },
        )
        .tool(
            Tool::new("chatty").description("Says three things on the way.").input_schema(object(&[])),
            |_: Nothing, context: Context| async move {
                for word in ["one", "two", "three"] {
                    context.log(Level::Info, word).await;
                }
                "logged"
            },
        )
        .resource(
            Resource::new("memo://greeting", "greeting").mime_type("text/plain"),
            |_: Read, _: Context| async move { "Hello from the fixture" },
        )
        .resource_template(
            ResourceTemplate::new("memo://item/{id}", "item").mime_type("text/plain"),
            |read: Read, _: Context| async move { format!("item {}", read.variable("id")) },
        )
        .prompt(
            Prompt::new("greet").description("Asks for a greeting.").argument(PromptArgument::new("name").required()),
            |args: Greet, _: Context| async move { PromptResult::user(format!("Please greet {}.", args.name)) },
        )
        .completion(|request: CompletionRequest, _: Context| async move {
            let asked = (request.prompt(), request.argument()) == (Some("greet"), "name");
            let names = ["ada", "alan", "grace"].into_iter().filter(|name| asked && name.starts_with(request.value()));
            names.collect::<Vec<_>>()
        })
        .build()
}

async fn count(args: Count, context: Context) -> String {
    let to = args.to.0;
    for step in 1..=to {
        context.progress(step as f64, to as f64, format!("step {step}").as_str()).await;
    }
    format!("counted to {to}")
}

async fn ask_name(_: Nothing, context: Context) -> Result<String, Error> {
    let answer = context.elicit("What is your name?", object(&[("name", STRING)])).await?;
    Ok(match answer.accepted::<Greet>()? {
        Some(Greet { name }) => format!("Hello, {name}!"),
        None => "No name given".into(),
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--stdio"] => server()?.serve_stdio().await?,
        ["--http", port] => {
            let http = server()?.bind_http(("127.0.0.1", port.parse()?)).await?;
            writeln!(std::io::stdout(), "listening {}", http.local_addr().port())?;
            std::io::stdout().flush()?;
            http.run_until_signal().await;
        }
        _ => return Err("usage: fixture_server --stdio | --http PORT".into()),
    }
    Ok(())
}
