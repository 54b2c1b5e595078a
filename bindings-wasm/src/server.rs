//! One server with all its connections.

use alloc::vec::Vec;

use mcp_keel_core::flat::{self, Records};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Call, give, text, usage, value};

/// One server with all its connections.
#[wasm_bindgen]
pub struct FlatServer(Option<flat::FlatServer>);

#[wasm_bindgen]
impl FlatServer {
    /// Nothing yet: method 0 makes it what it is.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self(None)
    }

    #[expect(clippy::too_many_arguments, reason = "one way in for all methods")]
    pub fn call(&mut self, method: u32, number: f64, code: f64, now: f64, a: Vec<u8>, b: Vec<u8>, c: Vec<u8>) {
        give(Call::new([number, code, now], a, b, c).and_then(|call| self.run(method, call)));
    }
}

impl FlatServer {
    /// Methods by number: the order stands in the host's `seam.js` too.
    fn run(&mut self, method: u32, call: Call) -> Records {
        let Call { number, now, ref a, ref b, .. } = call;
        let Some(server) = &mut self.0 else {
            self.0 = Some(flat::FlatServer::new(text(a)?, &call.seed()?)?);
            return Ok(Vec::new());
        };
        match method {
            1 => server.set_catalog(text(a)?, now),
            2 => server.open(number, text(a)?, now),
            3 => server.receive(number, a, now),
            4 => server.end(number, now),
            5 => server.request(number, text(a)?, b, now),
            6 => server.gone(number, now),
            7 => server.respond(number, text(a)?, now),
            8 => server.ask(number, text(a)?, text(b)?, now),
            9 => server.progress(number, text(a)?, now),
            10 => server.log(number, text(a)?, now),
            11 => server.publish(text(a)?, now),
            12 => value("value", server.call_info(now)?.into_bytes()),
            13 => server.timeout(now),
            14 => server.close(now),
            _ => Err(usage("no such method")),
        }
    }
}
