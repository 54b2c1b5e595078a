//! The one surface that every binding wraps.
use alloc::{string::String, vec::Vec};

/// One thing for the host to do or to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is: one of the words in the tables above.
    pub kind: &'static str,
    /// Stream number, 0 when unused.
    pub stream: u64,
    /// Call, handle, token or status, 0 when unused.
    pub id: u64,
    /// Method, key or code, empty when unused.
    pub name: String,
    /// Payload: JSON or plain text; wire bytes for `write` and `body`.
    pub text: Vec<u8>,
    /// Deadline of `wait`; 1 on the last `body`.
    pub until: u64,
}

impl Record {
    /// Whether `text` is to be handed to the host as bytes rather than as a string.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        matches!(self.kind, "write" | "body")
    }
}

/// Why a call did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatError {
    /// Stable word.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

/// What every method returns.
pub type Records = Result<Vec<Record>, FlatError>;

/// Client side HTTP/1.1, one object per connection.
pub struct FlatHttp1 {}
/// One server with all its connections.
pub struct FlatServer {}
/// One connection to a server.
pub struct FlatClient {}

impl FlatHttp1 {
    /// A codec for a fresh connection.
    #[must_use] pub fn new() -> Self { Self {} }
    /// Request bytes of one `fetch` record.
    pub fn encode(&mut self, _name: &str, _text: &str) -> Result<Vec<u8>, FlatError> { Ok(Vec::new()) }
    /// Response bytes arrived.
    pub fn receive(&mut self, _bytes: &[u8]) -> Records { Ok(Vec::new()) }
    /// The peer closed the connection.
    pub fn finish(&mut self) -> Records { Ok(Vec::new()) }
    /// Where to connect for a URL.
    pub fn target(_url: &str) -> Result<String, FlatError> { Ok(String::new()) }
}
impl Default for FlatHttp1 { fn default() -> Self { Self::new() } }

impl FlatServer {
    /// A server from its configuration.
    pub fn new(_config: &str, _seed: &[u8; 32]) -> Result<Self, FlatError> { Ok(Self {}) }
    /// Replaces the catalog.
    pub fn set_catalog(&mut self, _catalog: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// A connection was opened.
    pub fn open(&mut self, _stream: u64, _transport: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Bytes arrived.
    pub fn receive(&mut self, _stream: u64, _bytes: &[u8], _now: u64) -> Records { Ok(Vec::new()) }
    /// No more input.
    pub fn end(&mut self, _stream: u64, _now: u64) -> Records { Ok(Vec::new()) }
    /// An HTTP request arrived through the host's own stack.
    pub fn request(&mut self, _stream: u64, _head: &str, _body: &[u8], _now: u64) -> Records { Ok(Vec::new()) }
    /// Nothing can be delivered on this stream any more.
    pub fn gone(&mut self, _stream: u64, _now: u64) -> Records { Ok(Vec::new()) }
    /// The handler's outcome.
    pub fn respond(&mut self, _call: u64, _outcome: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Asks the client something inside a call.
    pub fn ask(&mut self, _call: u64, _key: &str, _request: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Progress of a call.
    pub fn progress(&mut self, _call: u64, _progress: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// A log message.
    pub fn log(&mut self, _call: u64, _entry: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Something changed.
    pub fn publish(&mut self, _change: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// What is known about a running call.
    pub fn call_info(&self, _call: u64) -> Result<String, FlatError> { Ok(String::new()) }
    /// The deadline of `wait` has come.
    pub fn timeout(&mut self, _now: u64) -> Records { Ok(Vec::new()) }
    /// Stops everything.
    pub fn close(&mut self, _now: u64) -> Records { Ok(Vec::new()) }
}

impl FlatClient {
    /// A client from its configuration.
    pub fn new(_config: &str, _seed: &[u8; 32]) -> Result<Self, FlatError> { Ok(Self {}) }
    /// Begins the opening.
    pub fn start(&mut self, _now: u64) -> Records { Ok(Vec::new()) }
    /// Bytes arrived on the pipe.
    pub fn receive(&mut self, _bytes: &[u8], _now: u64) -> Records { Ok(Vec::new()) }
    /// The pipe is gone.
    pub fn ended(&mut self, _reason: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Head of an HTTP answer.
    pub fn response(&mut self, _stream: u64, _status: u16, _headers: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Part of an HTTP answer.
    pub fn body(&mut self, _stream: u64, _bytes: &[u8], _now: u64) -> Records { Ok(Vec::new()) }
    /// An HTTP answer is complete.
    pub fn end(&mut self, _stream: u64, _now: u64) -> Records { Ok(Vec::new()) }
    /// An exchange failed.
    pub fn failed(&mut self, _stream: u64, _reason: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Sends a request.
    pub fn request(&mut self, _handle: u64, _method: &str, _params: &str, _options: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Cancels a request.
    pub fn cancel(&mut self, _handle: u64, _reason: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Answers an `input`.
    pub fn answer(&mut self, _token: u64, _outcome: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// Sends a notification.
    pub fn notify(&mut self, _method: &str, _params: &str, _now: u64) -> Records { Ok(Vec::new()) }
    /// The deadline of `wait` has come.
    pub fn timeout(&mut self, _now: u64) -> Records { Ok(Vec::new()) }
    /// Ends the connection.
    pub fn close(&mut self, _now: u64) -> Records { Ok(Vec::new()) }
}
