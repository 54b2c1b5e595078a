//! Client side HTTP/1.1 on a byte stream of the host.

use alloc::string::String;
use alloc::vec::Vec;

use js_sys::Array;
use mcp_keel_core::flat;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::seam::{Answer, records, refusal};

/// The codec of one connection.
#[wasm_bindgen]
pub struct FlatHttp1(flat::FlatHttp1);

#[wasm_bindgen]
impl FlatHttp1 {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self(flat::FlatHttp1::new())
    }

    pub fn encode(&mut self, name: &str, text: &str) -> Answer<Vec<u8>> {
        self.0.encode(name, text).map_err(refusal)
    }

    pub fn receive(&mut self, bytes: &[u8]) -> Answer<Array> {
        records(self.0.receive(bytes))
    }

    pub fn finish(&mut self) -> Answer<Array> {
        records(self.0.finish())
    }

    pub fn target(url: &str) -> Answer<String> {
        flat::FlatHttp1::target(url).map_err(refusal)
    }
}
