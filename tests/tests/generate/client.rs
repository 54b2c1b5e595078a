//! What happens to a client: its host's commands, and a server that answers well or badly.

use keel_tests::host::Arg;

use super::{Actor, REQUESTS, label, mutate};

impl Actor {
    pub(super) fn client_step(&mut self) {
        let text = |text: &str| Arg::Text(text.to_owned());
        match self.random.below(16) {
            0 => self.call("start", Vec::new()),
            1..=3 => {
                let (method, params) = *self.random.pick(REQUESTS);
                let options = *self.random.pick(&["{}", r#"{"progress":true,"timeoutMs":500}"#, r#"{"all":true}"#]);
                let handle = self.fresh();
                self.call("request", vec![Arg::Int(handle), text(method), text(params), text(options)]);
            }
            4 => {
                let handle = 1 + self.random.next() % (self.next + 1);
                self.call("cancel", vec![Arg::Int(handle), text("enough")]);
            }
            5 => {
                let (token, name) =
                    self.some_seen("input").map_or((7, String::new()), |record| (record.id, record.name));
                let good = match &*name {
                    "roots/list" => r#"{"result":{"roots":[]}}"#,
                    "sampling/createMessage" => {
                        r#"{"result":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}}"#
                    }
                    _ => r#"{"result":{"action":"decline"}}"#,
                };
                let outcome = *self.random.pick(&[good, r#"{"error":{"code":-1,"message":"no"}}"#, "3"]);
                self.call("answer", vec![Arg::Int(token), text(outcome)]);
            }
            6 => self.call("notify", vec![text("notifications/roots/list_changed"), text("{}")]),
            7 => {
                let millis = self.random.next() % 5000;
                self.pass(millis);
            }
            8 if self.random.once_in(20) => self.call("close", Vec::new()),
            9 if self.link == "pipe" && self.random.once_in(20) => self.call("ended", vec![text("it died")]),
            _ if self.link == "pipe" => {
                let bytes = self.peer_line();
                self.call("receive", vec![Arg::Bytes(bytes)]);
            }
            _ => self.peer_exchange(),
        }
    }

    fn peer_message(&mut self) -> String {
        let (id, method) = self.ours();
        let version = label(&mut self.random);
        match self.random.below(10) {
            0..=4 => {
                let result = match &*method {
                    "initialize" => format!(r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}},"resources":{{"subscribe":true}},"prompts":{{}},"completions":{{}},"logging":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}"#),
                    "server/discover" => format!(r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["{version}"],"capabilities":{{"tools":{{}},"resources":{{}},"prompts":{{}},"completions":{{}}}}}}"#),
                    "tools/call" if self.random.once_in(3) => r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}"#.to_owned(),
                    _ => r#"{"resultType":"complete","tools":[],"content":[],"messages":[],"contents":[],"completion":{"values":[]},"nextCursor":"n","ttlMs":0,"cacheScope":"public"}"#.to_owned(),
                };
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
            }
            5 => {
                let error = *self.random.pick(&[
                    r#"{"code":-32601,"message":"no"}"#,
                    r#"{"code":-32022,"message":"no","data":{"supported":["x"],"requested":"y"}}"#,
                    r#"{"code":"x"}"#,
                ]);
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
            }
            6 => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{}}}}}"#,
                self.random.below(9)
            ),
            7 => {
                let number = self.random.below(9);
                let asked = *self.random.pick(&["roots/list", "elicitation/create", "ping", "sampling/createMessage"]);
                format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"{asked}","params":{{}}}}"#)
            }
            8 => r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
            _ => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#,
                self.random.below(9)
            ),
        }
    }

    fn peer_line(&mut self) -> Vec<u8> {
        let mut text = self.peer_message().into_bytes();
        if self.random.once_in(12) {
            mutate(&mut self.random, &mut text);
        }
        text.push(b'\n');
        text
    }

    fn peer_exchange(&mut self) {
        let Some(fetch) = self.some_seen("fetch") else { return };
        let stream = Arg::Int(fetch.stream);
        match self.random.below(5) {
            0 => {
                let status = *self.random.pick(&[200u64, 200, 200, 200, 202, 400, 401, 404, 405, 500]);
                let kind = *self.random.pick(&["application/json", "text/event-stream", "text/plain"]);
                let head = Arg::Text(format!("content-type: {kind}\nmcp-session-id: s"));
                self.call("response", vec![stream, Arg::Int(status), head]);
            }
            1 | 2 => {
                let message = self.peer_message();
                let body = if self.random.once_in(2) { message } else { format!("id: 1\ndata: {message}\n\n") };
                let body = Arg::Bytes(body.into_bytes());
                self.call("body", vec![stream, body]);
            }
            3 => self.call("end", vec![stream]),
            _ => self.call("failed", vec![stream, Arg::Text("cut".to_owned())]),
        }
    }
}
