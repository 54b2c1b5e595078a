//! The client machine with its host.
//!
//! An input goes into the core under a mutex and its records join one queue. Whoever finds nobody at work performs the queue
//! until it is empty, outside the mutex: so records are performed in order, and code of the user (notices, trace) may
//! call back into the client without a deadlock.
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_keel_core::flat::{FlatClient, FlatError, Record, Records};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
    task::AbortHandle,
};

use super::{
    Progress, Ready,
    http::Fetcher,
    options::{Notice, Options},
};
use crate::{
    clock::Clock,
    error::{Error, McpError, Outcome},
    model::Raw,
    outbox::Outbox,
    timer::Timer,
    trace::tell,
};

/// Progress and notices that wait for a receiver; more are dropped, so that one that never looks costs little.
pub(super) const WAITING: usize = 1024;

pub(super) struct Engine {
    machine: Mutex<Machine>,
    pending: Mutex<BTreeMap<u64, Pending>>,
    listeners: Mutex<BTreeMap<u64, mpsc::Sender<Notice>>>,
    inputs: Mutex<BTreeMap<u64, AbortHandle>>,
    exchanges: Mutex<BTreeMap<u64, AbortHandle>>,
    status: watch::Sender<Status>,
    next_handle: AtomicU64,
    clock: Clock,
    timer: Arc<Timer>,
    options: Options,
    fetcher: Option<Fetcher>,
    pub(super) outbox: Outbox,
    pub(super) runtime: Handle,
}

struct Machine {
    flat: FlatClient,
    queue: VecDeque<Record>,
    performing: bool,
}

#[derive(Clone)]
pub(super) enum Status {
    Opening,
    Ready(Arc<Ready>),
    /// Over, with what the last words of the core were; and what was known before.
    Closed(Error, Option<Arc<Ready>>),
}

pub(super) struct Pending {
    outcome: oneshot::Sender<Result<Raw, Error>>,
    progress: Option<mpsc::Sender<Progress>>,
}

/// What a caller waits on.
pub(super) struct Waiting {
    pub(super) handle: u64,
    pub(super) outcome: oneshot::Receiver<Result<Raw, Error>>,
    pub(super) progress: Option<mpsc::Receiver<Progress>>,
}

impl Engine {
    pub(super) fn new(flat: FlatClient, options: Options, fetcher: Option<Fetcher>) -> Arc<Self> {
        let engine = Arc::new(Self {
            machine: Mutex::new(Machine { flat, queue: VecDeque::new(), performing: false }),
            pending: Mutex::default(),
            listeners: Mutex::default(),
            inputs: Mutex::default(),
            exchanges: Mutex::default(),
            status: watch::Sender::new(Status::Opening),
            next_handle: AtomicU64::new(1),
            clock: Clock::new(),
            timer: Arc::default(),
            options,
            fetcher,
            outbox: Outbox::default(),
            runtime: Handle::current(),
        });
        let (timer, clock, weak) = (Arc::clone(&engine.timer), engine.clock, Arc::downgrade(&engine));
        engine.runtime.spawn(async move {
            while timer.due(clock).await {
                let Some(engine) = weak.upgrade() else { return };
                let _ = engine.drive(|flat, now| flat.timeout(now));
            }
        });
        engine
    }

    /// Puts one input into the core; its records are performed before this returns, unless another thread is at it.
    pub(super) fn drive(
        self: &Arc<Self>,
        input: impl FnOnce(&mut FlatClient, u64) -> Records,
    ) -> Result<(), FlatError> {
        {
            let mut machine = self.machine()?;
            let records = input(&mut machine.flat, self.clock.now())?;
            machine.queue.extend(records);
            if machine.performing {
                return Ok(());
            }
            machine.performing = true;
        }
        let mut turn = Turn { engine: self, done: false };
        loop {
            let records = {
                let mut machine = self.machine()?;
                if machine.queue.is_empty() {
                    machine.performing = false;
                    turn.done = true;
                    return Ok(());
                }
                std::mem::take(&mut machine.queue)
            };
            for record in records {
                self.perform(record);
            }
        }
    }

