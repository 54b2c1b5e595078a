//! One server with all its connections.

use alloc::string::String;

use js_sys::Array;
use mcp_keel_core::flat;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Answer, refusal, run, seed, whole};

/// One server with all its connections.
#[wasm_bindgen]
pub struct FlatServer(flat::FlatServer);

#[wasm_bindgen]
impl FlatServer {
    #[wasm_bindgen(constructor)]
    pub fn new(config: &str, seed_bytes: &[u8]) -> Answer<Self> {
        seed(seed_bytes).and_then(|seed| flat::FlatServer::new(config, &seed)).map(Self).map_err(refusal)
    }

    #[wasm_bindgen(js_name = setCatalog)]
    pub fn set_catalog(&mut self, catalog: &str, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.set_catalog(catalog, now))
    }

    pub fn open(&mut self, stream: f64, transport: &str, now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.open(stream, transport, now))
    }

    pub fn receive(&mut self, stream: f64, bytes: &[u8], now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.receive(stream, bytes, now))
    }

    pub fn end(&mut self, stream: f64, now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.end(stream, now))
    }

    pub fn request(&mut self, stream: f64, head: &str, body: &[u8], now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.request(stream, head, body, now))
    }

    pub fn gone(&mut self, stream: f64, now: f64) -> Answer<Array> {
        run(stream, now, &mut |stream, now| self.0.gone(stream, now))
    }

    pub fn respond(&mut self, call: f64, outcome: &str, now: f64) -> Answer<Array> {
        run(call, now, &mut |call, now| self.0.respond(call, outcome, now))
    }

    pub fn ask(&mut self, call: f64, key: &str, request: &str, now: f64) -> Answer<Array> {
        run(call, now, &mut |call, now| self.0.ask(call, key, request, now))
    }

    pub fn progress(&mut self, call: f64, progress: &str, now: f64) -> Answer<Array> {
        run(call, now, &mut |call, now| self.0.progress(call, progress, now))
    }

    pub fn log(&mut self, call: f64, entry: &str, now: f64) -> Answer<Array> {
        run(call, now, &mut |call, now| self.0.log(call, entry, now))
    }

    pub fn publish(&mut self, change: &str, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.publish(change, now))
    }

    #[wasm_bindgen(js_name = callInfo)]
    pub fn call_info(&mut self, call: f64) -> Answer<String> {
        whole(call).and_then(|call| self.0.call_info(call)).map_err(refusal)
    }

    pub fn timeout(&mut self, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.timeout(now))
    }

    pub fn close(&mut self, now: f64) -> Answer<Array> {
        run(0.0, now, &mut |_, now| self.0.close(now))
    }
}
