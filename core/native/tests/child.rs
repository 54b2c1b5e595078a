//! Programs on stdin and stdout.
#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
mod common;

use common::{ERAS, example, options, soon};
use mcp_keel::{Client, Command, Error, Mode, Options, Target, serde_json::json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

fn fixture() -> Target {
    Target::command(example("fixture_server"), ["--stdio"])
}

fn shell(script: &str) -> Target {
    Command::new("/bin/sh").argument("-c").argument(script).into()
}

fn kill(process: u32) {
    let process = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
}

fn terminate(process: u32) {
    let process = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
}

fn is_alive(process: u32) -> bool {
    let process = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::test_kill_process(process).is_ok()
}

#[tokio::test]
async fn calls_in_both_eras() {
    for mode in ERAS {
        let client = Client::connect(fixture(), options(mode)).await.unwrap();
        assert_eq!(client.call_tool("echo", json!({"text": "hi"})).await.unwrap().text(), "hi");
        let process = client.process_id().unwrap();
        soon(client.close()).await;
        assert!(!is_alive(process));
    }
}

#[tokio::test]
async fn a_killed_server_ends_every_pending_call() {
    for mode in ERAS {
        let client = Client::connect(fixture(), options(mode)).await.unwrap();
        let mut calls = Vec::new();
        for _ in 0..8 {
            calls.push(client.tool("slow").args(json!({"ms": 60_000})).send().await.unwrap());
        }
        kill(client.process_id().unwrap());
        for call in calls {
            let ended = soon(call).await;
            let Err(Error::Disconnected(reason)) = ended else { panic!("{ended:?}") };
            assert!(reason.contains("signal: 9"), "{reason}");
        }
        assert!(matches!(soon(client.list_tools()).await, Err(Error::Disconnected(_))));
    }
}

#[tokio::test]
async fn a_program_that_ends_at_once_tells_why() {
    for mode in [Mode::Auto, Mode::Legacy, Mode::Modern] {
        let target = shell("echo 'no such database' >&2; exit 3");
        let error = soon(Client::connect(target, Options::new().mode(mode))).await.err().unwrap();
        let text = error.to_string();
        assert!(matches!(error, Error::Disconnected(_)), "{error:?}");
        assert!(text.contains("no such database") && text.contains("exit status: 3"), "{text}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let target = Target::command("/nowhere/at/all", [""; 0]);
    let error = Client::connect(target, Options::new()).await.err().unwrap();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}

/// Closing its output is the end of the connection, even if the program lives on; closing then ends the program too.
#[tokio::test]
async fn a_program_that_closes_its_output_is_ended() {
    let target = shell("exec 1>&-; trap '' TERM; while :; do read line || sleep 100; done");
    let error = soon(Client::connect(target, Options::new().mode(Mode::Legacy))).await.err().unwrap();
    assert!(matches!(error, Error::Disconnected(_)), "{error:?}");
}

/// What a server leaves behind in its process group goes with it.
#[tokio::test]
async fn children_of_the_program_end_with_it() {
    let server = example("fixture_server");
    let script = format!("sleep 1000 & echo $! >&2; echo pid $! >\"$PIDFILE\"; exec {} --stdio", server.display());
    let file = std::env::temp_dir().join(format!("mcp-keel-child-{}", std::process::id()));
    let command = Command::new("/bin/sh").argument("-c").argument(script).environment("PIDFILE", &file);
    let client = Client::connect(command, Options::new()).await.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let child = text.trim().trim_start_matches("pid ").parse().unwrap();
    assert!(is_alive(child));
    soon(client.close()).await;
    // The signal is sent; it is gone once init has reaped it.
    soon(async {
        while is_alive(child) && !is_zombie(child) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

fn is_zombie(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[tokio::test]
async fn big_arguments_and_results() {
    let client = Client::connect(fixture(), options(Mode::Modern)).await.unwrap();
    let text = "ü".repeat(2 << 20);
    assert_eq!(client.call_tool("echo", json!({"text": text})).await.unwrap().text(), text);
    client.close().await;
}

/// Some hosts give their children sockets for stdin and stdout.
#[tokio::test]
async fn a_server_on_sockets() {
    let (input, server_input) = std::os::unix::net::UnixStream::pair().unwrap();
    let (output, server_output) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut child = tokio::process::Command::new(example("fixture_server"))
        .arg("--stdio")
        .stdin(std::os::fd::OwnedFd::from(server_input))
        .stdout(std::os::fd::OwnedFd::from(server_output))
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stream = |socket: std::os::unix::net::UnixStream| {
        socket.set_nonblocking(true).unwrap();
        tokio::net::UnixStream::from_std(socket).unwrap()
    };
    let target = Target::duplex(stream(output), stream(input));
    let client = Client::connect(target, options(Mode::Modern)).await.unwrap();
    let text = "x".repeat(1 << 20);
    assert_eq!(client.call_tool("echo", json!({"text": text})).await.unwrap().text(), text);
    soon(client.close()).await;
    assert!(soon(child.wait()).await.unwrap().success());
}

/// A host that dies takes its calls with it: the server does not wait for their end.
#[tokio::test]
async fn a_server_whose_host_is_gone_ends() {
    let mut child = tokio::process::Command::new(example("fixture_server"))
        .arg("--stdio")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let slow = json!({"name": "slow", "arguments": {"ms": 600_000}});
    let client = json!({"protocolVersion": "any", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    for (id, method, params) in [(1, "initialize", client), (2, "tools/call", slow), (3, "tools/list", json!({}))] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    // The list is answered after the slow call was read.
    while !soon(lines.next_line()).await.unwrap().unwrap().contains("\"id\":3") {}
    drop((stdin, lines));
    assert!(soon(child.wait()).await.unwrap().success());
}

#[tokio::test]
async fn sigterm_answers_what_runs() {
    for mode in ERAS {
        let client = Client::connect(fixture(), options(mode)).await.unwrap();
        let call = client.tool("slow").args(json!({"ms": 60_000})).send().await.unwrap();
        client.call_tool("echo", json!({"text": "the call is there"})).await.unwrap();
        terminate(client.process_id().unwrap());
        let ended = soon(call).await;
        assert!(matches!(ended, Err(Error::Peer { code: -32603, .. })), "{ended:?}");
        let Err(Error::Disconnected(reason)) = soon(client.list_tools()).await else { panic!("still there") };
        assert!(reason.contains("exit status: 0"), "{reason}");
    }
}
