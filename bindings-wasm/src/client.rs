//! One connection to a server.

use js_sys::Array;
use mcp_keel_core::flat;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Answer, refusal, run, seed, status};

/// One connection to a server.
#[wasm_bindgen]
pub struct FlatClient(flat::FlatClient);

#[wasm_bindgen]
impl FlatClient {
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str, seed_bytes: &[u8]) -> Answer<Self> {
        seed(seed_bytes).and_then(|seed| flat::FlatClient::new(config, &seed)).map(Self).map_err(refusal)
    }

    pub fn start(&mut self, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.start(now))
    }

    pub fn receive(&mut self, bytes: &[u8], now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.receive(bytes, now))
    }

    pub fn ended(&mut self, reason: &str, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.ended(reason, now))
    }

    pub fn response(&mut self, stream: f64, code: f64, headers: &str, now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.response(stream, status(code)?, headers, now))
    }

    pub fn body(&mut self, stream: f64, bytes: &[u8], now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.body(stream, bytes, now))
    }

    pub fn end(&mut self, stream: f64, now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.end(stream, now))
    }

    pub fn failed(&mut self, stream: f64, reason: &str, now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.failed(stream, reason, now))
    }

    pub fn request(&mut self, handle: f64, method: &str, params: &str, options: &str, now: f64) -> Answer<Array> {
        run(handle, now, &mut |handle, now| self.0.request(handle, method, params, options, now))
    }

    pub fn cancel(&mut self, handle: f64, reason: &str, now: f64) -> Answer<Array> {
        run(handle, now, &mut |handle, now| self.0.cancel(handle, reason, now))
    }

    pub fn answer(&mut self, token: f64, outcome: &str, now: f64) -> Answer<Array> {
        run(token, now, &mut |token, now| self.0.answer(token, outcome, now))
    }

    pub fn notify(&mut self, method: &str, params: &str, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.notify(method, params, now))
    }

    pub fn timeout(&mut self, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.timeout(now))
    }

    pub fn close(&mut self, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.close(now))
    }
}
