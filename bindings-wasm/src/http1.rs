//! Client side HTTP/1.1 on a byte stream of the host.

use alloc::vec::Vec;

use mcp_keel_core::flat::{self, Records};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Call, give, text, usage, value};

/// Client side HTTP/1.1 on a byte stream of the host.
#[wasm_bindgen]
pub struct FlatHttp1(flat::FlatHttp1);

#[wasm_bindgen]
impl FlatHttp1 {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self(flat::FlatHttp1::new())
    }

    #[expect(clippy::too_many_arguments, reason = "one way in for all methods")]
    pub fn call(&mut self, method: u32, number: f64, code: f64, now: f64, a: Vec<u8>, b: Vec<u8>, c: Vec<u8>) {
        give(Call::new([number, code, now], a, b, c).and_then(|call| self.run(method, call)));
    }
}

impl FlatHttp1 {
    /// Methods by number: the order stands in the host's `seam.js` too.
    fn run(&mut self, method: u32, call: Call) -> Records {
        let codec = &mut self.0;
        match method {
            0 => Ok(Vec::new()),
            1 => value("body", codec.encode(text(&call.a)?, text(&call.b)?)?),
            2 => codec.receive(&call.a),
            3 => codec.finish(),
            4 => value("value", flat::FlatHttp1::target(text(&call.a)?)?.into_bytes()),
            _ => Err(usage("no such method")),
        }
    }
}
