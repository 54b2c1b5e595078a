//! The flat surface of the core as a WebAssembly component: the WIT package `keel:mcp`.
//!
//! Each method passes its arguments on and hands back what comes; what it means is said in `wit/mcp.wit`.
#![cfg(target_family = "wasm")]

mod client;
mod http1;
mod server;

use std::cell::RefCell;

use mcp_keel_core::flat;

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "core" });
}

use bindings::exports::keel::mcp::flat::{Error, Guest, Kind, Payload, Record};

struct Component;

impl Guest for Component {
    type Server = server::Server;
    type Client = client::Client;
    type Http1 = http1::Http1;
}

bindings::export!(Component with_types_in bindings);

type Records = Result<Vec<Record>, Error>;

/// An object of the core. Nothing comes back into it while it works, since the component calls nobody.
struct Object<T>(RefCell<T>);

impl<T> Object<T> {
    fn new(inner: T) -> Self {
        Self(RefCell::new(inner))
    }

    fn call<R>(&self, run: impl FnOnce(&mut T) -> Result<R, flat::FlatError>) -> Result<R, Error> {
        run(&mut self.0.borrow_mut()).map_err(refusal)
    }

    fn records(&self, run: impl FnOnce(&mut T) -> flat::Records) -> Records {
        self.call(run).map(|records| records.into_iter().map(record).collect())
    }
}

fn seed(bytes: &[u8]) -> Result<[u8; 32], Error> {
    bytes.try_into().map_err(|_| Error { code: "usage".into(), message: "a seed has 32 bytes".into() })
}

fn refusal(error: flat::FlatError) -> Error {
    Error { code: error.code.into(), message: error.message }
}

fn record(record: flat::Record) -> Record {
    let payload = if record.is_bytes() {
        Payload::Bytes(record.text)
    } else {
        Payload::Text(String::from_utf8(record.text).expect("what is not bytes was a string"))
    };
    let (stream, id, until) = (record.stream, record.id, record.until);
    Record { kind: kind(record.kind), stream, id, name: record.name, payload, until }
}

fn kind(word: &str) -> Kind {
    match word {
        "write" => Kind::Write,
        "close" => Kind::Close,
        "head" => Kind::Head,
        "body" => Kind::Body,
        "end" => Kind::End,
        "call" => Kind::Call,
        "answer" => Kind::Answer,
        "cancelled" => Kind::Cancelled,
        "opened" => Kind::Opened,
        "notice" => Kind::Notice,
        "violation" => Kind::Violation,
        "trace" => Kind::Trace,
        "closed" => Kind::Closed,
        "wait" => Kind::Wait,
        "fetch" => Kind::Fetch,
        "abort" => Kind::Abort,
        "ready" => Kind::Ready,
        "result" => Kind::Result,
        "error" => Kind::Error,
        "progress" => Kind::Progress,
        "input" => Kind::Input,
        "input_cancelled" => Kind::InputCancelled,
        other => unreachable!("the core has a kind `{other}` that the WIT lacks"),
    }
}
