//! One connection to a server.

use alloc::vec::Vec;

use mcp_keel_core::flat::{self, Records};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Call, give, text, usage};

/// One connection to a server.
#[wasm_bindgen]
pub struct FlatClient(Option<flat::FlatClient>);

#[wasm_bindgen]
impl FlatClient {
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

impl FlatClient {
    /// Methods by number: the order stands in the host's `seam.js` too.
    fn run(&mut self, method: u32, call: Call) -> Records {
        let Call { number, now, ref a, ref b, ref c, .. } = call;
        let Some(client) = &mut self.0 else {
            self.0 = Some(flat::FlatClient::new(text(a)?, &call.seed()?)?);
            return Ok(Vec::new());
        };
        match method {
            1 => client.start(now),
            2 => client.receive(a, now),
            3 => client.ended(text(a)?, now),
            4 => client.response(number, call.status()?, text(a)?, now),
            5 => client.body(number, a, now),
            6 => client.end(number, now),
            7 => client.failed(number, text(a)?, now),
            8 => client.request(number, text(a)?, text(b)?, text(c)?, now),
            9 => client.cancel(number, text(a)?, now),
            10 => client.answer(number, text(a)?, now),
            11 => client.notify(text(a)?, text(b)?, now),
            12 => client.timeout(now),
            13 => client.close(now),
            _ => Err(usage("no such method")),
        }
    }
}
