//! A whole server: one tool, on stdin and stdout.
use mcp_keel::{Context, Json, Server, Tool, serde_json::json};

#[derive(serde::Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[tokio::main]
async fn main() -> mcp_keel::Result<()> {
    let number = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]});
    let tool = Tool::new("add").description("Adds two numbers").input_schema(schema);
    Server::builder("calculator", "1.0")
        .tool(tool, |args: Add, _: Context| async move { Json(json!({"sum": args.a + args.b})) })
        .build()?
        .serve_stdio()
        .await
}
