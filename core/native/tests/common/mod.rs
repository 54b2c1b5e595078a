//! A server whose tools tell the test what happens inside them, so that no test has to guess with a sleep.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses a part; a test may panic")]
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_keel::{
    Client, Context, ElicitRequest, ElicitResult, Error, Json, Level, McpError, Mode, Options, Read, Resource, Root,
    Server, Tool, ToolResult,
    serde_json::{Value, json},
};
use serde::Deserialize;
use tokio::sync::mpsc;

pub const ERAS: [Mode; 2] = [Mode::Legacy, Mode::Modern];

/// No test waits longer than this for anything; it is reached only when something is broken.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it never happened")
}

#[derive(Debug, PartialEq)]
pub enum Seen {
    Started,
    Dropped,
}

pub struct Fixture {
    pub server: Server,
    /// What `hold` does.
    pub seen: mpsc::UnboundedReceiver<Seen>,
    /// How many steps `flood` has reported.
    pub steps: Arc<AtomicUsize>,
}

#[derive(Deserialize)]
pub struct Text {
    pub text: String,
}

#[derive(Deserialize)]
pub struct Number {
    pub n: usize,
}

#[derive(Deserialize)]
pub struct Nothing {}

struct OnDrop(mpsc::UnboundedSender<Seen>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(Seen::Dropped);
    }
}

pub const STEP: usize = 1000;

pub fn fixture() -> Fixture {
    let (sender, seen) = mpsc::unbounded_channel();
    let steps = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&steps);
    let runaway = sender.clone();
    let server = Server::builder("test", "1")
        .instructions("Be kind.")
        .tool(Tool::new("echo"), |args: Text, _: Context| async move { args.text })
        .tool(Tool::new("double").output_schema(json!({"type": "object"})), |args: Number, _: Context| async move {
            Json(json!({"n": args.n * 2}))
        })
        .tool(Tool::new("count"), |args: Number, context: Context| async move {
            for step in 1..=args.n {
                context.progress(step as f64, args.n as f64, "counting").await;
            }
            "counted"
        })
        .tool(Tool::new("flood"), move |args: Number, context: Context| {
            let count = Arc::clone(&count);
            async move {
                let padding = "x".repeat(STEP);
                for step in 1..=args.n {
                    context.progress(step as f64, None, padding.as_str()).await;
                    count.fetch_add(1, Ordering::SeqCst);
                }
                "flooded"
            }
        })
        .tool(Tool::new("hold"), move |_: Nothing, _: Context| {
            let sender = sender.clone();
            async move {
                let _held = OnDrop(sender.clone());
                let _ = sender.send(Seen::Started);
                std::future::pending::<()>().await;
            }
        })
        .tool(Tool::new("runaway"), move |_: Nothing, context: Context| {
            let sender = runaway.clone();
            async move {
                let _held = OnDrop(sender.clone());
                let _ = sender.send(Seen::Started);
                for step in 0..u32::MAX {
                    context.progress(step.into(), None, None).await;
                    context.log(Level::Debug, step).await;
                }
            }
        })
        .tool(Tool::new("ask"), ask)
        .tool(Tool::new("ask_boxed"), |nothing: Nothing, context: Context| async {
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(ask(nothing, context).await?)
        })
        .tool(Tool::new("model"), |_: Nothing, context: Context| async move {
            let answer = context.sample(json!({"messages": [], "maxTokens": 5})).await?;
            Ok::<_, Error>(answer.get().to_owned())
        })
        .tool(Tool::new("where"), |_: Nothing, context: Context| async move {
            Ok::<_, Error>(context.roots().await?.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
        })
        .tool(Tool::new("refuse"), |_: Nothing, _: Context| async {
            Err::<(), _>(McpError::new(-32001, "no").with_data(json!({"why": "because"})))
        })
        .tool(Tool::new("panic"), |_: Nothing, _: Context| async { panic!("on purpose") as String })
        .tool(Tool::new("chatty"), |_: Nothing, context: Context| async move {
            for word in ["one", "two", "three"] {
                context.log(Level::Info, word).await;
            }
            ToolResult::text_block("logged")
        })
        .tool(Tool::new("whoami"), |_: Nothing, context: Context| async move {
            let info = context.info()?;
            let name = info.client.and_then(|client| client.get("name").cloned()).unwrap_or_default();
            Ok::<_, Error>(name.as_str().unwrap_or_default().to_owned())
        })
        .resource(Resource::new("memo://a", "a").mime_type("text/plain"), |_: Read, _: Context| async { "text of a" })
        .build()
        .unwrap();
    Fixture { server, seen, steps }
}

async fn ask(_: Nothing, context: Context) -> Result<String, Error> {
    let schema = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let first = context.elicit("first?", schema("first")).await?;
    let second = context.elicit("second?", schema("second")).await?;
    let words = |answer: ElicitResult| answer.accepted::<Value>().map(|value| value.unwrap_or_default().to_string());
    Ok(format!("{} {}", words(first)?, words(second)?))
}

