//! One connection to a server.

use mcp_keel_core::flat;
use napi::Error;
use napi_derive::napi;

use crate::seam::{Flat, Guarded, Refusal, seed, whole};

#[napi]
pub struct FlatClient(Guarded<flat::FlatClient>);

#[napi]
impl FlatClient {
    #[napi(constructor, catch_unwind)]
    pub fn new(config: String, seed_bytes: &[u8]) -> Result<Self, Refusal> {
        let seed = seed(seed_bytes)?;
        Guarded::new(|| flat::FlatClient::new(&config, &seed)).map(Self)
    }

    #[napi(catch_unwind)]
    pub fn start(&mut self, now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.start(now))
    }

    #[napi(catch_unwind)]
    pub fn receive(&mut self, bytes: &[u8], now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.receive(bytes, now))
    }

    #[napi(catch_unwind)]
    pub fn ended(&mut self, reason: String, now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.ended(&reason, now))
    }

    #[napi(catch_unwind)]
    pub fn response(&mut self, stream: f64, status: f64, headers: String, now: f64) -> Result<Flat, Refusal> {
        let (stream, status, now) = (whole(stream)?, whole(status)?, whole(now)?);
        let status = u16::try_from(status).map_err(|_| Error::new("usage", format!("{status} is no HTTP status")))?;
        self.0.records(|core| core.response(stream, status, &headers, now))
    }

    #[napi(catch_unwind)]
    pub fn body(&mut self, stream: f64, bytes: &[u8], now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.body(stream, bytes, now))
    }

    #[napi(catch_unwind)]
    pub fn end(&mut self, stream: f64, now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.end(stream, now))
    }

    #[napi(catch_unwind)]
    pub fn failed(&mut self, stream: f64, reason: String, now: f64) -> Result<Flat, Refusal> {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.failed(stream, &reason, now))
    }

    #[napi(catch_unwind)]
    pub fn request(
        &mut self,
        handle: f64,
        method: String,
        params: String,
        options: String,
        now: f64,
    ) -> Result<Flat, Refusal> {
        let (handle, now) = (whole(handle)?, whole(now)?);
        self.0.records(|core| core.request(handle, &method, params, &options, now))
    }

    #[napi(catch_unwind)]
    pub fn cancel(&mut self, handle: f64, reason: String, now: f64) -> Result<Flat, Refusal> {
        let (handle, now) = (whole(handle)?, whole(now)?);
        self.0.records(|core| core.cancel(handle, &reason, now))
    }

    #[napi(catch_unwind)]
    pub fn answer(&mut self, token: f64, outcome: String, now: f64) -> Result<Flat, Refusal> {
        let (token, now) = (whole(token)?, whole(now)?);
        self.0.records(|core| core.answer(token, &outcome, now))
    }

    #[napi(catch_unwind)]
    pub fn notify(&mut self, method: String, params: String, now: f64) -> Result<Flat, Refusal> {
        let now = whole(now)?;
        self.0.records(|core| core.notify(&method, &params, now))
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
