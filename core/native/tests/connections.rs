//! The connections of the HTTP server, by raw bytes: whatever comes, they are answered or closed in bounded time.
//!
//! Where time matters the runtime's clock is paused: it jumps to the next deadline whenever nobody can go on.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
mod common;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use common::{Fixture, Nothing, Seen, Text, fixture, soon, standstill};
use mcp_keel::{
    Context, Server, Tool,
    core::revision::Revision,
    serde_json::{Value, json},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
    time::{Instant, sleep},
};

const HEAD: &str = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                    accept: application/json, text/event-stream\r\n";
/// A request that is answered at once, without a session.
const PUT: &str = "PUT /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n";

struct Running {
    address: SocketAddr,
    stop: Box<dyn Fn() + Send + Sync>,
    task: JoinHandle<()>,
}

async fn serve(server: &Server) -> Running {
    let http = server.bind_http("127.0.0.1:0").await.unwrap();
    let (address, stop) = (http.local_addr(), Box::new(http.shutdown()));
    Running { address, stop, task: tokio::spawn(http.run()) }
}

impl Running {
    async fn connect(&self, bytes: impl AsRef<[u8]>) -> TcpStream {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(bytes.as_ref()).await.unwrap();
        socket
    }

    /// Sends bytes and reads until the server closes.
    async fn all(&self, bytes: impl AsRef<[u8]>) -> String {
        rest(&mut self.connect(bytes).await).await
    }

