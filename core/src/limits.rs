//! Every bound, with its default. The names are the same in every language (`limits` of a configuration).

use alloc::string::String;

use crate::json::{self, Raw};
use crate::words;

/// Bounds on what a peer can make us hold or do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message. 16 MiB.
    pub message_bytes: usize,
    /// Nesting of one message; never above 1024. 512.
    pub nesting: usize,
    /// Messages in one batch. 100.
    pub batch: usize,
    /// Legacy HTTP sessions alive at once. 10 000.
    pub sessions: usize,
    /// Milliseconds that a session may be idle. 30 minutes.
    pub session_idle_ms: u64,
    /// Milliseconds in which an HTTP request must have arrived whole. 60 seconds.
    pub http_request_ms: u64,
    /// Milliseconds that an HTTP connection may be idle between two requests. 75 seconds.
    pub http_idle_ms: u64,
    /// Calls in flight on one connection or session. 1024.
    pub pending_calls: usize,
    /// Bytes kept for a peer that does not read. 16 MiB.
    pub queue_bytes: usize,
    /// Calls that wait for a client's answers between two requests, in all. 1024.
    pub suspended: usize,
    /// Milliseconds that such a call waits. 10 minutes.
    pub suspended_ms: u64,
    /// Streams that one peer may listen on. 64.
    pub listens: usize,
    /// Resources that one peer may subscribe to. 1024.
    pub subscriptions: usize,
    /// Pages that a walk through a list takes at most. 1000.
    pub pages: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 16 << 20,
            nesting: 512,
            batch: 100,
            sessions: 10_000,
            session_idle_ms: 30 * 60 * 1000,
            http_request_ms: 60_000,
            http_idle_ms: 75_000,
            pending_calls: 1024,
            queue_bytes: 16 << 20,
            suspended: 1024,
            suspended_ms: 10 * 60 * 1000,
            listens: 64,
            subscriptions: 1024,
            pages: 1000,
        }
    }
}

impl Limits {
    /// Reads them from an object; what is not named keeps its default.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        if !json::is_object(text) {
            return Err("`limits` must be an object".into());
        }
        let mut limits = Self::default();
        for (name, value) in json::members(text) {
            let bad = || words::join(&["`limits.", &name, "` must be a whole number from 0 on"]);
            let number: u64 = words::read_digits(value).ok_or_else(bad)?;
            let size = usize::try_from(number).unwrap_or(usize::MAX);
            match &*name {
                "messageBytes" => limits.message_bytes = size,
                "nesting" => limits.nesting = size,
                "batch" => limits.batch = size,
                "sessions" => limits.sessions = size,
                "sessionIdleMs" => limits.session_idle_ms = number,
                "httpRequestMs" => limits.http_request_ms = number,
                "httpIdleMs" => limits.http_idle_ms = number,
                "pendingCalls" => limits.pending_calls = size,
                "queueBytes" => limits.queue_bytes = size,
                "suspended" => limits.suspended = size,
                "suspendedMs" => limits.suspended_ms = number,
                "listens" => limits.listens = size,
                "subscriptions" => limits.subscriptions = size,
                "pages" => limits.pages = size,
                _ => return Err(words::join(&["there is no limit `", &name, "`"])),
            }
        }
        Ok(limits)
    }
}

impl<'de> serde::Deserialize<'de> for Limits {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Raw::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
