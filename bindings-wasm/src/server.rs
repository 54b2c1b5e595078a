//! One server with all its connections.

use alloc::string::String;

use js_sys::Array;
use mcp_keel_core::flat;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Answer, records, refusal, seed, whole};

/// One server with all its connections.
#[wasm_bindgen]
pub struct FlatServer(flat::FlatServer);

#[wasm_bindgen]
impl FlatServer {
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str, seed_bytes: &[u8]) -> Answer<Self> {
        flat::FlatServer::new(config, &seed(seed_bytes)?).map(Self).map_err(refusal)
    }

    #[wasm_bindgen(js_name = setCatalog)]
    pub fn set_catalog(&mut self, catalog: &str, now: f64) -> Answer<Array> {
        records(self.0.set_catalog(catalog, whole(now)?))
    }

    pub fn open(&mut self, stream: f64, transport: &str, now: f64) -> Answer<Array> {
        records(self.0.open(whole(stream)?, transport, whole(now)?))
    }

    pub fn receive(&mut self, stream: f64, bytes: &[u8], now: f64) -> Answer<Array> {
        records(self.0.receive(whole(stream)?, bytes, whole(now)?))
    }

    pub fn end(&mut self, stream: f64, now: f64) -> Answer<Array> {
        records(self.0.end(whole(stream)?, whole(now)?))
    }

    pub fn request(&mut self, stream: f64, head: &str, body: &[u8], now: f64) -> Answer<Array> {
        records(self.0.request(whole(stream)?, head, body, whole(now)?))
    }

    pub fn gone(&mut self, stream: f64, now: f64) -> Answer<Array> {
        records(self.0.gone(whole(stream)?, whole(now)?))
    }

    pub fn respond(&mut self, call: f64, outcome: &str, now: f64) -> Answer<Array> {
        records(self.0.respond(whole(call)?, outcome, whole(now)?))
    }

    pub fn ask(&mut self, call: f64, key: &str, request: &str, now: f64) -> Answer<Array> {
        records(self.0.ask(whole(call)?, key, request, whole(now)?))
    }

    pub fn progress(&mut self, call: f64, progress: &str, now: f64) -> Answer<Array> {
        records(self.0.progress(whole(call)?, progress, whole(now)?))
    }

    pub fn log(&mut self, call: f64, entry: &str, now: f64) -> Answer<Array> {
        records(self.0.log(whole(call)?, entry, whole(now)?))
    }

    pub fn publish(&mut self, change: &str, now: f64) -> Answer<Array> {
        records(self.0.publish(change, whole(now)?))
    }

    #[wasm_bindgen(js_name = callInfo)]
    pub fn call_info(&mut self, call: f64) -> Answer<String> {
        self.0.call_info(whole(call)?).map_err(refusal)
    }

    pub fn timeout(&mut self, now: f64) -> Answer<Array> {
        records(self.0.timeout(whole(now)?))
    }

    pub fn close(&mut self, now: f64) -> Answer<Array> {
        records(self.0.close(whole(now)?))
    }
}
