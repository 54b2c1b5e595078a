//! Running calls.
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context as Waking, Poll, Waker},
};

use mcp_keel_core::flat::{FlatError, FlatServer};
use tokio::runtime::Handle;

use super::{Context, engine::Engine, handler::Handler};
use crate::{
    error::{McpError, Outcome},
    signal::Signal,
};

/// A handler that reports so often without waiting for anything lets others run.
const TURN: u64 = 32;

/// What a running call and its [`Context`]s share.
pub(crate) struct Shared {
    pub(super) engine: Arc<Engine>,
    pub(super) call: u64,
    pub(super) cancelled: Signal,
    pub(super) asked: AtomicU64,
    reported: AtomicU64,
}

impl Shared {
    pub(super) fn new(engine: Arc<Engine>, call: u64) -> Self {
        Self { engine, call, cancelled: Signal::default(), asked: AtomicU64::new(0), reported: AtomicU64::new(0) }
    }

    /// Lets others run every now and then; each time once the call is over, for that is where its handler is dropped.
    pub(super) async fn turn(&self) {
        let reported = self.reported.fetch_add(1, Ordering::Relaxed) + 1;
        if reported.is_multiple_of(TURN) || self.cancelled.is_set() {
            tokio::task::yield_now().await;
        }
    }
}

/// A call to be started.
pub(super) struct Start {
    pub(super) shared: Arc<Shared>,
    pub(super) key: String,
    pub(super) handler: Option<Handler>,
    pub(super) input: String,
}

thread_local! {
    static LAUNCHING: Cell<bool> = const { Cell::new(false) };
}

/// Starts calls: each takes its first step at once, on the task that brought it. What ends there needs no task of its own,
/// and answers to requests that came together leave together. What does not end there becomes a task.
pub(super) fn launch(starts: Vec<Start>, runtime: &Handle) {
    // A first step may itself start calls; stepping into those from here could go arbitrarily deep.
    let nested = LAUNCHING.replace(true);
    let _reset = Reset(nested);
    let _runtime = runtime.enter();
    for start in starts {
        let mut call: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(run(start));
        let step = || nested || call.as_mut().poll(&mut Waking::from_waker(Waker::noop())) == Poll::Pending;
        // After a panic it has answered already, and must not be polled again.
        if catch_unwind(AssertUnwindSafe(step)).unwrap_or(false) {
            // Polled again there, so nothing is lost by the first step's waker.
            runtime.spawn(call);
        }
    }
}

struct Reset(bool);

impl Drop for Reset {
    fn drop(&mut self) {
        LAUNCHING.set(self.0);
    }
}

async fn run(start: Start) {
    let Start { shared, key, handler, input } = start;
    let mut guard = Answering { shared: Arc::clone(&shared), answered: false };
    let work = async {
        let outcome = match handler {
            Some(handler) => handler(input, Context::new(Arc::clone(&shared))).await,
            None => Outcome::text::<()>(Err(McpError::internal(format!("no handler for {key}")))),
        };
        if let Err(refused) = answer(&shared, outcome).await {
            // The core takes no such outcome; the call must get an answer all the same.
            let _ = answer(&shared, Outcome::text::<()>(Err(McpError::internal(refused.message)))).await;
        }
    };
    tokio::select! {
        biased;
        () = work => {}
        () = shared.cancelled.wait() => {}
    }
    guard.answered = true;
}

async fn answer(shared: &Shared, outcome: String) -> Result<(), FlatError> {
    let mut outcome = Some(outcome);
    let respond = |flat: &mut FlatServer, now| flat.respond(shared.call, outcome.take().unwrap_or_default(), now);
    shared.engine.drive_call(shared.call, respond).await
}

/// Answers for a handler that panicked, so that every call has its answer.
struct Answering {
    shared: Arc<Shared>,
    answered: bool,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let Shared { engine, call, .. } = &*self.shared;
        if !self.answered {
            let outcome = Outcome::text::<()>(Err(McpError::internal("the handler failed")));
            let _ = engine.drive(|flat, now| flat.respond(*call, outcome, now));
        }
        engine.forget(*call);
    }
}
