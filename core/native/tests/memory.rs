//! Servers and clients in one process.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]
mod common;

use std::sync::{Arc, Mutex, atomic::Ordering};

use common::{ERAS, Nothing, Number, Seen, everything, fixture, options, soon, standstill};
use mcp_keel::{
    Client, Context, Direction, Error, Json, Level, McpError, Mode, Options, Read, Resource, Server, Target, Tool,
    serde_json::json,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

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
async fn each_listener_hears_its_own() {
    const CONFIRMED: &str = "notifications/subscriptions/acknowledged";
    const UPDATED: &str = "notifications/resources/updated";
    for mode in ERAS {
        let fixture = fixture();
        fixture
            .server
            .update(|catalog| catalog.resource(Resource::new("memo://b", "b"), |_: Read, _| async { "" }))
            .unwrap();
        let everything = Arc::<Mutex<Vec<String>>>::default();
        let all = Arc::clone(&everything);
        let options = options(mode).on_notice(move |notice| all.lock().unwrap().push(notice.method));
        let client = Client::connect(&fixture.server, options).await.unwrap();
        let mut listens = Vec::new();
        for filter in [
            json!({"toolsListChanged": true}),
            json!({"resourceSubscriptions": ["memo://a"]}),
            json!({"resourceSubscriptions": ["memo://b"]}),
        ] {
            let mut listen = client.listen(filter).await.unwrap();
            assert_eq!(soon(listen.next()).await.unwrap().method, CONFIRMED);
            listens.push(listen);
        }
        fixture.server.resource_updated("memo://b").unwrap();
        fixture.server.resource_updated("memo://a").unwrap();
        fixture.server.update(|catalog| catalog.tool(Tool::new("new"), |(): (), _: Context| async { "new" })).unwrap();
        let mut heard = Vec::new();
        for listen in &mut listens {
            let notice = soon(listen.next()).await.unwrap();
            let uri = notice.params::<serde_json::Value>().unwrap()["uri"].as_str().map(str::to_owned);
            heard.push((notice.method, uri));
        }
        let expected = [
            ("notifications/tools/list_changed".to_owned(), None),
            (UPDATED.to_owned(), Some("memo://a".to_owned())),
            (UPDATED.to_owned(), Some("memo://b".to_owned())),
        ];
        assert_eq!(heard, expected, "{mode:?}");
        let everything = everything.lock().unwrap();
        assert_eq!(everything.iter().filter(|method| *method == UPDATED).count(), 2, "{everything:?}");
        assert_eq!(everything.iter().filter(|method| *method == CONFIRMED).count(), 3, "{everything:?}");
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
    for mode in ERAS {
        let client = Client::connect(&fixture.server, Options::new().mode(mode)).await.unwrap();
        for tool in ["ask", "ask_boxed"] {
            let Err(Error::Peer { code, data, .. }) = client.call_tool(tool, json!({})).await else {
                panic!("{tool} in {mode:?} is no error of the peer")
            };
            if mode == Mode::Modern {
                assert_eq!(code, -32021);
                assert_eq!(data.unwrap().get(), r#"{"requiredCapabilities":{"elicitation":{}}}"#);
            }
        }
    }
}

#[tokio::test]
async fn what_the_client_refuses_ends_the_call() {
    let fixture = fixture();
    let refusing = options(Mode::Legacy).on_sample(|_| async {
        Err::<serde_json::Value, _>(McpError::new(-32077, "no model today").with_data(json!({"retry": 5})))
    });
    let client = Client::connect(&fixture.server, refusing).await.unwrap();
    let ended = client.call_tool("model", json!({})).await;
    let Err(Error::Peer { code, message, data }) = ended else { panic!("{ended:?}") };
    assert_eq!((code, message.as_str()), (-32077, "no model today"));
    assert_eq!(data.unwrap().get(), r#"{"retry":5}"#);
}

/// Panics before and after a wait, results that are too deep for any message: one answer each.
#[tokio::test]
async fn every_failure_is_answered() {
    let server = Server::builder("failing", "1")
        .tool(Tool::new("at_once"), |_: Nothing, _: Context| async { panic!("on purpose") as String })
        .tool(Tool::new("later"), |_: Nothing, _: Context| async {
            tokio::task::yield_now().await;
            panic!("on purpose") as String
        })
        .tool(Tool::new("outside"), |_: Nothing, _: Context| -> std::future::Ready<String> { panic!("on purpose") })
        .tool(Tool::new("deep"), |_: Nothing, _: Context| async {
            let text = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
            Json(serde_json::value::RawValue::from_string(text).unwrap())
        })
        .tool(Tool::new("typed"), |_: Number, _: Context| async { "" })
        .build()
        .unwrap();
    for mode in ERAS {
        let client = Client::connect(&server, options(mode)).await.unwrap();
        for tool in ["at_once", "later", "outside", "deep"] {
            let ended = soon(client.call_tool(tool, json!({}))).await;
            assert!(matches!(ended, Err(Error::Peer { code: -32603, .. })), "{tool}: {ended:?}");
        }
        let result = soon(client.call_tool("typed", json!({"n": 3.0}))).await.unwrap();
        assert!(result.is_error && result.text().starts_with("invalid arguments: "), "{result:?}");
    }
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
async fn closing_many_times_at_once() {
    for mode in ERAS {
        let mut fixture = fixture();
        let client = Client::connect(&fixture.server, options(mode)).await.unwrap();
        let call = client.tool("hold").send().await.unwrap();
        assert_eq!(soon(fixture.seen.recv()).await, Some(Seen::Started));
        let other = tokio::spawn({
            let client = client.clone();
            async move { client.close().await }
        });
        soon(async { tokio::join!(client.close(), client.close()) }).await;
        soon(other).await.unwrap();
        assert!(soon(call).await.is_err());
    }
}

#[tokio::test]
async fn connecting_can_be_given_up() {
    let (ours, mut theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(ours);
    let connecting = tokio::spawn(Client::connect(Target::duplex(reader, writer), Options::new()));
    let mut first = [0];
    soon(theirs.read_exact(&mut first)).await.unwrap();
    connecting.abort();
    // The end of our side: the connection is closed.
    soon(theirs.read_to_end(&mut Vec::new())).await.unwrap();
    assert!(connecting.await.is_err_and(|error| error.is_cancelled()));
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
