//! A whole client: starts the program named on the command line and calls its tool `add`.
#![expect(clippy::print_stdout, reason = "an example")]
use mcp_keel::{Client, Options, Target, serde_json::json};

#[tokio::main]
async fn main() -> mcp_keel::Result<()> {
    let mut command = std::env::args_os().skip(1);
    let target = Target::command(command.next().unwrap_or_else(|| "target/debug/examples/server".into()), command);
    let client = Client::connect(target, Options::new()).await?;
    let result = client.call_tool("add", json!({"a": 2, "b": 3})).await?;
    println!("{}", result.text());
    client.close().await;
    Ok(())
}
