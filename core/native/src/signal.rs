//! A flag that is set once and can be awaited by many.
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Signal {
    set: AtomicBool,
    waiters: Notify,
}

impl Signal {
    pub(crate) fn set(&self) {
        self.set.store(true, Ordering::Release);
        self.waiters.notify_waiters();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    pub(crate) async fn wait(&self) {
        // Registered before the flag is read, so a `set` in between is not lost.
        let notified = self.waiters.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.is_set() {
            notified.await;
        }
    }
}
