//! How long a connection of our HTTP server waits for its client.
use std::{
    io::{IoSlice, Result},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, sleep_until},
};

/// The clock of a request starts with its first byte, and no byte winds it up again. While a request is answered, no clock
/// runs: an event stream may be silent as long as it likes.
pub(super) struct Pace {
    request: Duration,
    idle: Duration,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
enum State {
    /// Between two requests, or the last bytes of an answer are on their way.
    Idle(Instant),
    /// A request is on its way.
    Arriving(Instant),
    /// A request is being answered.
    Busy,
}

impl Pace {
    /// The first request has as long as any other, though nothing of it is here yet.
    pub(super) fn new(request: Duration, idle: Duration) -> Self {
        Self { request, idle, state: Mutex::new(State::Arriving(Instant::now() + request)) }
    }

    /// The head of a request is here; when the rest must be.
    pub(super) fn begin(&self) -> Instant {
        self.heard();
        self.deadline().unwrap_or_else(|| Instant::now() + self.request)
    }

    /// A request is here as far as it will be. The connection is busy until what comes back is dropped.
    pub(super) fn arrived(self: &Arc<Self>) -> Turn {
        *self.lock() = State::Busy;
        Turn(Arc::clone(self))
    }

    pub(super) fn is_arriving(&self) -> bool {
        matches!(*self.lock(), State::Arriving(_))
    }

    /// Drives a connection until it ends, or until its client has taken too long.
    pub(super) async fn keep<T>(&self, mut serving: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let clock = sleep_until(Instant::now() + self.request);
        tokio::pin!(clock);
        std::future::poll_fn(|context| {
            if let Poll::Ready(ended) = serving.as_mut().poll(context) {
                return Poll::Ready(Some(ended));
            }
            // Whatever moves the deadline happens in that poll.
            let Some(deadline) = self.deadline() else { return Poll::Pending };
            if clock.deadline() != deadline {
                clock.as_mut().reset(deadline);
            }
            clock.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    fn heard(&self) {
        let mut state = self.lock();
        if let State::Idle(_) = *state {
            *state = State::Arriving(Instant::now() + self.request);
        }
    }

    /// A long answer may take its time as long as it moves.
    fn wrote(&self) {
        let mut state = self.lock();
        if let State::Idle(_) = *state {
            *state = State::Idle(Instant::now() + self.idle);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match *self.lock() {
            State::Idle(deadline) | State::Arriving(deadline) => Some(deadline),
            State::Busy => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
pub(super) struct Turn(Arc<Pace>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.lock() = State::Idle(Instant::now() + self.0.idle);
    }
}

/// A socket that tells its pace what moves.
pub(super) struct Paced<'socket> {
    pub(super) socket: &'socket mut TcpStream,
    pub(super) pace: Arc<Pace>,
}

impl Paced<'_> {
    fn note(&self, written: Result<usize>) -> Poll<Result<usize>> {
        self.pace.wrote();
        Poll::Ready(written)
    }
}

impl AsyncRead for Paced<'_> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut *self.socket).poll_read(context, buffer));
        if buffer.filled().len() > before {
            self.pace.heard();
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Paced<'_> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = ready!(Pin::new(&mut *self.socket).poll_write(context, bytes));
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = ready!(Pin::new(&mut *self.socket).poll_write_vectored(context, slices));
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut *self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut *self.socket).poll_shutdown(context)
    }
}
