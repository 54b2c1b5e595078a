//! The server machine with its host: one mutex around the core and what its records refer to.
//!
//! Every input is one call of [`Engine::drive`]: into the core, then its records are performed in order, all under the
//! mutex and none of them waiting. Handlers start when the mutex is free again, and come back the same way.
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use mcp_keel_core::{
    flat::{FlatError, FlatServer, Record, Records},
    limits::Limits,
};
use tokio::{runtime::Handle, sync::oneshot, task::JoinHandle};

use super::{
    catalog::Catalog,
    running::{Shared, Start, launch},
};
use crate::{
    clock::Clock,
    error::Error,
    outbox::{Outbox, Overflow},
    timer::Timer,
    trace::{Trace, tell},
};

pub(crate) struct Engine {
    state: Mutex<State>,
    next_stream: AtomicU64,
    clock: Clock,
    timer: Arc<Timer>,
    /// The runtime that serves, and the task there that waits for the core's deadlines.
    runtime: Mutex<Option<(Handle, JoinHandle<()>)>>,
    pub(super) message_limit: usize,
    /// How long an HTTP request may take to arrive, and a connection to begin one.
    pub(super) request_time: Duration,
    pub(super) idle_time: Duration,
    trace: Option<Trace>,
    /// What is to be traced when the mutex is free, and the turn of the one who tells it.
    told: Mutex<VecDeque<Record>>,
    telling: Mutex<()>,
}

struct State {
    flat: FlatServer,
    catalog: Arc<Catalog>,
    streams: BTreeMap<u64, Stream>,
    calls: BTreeMap<u64, Running>,
    /// Streams whose peer reads nothing; the core hears of them after the records at hand.
    cut: Vec<u64>,
    /// Calls that start when the mutex is free.
    starts: Vec<Start>,
}

struct Stream {
    outbox: Arc<Outbox>,
    /// Where the head of an HTTP answer goes; none on pipes and once it is sent.
    head: Option<oneshot::Sender<Head>>,
}

/// Head of an HTTP answer: status, and lines `name: value`.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) lines: String,
}

struct Running {
    stream: u64,
    shared: Arc<Shared>,
    asks: BTreeMap<String, oneshot::Sender<String>>,
}

impl Engine {
    pub(super) fn new(flat: FlatServer, limits: &Limits, trace: Option<Trace>) -> Self {
        let state = State {
            flat,
            catalog: Arc::default(),
            streams: BTreeMap::new(),
            calls: BTreeMap::new(),
            cut: Vec::new(),
            starts: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            next_stream: AtomicU64::new(1),
            clock: Clock::new(),
            timer: Arc::default(),
            runtime: Mutex::default(),
            message_limit: limits.message_bytes.min(usize::MAX - 1),
            request_time: patience(limits.http_request_ms),
            idle_time: patience(limits.http_idle_ms),
            trace,
            told: Mutex::default(),
            telling: Mutex::default(),
        }
    }

    /// Puts one input into the core and performs what comes out.
    pub(super) fn drive(
        self: &Arc<Self>,
        input: impl FnOnce(&mut FlatServer, u64) -> Records,
    ) -> Result<(), FlatError> {
        self.locked(|state| self.feed(state, input))
    }

    /// Does something under the mutex, then starts the calls that came of it.
    fn locked<T, E: From<FlatError>>(self: &Arc<Self>, work: impl FnOnce(&mut State) -> Result<T, E>) -> Result<T, E> {
        let mut state = self.lock()?;
        let done = work(&mut state);
        let starts = std::mem::take(&mut state.starts);
        drop(state);
        self.tell();
        if !starts.is_empty()
            && let Some(runtime) = self.runtime()
        {
            launch(starts, &runtime);
        }
        done
    }

