//! Client side HTTP/1.1 on a socket of the host.

use mcp_keel_core::flat;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::seam::{Flat, Guarded, Refusal, caught};

#[napi]
pub struct FlatHttp1(Guarded<flat::FlatHttp1>);

#[napi]
impl FlatHttp1 {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Result<Self, Refusal> {
        Guarded::new(|| Ok(flat::FlatHttp1::new())).map(Self)
    }

    #[napi(catch_unwind)]
    pub fn encode(&mut self, name: String, text: String) -> Result<Buffer, Refusal> {
        self.0.call(|core| core.encode(&name, &text)).map(Buffer::from)
    }

    #[napi(catch_unwind)]
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Flat, Refusal> {
        self.0.records(|core| core.receive(bytes))
    }

    #[napi(catch_unwind)]
    pub fn finish(&mut self) -> Result<Flat, Refusal> {
        self.0.records(flat::FlatHttp1::finish)
    }

    #[napi(catch_unwind)]
    pub fn target(url: String) -> Result<String, Refusal> {
        caught(|| flat::FlatHttp1::target(&url))
    }
}