pub fn options(mode: Mode) -> Options {
    Options::new()
        .info("tester", "1")
        .mode(mode)
        .on_elicit(|question: ElicitRequest| async move {
            let field = question.message.trim_end_matches('?').to_owned();
            Ok::<_, McpError>(ElicitResult::accept(json!({field: "yes"})))
        })
        .on_sample(|_| async {
            Ok::<_, McpError>(json!({"role": "assistant", "content": {"type": "text", "text": "hm"}, "model": "m"}))
        })
        .roots([Root::new("file:///tmp")])
}

/// The same for every link: what a client sees must not depend on how it is connected.
pub async fn everything(client: &Client, seen: &mut mpsc::UnboundedReceiver<Seen>) {
    let tools = client.list_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "echo"), "{tools:?}");
    assert_eq!(client.call_tool("echo", json!({"text": "grüß\n\u{0}"})).await.unwrap().text(), "grüß\n\u{0}");
    assert_eq!(client.call_tool("double", json!({"n": 21})).await.unwrap().data::<Value>().unwrap(), json!({"n": 42}));
    assert_eq!(client.call_tool("whoami", json!({})).await.unwrap().text(), "tester");

    let (steps, mut reported) = mpsc::unbounded_channel();
    let call = client.tool("count").args(json!({"n": 3})).progress(move |step| {
        let _ = steps.send(step.progress);
    });
    assert_eq!(call.await.unwrap().text(), "counted");
    assert_eq!(
        [reported.recv().await, reported.recv().await, reported.recv().await],
        [Some(1.0), Some(2.0), Some(3.0)]
    );
    assert_eq!(reported.recv().await, None);

    let asked = client.call_tool("ask", json!({})).await.unwrap().text();
    assert_eq!(asked, r#"{"first":"yes"} {"second":"yes"}"#);
    assert!(client.call_tool("model", json!({})).await.unwrap().text().contains("hm"));
    assert_eq!(client.call_tool("where", json!({})).await.unwrap().text(), "file:///tmp");

    let refused = client.call_tool("refuse", json!({})).await.unwrap_err();
    let Error::Peer { code: -32001, data: Some(data), .. } = refused else { panic!("{refused:?}") };
    assert_eq!(data.get(), r#"{"why":"because"}"#);
    assert!(matches!(client.call_tool("panic", json!({})).await, Err(Error::Peer { code: -32603, .. })));
    assert!(matches!(client.call_tool("nope", json!({})).await, Err(Error::Peer { code: -32602, .. })));
    assert_eq!(client.read_resource("memo://a").await.unwrap().text(), Some("text of a"));

    dropped_call(client, seen).await;
    cancelled_runaway(client, seen).await;
    explicit_cancel(client, seen).await;
    concurrent(client).await;
}

async fn dropped_call(client: &Client, seen: &mut mpsc::UnboundedReceiver<Seen>) {
    let call = client.tool("hold").send().await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some(Seen::Started));
    drop(call);
    assert_eq!(soon(seen.recv()).await, Some(Seen::Dropped));
}

async fn explicit_cancel(client: &Client, seen: &mut mpsc::UnboundedReceiver<Seen>) {
    let call = client.tool("hold").send().await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some(Seen::Started));
    call.cancel("enough");
    assert!(matches!(soon(call).await, Err(Error::Cancelled(_))));
    assert_eq!(soon(seen.recv()).await, Some(Seen::Dropped));
}

/// A handler that never waits for anything is no harm to others, and ends when its call does.
async fn cancelled_runaway(client: &Client, seen: &mut mpsc::UnboundedReceiver<Seen>) {
    let call = client.tool("runaway").send().await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some(Seen::Started));
    assert_eq!(soon(client.call_tool("echo", json!({"text": "meanwhile"}))).await.unwrap().text(), "meanwhile");
    call.cancel("enough");
    assert_eq!(soon(seen.recv()).await, Some(Seen::Dropped));
    assert_eq!(soon(client.call_tool("echo", json!({"text": "after"}))).await.unwrap().text(), "after");
}

async fn concurrent(client: &Client) {
    let calls = (0..64).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            for round in 0..4 {
                let text = format!("{number}.{round}");
                assert_eq!(client.call_tool("echo", json!({"text": text})).await.unwrap().text(), text);
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        soon(call).await.unwrap();
    }
}

/// Lets everything else run until `steps` does not change any more. Only on a current-thread runtime.
pub async fn standstill(steps: &AtomicUsize) -> usize {
    let (mut last, mut same) = (usize::MAX, 0);
    while same < 2000 {
        tokio::task::yield_now().await;
        let now = steps.load(Ordering::SeqCst);
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// An example binary; `cargo test` builds them all.
pub fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples").join(name)
}
