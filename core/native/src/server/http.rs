//! HTTP/1.1 on hyper. Which request gets which answer is the core's business; this file moves heads and bodies.
use std::{
    convert::Infallible,
    fmt::Write as _,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};

use super::{engine::Engine, pipe::Gone};
use crate::{error::Error, outbox::Outbox, signal::Signal};

/// Connections that are open at once; more wait in the system's queue.
const CONNECTIONS: usize = 1024;
/// How long a client may take for its head, and between two parts of its body.
const IDLE: Duration = Duration::from_secs(30);
/// How long running calls may take after `shutdown`.
const GRACE: Duration = Duration::from_secs(5);

/// A bound HTTP server.
pub struct HttpServer {
    engine: Arc<Engine>,
    listener: TcpListener,
    address: SocketAddr,
    stop: Arc<Signal>,
}

impl HttpServer {
    pub(super) async fn bind(engine: Arc<Engine>, address: impl tokio::net::ToSocketAddrs) -> Result<Self, Error> {
        let listener = TcpListener::bind(address).await.map_err(Error::io)?;
        let address = listener.local_addr().map_err(Error::io)?;
        Ok(Self { engine, listener, address, stop: Arc::default() })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A function that stops [`run`](Self::run): no new connections, and running calls get five seconds.
    pub fn shutdown(&self) -> impl Fn() + Send + Sync + 'static {
        let stop = Arc::clone(&self.stop);
        move || stop.set()
    }

    /// Serves until shut down.
    pub async fn run(self) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = self.stop.wait() => break,
                Some(_) = connections.join_next() => continue,
                accepted = accept(&self.listener, &places) => accepted,
            };
            let Some((socket, place)) = accepted else { continue };
            let (engine, stop) = (Arc::clone(&self.engine), Arc::clone(&self.stop));
            connections.spawn(async move {
                connection(engine, socket, stop).await;
                drop(place);
            });
        }
        drop(self.listener);
        // What still runs then is dropped with the set, which tells the core.
        let _ = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, _)) => {
            let _ = socket.set_nodelay(true);
            Some((socket, place))
        }
        Err(_) => {
            // Out of descriptors, most likely: trying again at once would only spin.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn connection(engine: Arc<Engine>, socket: TcpStream, stop: Arc<Signal>) {
    let service = service_fn(move |request| answer(Arc::clone(&engine), request));
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .serve_connection(TokioIo::new(socket), service);
    tokio::pin!(serving);
    tokio::select! {
        _ = serving.as_mut() => return,
        () = stop.wait() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
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
