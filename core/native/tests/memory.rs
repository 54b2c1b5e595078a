//! Servers and clients in one process.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
mod common;

use std::sync::{Arc, Mutex, atomic::Ordering};

use common::{ERAS, Seen, everything, fixture, options, soon, standstill};
use mcp_keel::{Client, Context, Direction, Error, Level, Mode, Options, Server, Target, Tool, serde_json::json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

#[tokio::test]
async fn all_features_in_both_eras() {
    for mode in ERAS {
        let mut fixture = fixture();
        let client = Client::connect(&fixture.server, options(mode)).await.unwrap();
        everything(&client, &mut fixture.seen).await;
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_features_on_many_threads() {
    for mode in ERAS {
        let mut fixture = fixture();
        let client = Client::connect(&fixture.server, options(mode)).await.unwrap();
        everything(&client, &mut fixture.seen).await;
        client.close().await;
    }
}

#[tokio::test]
async fn auto_finds_the_modern_era() {
    let fixture = fixture();
    let client = Client::connect(&fixture.server, options(Mode::Auto)).await.unwrap();
    assert_eq!(client.era(), mcp_keel::Era::Modern);
    assert_eq!(client.ready().unwrap().instructions.as_deref(), Some("Be kind."));
}

#[tokio::test]
async fn log_messages_come_before_the_result() {
    for mode in ERAS {
        let fixture = fixture();
        let words = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&words);
        let options = options(mode).on_notice(move |notice| {
            if notice.method == "notifications/message" {
                let params: serde_json::Value = notice.params().unwrap();
                heard.lock().unwrap().push(params["data"].as_str().unwrap().to_owned());
            }
        });
        let client = Client::connect(&fixture.server, options).await.unwrap();
        client.tool("chatty").log_level(Level::Info).call().await.unwrap();
        assert_eq!(*words.lock().unwrap(), ["one", "two", "three"], "{mode:?}");
    }
}

#[tokio::test]
async fn a_listener_hears_changes() {
    for mode in ERAS {
        let fixture = fixture();
        let client = Client::connect(&fixture.server, options(mode)).await.unwrap();
        let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["memo://a"]});
        let mut listen = client.listen(filter).await.unwrap();
        // An answer to a later request shows that the server knows of the subscription.
        client.list_tools().await.unwrap();
        let server = fixture.server.clone();
        server.update(|catalog| catalog.tool(Tool::new("new"), |(): (), _: Context| async { "new" })).unwrap();
        soon(async { while listen.next().await.unwrap().method != "notifications/tools/list_changed" {} }).await;
        server.resource_updated("memo://a").unwrap();
        let notice = soon(async {
            loop {
                let notice = listen.next().await.unwrap();
                if notice.method == "notifications/resources/updated" {
                    return notice;
                }
            }
        })
        .await;
        assert_eq!(notice.params::<serde_json::Value>().unwrap()["uri"], "memo://a");
        assert!(client.list_tools().await.unwrap().iter().any(|tool| tool.name == "new"));
    }
}

#[tokio::test]
async fn trace_sees_both_directions() {
    let fixture = fixture();
    let seen = Arc::<Mutex<Vec<(Direction, String)>>>::default();
    let lines = Arc::clone(&seen);
    let options =
        options(Mode::Modern).trace(move |direction, text| lines.lock().unwrap().push((direction, text.into())));
    let client = Client::connect(&fixture.server, options).await.unwrap();
    client.call_tool("echo", json!({"text": "traced"})).await.unwrap();
    let seen = seen.lock().unwrap();
    for direction in [Direction::Sent, Direction::Received] {
        assert!(seen.iter().any(|(way, text)| *way == direction && text.contains("traced")), "{seen:?}");
    }
}

#[tokio::test]
async fn a_call_without_its_handler_is_refused() {
    let fixture = fixture();
    let client = Client::connect(&fixture.server, Options::new()).await.unwrap();
    let result = client.call_tool("ask", json!({})).await;
    assert!(!matches!(result, Ok(ref result) if !result.is_error), "{result:?}");
}

