//! The server as hosts see it.
use alloc::{string::String, vec::Vec};

use super::{FlatError, Records};

/// One server with all its connections.
#[derive(Debug)]
pub struct FlatServer {}
impl FlatServer {
    /// A server from its configuration.
    pub fn new(_config: &str, _seed: &[u8; 32]) -> Result<Self, FlatError> {
        Ok(Self {})
    }
    /// Replaces the catalog.
    pub fn set_catalog(&mut self, _catalog: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// A connection was opened.
    pub fn open(&mut self, _stream: u64, _transport: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Bytes arrived.
    pub fn receive(&mut self, _stream: u64, _bytes: &[u8], _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// No more input.
    pub fn end(&mut self, _stream: u64, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// An HTTP request arrived through the host's own stack.
    pub fn request(&mut self, _stream: u64, _head: &str, _body: &[u8], _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Nothing can be delivered on this stream any more.
    pub fn gone(&mut self, _stream: u64, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// The handler's outcome.
    pub fn respond(&mut self, _call: u64, _outcome: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Asks the client something inside a call.
    pub fn ask(&mut self, _call: u64, _key: &str, _request: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Progress of a call.
    pub fn progress(&mut self, _call: u64, _progress: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// A log message.
    pub fn log(&mut self, _call: u64, _entry: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Something changed.
    pub fn publish(&mut self, _change: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// What is known about a running call.
    pub fn call_info(&self, _call: u64) -> Result<String, FlatError> {
        Ok(String::new())
    }
    /// The deadline of `wait` has come.
    pub fn timeout(&mut self, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Stops everything.
    pub fn close(&mut self, _now: u64) -> Records {
        Ok(Vec::new())
    }
}
