//! HTTP/1.1: connections of our own, and single requests of hosts with an HTTP stack. Which request gets which answer is
//! the core's business.
use std::{
    convert::Infallible,
    fmt::Write as _,
    io::Write as _,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

use super::{
    GRACE,
    engine::Engine,
    pipe::{self, Gone},
};
use crate::{
    error::Error,
    outbox::Outbox,
    signal::{Signal, asked_to_end},
};

/// Connections that are open at once, unless told otherwise.
const CONNECTIONS: usize = 4096;
/// What a connection beyond that gets.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// How long the host's own stack may take between two parts of a body.
const IDLE: Duration = Duration::from_secs(30);
/// How long a closed connection is still read, so that its last answer is not lost to a client that is still sending.
const LINGER: Duration = Duration::from_secs(1);

/// A bound HTTP server.
pub struct HttpServer {
    engine: Arc<Engine>,
    listener: TcpListener,
    address: SocketAddr,
    connections: usize,
    stop: Arc<Signal>,
}

impl HttpServer {
    pub(super) async fn bind(engine: Arc<Engine>, address: impl tokio::net::ToSocketAddrs) -> Result<Self, Error> {
        let listener = TcpListener::bind(address).await.map_err(Error::io)?;
        let address = listener.local_addr().map_err(Error::io)?;
        Ok(Self { engine, listener, address, connections: CONNECTIONS, stop: Arc::default() })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// How many connections may be open at once (4096). More are answered with status 503 and closed.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// A function that stops [`run`](Self::run) and closes the server: no new connections, and running calls are answered
    /// with an error.
    pub fn shutdown(&self) -> impl Fn() + Send + Sync + 'static {
        let stop = Arc::clone(&self.stop);
        move || stop.set()
    }

    /// Serves until this process gets SIGTERM or SIGINT, which then end it no more by themselves, or until shut down.
    pub async fn run_until_signal(self) {
        let stop = self.shutdown();
        let running = self.run();
        tokio::pin!(running);
        tokio::select! {
            () = running.as_mut() => return,
            () = asked_to_end() => stop(),
        }
        running.await;
    }

    /// Serves until shut down.
    pub async fn run(self) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = self.stop.wait() => break,
                Some(_) = connections.join_next() => continue,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, _)) if connections.len() >= self.connections => refuse(socket),
                Ok((socket, _)) => {
                    drop(connections.spawn(connection(Arc::clone(&self.engine), socket, Arc::clone(&self.stop))))
                }
                // Out of descriptors, most likely: trying again at once would only spin.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        drop(self.listener);
        self.engine.close();
        // What is not delivered by then is dropped with the set.
        let _ = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    }
}

/// The buffer of a new connection is empty: this neither waits nor fails but with the connection itself.
fn refuse(socket: TcpStream) {
    if let Ok(mut socket) = socket.into_std() {
        let _ = socket.write(BUSY);
    }
}

/// The core itself speaks HTTP/1.1 here.
async fn connection(engine: Arc<Engine>, socket: TcpStream, stop: Arc<Signal>) {
    let _ = socket.set_nodelay(true);
    let (mut reader, writer) = socket.into_split();
    if pipe::serve(&engine, "http1", &mut reader, writer, std::future::pending()).await.is_ok() {
        let mut chunk = vec![0; 4 << 10];
        let rest = timeout(LINGER, async { while matches!(reader.read(&mut chunk).await, Ok(1..)) {} });
        tokio::select! {
            _ = rest => {}
            () = stop.wait() => {}
        }
    }
}

/// Answers one request of any hyper server.
pub(super) async fn answer<B>(engine: Arc<Engine>, request: Request<B>) -> Result<Response<AnswerBody>, Infallible>
where
    B: Body<Data = Bytes> + Unpin,
{
    let head = head_text(&request);
    let body = match read_body(request.into_body(), engine.message_limit).await {
        Ok(body) => body,
        Err(status) => return Ok(bare(status)),
    };
    let Ok((stream, head, outbox)) = engine.request(&head, &body) else {
        return Ok(bare(StatusCode::INTERNAL_SERVER_ERROR));
    };
    drop(body);
    let body = AnswerBody { outbox, gone: Some(Gone { engine, stream }) };
    let Ok(head) = head.await else { return Ok(bare(StatusCode::INTERNAL_SERVER_ERROR)) };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in head.lines.lines().filter_map(|line| line.split_once(':')) {
        let name = HeaderName::try_from(name.trim());
        let value = HeaderValue::try_from(value.trim());
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

fn head_text<B>(request: &Request<B>) -> String {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let mut head = format!("{} {target}", request.method());
    for (name, value) in request.headers() {
        let _ = write!(head, "\n{name}: {}", String::from_utf8_lossy(value.as_bytes()));
    }
    head
}

/// Reads up to one byte more than the limit: enough for the core to see that it is too much.
async fn read_body(mut body: impl Body<Data = Bytes> + Unpin, limit: usize) -> Result<Vec<u8>, StatusCode> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if expected > limit {
        // Refused by its length, whatever is in it.
        return Ok(vec![0; limit + 1]);
    }
    let mut bytes = Vec::with_capacity(expected.min(limit));
    while bytes.len() <= limit {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        match timeout(IDLE, frame).await {
            Err(_) => return Err(StatusCode::REQUEST_TIMEOUT),
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(StatusCode::BAD_REQUEST),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    let fits = data.len().min(limit + 1 - bytes.len());
                    bytes.extend_from_slice(&data[..fits]);
                }
            }
        }
    }
    Ok(bytes)
}

fn bare(status: StatusCode) -> Response<AnswerBody> {
    let outbox = Arc::<Outbox>::default();
    outbox.finish();
    let mut response = Response::new(AnswerBody { outbox, gone: None });
    *response.status_mut() = status;
    response
}

/// A streaming answer. Dropped before its end, it tells the core that the client is gone.
pub struct AnswerBody {
    outbox: Arc<Outbox>,
    gone: Option<Gone>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match ready!(self.outbox.poll_take(context)) {
            Some(chunk) => Poll::Ready(Some(Ok(Frame::data(chunk)))),
            None if self.outbox.is_gone() => {
                // An error, not an end: a cut answer must not look like a whole one.
                self.gone = None;
                Poll::Ready(Some(Err(Error::Disconnected("the client reads too slowly".into()))))
            }
            None => {
                self.gone = None;
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.outbox.remaining() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.outbox.remaining().map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}
