//! Client side HTTP/1.1 for hosts without an HTTP stack.
use alloc::{string::String, vec::Vec};

use super::{FlatError, Records};

/// Client side HTTP/1.1, one object per connection.
#[derive(Debug)]
pub struct FlatHttp1 {}
impl FlatHttp1 {
    /// A codec for a fresh connection.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
    /// Request bytes of one `fetch` record.
    pub fn encode(&mut self, _name: &str, _text: &str) -> Result<Vec<u8>, FlatError> {
        Ok(Vec::new())
    }
    /// Response bytes arrived.
    pub fn receive(&mut self, _bytes: &[u8]) -> Records {
        Ok(Vec::new())
    }
    /// The peer closed the connection.
    pub fn finish(&mut self) -> Records {
        Ok(Vec::new())
    }
    /// Where to connect for a URL.
    pub fn target(_url: &str) -> Result<String, FlatError> {
        Ok(String::new())
    }
}
impl Default for FlatHttp1 {
    fn default() -> Self {
        Self::new()
    }
}
