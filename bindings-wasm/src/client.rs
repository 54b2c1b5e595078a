//! One connection to a server.

use js_sys::Array;
use mcp_keel_core::flat;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Answer, records, refusal, seed, status, whole};

/// One connection to a server.
#[wasm_bindgen]
pub struct FlatClient(flat::FlatClient);

#[wasm_bindgen]
impl FlatClient {
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str, seed_bytes: &[u8]) -> Answer<Self> {
        flat::FlatClient::new(config, &seed(seed_bytes)?).map(Self).map_err(refusal)
    }

    pub fn start(&mut self, now: f64) -> Answer<Array> {
        records(self.0.start(whole(now)?))
    }

    pub fn receive(&mut self, bytes: &[u8], now: f64) -> Answer<Array> {
        records(self.0.receive(bytes, whole(now)?))
    }

    pub fn ended(&mut self, reason: &str, now: f64) -> Answer<Array> {
        records(self.0.ended(reason, whole(now)?))
    }

    pub fn response(&mut self, stream: f64, code: f64, headers: &str, now: f64) -> Answer<Array> {
        records(self.0.response(whole(stream)?, status(code)?, headers, whole(now)?))
    }

    pub fn body(&mut self, stream: f64, bytes: &[u8], now: f64) -> Answer<Array> {
        records(self.0.body(whole(stream)?, bytes, whole(now)?))
    }

    pub fn end(&mut self, stream: f64, now: f64) -> Answer<Array> {
        records(self.0.end(whole(stream)?, whole(now)?))
    }

    pub fn failed(&mut self, stream: f64, reason: &str, now: f64) -> Answer<Array> {
        records(self.0.failed(whole(stream)?, reason, whole(now)?))
    }

    pub fn request(&mut self, handle: f64, method: &str, params: &str, options: &str, now: f64) -> Answer<Array> {
        records(self.0.request(whole(handle)?, method, params, options, whole(now)?))
    }

    pub fn cancel(&mut self, handle: f64, reason: &str, now: f64) -> Answer<Array> {
        records(self.0.cancel(whole(handle)?, reason, whole(now)?))
    }

    pub fn answer(&mut self, token: f64, outcome: &str, now: f64) -> Answer<Array> {
        records(self.0.answer(whole(token)?, outcome, whole(now)?))
    }

    pub fn notify(&mut self, method: &str, params: &str, now: f64) -> Answer<Array> {
        records(self.0.notify(method, params, whole(now)?))
    }

    pub fn timeout(&mut self, now: f64) -> Answer<Array> {
        records(self.0.timeout(whole(now)?))
    }

    pub fn close(&mut self, now: f64) -> Answer<Array> {
        records(self.0.close(whole(now)?))
    }
}
