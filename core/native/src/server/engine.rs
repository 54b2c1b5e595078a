//! The server machine with its host: one mutex around the core and what its records refer to.
//!
//! Every input is one call of [`Engine::drive`]: into the core, then its records are performed in order, all under the
//! mutex and none of them waiting. Handlers run as tasks of their own and come back the same way.
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_keel_core::flat::{FlatError, FlatServer, Record, Records};
use tokio::sync::oneshot;

use super::{Context, catalog::Catalog, handler::Handler};
use crate::{
    clock::Clock,
    error::{Error, McpError, Outcome},
    outbox::{Outbox, Overflow},
    signal::Signal,
    timer::Timer,
};

pub(crate) struct Engine {
    state: Mutex<State>,
    catalog: RwLock<Arc<Catalog>>,
    next_stream: AtomicU64,
    clock: Clock,
    timer: Arc<Timer>,
    timer_runs: Mutex<Option<tokio::task::JoinHandle<()>>>,
    pub(super) message_limit: usize,
}

struct State {
    flat: FlatServer,
    streams: BTreeMap<u64, Stream>,
    calls: BTreeMap<u64, Running>,
    /// Streams whose peer reads nothing; the core hears of them after the records at hand.
    cut: Vec<u64>,
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
    cancelled: Arc<Signal>,
    asks: BTreeMap<String, oneshot::Sender<String>>,
}

impl Engine {
    pub(super) fn new(flat: FlatServer, message_limit: usize) -> Self {
        let state = State { flat, streams: BTreeMap::new(), calls: BTreeMap::new(), cut: Vec::new() };
        Self {
            state: Mutex::new(state),
            catalog: RwLock::default(),
            next_stream: AtomicU64::new(1),
            clock: Clock::new(),
            timer: Arc::default(),
            timer_runs: Mutex::default(),
            message_limit,
        }
    }

    /// Puts one input into the core and performs what comes out.
    pub(super) fn drive(
        self: &Arc<Self>,
        input: impl FnOnce(&mut FlatServer, u64) -> Records,
    ) -> Result<(), FlatError> {
        let mut state = self.lock()?;
        self.drive_locked(&mut state, input)
    }

