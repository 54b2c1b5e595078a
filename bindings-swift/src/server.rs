//! One server with all its connections.

use mcp_keel_core::flat;

use crate::seam::{Answer, Guarded, Records, seed, whole};

/// One server with all its connections.
#[derive(uniffi::Object)]
pub struct FlatServer(Guarded<flat::FlatServer>);

#[uniffi::export]
impl FlatServer {
    /// From its configuration (JSON) and 32 bytes of randomness.
    #[uniffi::constructor]
    pub fn new(config: &str, seed: Vec<u8>) -> Answer<Self> {
        let seed = self::seed(&seed)?;
        Guarded::new(|| flat::FlatServer::new(config, &seed)).map(Self)
    }

    /// Replaces the whole catalog; connected clients are told what changed.
    pub fn set_catalog(&self, catalog: &str, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.set_catalog(catalog, now))
    }

    /// A connection was opened; `transport` is `pipe` or `http1`.
    pub fn open(&self, stream: i64, transport: &str, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.open(stream, transport, now))
    }

    /// Bytes arrived on a pipe or http1 stream.
    pub fn receive(&self, stream: i64, bytes: Vec<u8>, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.receive(stream, &bytes, now))
    }

    /// No more input comes on this stream.
    pub fn end(&self, stream: i64, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.end(stream, now))
    }

    /// An HTTP request arrived through the host's own HTTP stack.
    pub fn request(&self, stream: i64, head: &str, bytes: Vec<u8>, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.request(stream, head, &bytes, now))
    }

    /// Nothing can be delivered on this stream any more.
    pub fn gone(&self, stream: i64, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.gone(stream, now))
    }

    /// The outcome of one call: `{"result": ...}` or `{"error": ...}`.
    pub fn respond(&self, call: i64, outcome: &str, now: i64) -> Records {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.respond(call, outcome, now))
    }

    /// Asks the client something inside a call.
    pub fn ask(&self, call: i64, key: &str, request: &str, now: i64) -> Records {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.ask(call, key, request, now))
    }

    /// Progress of a call.
    pub fn progress(&self, call: i64, progress: &str, now: i64) -> Records {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.progress(call, progress, now))
    }

    /// A log message of a call, or of none (call 0).
    pub fn log(&self, call: i64, entry: &str, now: i64) -> Records {
        let (call, now) = (whole(call)?, whole(now)?);
        self.0.records(|core| core.log(call, entry, now))
    }

    /// Something that clients may have subscribed to has changed.
    pub fn publish(&self, change: &str, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.publish(change, now))
    }

    /// What is known about a running call, as JSON.
    pub fn call_info(&self, call: i64) -> Answer<String> {
        let call = whole(call)?;
        self.0.call(|core| core.call_info(call))
    }

    /// The deadline of the last `wait` has come.
    pub fn timeout(&self, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.timeout(now))
    }

    /// Answers what runs and closes all streams.
    pub fn close(&self, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.close(now))
    }
}