#[tokio::test]
async fn closing_ends_pending_calls_and_their_handlers() {
    for mode in ERAS {
        let mut fixture = fixture();
        let client = Client::connect(&fixture.server, options(mode)).await.unwrap();
        let call = client.tool("hold").send().await.unwrap();
        assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
        soon(client.close()).await;
        let ended = soon(call).await;
        assert!(matches!(ended, Err(Error::Disconnected(_) | Error::Cancelled(_))), "{ended:?}");
        assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Dropped));
        assert!(client.call_tool("echo", json!({"text": ""})).await.is_err());
        soon(client.close()).await;
    }
}

#[tokio::test]
async fn the_last_clone_ends_the_connection() {
    let mut fixture = fixture();
    let client = Client::connect(&fixture.server, options(Mode::Modern)).await.unwrap();
    let other = client.clone();
    let call = client.tool("hold").send().await.unwrap();
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
    drop(client);
    other.list_tools().await.unwrap();
    drop(other);
    drop(call);
    assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Dropped));
}

#[tokio::test]
async fn a_closing_server_ends_its_clients() {
    for mode in ERAS {
        let mut fixture = fixture();
        let client = Client::connect(&fixture.server, options(mode)).await.unwrap();
        let call = client.tool("hold").send().await.unwrap();
        assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
        fixture.server.close();
        let ended = soon(call).await;
        assert!(matches!(ended, Err(Error::Disconnected(_) | Error::Peer { .. })), "{ended:?}");
    }
}

#[tokio::test]
async fn a_silent_peer_times_out_at_the_opening() {
    tokio::time::pause();
    let (ours, _theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(ours);
    let opened = Client::connect(Target::duplex(reader, writer), Options::new().mode(Mode::Legacy)).await;
    assert!(matches!(opened, Err(Error::Timeout(_) | Error::Disconnected(_))), "{:?}", opened.err());
}

/// A client that does not read: the handler waits, and nothing piles up.
#[tokio::test]
async fn a_slow_reader_slows_the_handler() {
    const STEPS: usize = 20_000;
    let fixture = fixture();
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let server = fixture.server.clone();
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(theirs);
        server.connection(reader, writer).await
    });
    let (reader, mut writer) = tokio::io::split(ours);
    let messages = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "any", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "flood", "arguments": {"n": STEPS}, "_meta": {"progressToken": "p"}}}),
    ];
    for message in messages {
        writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let reported = standstill(&fixture.steps).await;
    assert!(reported > 100 && reported < 3000, "{reported} steps of {} bytes were taken", common::STEP);
    let mut lines = BufReader::new(reader).lines();
    let mut steps = 0;
    while let Some(line) = soon(lines.next_line()).await.unwrap() {
        if line.contains("notifications/progress") {
            steps += 1;
        } else if line.contains("flooded") {
            break;
        }
    }
    assert_eq!(steps, STEPS);
    assert_eq!(fixture.steps.load(Ordering::SeqCst), STEPS);
}

/// Announcements wait for nobody: a client that reads none of them is given up, and the server goes on.
#[tokio::test]
async fn a_client_that_reads_no_announcements_is_given_up() {
    let fixture = fixture();
    let (ours, theirs) = tokio::io::duplex(1 << 10);
    let server = fixture.server.clone();
    let serving = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(theirs);
        server.connection(reader, writer).await
    });
    let (reader, mut writer) = tokio::io::split(ours);
    let messages = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "any", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "memo://a"}}),
    ];
    let mut lines = BufReader::new(reader).lines();
    for message in messages {
        writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        if message.get("id").is_some() {
            soon(lines.next_line()).await.unwrap().unwrap();
        }
    }
    let mut announced = 0;
    while !serving.is_finished() && announced < 1_000_000 {
        fixture.server.resource_updated("memo://a").unwrap();
        announced += 1;
        if announced % 1000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert!(announced > 10_000, "given up after {announced}");
    let ended = soon(serving).await.unwrap();
    assert!(matches!(ended, Err(Error::Disconnected(_))), "{ended:?}");
    let client = Client::connect(&fixture.server, options(Mode::Modern)).await.unwrap();
    client.list_tools().await.unwrap();
}

#[tokio::test]
async fn what_is_not_valid_is_refused_at_once() {
    let tool = Tool::new("bad").input_schema(json!({"type": "string"}));
    let built = Server::builder("s", "1").tool(tool, |(): (), _: Context| async {}).build();
    assert!(matches!(built.err(), Some(Error::Usage { .. } | Error::Invalid { .. })));
}
