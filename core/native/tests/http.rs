//! HTTP in both eras.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
mod common;

use std::{net::SocketAddr, pin::Pin};

use bytes::Bytes;
use common::{ERAS, Seen, everything, fixture, options, soon, standstill};
use http::{Request, StatusCode};
use http_body::Body;
use mcp_keel::{Client, Error, Mode, Server, Target, serde_json::json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

struct Running {
    address: SocketAddr,
    stop: Box<dyn Fn() + Send + Sync>,
    task: tokio::task::JoinHandle<()>,
}

async fn serve(server: &Server) -> Running {
    let http = server.bind_http("127.0.0.1:0").await.unwrap();
    let (address, stop) = (http.local_addr(), Box::new(http.shutdown()));
    Running { address, stop, task: tokio::spawn(http.run()) }
}

impl Running {
    fn target(&self) -> Target {
        Target::http(format!("http://{}/mcp", self.address))
    }
}

#[tokio::test]
async fn all_features_in_both_eras() {
    for mode in ERAS {
        let mut fixture = fixture();
        let running = serve(&fixture.server).await;
        let client = Client::connect(running.target(), options(mode)).await.unwrap();
        everything(&client, &mut fixture.seen).await;
        soon(client.close()).await;
        (running.stop)();
        soon(running.task).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_features_on_many_threads() {
    for mode in ERAS {
        let mut fixture = fixture();
        let running = serve(&fixture.server).await;
        let client = Client::connect(running.target(), options(mode)).await.unwrap();
        everything(&client, &mut fixture.seen).await;
        soon(client.close()).await;
    }
}

#[tokio::test]
async fn auto_finds_the_modern_era() {
    let fixture = fixture();
    let running = serve(&fixture.server).await;
    let client = Client::connect(running.target(), options(Mode::Auto)).await.unwrap();
    assert_eq!(client.era(), mcp_keel::Era::Modern);
}

#[tokio::test]
async fn nobody_listening_is_said_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let error = soon(Client::connect(Target::http(url), options(Mode::Auto))).await.err().unwrap();
    assert!(matches!(error, Error::Disconnected(_)), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn what_is_no_url_is_refused() {
    for url in ["", "nonsense", "ftp://localhost/mcp", "http://"] {
        let error = soon(Client::connect(Target::http(url), options(Mode::Auto))).await.err().unwrap();
        assert!(!matches!(error, Error::Timeout(_) | Error::Peer { .. }), "{url}: {error:?}");
    }
}

/// A server that vanishes in the middle of calls.
#[tokio::test]
async fn a_vanished_server_ends_every_pending_call() {
    for mode in ERAS {
        let mut fixture = fixture();
        let running = serve(&fixture.server).await;
        let client = Client::connect(running.target(), options(mode)).await.unwrap();
        let mut calls = Vec::new();
        for _ in 0..4 {
            calls.push(client.tool("hold").send().await.unwrap());
            assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
        }
        running.task.abort();
        assert!(soon(running.task).await.unwrap_err().is_cancelled());
        for call in calls {
            let ended = soon(call).await;
            assert!(matches!(ended, Err(Error::Disconnected(_))), "{ended:?}");
        }
        // A session outlives its connections, and so do its calls; without one, nobody can want the answer any more.
        for _ in 0..if mode == Mode::Modern { 4 } else { 0 } {
            assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Dropped));
        }
    }
}

#[tokio::test]
async fn shutdown_answers_what_runs() {
    let mut fixture = fixture();
    let running = serve(&fixture.server).await;
    let client = Client::connect(running.target(), options(Mode::Modern)).await.unwrap();
    let call = client.tool("hold").send().await.unwrap();
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
    (running.stop)();
    soon(running.task).await.unwrap();
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Dropped));
    let ended = soon(call).await;
    assert!(matches!(ended, Err(Error::Peer { code: -32603, .. })), "{ended:?}");
}

/// Sends raw bytes and reads until the server closes.
async fn raw(running: &Running, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    let mut answer = String::new();
    soon(socket.read_to_string(&mut answer)).await.unwrap();
    answer
}