    fn machine(&self) -> Result<MutexGuard<'_, Machine>, FlatError> {
        // Poisoned: the core panicked, so its state is worth nothing any more.
        let broken = |_| FlatError { code: "internal_error", message: "the client broke down earlier".into() };
        self.machine.lock().map_err(broken)
    }

    fn perform(self: &Arc<Self>, record: Record) {
        match record.kind {
            "write" => {
                // Callers wait for room; the server that reads nothing else is found by its timeouts.
                let _ = self.outbox.push(record.text);
            }
            "fetch" => self.fetch(record),
            "abort" => abort(&self.exchanges, record.stream),
            "ready" => {
                if let Ok(mut ready) = serde_json::from_slice::<Ready>(&record.text) {
                    ready.revision = record.name;
                    self.status.send_replace(Status::Ready(Arc::new(ready)));
                }
            }
            "result" => self.end(record.id, raw(record.text)),
            "error" => self.end(record.id, Err(Error::parse(&String::from_utf8_lossy(&record.text)))),
            "progress" => {
                let sender = lock(&self.pending).get(&record.id).and_then(|pending| pending.progress.clone());
                if let (Some(sender), Ok(progress)) = (sender, serde_json::from_slice(&record.text)) {
                    let _ = sender.try_send(progress);
                }
            }
            "input" => self.input(record),
            "input_cancelled" => abort(&self.inputs, record.id),
            "notice" => self.notice(record),
            "trace" => {
                if let Some(trace) = &self.options.trace {
                    tell(trace, &record);
                }
            }
            "close" => self.outbox.finish(),
            "closed" => self.closed(&record),
            "wait" => self.timer.set(record.until),
            // violation: the peer's fault, and the core has dealt with it.
            _ => {}
        }
    }

    fn end(&self, handle: u64, outcome: Result<Raw, Error>) {
        lock(&self.listeners).remove(&handle);
        if let Some(pending) = lock(&self.pending).remove(&handle) {
            let _ = pending.outcome.send(outcome);
        }
    }

    fn fetch(self: &Arc<Self>, record: Record) {
        let Some(fetcher) = self.fetcher.clone() else { return };
        let (engine, stream) = (Arc::clone(self), record.stream);
        // Locked until the handle is in, so that the task cannot be over before.
        let mut exchanges = lock(&self.exchanges);
        let task = self.runtime.spawn(async move {
            fetcher.exchange(&engine, stream, &record.name, &record.text).await;
            lock(&engine.exchanges).remove(&stream);
        });
        exchanges.insert(stream, task.abort_handle());
    }

    fn input(self: &Arc<Self>, record: Record) {
        let (engine, token) = (Arc::clone(self), record.id);
        let handler = self.options.inputs.get(record.name.as_str()).cloned();
        let params = String::from_utf8(record.text).unwrap_or_default();
        let mut inputs = lock(&self.inputs);
        let task = self.runtime.spawn(async move {
            let guard = Input { engine, token, outcome: None };
            let outcome = match handler {
                Some(handler) => handler(params).await,
                None => Outcome::text::<()>(Err(McpError::new(-32601, "nobody here answers this"))),
            };
            guard.answer(outcome);
        });
        inputs.insert(token, task.abort_handle());
    }

    fn notice(&self, record: Record) {
        let Ok(params) = raw(record.text) else { return };
        let notice = Notice { method: record.name, params };
        if let Some(listener) = lock(&self.listeners).get(&record.id) {
            let _ = listener.try_send(notice.clone());
        }
        if let Some(on_notice) = &self.options.on_notice {
            on_notice(notice);
        }
    }

    fn closed(&self, record: &Record) {
        let message = String::from_utf8_lossy(&record.text).into_owned();
        let error = Error::closed(&record.name, message);
        self.outbox.finish();
        self.timer.stop();
        let pending = std::mem::take(&mut *lock(&self.pending));
        for pending in pending.into_values() {
            let _ = pending.outcome.send(Err(error.clone()));
        }
        lock(&self.listeners).clear();
        let inputs = std::mem::take(&mut *lock(&self.inputs));
        inputs.into_values().for_each(|input| input.abort());
        self.status.send_if_modified(|status| {
            let known = match status {
                Status::Opening => None,
                Status::Ready(ready) => Some(Arc::clone(ready)),
                Status::Closed(..) => return false,
            };
            *status = Status::Closed(error, known);
            true
        });
    }

    /// Sends a request. `notices` of a listen go to the sender.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: Raw,
        options: &str,
        with_progress: bool,
        notices: Option<mpsc::Sender<Notice>>,
    ) -> Result<Waiting, Error> {
        self.outbox.room().await;
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        let (outcome, outcome_receiver) = oneshot::channel();
        let (progress, progress_receiver) = with_progress.then(|| mpsc::channel(WAITING)).unzip();
        lock(&self.pending).insert(handle, Pending { outcome, progress });
        if let Some(notices) = notices {
            lock(&self.listeners).insert(handle, notices);
        }
        let params: Box<str> = params.into();
        if let Err(error) = self.drive(|flat, now| flat.request(handle, method, params, options, now)) {
            lock(&self.pending).remove(&handle);
            lock(&self.listeners).remove(&handle);
            return Err(match self.status() {
                Status::Closed(error, _) => error,
                _ => error.into(),
            });
        }
        Ok(Waiting { handle, outcome: outcome_receiver, progress: progress_receiver })
    }

    pub(super) fn cancel(self: &Arc<Self>, handle: u64, reason: &str) {
        let _ = self.drive(|flat, now| flat.cancel(handle, reason, now));
    }

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Waits until the opening is over.
    pub(super) async fn opened(&self) -> Result<Arc<Ready>, Error> {
        let mut status = self.status.subscribe();
        let opened = status.wait_for(|status| !matches!(status, Status::Opening)).await;
        match opened.as_deref() {
            Ok(Status::Ready(ready)) => Ok(Arc::clone(ready)),
            Ok(Status::Closed(error, _)) => Err(error.clone()),
            _ => Err(Error::Disconnected("the client is gone".into())),
        }
    }

    pub(super) async fn until_closed(&self) {
        let mut status = self.status.subscribe();
        let _ = status.wait_for(|status| matches!(status, Status::Closed(..))).await;
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.timer.stop();
    }
}

