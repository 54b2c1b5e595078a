//! A client that calls tools which take and give long texts, when told to on standard input: `take UNITS`, `give UNITS`.
//! Prints how many characters arrived.
#![expect(clippy::print_stdout, reason = "that is how it is heard")]
use mcp_keel::{
    Client, Options, Target,
    serde_json::{Value, json},
};
use tokio::io::{AsyncBufReadExt as _, BufReader};

const UNIT: &str = "The café's \"daily\" menu:\tsoup, bread and water.\n";

#[derive(serde::Serialize)]
struct Take {
    text: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut command = std::env::args_os().skip(1);
    let target = Target::command(command.next().ok_or("no command")?, command);
    let limits: Value = json!({"messageBytes": 64 << 20});
    let client = Client::connect(target, Options::new().config("limits", limits)).await?;
    println!("ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let (tool, units) = line.split_once(' ').ok_or("no such command")?;
        let units: usize = units.parse()?;
        let result = match tool {
            "take" => client.tool("take").args(Take { text: UNIT.repeat(units) }).await?,
            _ => client.tool("give").args(json!({"units": units})).await?,
        };
        let text = result.text();
        if tool == "take" { println!("{text}") } else { println!("{}", text.chars().count()) }
    }
    client.close().await;
    Ok(())
}
