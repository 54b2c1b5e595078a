//! Time and randomness for the core, which has neither.
use std::time::Duration;

use tokio::time::Instant;

use crate::error::Error;

/// Milliseconds since this clock was made, plus one so that no deadline is ever the "none" of the core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }

    /// The moment at which [`now`](Self::now) first reads `millis`.
    pub(crate) fn at(self, millis: u64) -> Instant {
        self.0 + Duration::from_millis(millis.saturating_sub(1))
    }
}

pub(crate) fn seed() -> Result<[u8; 32], Error> {
    let mut seed = [0; 32];
    match getrandom::fill(&mut seed) {
        Ok(()) => Ok(seed),
        Err(error) => Err(Error::Usage { code: "no_entropy".into(), message: error.to_string() }),
    }
}