    fn drive_locked(
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

    fn lock(&self) -> Result<MutexGuard<'_, State>, FlatError> {
        // Poisoned: the core panicked, so its state is worth nothing any more.
        let broken = |_| FlatError { code: "internal_error", message: "the server broke down earlier".into() };
        self.state.lock().map_err(broken)
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
                "call" => self.start(state, record),
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
                        call.cancelled.set();
                    }
                }
                "wait" => self.timer.set(record.until),
                // opened, closed, notice, violation: information, and nothing here depends on it.
                _ => {}
            }
        }
    }

    fn start(self: &Arc<Self>, state: &mut State, record: Record) {
        let call = record.id;
        let cancelled = Arc::<Signal>::default();
        let running = Running { stream: record.stream, cancelled: Arc::clone(&cancelled), asks: BTreeMap::new() };
        state.calls.insert(call, running);
        let handler = self.catalog().handlers.get(&record.name).cloned();
        let guard = Answering { engine: Arc::clone(self), call, answered: false };
        tokio::spawn(run(guard, handler, text(record.text), cancelled));
    }

    /// Opens a pipe; what is to be written to it comes out of the outbox.
    pub(super) fn open_pipe(self: &Arc<Self>) -> Result<(u64, Arc<Outbox>), FlatError> {
        self.ensure_timer();
        let stream = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let outbox = Arc::<Outbox>::default();
        let mut state = self.lock()?;
        state.streams.insert(stream, Stream { outbox: Arc::clone(&outbox), head: None });
        let opened = self.drive_locked(&mut state, |flat, now| flat.open(stream, "pipe", now));
        if opened.is_err() {
            state.streams.remove(&stream);
        }
        opened.map(|()| (stream, outbox))
    }

    /// Hands an HTTP request in.
    pub(super) fn request(
        self: &Arc<Self>,
        head: &str,
        body: &[u8],
    ) -> Result<(u64, oneshot::Receiver<Head>, Arc<Outbox>), FlatError> {
        self.ensure_timer();
        let stream = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let outbox = Arc::<Outbox>::default();
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock()?;
        state.streams.insert(stream, Stream { outbox: Arc::clone(&outbox), head: Some(sender) });
        let fed = self.drive_locked(&mut state, |flat, now| flat.request(stream, head, body, now));
        if fed.is_err() {
            state.streams.remove(&stream);
        }
        fed.map(|()| (stream, receiver, outbox))
    }

    /// Nothing can be delivered on this stream any more; does nothing when it has ended already.
    pub(super) fn gone(self: &Arc<Self>, stream: u64) {
        let Ok(mut state) = self.lock() else { return };
        if let Some(removed) = state.streams.remove(&stream) {
            removed.outbox.gone();
            let _ = self.drive_locked(&mut state, |flat, now| flat.gone(stream, now));
        }
    }

    /// Puts something about a call into the core once its stream has room for it.
    pub(super) async fn drive_call(
        self: &Arc<Self>,
        call: u64,
        mut input: impl FnMut(&mut FlatServer, u64) -> Records,
    ) -> Result<(), FlatError> {
        loop {
            let full = {
                let mut state = self.lock()?;
                let stream = state.calls.get(&call).map_or(0, |running| running.stream);
                match state.streams.get(&stream).filter(|stream| !stream.outbox.has_room()) {
                    Some(stream) => Arc::clone(&stream.outbox),
                    None => return self.drive_locked(&mut state, &mut input),
                }
            };
            full.room().await;
        }
    }

    /// Asks the client something inside a call, and waits for the outcome's text.
    pub(super) async fn ask(self: &Arc<Self>, call: u64, key: &str, request: &str) -> Result<String, Error> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.lock()?;
            let Some(running) = state.calls.get_mut(&call) else { return Err(over()) };
            running.asks.insert(key.into(), sender);
            let asked = self.drive_locked(&mut state, |flat, now| flat.ask(call, key, request, now));
            if let Err(error) = asked {
                if let Some(running) = state.calls.get_mut(&call) {
                    running.asks.remove(key);
                }
                return Err(error.into());
            }
        }
        receiver.await.map_err(|_| over())
    }

    pub(super) fn call_info(&self, call: u64) -> Result<String, FlatError> {
        self.lock()?.flat.call_info(call)
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Replaces the catalog, here and in the core; calls that run keep their functions.
    pub(super) fn set_catalog(self: &Arc<Self>, catalog: Catalog) -> Result<(), Error> {
        let json = catalog.json().map_err(Error::invalid)?;
        let mut state = self.lock()?;
        // Under the mutex, so that the core announces no tool that has no function yet.
        let announced = self.drive_locked(&mut state, |flat, now| flat.set_catalog(&json, now));
        announced?;
        *self.catalog.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(catalog);
        Ok(())
    }

    /// One task waits for the core's deadlines, in the runtime that first needs it (a new one when that is gone).
    fn ensure_timer(self: &Arc<Self>) {
        let mut runs = self.timer_runs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if runs.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (timer, clock, engine) = (Arc::clone(&self.timer), self.clock, Arc::downgrade(self));
        *runs = Some(tokio::spawn(async move {
            while timer.due(clock).await {
                let Some(engine) = engine.upgrade() else { return };
                let _ = engine.drive(|flat, now| flat.timeout(now));
            }
        }));
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.timer.stop();
    }
}

fn over() -> Error {
    Error::Cancelled("the call is over".into())
}

fn finish(state: &mut State, stream: u64) {
    if let Some(stream) = state.streams.remove(&stream) {
        stream.outbox.finish();
    }
}

/// Text of the core is UTF-8 by its contract.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

async fn run(mut guard: Answering, handler: Option<Handler>, input: String, cancelled: Arc<Signal>) {
    let (engine, call) = (Arc::clone(&guard.engine), guard.call);
    let work = async {
        let outcome = match handler {
            Some(handler) => handler(input, Context::new(Arc::clone(&engine), call, Arc::clone(&cancelled))).await,
            None => Outcome::text::<()>(Err(McpError::internal("it was removed"))),
        };
        let _ = engine.drive_call(call, |flat, now| flat.respond(call, &outcome, now)).await;
    };
    tokio::select! {
        biased;
        () = cancelled.wait() => {}
        () = work => {}
    }
    guard.answered = true;
    guard.forget();
}

/// Answers for a handler that panicked, so that every call has its answer.
struct Answering {
    engine: Arc<Engine>,
    call: u64,
    answered: bool,
}

impl Answering {
    fn forget(&self) {
        if let Ok(mut state) = self.engine.lock() {
            state.calls.remove(&self.call);
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if !self.answered {
            let outcome = Outcome::text::<()>(Err(McpError::internal("the handler failed")));
            let _ = self.engine.drive(|flat, now| flat.respond(self.call, &outcome, now));
            self.forget();
        }
    }
}
