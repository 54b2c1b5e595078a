//! The one timer of an engine: the deadline of its newest `wait` record.
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::clock::Clock;

#[derive(Debug, Default)]
pub(crate) struct Timer {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    deadline: u64,
    /// What the sleeping task sleeps for; it is woken for earlier deadlines only.
    armed: u64,
    stopped: bool,
}

impl Timer {
    /// Replaces the deadline; 0 is none.
    pub(crate) fn set(&self, deadline: u64) {
        let mut state = self.lock();
        state.deadline = deadline;
        if deadline != 0 && (state.armed == 0 || deadline < state.armed) {
            self.changed.notify_one();
        }
    }

    /// Ends [`due`](Self::due) for good.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Waits until the deadline has come; false when stopped. One caller at a time.
    pub(crate) async fn due(&self, clock: Clock) -> bool {
        loop {
            let armed = {
                let mut state = self.lock();
                if state.stopped {
                    return false;
                }
                if state.deadline != 0 && state.deadline <= clock.now() {
                    state.deadline = 0;
                    state.armed = 0;
                    return true;
                }
                state.armed = state.deadline;
                state.armed
            };
            if armed == 0 {
                self.changed.notified().await;
            } else {
                tokio::select! {
                    () = self.changed.notified() => {}
                    () = tokio::time::sleep_until(clock.at(armed)) => {}
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
