//! What happens to a server: its host's commands, and clients of every kind.

use keel_tests::host::Arg;
use keel_tests::json::Json;

use super::{ANSWERS, Actor, CATALOG, OUTCOMES, SMALLER, label, line, meta, noise};

impl Actor {
    pub(super) fn server_step(&mut self) {
        let text = |text: &str| Arg::Text(text.to_owned());
        let stream = if self.streams.is_empty() { (99, "pipe") } else { *self.random.pick(&self.streams) };
        match self.random.below(23) {
            0 | 1 => {
                let kind = if self.random.once_in(3) { "http1" } else { "pipe" };
                let number = self.fresh();
                self.streams.push((number, kind));
                self.call("open", vec![Arg::Int(number), text(kind)]);
            }
            2..=8 => {
                let mut bytes = match stream.1 {
                    "pipe" if self.random.once_in(3) => self.client_answer(),
                    "pipe" => line(&mut self.random),
                    _ => noise(&mut self.random, "http1"),
                };
                if self.random.once_in(20) {
                    let half = bytes.len() / 2;
                    bytes.truncate(half);
                }
                self.call("receive", vec![Arg::Int(stream.0), Arg::Bytes(bytes)]);
            }
            9 | 10 => {
                let (number, head, body) = (self.fresh(), self.head(), line(&mut self.random));
                self.call("request", vec![Arg::Int(number), Arg::Text(head), Arg::Bytes(body)]);
                self.streams.push((number, "http"));
            }
            11..=13 => {
                let (call, outcome) = (self.some_call(), *self.random.pick(OUTCOMES));
                self.call("respond", vec![call, text(outcome)]);
            }
            14 | 20 => {
                let call = self.some_call();
                let key = format!("k{}", self.random.below(4));
                let request = *self.random.pick(&[
                    r#"{"method":"roots/list"}"#,
                    r#"{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#,
                    r#"{"method":"zap"}"#,
                ]);
                self.call("ask", vec![call, Arg::Text(key), text(request)]);
            }
            15 => {
                let call = self.some_call();
                let progress = format!(r#"{{"progress":{}}}"#, self.random.below(50));
                self.call("progress", vec![call, Arg::Text(progress)]);
            }
            16 => {
                let call = if self.random.once_in(2) { Arg::Int(0) } else { self.some_call() };
                self.call("log", vec![call, text(r#"{"level":"error","data":1}"#)]);
            }
            17 => self.call("publish", vec![text(r#"{"resource":"m:a"}"#)]),
            18 => {
                let catalog = *self.random.pick(&[CATALOG, SMALLER, "{}"]);
                self.call("set_catalog", vec![text(catalog)]);
            }
            19 if self.random.once_in(6) => self.call("end", vec![Arg::Int(stream.0)]),
            21 if self.random.once_in(6) => self.call("gone", vec![Arg::Int(stream.0)]),
            _ => {
                let millis = self.random.next() % 100_000;
                self.pass(millis);
            }
        }
    }

    /// What a client says to the question that was asked last, in the way of either era.
    fn client_answer(&mut self) -> Vec<u8> {
        let id = self.random.next() % 1000;
        let states = self.seen.iter().rev().filter(|record| record.kind == "write").take(6).find_map(|record| {
            let text = record.text();
            let line = text.lines().find(|line| line.contains("requestState"))?;
            Json::parse(line).ok()?.at(&["result", "requestState"]).map(Json::to_string)
        });
        let text = match states {
            Some(state) => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","inputResponses":{{"k0":{{"action":"decline"}},"k1":{{"roots":[]}}}},"requestState":{state},{}}}}}"#,
                meta(&mut self.random)
            ),
            None => {
                let (asked, _) = self.ours();
                format!(r#"{{"jsonrpc":"2.0","id":{asked},{}}}"#, self.random.pick(ANSWERS))
            }
        };
        (text + "\n").into_bytes()
    }

    fn head(&mut self) -> String {
        let method = *self.random.pick(&["POST", "POST", "POST", "POST", "GET", "DELETE", "PUT"]);
        let mut head = format!("{method} /mcp\nhost: localhost\ncontent-type: application/json");
        if !self.random.once_in(8) {
            head.push_str("\naccept: application/json, text/event-stream");
        }
        if self.random.once_in(2) {
            head.push_str(&format!("\nmcp-protocol-version: {}", label(&mut self.random)));
        }
        let session = self.seen.iter().rev().filter(|record| record.kind == "head").find_map(|record| {
            record.text().lines().find_map(|line| line.strip_prefix("mcp-session-id: ").map(str::to_owned))
        });
        if let Some(session) = session.filter(|_| !self.random.once_in(4)) {
            head.push_str(&format!("\nmcp-session-id: {session}"));
        }
        if self.random.once_in(2) {
            head.push_str("\nmcp-method: tools/call\nmcp-name: echo");
        }
        head
    }
}