/// Lets go of the turn when code of the user panics in the middle of it.
struct Turn<'a> {
    engine: &'a Arc<Engine>,
    done: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.done
            && let Ok(mut machine) = self.engine.machine.lock()
        {
            machine.performing = false;
        }
    }
}

/// Answers for a handler that panicked.
struct Input {
    engine: Arc<Engine>,
    token: u64,
    outcome: Option<String>,
}

impl Input {
    fn answer(mut self, outcome: String) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        // Not there any more: cancelled, so nobody waits for the answer.
        if lock(&self.engine.inputs).remove(&self.token).is_none() {
            return;
        }
        let failed = || Outcome::text::<()>(Err(McpError::internal("the handler failed")));
        let outcome = self.outcome.take().unwrap_or_else(failed);
        let token = self.token;
        let _ = self.engine.drive(|flat, now| flat.answer(token, &outcome, now));
    }
}

fn raw(text: Vec<u8>) -> Result<Raw, Error> {
    let text = String::from_utf8(text).map_err(Error::invalid)?;
    serde_json::value::RawValue::from_string(text).map_err(Error::invalid)
}

/// Not under the lock: the task's guards may need it.
fn abort(tasks: &Mutex<BTreeMap<u64, AbortHandle>>, number: u64) {
    let task = lock(tasks).remove(&number);
    if let Some(task) = task {
        task.abort();
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
