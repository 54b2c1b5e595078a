//! A server whose tools take and give long texts: what they cost is measured from outside.
use mcp_keel::{Context, Server, Tool, serde_json::json};

const UNIT: &str = "The café's \"daily\" menu:\tsoup, bread and water.\n";

#[derive(serde::Deserialize)]
struct Take {
    text: String,
}

#[derive(serde::Deserialize)]
struct Give {
    units: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> mcp_keel::Result<()> {
    let object =
        |name: &str, kind: &str| json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
    Server::builder("memory", "1")
        .tool(Tool::new("take").input_schema(object("text", "string")), |args: Take, _: Context| async move {
            args.text.chars().count().to_string()
        })
        .tool(Tool::new("give").input_schema(object("units", "integer")), |args: Give, _: Context| async move {
            UNIT.repeat(args.units)
        })
        .build()?
        .serve_stdio()
        .await
}
