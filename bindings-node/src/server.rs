//! One server with all its connections.

use mcp_keel_core::flat;
use napi_derive::napi;

use crate::seam::{Flat, Guarded, Refusal, seed, whole};

#[napi]
pub struct FlatServer(Guarded<flat::FlatServer>);

#[napi]
impl FlatServer {
    #[napi(constructor, catch_unwind)]
    pub fn new(config: String, seed_bytes: &[u8]) -> Result<Self, Refusal> {
        let seed = seed(seed_bytes)?;
        Guarded::new(|| flat::FlatServer::new(&config, &seed)).map(Self)
    }

    #[napi(catch_unwind)]
    pub fn set_catalog(&mut self, catalog: String, now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.set_catalog(&catalog, now))
    }

    #[napi(catch_unwind)]
    pub fn open(&mut self, stream: f64, transport: String, now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.open(stream, &transport, now))
    }

    #[napi(catch_unwind)]
    pub fn receive(&mut self, stream: f64, bytes: &[u8], now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.receive(stream, bytes, now))
    }

    #[napi(catch_unwind)]
    pub fn end(&mut self, stream: f64, now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.end(stream, now))
    }

    #[napi(catch_unwind)]
    pub fn request(&mut self, stream: f64, head: String, body: &[u8], now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.request(stream, &head, body, now))
    }

    #[napi(catch_unwind)]
    pub fn gone(&mut self, stream: f64, now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.gone(stream, now))
    }

    #[napi(catch_unwind)]
    pub fn respond(&mut self, call: f64, outcome: String, now: f64) -> Result<Flat, Refusal> {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.respond(call, outcome, now))
    }

    #[napi(catch_unwind)]
    pub fn ask(&mut self, call: f64, key: String, request: String, now: f64) -> Result<Flat, Refusal> {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.ask(call, &key, &request, now))
    }

    #[napi(catch_unwind)]
    pub fn progress(&mut self, call: f64, progress: String, now: f64) -> Result<Flat, Refusal> {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.progress(call, &progress, now))
    }

    #[napi(catch_unwind)]
    pub fn log(&mut self, call: f64, entry: String, now: f64) -> Result<Flat, Refusal> {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.log(call, &entry, now))
    }

    #[napi(catch_unwind)]
    pub fn publish(&mut self, change: String, now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.publish(&change, now))
    }

    #[napi(catch_unwind)]
    pub fn call_info(&mut self, call: f64) -> Result<String, Refusal> {
        let call = whole(call)?;
        self.0.call(|core| core.call_info(call))
    }

    #[napi(catch_unwind)]
    pub fn timeout(&mut self, now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.timeout(now))
    }

    #[napi(catch_unwind)]
    pub fn close(&mut self, now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.close(now))
    }
}
