//! The HTTP server: hyper speaks HTTP/1.1 on its connections; how many, how long and until when is decided here.
use std::{convert::Infallible, io::Write as _, net::SocketAddr, sync::Arc, time::Duration};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

use super::{
    GRACE,
    answer::{AnswerBody, answer, arrive},
    engine::Engine,
    pace::{Pace, Paced},
};
use crate::{
    error::Error,
    signal::{Signal, asked_to_end},
};

/// Connections that are open at once, unless told otherwise.
const CONNECTIONS: usize = 4096;
/// What a connection beyond that gets.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// Bytes of a request's head, and of what is read or written at once.
const BUFFER: usize = 64 << 10;
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

async fn connection(engine: Arc<Engine>, mut socket: TcpStream, stop: Arc<Signal>) {
    let _ = socket.set_nodelay(true);
    let pace = Arc::new(Pace::new(engine.request_time, engine.idle_time));
    let ended = {
        let service = service_fn(|request| one(Arc::clone(&engine), Arc::clone(&pace), request));
        let io = TokioIo::new(Paced { socket: &mut socket, pace: Arc::clone(&pace) });
        let mut http = http1::Builder::new();
        http.header_read_timeout(None).max_buf_size(BUFFER).max_header_size(BUFFER);
        let serving = http.serve_connection(io, service);
        tokio::pin!(serving);
        tokio::select! {
            biased;
            () = stop.wait() => {
                if pace.is_arriving() {
                    return;
                }
                serving.as_mut().graceful_shutdown();
                pace.keep(serving).await
            }
            ended = pace.keep(serving.as_mut()) => ended,
        }
    };
    match ended {
        Some(Ok(())) => linger(socket, &stop).await,
        Some(Err(error)) if error.is_parse() => linger(socket, &stop).await,
        // The client is gone, or not worth waiting for.
        Some(Err(_)) | None => {}
    }
}

async fn one(
    engine: Arc<Engine>,
    pace: Arc<Pace>,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    let arrived = arrive(&engine, request, pace.begin()).await;
    let turn = pace.arrived();
    let mut response = match arrived {
        Ok(request) => answer(engine, request).await,
        Err(refusal) => refusal,
    };
    response.body_mut().turn = Some(turn);
    Ok(response)
}

async fn linger(mut socket: TcpStream, stop: &Signal) {
    let _ = socket.shutdown().await;
    let mut chunk = vec![0; 4 << 10];
    let rest = timeout(LINGER, async { while matches!(socket.read(&mut chunk).await, Ok(1..)) {} });
    tokio::select! {
        _ = rest => {}
        () = stop.wait() => {}
    }
}