#[tokio::test]
async fn requests_are_refused_by_their_head() {
    let fixture = fixture();
    let running = serve(&fixture.server).await;
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    for (rest, status, said) in [
        ("content-length: 17825792\r\n\r\n{", "413", "longer than"),
        ("host: localhost\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}", "400", "Host"),
    ] {
        let answer = raw(&running, format!("{head}{rest}").as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains(said) && answer.contains(r#""jsonrpc":"2.0""#), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_are_told() {
    let fixture = fixture();
    let http = fixture.server.bind_http("127.0.0.1:0").await.unwrap().max_connections(2);
    let (address, stop) = (http.local_addr(), Box::new(http.shutdown()));
    let running = Running { address, stop, task: tokio::spawn(http.run()) };
    let held = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
    assert!(raw(&running, b"").await.starts_with("HTTP/1.1 503 "));
    drop(held);
    let client = soon(async {
        loop {
            if let Ok(client) = Client::connect(running.target(), options(Mode::Modern)).await {
                return client;
            }
        }
    });
    client.await.list_tools().await.unwrap();
}

async fn initialized(server: &Server) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "any", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let response = server.answer_http(post(None, message.to_string())).await;
    assert_eq!(response.status(), StatusCode::OK);
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = server.answer_http(post(Some(&session), message.to_string())).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    session
}

fn post(session: Option<&str>, body: String) -> Request<String> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.body(body).unwrap()
}

fn call(id: u64, tool: &str, arguments: serde_json::Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}})
    .to_string()
}

async fn part<B: Body<Data = Bytes> + Unpin>(body: &mut B) -> Option<Result<Bytes, B::Error>> {
    let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
    Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
}

/// A client that does not read its event stream: the handler waits, and nothing piles up.
#[tokio::test]
async fn a_slow_reader_slows_the_handler() {
    const STEPS: usize = 10_000;
    let fixture = fixture();
    let session = initialized(&fixture.server).await;
    let request = post(Some(&session), call(1, "flood", json!({"n": STEPS})));
    let mut body = soon(fixture.server.answer_http(request)).await.into_body();
    let reported = standstill(&fixture.steps).await;
    assert!(reported > 100 && reported < 3000, "{reported} steps of {} bytes were taken", common::STEP);
    let mut text = Vec::new();
    while let Some(part) = soon(part(&mut body)).await {
        text.extend(part.unwrap());
    }
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.matches("notifications/progress").count(), STEPS);
    assert!(text.contains("flooded"));
}

#[tokio::test]
async fn a_client_that_leaves_its_session_is_no_harm() {
    let mut fixture = fixture();
    let running = serve(&fixture.server).await;
    let session = initialized(&fixture.server).await;
    let body = call(1, "hold", json!({}));
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nmcp-session-id: {session}\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
    drop(socket);
    // A session outlives its connections: the call goes on, and so does everything else.
    let request = post(Some(&session), call(2, "echo", json!({"text": "still here"})));
    let mut body = soon(fixture.server.answer_http(request)).await.into_body();
    let first = soon(part(&mut body)).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("still here"));
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let server = Server::builder("small", "1").limit("messageBytes", 1000).build().unwrap();
    let response = server.answer_http(post(None, "x".repeat(1001))).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

/// Where a request names its host in the target, as HTTP/2 does, that is the host.
#[tokio::test]
async fn the_target_may_name_the_host() {
    let server = fixture().server;
    for (uri, host, status) in [
        ("http://localhost/mcp", None, StatusCode::METHOD_NOT_ALLOWED),
        ("http://localhost/mcp", Some("elsewhere.example"), StatusCode::METHOD_NOT_ALLOWED),
        ("http://elsewhere.example/mcp", Some("localhost"), StatusCode::FORBIDDEN),
        ("http://elsewhere.example/mcp", None, StatusCode::FORBIDDEN),
    ] {
        let mut request = Request::put(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let response = server.answer_http(request.body(String::new()).unwrap()).await;
        assert_eq!(response.status(), status, "{uri} {host:?}");
    }
}

#[tokio::test]
async fn half_a_request_is_no_harm() {
    let fixture = fixture();
    let running = serve(&fixture.server).await;
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{").await.unwrap();
    socket.shutdown().await.unwrap();
    let mut rest = Vec::new();
    soon(socket.read_to_end(&mut rest)).await.unwrap();
    let client = Client::connect(running.target(), options(Mode::Modern)).await.unwrap();
    client.list_tools().await.unwrap();
}