    /// Nothing that was done to the server keeps it from its work.
    async fn is_well(&self) {
        let answer = self.all(modern("echo", &json!({"text": "well"}), "connection: close\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("well"), "{answer}");
    }
}

/// What still comes until the server closes, however it closes.
async fn rest(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = soon(socket.read_to_end(&mut answer)).await;
    String::from_utf8(answer).unwrap()
}

/// One answer with a Content-Length.
async fn one(socket: &mut TcpStream) -> String {
    let mut answer = String::new();
    while !answer.ends_with("\r\n\r\n") {
        answer.push(char::from(soon(socket.read_u8()).await.unwrap()));
    }
    let length = answer.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    soon(socket.read_exact(&mut body)).await.unwrap();
    answer + std::str::from_utf8(&body).unwrap()
}

fn call(tool: &str, arguments: &Value, more: Value) -> String {
    let mut params = json!({"name": tool, "arguments": arguments});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// A call of the modern era, which stands alone.
fn modern(tool: &str, arguments: &Value, fields: &str) -> String {
    let revision = Revision::NEWEST_MODERN.label();
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": revision, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "progressToken": "p"}});
    let fields = format!("{fields}mcp-protocol-version: {revision}\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n");
    post(&fields, &call(tool, arguments, meta))
}

fn post(fields: &str, body: &str) -> String {
    format!("{HEAD}{fields}content-length: {}\r\n\r\n{body}", body.len())
}

/// A server with short patience.
fn hasty() -> Server {
    Server::builder("hasty", "1")
        .limit("httpRequestMs", 5000)
        .limit("httpIdleMs", 8000)
        .tool(Tool::new("echo"), |args: Text, _: Context| async move { args.text })
        .tool(Tool::new("long"), |_: Nothing, _: Context| async {
            sleep(Duration::from_secs(15)).await;
            "after a long time"
        })
        .build()
        .unwrap()
}

/// Pauses the clock once everything is set up, and tells how long the rest took by it.
fn paused() -> Instant {
    tokio::time::pause();
    Instant::now()
}

#[track_caller]
fn took(since: Instant, milliseconds: u64) {
    let took = since.elapsed().as_millis();
    assert!((milliseconds.into()..=u128::from(milliseconds) + 10).contains(&took), "it took {took} ms");
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    let running = serve(&fixture().server).await;
    let long = "x".repeat(70_000);
    for (bytes, status) in [
        ("nonsense\r\n\r\n".into(), "400"),
        ("GET /mcp\r\n\r\n".into(), "400"),
        ("\u{16}\u{3}\u{1}\u{2}\n\n".into(), "400"),
        ("GET /mcp HTTP/1.1\r\nno colon\r\n\r\n".into(), "400"),
        ("GET /mcp HTTP/1.1\r\na: \0\r\n\r\n".into(), "400"),
        (format!("{HEAD}content-length: +3\r\n\r\nabc"), "400"),
        (format!("{HEAD}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd"), "400"),
        (format!("{HEAD}transfer-encoding: gzip\r\n\r\n"), "400"),
        (format!("{HEAD}transfer-encoding: chunked\r\n\r\nnonsense\r\n"), "400"),
        (format!("GET /{long} HTTP/1.1\r\n\r\n"), "431"),
        (format!("{HEAD}a: {long}\r\n\r\n"), "431"),
        (format!("{HEAD}{}\r\n", "a: b\r\n".repeat(200)), "431"),
        (long, "431"),
    ] {
        let answer = running.all(&bytes).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{:.100} gave {answer}", bytes);
    }
    running.is_well().await;
}

/// hyper goes by the chunks alone and then closes, which the HTTP standard allows: nothing behind it is taken for a request.
#[tokio::test]
async fn two_lengths_smuggle_nothing() {
    let running = serve(&fixture().server).await;
    for lengths in [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 60\r\n",
    ] {
        let answer = running.all(format!("{HEAD}{lengths}\r\n0\r\n\r\n{PUT}{PUT}")).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("connection: close"), "{answer}");
    }
}

/// A client that goes on sending reads its answer all the same.
#[tokio::test]
async fn a_body_beyond_the_limit_is_answered_readably() {
    let running = serve(&fixture().server).await;
    let size = 17 << 20;
    let body = "x".repeat(size);
    for request in [
        format!("{HEAD}content-length: {size}\r\n\r\n{body}"),
        format!("{HEAD}transfer-encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n0\r\n\r\n"),
    ] {
        // It sends everything before it reads anything.
        let mut socket = soon(running.connect(request)).await;
        let mut answer = String::new();
        soon(socket.read_to_string(&mut answer)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("jsonrpc"), "{answer}");
    }
    running.is_well().await;
}

#[tokio::test]
async fn a_client_is_told_to_go_on_only_with_what_is_taken() {
    let running = serve(&fixture().server).await;
    let mut socket = running.connect(format!("{HEAD}expect: 100-continue\r\ncontent-length: 2\r\n\r\n")).await;
    let mut told = [0; 25];
    soon(socket.read_exact(&mut told)).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"[]").await.unwrap();
    assert!(one(&mut socket).await.starts_with("HTTP/1.1 400 "));
    let answer = running.all(format!("{HEAD}expect: 100-continue\r\ncontent-length: 17825792\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn requests_may_follow_each_other() {
    let running = serve(&fixture().server).await;
    let mut socket = running.connect("").await;
    for round in 0..3 {
        let text = format!("round {round}");
        socket.write_all(modern("echo", &json!({"text": text}), "").as_bytes()).await.unwrap();
        assert!(one(&mut socket).await.contains(&text));
    }
    // All at once, and one after the other all the same.
    let mut requests: String = (0..50).map(|n| modern("echo", &json!({"text": format!("<{n}>")}), "")).collect();
    requests += "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\n\r\nHEAD /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n";
    requests += "CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    requests += "GET /elsewhere HTTP/1.0\r\nhost: localhost\r\n\r\n";
    socket.write_all(requests.as_bytes()).await.unwrap();
    let answers = rest(&mut socket).await;
    let order: Vec<_> = (0..50).map(|n| answers.find(&format!("<{n}>")).unwrap()).collect();
    assert!(order.is_sorted());
    let status: Vec<_> = answers.lines().filter_map(|line| line.split_once("HTTP/1.")).collect();
    let status: Vec<_> = status.iter().map(|(_, status)| &status[2..5]).skip(50).collect();
    assert_eq!(status, ["405", "405", "404", "404"]);
}

#[tokio::test]
async fn a_slow_head_is_not_waited_for() {
    let running = serve(&hasty()).await;
    let mut silent = running.connect("").await;
    let mut half = running.connect(HEAD).await;
    let mut dripping = running.connect("G").await;
    let since = paused();
    tokio::join!(
        async {
            assert_eq!(rest(&mut silent).await, "");
            took(since, 5000);
        },
        async {
            assert_eq!(rest(&mut half).await, "");
            took(since, 5000);
        },
        async {
            // No byte winds the clock up again.
            while dripping.write_all(b"G").await.is_ok() {
                sleep(Duration::from_millis(900)).await;
                assert!(since.elapsed() < Duration::from_secs(8));
            }
        },
    );
    running.is_well().await;
}

#[tokio::test]
async fn a_slow_body_is_not_waited_for() {
    let running = serve(&hasty()).await;
    for length in ["content-length: 100\r\n\r\n{", "transfer-encoding: chunked\r\n\r\nff\r\n{"] {
        let mut socket = running.connect(format!("{HEAD}{length}")).await;
        let (mut reader, mut writer) = socket.split();
        let since = Instant::now();
        tokio::time::pause();
        let mut answer = String::new();
        let dripping = async {
            while writer.write_all(b" ").await.is_ok() && since.elapsed() < Duration::from_secs(10) {
                sleep(Duration::from_millis(900)).await;
            }
            std::future::pending().await
        };
        tokio::select! {
            read = soon(reader.read_to_string(&mut answer)) => drop(read.unwrap()),
            () = dripping => {}
        }
        tokio::time::resume();
        let took = since.elapsed().as_millis();
        assert!((5000..6200).contains(&took), "it took {took} ms");
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let running = serve(&hasty()).await;
    let mut socket = running.connect(PUT).await;
    assert!(one(&mut socket).await.starts_with("HTTP/1.1 405 "));
    let since = paused();
    assert_eq!(rest(&mut socket).await, "");
    took(since, 8000);
}

#[tokio::test]
async fn a_later_request_has_its_own_time() {
    let running = serve(&hasty()).await;
    let mut socket = running.connect(PUT).await;
    assert!(one(&mut socket).await.starts_with("HTTP/1.1 405 "));
    tokio::time::pause();
    sleep(Duration::from_secs(7)).await;
    let since = Instant::now();
    socket.write_all(b"P").await.unwrap();
    assert_eq!(rest(&mut socket).await, "");
    took(since, 5000);
}

#[tokio::test]
async fn a_call_may_take_longer_than_its_request() {
    let running = serve(&hasty()).await;
    let mut socket = running.connect(modern("long", &json!({}), "")).await;
    let since = paused();
    let answer = one(&mut socket).await;
    assert!(answer.contains("after a long time"), "{answer}");
    took(since, 15_000);
    assert_eq!(rest(&mut socket).await, "");
    took(since, 23_000);
}

/// The head of the answer is not even sent when the client leaves.
#[tokio::test]
async fn a_client_that_leaves_cancels_its_call() {
    let mut fixture = fixture();
    let running = serve(&fixture.server).await;
    for _ in 0..20 {
        let socket = running.connect(modern("hold", &json!({}), "")).await;
        assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
        drop(socket);
        assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Dropped));
    }
    let mut socket = running.connect(modern("runaway", &json!({}), "")).await;
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
    soon(socket.read_exact(&mut [0; 1000])).await.unwrap();
    drop(socket);
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Dropped));
    running.is_well().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_slows_its_handler() {
    let Fixture { server, steps, .. } = fixture();
    let running = serve(&server).await;
    let mut socket = running.connect(modern("flood", &json!({"n": 40_000}), "connection: close\r\n")).await;
    let reported = standstill(&steps).await;
    assert!(reported > 100 && reported < 20_000, "{reported} steps of {} bytes were taken", common::STEP);
    let answer = rest(&mut socket).await;
    assert_eq!(answer.matches("notifications/progress").count(), 40_000);
    assert!(answer.contains("flooded") && answer.ends_with("\r\n0\r\n\r\n"));
}

/// What a client is told unasked cannot wait for it: one that does not read is given up.
#[tokio::test]
async fn a_client_that_does_not_read_is_given_up() {
    let server = fixture().server;
    let running = serve(&server).await;
    let mut socket = running.connect("").await;
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "any", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    socket.write_all(post("", &initialize.to_string()).as_bytes()).await.unwrap();
    let answer = one(&mut socket).await;
    let session = answer.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap().to_owned() + "\r\n";
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    socket.write_all(post(&session, &initialized.to_string()).as_bytes()).await.unwrap();
    assert!(one(&mut socket).await.starts_with("HTTP/1.1 202 "));
    let listen = format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{session}\r\n");
    socket.write_all(listen.as_bytes()).await.unwrap();
    soon(socket.read_exact(&mut [0; 10])).await.unwrap();
    let much = "x".repeat(1 << 20);
    for _ in 0..64 {
        server.log(mcp_keel::Level::Emergency, &much).unwrap();
        tokio::task::yield_now().await;
    }
    let answer = rest(&mut socket).await;
    assert!(answer.len() > 1 << 20 && answer.len() < 32 << 20, "{} bytes came", answer.len());
    assert!(!answer.ends_with("\r\n0\r\n\r\n"));
    running.is_well().await;
}

#[tokio::test]
async fn shutdown_waits_for_nobody_who_waits() {
    let mut fixture = fixture();
    let running = serve(&fixture.server).await;
    let mut idle = running.connect(PUT).await;
    assert!(one(&mut idle).await.starts_with("HTTP/1.1 405 "));
    let mut silent = running.connect("").await;
    let mut head = running.connect(HEAD).await;
    let mut body = running.connect(format!("{HEAD}content-length: 100\r\n\r\n{{")).await;
    let mut refused = running.connect(format!("{HEAD}content-length: 17825792\r\n\r\n")).await;
    assert!(one(&mut refused).await.starts_with("HTTP/1.1 413 "));
    let mut held = running.connect(modern("hold", &json!({}), "")).await;
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
    let since = paused();
    (running.stop)();
    soon(running.task).await.unwrap();
    took(since, 0);
    let answer = rest(&mut held).await;
    assert!(answer.contains("-32603") && answer.contains("connection: close"), "{answer}");
    for socket in [&mut idle, &mut silent, &mut head, &mut body, &mut refused] {
        assert_eq!(rest(socket).await, "");
    }
    let again = TcpStream::connect(running.address).await;
    assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

/// An answer that nobody takes holds the end up for the grace and no longer.
#[tokio::test]
async fn shutdown_gives_up_on_who_does_not_read() {
    let Fixture { server, steps, .. } = fixture();
    let running = serve(&server).await;
    let socket = running.connect(modern("flood", &json!({"n": 1_000_000}), "")).await;
    standstill(&steps).await;
    let since = paused();
    (running.stop)();
    soon(running.task).await.unwrap();
    took(since, 2000);
    drop(socket);
}

/// A flood of clients, beyond what may be open at once: each is answered or refused, and then there is room again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_served_or_told() {
    let server = fixture().server;
    let http = server.bind_http("127.0.0.1:0").await.unwrap().max_connections(50);
    let (address, stop) = (http.local_addr(), Box::new(http.shutdown()));
    let running = Arc::new(Running { address, stop, task: tokio::spawn(http.run()) });
    let clients: Vec<_> = (0..200)
        .map(|number| {
            let running = Arc::clone(&running);
            tokio::spawn(async move {
                let request = modern("echo", &json!({"text": format!("<{number}>")}), "connection: close\r\n");
                let answer = running.all(request).await;
                let answered = answer.starts_with("HTTP/1.1 200 ") && answer.contains(&format!("<{number}>"));
                // A refusal may be lost with the connection, as it was not waited for.
                assert!(answered || answer.is_empty() || answer.starts_with("HTTP/1.1 503 "), "{answer}");
                answered
            })
        })
        .collect();
    let mut answered = 0;
    for client in clients {
        answered += usize::from(soon(client).await.unwrap());
    }
    assert!(answered >= 50, "{answered}");
    soon(async {
        while !running.all(modern("echo", &json!({"text": "x"}), "connection: close\r\n")).await.contains("200 OK") {}
    })
    .await;
}

/// The server program, with no more open files than that.
#[cfg(unix)]
async fn program(files: usize) -> (tokio::process::Child, SocketAddr) {
    use tokio::io::{AsyncBufReadExt, BufReader};

    let script = format!(r#"ulimit -n {files}; exec "$0" --http 0"#);
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", &script]).arg(common::example("fixture_server"));
    let mut child = command.stdout(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut line = String::new();
    soon(BufReader::new(child.stdout.take().unwrap()).read_line(&mut line)).await.unwrap();
    let port: u16 = line.trim().strip_prefix("listening ").unwrap().parse().unwrap();
    (child, SocketAddr::from(([127, 0, 0, 1], port)))
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_without_descriptors_recovers() {
    let (child, address) = program(40).await;
    let running = Running { address, stop: Box::new(|| ()), task: tokio::spawn(async {}) };
    let mut crowd = Vec::new();
    for _ in 0..80 {
        crowd.push(TcpStream::connect(address).await.unwrap());
    }
    crowd[0].write_all(PUT.as_bytes()).await.unwrap();
    assert!(one(&mut crowd[0]).await.starts_with("HTTP/1.1 405 "));
    drop(crowd);
    running.is_well().await;
    drop(child);
}

#[cfg(unix)]
#[tokio::test]
async fn sigterm_answers_what_runs() {
    let (mut child, address) = program(1000).await;
    let mut socket = TcpStream::connect(address).await.unwrap();
    // Its first reports say that it runs.
    socket.write_all(modern("count", &json!({"to": 1_000_000_000}), "").as_bytes()).await.unwrap();
    soon(socket.read_exact(&mut [0; 200])).await.unwrap();
    let process = i32::try_from(child.id().unwrap()).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(process).unwrap(), rustix::process::Signal::TERM)
        .unwrap();
    let answer = rest(&mut socket).await;
    assert!(answer.contains("-32603") && answer.ends_with("\r\n0\r\n\r\n"), "{:?}", answer.get(answer.len() - 300..));
    assert!(soon(child.wait()).await.unwrap().success());
}
