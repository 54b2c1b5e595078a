//! Exchanges over hyper: one `fetch` record out, head and body parts back in.
use std::{fmt::Write as _, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body::{Body, Frame, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use serde::Deserialize;

use super::engine::Engine;
use crate::error::Error;

/// Below the five seconds after which common servers close idle connections, so that few requests meet a closing one.
const IDLE: Duration = Duration::from_secs(4);
const CONNECT: Duration = Duration::from_secs(30);

/// Cheap to clone; clones share one pool of connections.
#[derive(Clone)]
pub(super) struct Fetcher {
    client: Client<HttpsConnector<HttpConnector>, Whole>,
}

/// Text of a `fetch` record.
#[derive(Deserialize)]
struct Fetch {
    url: String,
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: Option<String>,
}

impl Fetcher {
    pub(super) fn new(url: &str) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let builder = HttpsConnectorBuilder::new();
        // The system's certificates take a while to read: only where they are needed, or a redirect may lead there.
        let with_roots = if url.starts_with("http:") {
            builder.with_webpki_roots()
        } else {
            builder.with_native_roots().unwrap_or_else(|_| HttpsConnectorBuilder::new().with_webpki_roots())
        };
        let connector = with_roots.https_or_http().enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        Self { client }
    }

    /// Performs one exchange and tells the core all of it.
    pub(super) async fn exchange(&self, engine: &Arc<Engine>, stream: u64, method: &str, fetch: &[u8]) {
        let told = match self.run(engine, stream, method, fetch).await {
            Ok(()) => engine.drive(|flat, now| flat.end(stream, now)),
            Err(reason) => engine.drive(|flat, now| flat.failed(stream, &reason, now)),
        };
        // The core may have given the exchange up in the meantime.
        let _ = told;
    }

    async fn run(&self, engine: &Arc<Engine>, stream: u64, method: &str, fetch: &[u8]) -> Result<(), String> {
        let fetch: Fetch = serde_json::from_slice(fetch).map_err(|error| error.to_string())?;
        let response = self.client.request(request(method, fetch)?).await.map_err(|error| chain(&error))?;
        let (head, mut body) = response.into_parts();
        let mut lines = String::new();
        for (name, value) in &head.headers {
            let _ = writeln!(lines, "{name}: {}", String::from_utf8_lossy(value.as_bytes()));
        }
        let _ = engine.drive(|flat, now| flat.response(stream, head.status.as_u16(), &lines, now));
        loop {
            let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
            let Some(frame) = frame else { break };
            if let Ok(data) = frame.map_err(|error| chain(&error))?.into_data() {
                let _ = engine.drive(|flat, now| flat.body(stream, &data, now));
            }
        }
        Ok(())
    }
}

fn request(method: &str, fetch: Fetch) -> Result<Request<Whole>, String> {
    let mut request = Request::new(Whole(fetch.body.map(Bytes::from)));
    *request.method_mut() = method.parse().map_err(|_| format!("{method} is no HTTP method"))?;
    *request.uri_mut() = fetch.url.parse().map_err(|error| format!("{}: {error}", fetch.url))?;
    for (name, value) in fetch.headers {
        let parsed = HeaderName::try_from(&name).ok().zip(HeaderValue::try_from(value).ok());
        // The value is not told: it may be a secret.
        let (name, value) = parsed.ok_or_else(|| format!("the header {name} cannot be sent"))?;
        request.headers_mut().append(name, value);
    }
    Ok(request)
}

/// What went wrong, down to its cause: hyper's own words say only "client error".
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// A request body that is there as a whole.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Error>>> {
        std::task::Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