    /// Tells what was traced, in order, outside the mutex: code of the user may call back into the server.
    fn tell(&self) {
        let Some(trace) = &self.trace else { return };
        let told = || self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever adds something while another one tells leaves it to that one, who looks again after the turn.
        while !told().is_empty() {
            let _turn = match self.telling.try_lock() {
                Ok(turn) => turn,
                Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            while let Some(record) = { told().pop_front() } {
                tell(trace, &record);
            }
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, FlatError> {
        // Poisoned: the core panicked, so its state is worth nothing any more.
        let broken = |_| FlatError { code: "internal_error", message: "the server broke down earlier".into() };
        self.state.lock().map_err(broken)
    }

    fn feed(
        self: &Arc<Self>,
        state: &mut State,
        input: impl FnOnce(&mut FlatServer, u64) -> Records,
    ) -> Result<(), FlatError> {
        let now = self.clock.now();
        let records = input(&mut state.flat, now)?;
        self.perform(state, records);
        while let Some(stream) = state.cut.pop() {
            state.streams.remove(&stream);
            let records = state.flat.gone(stream, now).unwrap_or_default();
            self.perform(state, records);
        }
        Ok(())
    }

    fn perform(self: &Arc<Self>, state: &mut State, records: Vec<Record>) {
        for record in records {
            match record.kind {
                "write" | "body" => {
                    let Some(stream) = state.streams.get(&record.stream) else { continue };
                    if let Err(Overflow) = stream.outbox.push(record.text) {
                        state.cut.push(record.stream);
                    }
                    if record.until == 1 {
                        finish(state, record.stream);
                    }
                }
                "close" => finish(state, record.stream),
                "head" => {
                    let head = Head { status: u16::try_from(record.id).unwrap_or(500), lines: text(record.text) };
                    let waiting = state.streams.get_mut(&record.stream).and_then(|stream| stream.head.take());
                    if let Some(waiting) = waiting {
                        drop(waiting.send(head));
                    }
                }
                "call" => self.call(state, record),
                "answer" => {
                    let Some(call) = state.calls.get_mut(&record.id) else { continue };
                    if record.stream != 0 {
                        call.stream = record.stream;
                    }
                    if let Some(waiting) = call.asks.remove(&record.name) {
                        drop(waiting.send(text(record.text)));
                    }
                }
                "cancelled" => {
                    if let Some(call) = state.calls.remove(&record.id) {
                        call.shared.cancelled.set();
                    }
                }
                "trace" => self.told.lock().unwrap_or_else(PoisonError::into_inner).push_back(record),
                "wait" => self.timer.set(record.until),
                // opened, closed, notice, violation: information, and nothing here depends on it.
                _ => {}
            }
        }
    }

    fn call(self: &Arc<Self>, state: &mut State, record: Record) {
        let shared = Arc::new(Shared::new(Arc::clone(self), record.id));
        let running = Running { stream: record.stream, shared: Arc::clone(&shared), asks: BTreeMap::new() };
        state.calls.insert(record.id, running);
        let handler = state.catalog.handlers.get(&record.name).cloned();
        state.starts.push(Start { shared, key: record.name, handler, input: text(record.text) });
    }

    /// Opens a pipe; what is to be written to it comes out of the outbox.
    pub(super) fn open(self: &Arc<Self>) -> Result<(u64, Arc<Outbox>), FlatError> {
        self.settle();
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let outbox = Arc::<Outbox>::default();
        let stream = Stream { outbox: Arc::clone(&outbox), head: None };
        self.opened(number, stream, |flat, now| flat.open(number, "pipe", now))?;
        Ok((number, outbox))
    }

    /// Hands an HTTP request in.
    pub(super) fn request(
        self: &Arc<Self>,
        head: &str,
        body: &[u8],
    ) -> Result<(u64, oneshot::Receiver<Head>, Arc<Outbox>), FlatError> {
        self.settle();
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let outbox = Arc::<Outbox>::default();
        let (sender, receiver) = oneshot::channel();
        let stream = Stream { outbox: Arc::clone(&outbox), head: Some(sender) };
        self.opened(number, stream, |flat, now| flat.request(number, head, body, now))?;
        Ok((number, receiver, outbox))
    }

    fn opened(
        self: &Arc<Self>,
        number: u64,
        stream: Stream,
        input: impl FnOnce(&mut FlatServer, u64) -> Records,
    ) -> Result<(), FlatError> {
        self.locked(|state| {
            state.streams.insert(number, stream);
            self.feed(state, input).inspect_err(|_| drop(state.streams.remove(&number)))
        })
    }

    /// Nothing can be delivered on this stream any more; does nothing when it has ended already.
    pub(super) fn gone(self: &Arc<Self>, stream: u64) {
        let _ = self.locked(|state| match state.streams.remove(&stream) {
            Some(removed) => {
                removed.outbox.gone();
                self.feed(state, |flat, now| flat.gone(stream, now))
            }
            None => Ok(()),
        });
    }

    /// Puts something about a call into the core once its stream has room for it.
    pub(super) async fn drive_call(
        self: &Arc<Self>,
        call: u64,
        mut input: impl FnMut(&mut FlatServer, u64) -> Records,
    ) -> Result<(), FlatError> {
        loop {
            let full = self.locked(|state| {
                let stream = state.calls.get(&call).and_then(|running| state.streams.get(&running.stream));
                match stream.filter(|stream| !stream.outbox.has_room()) {
                    Some(stream) => Ok(Some(Arc::clone(&stream.outbox))),
                    None => self.feed(state, &mut input).map(|()| None),
                }
            })?;
            match full {
                Some(full) => full.room().await,
                None => return Ok(()),
            }
        }
    }

    /// Asks the client something inside a call, and waits for the outcome's text.
    pub(super) async fn ask(self: &Arc<Self>, call: u64, key: &str, request: &str) -> Result<String, Error> {
        let over = || Error::Cancelled("the call is over".into());
        let (sender, receiver) = oneshot::channel();
        self.locked(|state| {
            let running = state.calls.get_mut(&call).ok_or_else(over)?;
            running.asks.insert(key.into(), sender);
            self.feed(state, |flat, now| flat.ask(call, key, request, now)).map_err(|error| {
                if let Some(running) = state.calls.get_mut(&call) {
                    running.asks.remove(key);
                }
                Error::from(error)
            })
        })?;
        receiver.await.map_err(|_| over())
    }

    /// Answers what runs with an error and closes every connection.
    pub(super) fn close(self: &Arc<Self>) {
        let _ = self.drive(|flat, now| flat.close(now));
    }

    /// The call has ended here.
    pub(super) fn forget(&self, call: u64) {
        if let Ok(mut state) = self.lock() {
            state.calls.remove(&call);
        }
    }

    pub(super) fn call_info(&self, call: u64) -> Result<String, FlatError> {
        self.lock()?.flat.call_info(call)
    }

    /// Replaces the catalog, here and in the core; calls that run keep their functions.
    pub(super) fn update(self: &Arc<Self>, change: impl FnOnce(&mut Catalog)) -> Result<(), Error> {
        let mut catalog = Catalog::clone(&*Arc::clone(&self.lock()?.catalog));
        change(&mut catalog);
        let json = catalog.json().map_err(Error::invalid)?;
        self.locked(|state| {
            self.feed(state, |flat, now| flat.set_catalog(&json, now))?;
            state.catalog = Arc::new(catalog);
            Ok(())
        })
    }

    /// Makes this runtime the one that serves, unless one does already that is still alive.
    fn settle(self: &Arc<Self>) {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if runtime.as_ref().is_some_and(|(_, timer)| !timer.is_finished()) {
            return;
        }
        let (timer, clock, engine) = (Arc::clone(&self.timer), self.clock, Arc::downgrade(self));
        let task = tokio::spawn(async move {
            while timer.due(clock).await {
                let Some(engine) = engine.upgrade() else { return };
                let _ = engine.drive(|flat, now| flat.timeout(now));
            }
        });
        *runtime = Some((Handle::current(), task));
    }

    /// Where calls run: here, or on the runtime that serves when this is a thread without one.
    fn runtime(&self) -> Option<Handle> {
        let settled = || {
            let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
            runtime.as_ref().map(|(handle, _)| handle.clone())
        };
        Handle::try_current().ok().or_else(settled)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.timer.stop();
    }
}

fn finish(state: &mut State, stream: u64) {
    if let Some(stream) = state.streams.remove(&stream) {
        stream.outbox.finish();
    }
}

/// A limit of milliseconds. Some weeks are as good as for ever, and can be added to any instant.
fn patience(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds.min(u32::MAX.into()))
}

/// Text of the core is UTF-8 by its contract.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}
