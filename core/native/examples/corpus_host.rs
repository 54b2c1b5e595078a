//! Drives the flat objects of the core for the shared corpus: JSON lines in, JSON lines out, one object at a time.
//!
//! `{"op":"new","object":"server"|"client"|"http1","config":"…","seed":"hex"}` gives `{"ok":true}`;
//! `{"op":"call","method":"receive","args":[1,{"utf8":"…"},1000]}` gives `{"records":[[kind,stream,id,name,text,until],…]}`
//! or `{"text":…}`. Either may give `{"error":{"code":…,"message":…}}`. Bytes are `{"utf8":"…"}` or `{"bytes":"base64"}`;
//! JSON payloads are passed on as they stand, or as a string that holds the text.
use std::io::{BufRead as _, Write as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use mcp_keel::{
    core::flat::{FlatClient, FlatError, FlatHttp1, FlatServer, Record},
    serde_json::{self, Value, json, value::RawValue},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Operation {
    op: Op,
    #[serde(default)]
    object: String,
    #[serde(default)]
    config: String,
    #[serde(default)]
    seed: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    args: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    New,
    Call,
}

enum Object {
    None,
    Server(Box<FlatServer>),
    Client(Box<FlatClient>),
    Http1(Box<FlatHttp1>),
}

enum Reply {
    Ok,
    Records(Vec<Record>),
    Text(Vec<u8>),
}

type Answer = Result<Reply, FlatError>;

fn main() -> std::io::Result<()> {
    let mut object = Object::None;
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match perform(&mut object, &line?) {
            Ok(Reply::Ok) => json!({"ok": true}),
            Ok(Reply::Records(records)) => json!({"records": records.into_iter().map(row).collect::<Vec<_>>()}),
            Ok(Reply::Text(text)) => json!({"text": shown(text)}),
            Err(error) => json!({"error": {"code": error.code, "message": error.message}}),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn row(record: Record) -> Value {
    json!([record.kind, record.stream, record.id, record.name, shown(record.text), record.until])
}

fn shown(text: Vec<u8>) -> Value {
    String::from_utf8(text).map_or_else(|error| json!({"b64": BASE64_STANDARD.encode(error.as_bytes())}), Value::from)
}

fn bad(message: impl ToString) -> FlatError {
    FlatError { code: "host_usage", message: message.to_string() }
}

fn perform(object: &mut Object, line: &str) -> Answer {
    let operation: Operation = serde_json::from_str(line).map_err(bad)?;
    match operation.op {
        Op::New => create(object, &operation),
        Op::Call => {
            let args = Args { args: &operation.args };
            match object {
                Object::None => Err(bad("there is no object yet")),
                Object::Server(server) => server_call(server, &operation.method, &args),
                Object::Client(client) => client_call(client, &operation.method, &args),
                Object::Http1(http1) => http1_call(http1, &operation.method, &args),
            }
        }
    }
}

fn create(object: &mut Object, operation: &Operation) -> Answer {
    *object = Object::None;
    let config = operation.config.as_str();
    let seed = || seed(&operation.seed);
    *object = match operation.object.as_str() {
        "server" => Object::Server(Box::new(FlatServer::new(config, &seed()?)?)),
        "client" => Object::Client(Box::new(FlatClient::new(config, &seed()?)?)),
        "http1" => Object::Http1(Box::new(FlatHttp1::new())),
        other => return Err(bad(format!("no object {other}"))),
    };
    Ok(Reply::Ok)
}

fn seed(hex: &str) -> Result<[u8; 32], FlatError> {
    let digits = hex.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).map_err(bad)?;
        u8::from_str_radix(pair, 16).map_err(bad)
    });
    let bytes = digits.collect::<Result<Vec<_>, _>>()?;
    bytes.try_into().map_err(|_| bad("the seed needs 64 hex digits"))
}

/// Arguments of one call, read as the method wants them.
struct Args<'a> {
    args: &'a [Box<RawValue>],
}

