//! The client as hosts see it.
use alloc::vec::Vec;

use super::{FlatError, Records};

/// One connection to a server.
#[derive(Debug)]
pub struct FlatClient {}
impl FlatClient {
    /// A client from its configuration.
    pub fn new(_config: &str, _seed: &[u8; 32]) -> Result<Self, FlatError> {
        Ok(Self {})
    }
    /// Begins the opening.
    pub fn start(&mut self, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Bytes arrived on the pipe.
    pub fn receive(&mut self, _bytes: &[u8], _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// The pipe is gone.
    pub fn ended(&mut self, _reason: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Head of an HTTP answer.
    pub fn response(&mut self, _stream: u64, _status: u16, _headers: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Part of an HTTP answer.
    pub fn body(&mut self, _stream: u64, _bytes: &[u8], _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// An HTTP answer is complete.
    pub fn end(&mut self, _stream: u64, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// An exchange failed.
    pub fn failed(&mut self, _stream: u64, _reason: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Sends a request.
    pub fn request(&mut self, _handle: u64, _method: &str, _params: &str, _options: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Cancels a request.
    pub fn cancel(&mut self, _handle: u64, _reason: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Answers an `input`.
    pub fn answer(&mut self, _token: u64, _outcome: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Sends a notification.
    pub fn notify(&mut self, _method: &str, _params: &str, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// The deadline of `wait` has come.
    pub fn timeout(&mut self, _now: u64) -> Records {
        Ok(Vec::new())
    }
    /// Ends the connection.
    pub fn close(&mut self, _now: u64) -> Records {
        Ok(Vec::new())
    }
}
