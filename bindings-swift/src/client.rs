//! One connection to a server.

use mcp_keel_core::flat;

use crate::seam::{Answer, Guarded, Records, seed, status, whole};

/// One connection to a server.
#[derive(uniffi::Object)]
pub struct FlatClient(Guarded<flat::FlatClient>);

#[uniffi::export]
impl FlatClient {
    /// From its configuration (JSON) and 32 bytes of randomness.
    #[uniffi::constructor]
    pub fn new(config: &str, seed: Vec<u8>) -> Answer<Self> {
        let seed = self::seed(&seed)?;
        Guarded::new(|| flat::FlatClient::new(config, &seed)).map(Self)
    }

    /// Begins the opening.
    pub fn start(&self, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.start(now))
    }

    /// Bytes arrived on the pipe.
    pub fn receive(&self, bytes: Vec<u8>, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.receive(&bytes, now))
    }

    /// The pipe is gone; `reason` says why in words.
    pub fn ended(&self, reason: &str, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.ended(reason, now))
    }

    /// The head of the answer to a `fetch`; `headers` are lines `name: value`.
    pub fn response(&self, stream: i64, status: i64, headers: &str, now: i64) -> Records {
        let (stream, status, now) = (whole(stream)?, self::status(status)?, whole(now)?);
        self.0.records(|core| core.response(stream, status, headers, now))
    }

    /// Part of the body of an answer.
    pub fn body(&self, stream: i64, bytes: Vec<u8>, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.body(stream, &bytes, now))
    }

    /// An answer is complete.
    pub fn end(&self, stream: i64, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.end(stream, now))
    }

    /// An exchange failed, or its body was cut short.
    pub fn failed(&self, stream: i64, reason: &str, now: i64) -> Records {
        let (stream, now) = (whole(stream)?, whole(now)?);
        self.0.records(|core| core.failed(stream, reason, now))
    }

    /// Sends a request.
    pub fn request(&self, handle: i64, method: &str, params: &str, options: &str, now: i64) -> Records {
        let (handle, now) = (whole(handle)?, whole(now)?);
        self.0.records(|core| core.request(handle, method, params, options, now))
    }

    /// Cancels a request.
    pub fn cancel(&self, handle: i64, reason: &str, now: i64) -> Records {
        let (handle, now) = (whole(handle)?, whole(now)?);
        self.0.records(|core| core.cancel(handle, reason, now))
    }

    /// Answers an `input` record.
    pub fn answer(&self, token: i64, outcome: &str, now: i64) -> Records {
        let (token, now) = (whole(token)?, whole(now)?);
        self.0.records(|core| core.answer(token, outcome, now))
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &str, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.notify(method, params, now))
    }

    /// The deadline of the last `wait` has come.
    pub fn timeout(&self, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.timeout(now))
    }

    /// Ends the connection.
    pub fn close(&self, now: i64) -> Records {
        let now = whole(now)?;
        self.0.records(|core| core.close(now))
    }
}
