//! Client side HTTP/1.1 on a socket of the host.

use mcp_keel_core::flat;

use crate::seam::{Answer, Guarded, Records, caught};

/// The client side of HTTP/1.1 on one connection.
#[derive(uniffi::Object)]
pub struct FlatHttp1(Guarded<flat::FlatHttp1>);

#[uniffi::export]
impl FlatHttp1 {
    /// A connection that was just opened.
    #[uniffi::constructor]
    pub fn new() -> Answer<Self> {
        Guarded::new(|| Ok(flat::FlatHttp1::new())).map(Self)
    }

    /// The bytes of the request that a `fetch` record describes.
    pub fn encode(&self, name: &str, text: &str) -> Answer<Vec<u8>> {
        self.0.call(|core| core.encode(name, text))
    }

    /// Bytes of the answer arrived.
    pub fn receive(&self, bytes: Vec<u8>) -> Records {
        self.0.records(|core| core.receive(&bytes))
    }

    /// The peer closed the connection.
    pub fn finish(&self) -> Records {
        self.0.records(flat::FlatHttp1::finish)
    }
}

/// Where to connect for a URL: `{"tls": bool, "host": "...", "port": n}`.
#[uniffi::export]
pub fn http_target(url: &str) -> Answer<String> {
    caught(|| flat::FlatHttp1::target(url))?
}