impl Args<'_> {
    fn raw(&self, index: usize) -> Result<&str, FlatError> {
        self.args.get(index).map(|raw| raw.get()).ok_or_else(|| bad(format!("argument {index} is missing")))
    }

    fn number(&self, index: usize) -> Result<u64, FlatError> {
        serde_json::from_str(self.raw(index)?).map_err(bad)
    }

    /// Text, or a JSON payload.
    fn text(&self, index: usize) -> Result<String, FlatError> {
        let raw = self.raw(index)?;
        if raw.starts_with('"') { serde_json::from_str(raw).map_err(bad) } else { Ok(raw.to_owned()) }
    }

    fn bytes(&self, index: usize) -> Result<Vec<u8>, FlatError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Bytes {
            Utf8(String),
            Bytes(String),
        }
        match serde_json::from_str(self.raw(index)?).map_err(bad)? {
            Bytes::Utf8(text) => Ok(text.into_bytes()),
            Bytes::Bytes(base64) => BASE64_STANDARD.decode(base64).map_err(bad),
        }
    }
}

fn server_call(server: &mut FlatServer, method: &str, args: &Args<'_>) -> Answer {
    let records = match method {
        "set_catalog" => server.set_catalog(&args.text(0)?, args.number(1)?),
        "open" => server.open(args.number(0)?, &args.text(1)?, args.number(2)?),
        "receive" => server.receive(args.number(0)?, &args.bytes(1)?, args.number(2)?),
        "end" => server.end(args.number(0)?, args.number(1)?),
        "request" => server.request(args.number(0)?, &args.text(1)?, &args.bytes(2)?, args.number(3)?),
        "gone" => server.gone(args.number(0)?, args.number(1)?),
        "respond" => server.respond(args.number(0)?, &args.text(1)?, args.number(2)?),
        "ask" => server.ask(args.number(0)?, &args.text(1)?, &args.text(2)?, args.number(3)?),
        "progress" => server.progress(args.number(0)?, &args.text(1)?, args.number(2)?),
        "log" => server.log(args.number(0)?, &args.text(1)?, args.number(2)?),
        "publish" => server.publish(&args.text(0)?, args.number(1)?),
        "call_info" => return server.call_info(args.number(0)?).map(|text| Reply::Text(text.into_bytes())),
        "timeout" => server.timeout(args.number(0)?),
        "close" => server.close(args.number(0)?),
        other => return Err(bad(format!("a server has no method {other}"))),
    };
    records.map(Reply::Records)
}

fn client_call(client: &mut FlatClient, method: &str, args: &Args<'_>) -> Answer {
    let records = match method {
        "start" => client.start(args.number(0)?),
        "receive" => client.receive(&args.bytes(0)?, args.number(1)?),
        "ended" => client.ended(&args.text(0)?, args.number(1)?),
        "response" => {
            let status = u16::try_from(args.number(1)?).map_err(bad)?;
            client.response(args.number(0)?, status, &args.text(2)?, args.number(3)?)
        }
        "body" => client.body(args.number(0)?, &args.bytes(1)?, args.number(2)?),
        "end" => client.end(args.number(0)?, args.number(1)?),
        "failed" => client.failed(args.number(0)?, &args.text(1)?, args.number(2)?),
        "request" => client.request(args.number(0)?, &args.text(1)?, &args.text(2)?, &args.text(3)?, args.number(4)?),
        "cancel" => client.cancel(args.number(0)?, &args.text(1)?, args.number(2)?),
        "answer" => client.answer(args.number(0)?, &args.text(1)?, args.number(2)?),
        "notify" => client.notify(&args.text(0)?, &args.text(1)?, args.number(2)?),
        "timeout" => client.timeout(args.number(0)?),
        "close" => client.close(args.number(0)?),
        other => return Err(bad(format!("a client has no method {other}"))),
    };
    records.map(Reply::Records)
}

fn http1_call(http1: &mut FlatHttp1, method: &str, args: &Args<'_>) -> Answer {
    match method {
        "encode" => http1.encode(&args.text(0)?, &args.text(1)?).map(Reply::Text),
        "receive" => http1.receive(&args.bytes(0)?).map(Reply::Records),
        "finish" => http1.finish().map(Reply::Records),
        "target" => FlatHttp1::target(&args.text(0)?).map(|text| Reply::Text(text.into_bytes())),
        other => Err(bad(format!("http1 has no method {other}"))),
    }
}
