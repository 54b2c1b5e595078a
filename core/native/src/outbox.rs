//! What is waiting to be written to one peer: a bounded queue between an engine and a pipe or an HTTP body.
//!
//! Three rules keep it bounded however slowly the peer reads. Whoever produces much (handlers, the reader of the same
//! pipe) first waits for [`room`](Outbox::room). What nobody can be made to wait for (announcements) is refused beyond
//! [`CUT`], and the stream is given up. One message may always be added when there is room, whatever its size.
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Notify,
};

/// Queued bytes above which producers wait.
pub(crate) const ROOM: usize = 1 << 20;
/// Queued bytes above which the peer counts as dead.
pub(crate) const CUT: usize = 16 << 20;
/// Small messages are joined up to this size, for fewer writes.
const JOIN: usize = 32 << 10;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    room: Notify,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Vec<u8>>,
    queued: usize,
    finished: bool,
    gone: bool,
    reader: Option<Waker>,
}

/// The queue was longer than [`CUT`]; it is empty and dead now.
#[derive(Debug)]
pub(crate) struct Overflow;

impl Outbox {
    /// Adds bytes; after `finish` or `gone` they are dropped.
    pub(crate) fn push(&self, bytes: Vec<u8>) -> Result<(), Overflow> {
        let mut state = self.lock();
        if state.gone || state.finished || bytes.is_empty() {
            return Ok(());
        }
        if state.queued > CUT {
            self.discard(&mut state);
            return Err(Overflow);
        }
        state.queued += bytes.len();
        match state.chunks.back_mut() {
            Some(last) if last.len() + bytes.len() <= JOIN => last.extend_from_slice(&bytes),
            _ => state.chunks.push_back(bytes),
        }
        wake(&mut state);
        Ok(())
    }

    /// Nothing more will be added.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.finished = true;
        wake(&mut state);
        self.room.notify_waiters();
    }

    /// Nothing can be delivered any more.
    pub(crate) fn gone(&self) {
        self.discard(&mut self.lock());
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.lock().gone
    }

    pub(crate) fn has_room(&self) -> bool {
        let state = self.lock();
        state.queued <= ROOM || state.finished || state.gone
    }

    /// Waits until [`has_room`](Self::has_room).
    pub(crate) async fn room(&self) {
        loop {
            let notified = self.room.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.has_room() {
                return;
            }
            notified.await;
        }
    }

    /// Waits until [`gone`](Self::gone), or for ever.
    pub(crate) async fn until_gone(&self) {
        loop {
            let notified = self.room.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.is_gone() {
                return;
            }
            notified.await;
        }
    }

    /// The next bytes, `None` at the end. One reader at a time.
    pub(crate) fn poll_take(&self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.lock();
        if let Some(chunk) = state.chunks.pop_front() {
            state.queued -= chunk.len();
            if state.queued <= ROOM {
                self.room.notify_waiters();
            }
            return Poll::Ready(Some(chunk.into()));
        }
        if state.finished || state.gone {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }

    /// How many bytes are still to come, when that is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        let state = self.lock();
        (state.finished && !state.gone).then_some(state.queued as u64)
    }

    /// Writes everything to `writer` until the end; false when the writer failed or the stream was given up.
    pub(crate) async fn write_to(&self, mut writer: impl AsyncWrite + Unpin) -> bool {
        while let Some(chunk) = std::future::poll_fn(|context| self.poll_take(context)).await {
            if writer.write_all(&chunk).await.is_err() || writer.flush().await.is_err() {
                self.gone();
            }
        }
        !self.is_gone() && writer.shutdown().await.is_ok()
    }

    fn discard(&self, state: &mut State) {
        state.gone = true;
        state.chunks.clear();
        state.queued = 0;
        wake(state);
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(state: &mut State) {
    if let Some(reader) = state.reader.take() {
        reader.wake();
    }
}
