//! Requests on their way: builders, running calls, listens.
use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Inner,
    engine::{WAITING, Waiting},
    options::{Notice, millis},
};
use crate::{
    error::Error,
    model::{Raw, ToolResult, raw},
};

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// Grows with every step.
    pub progress: f64,
    /// Where it ends, when that is known.
    #[serde(default)]
    pub total: Option<f64>,
    /// What is being done.
    #[serde(default)]
    pub message: Option<String>,
}

type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// A request that is not sent yet. Await it, or [`send`](Self::send) it to hold the running call.
pub struct Request<T> {
    client: Arc<Inner>,
    method: String,
    params: Raw,
    options: RequestOptions,
    on_progress: Option<OnProgress>,
    result: PhantomData<fn() -> T>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    progress: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    all: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_level: Option<crate::server::Level>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

impl<T: DeserializeOwned> Request<T> {
    pub(super) fn new(client: &Arc<Inner>, method: impl Into<String>, params: impl Serialize) -> Self {
        Self {
            client: Arc::clone(client),
            method: method.into(),
            params: raw(params),
            options: RequestOptions::default(),
            on_progress: None,
            result: PhantomData,
        }
    }

    /// Walks all pages of a list; the result holds the elements of all of them.
    #[must_use]
    pub fn all(mut self) -> Self {
        self.options.all = true;
        self
    }

    /// Hears of progress, in order, before the result. Called while the call is awaited.
    #[must_use]
    pub fn progress(mut self, on_progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.options.progress = true;
        self.on_progress = Some(Box::new(on_progress));
        self
    }

    /// How long it may take without any progress.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout_ms = Some(millis(timeout));
        self
    }

    /// How long it may take in all.
    #[must_use]
    pub fn max_timeout(mut self, timeout: Duration) -> Self {
        self.options.max_timeout_ms = Some(millis(timeout));
        self
    }

    /// The least level of log messages to be sent during this call.
    #[must_use]
    pub fn log_level(mut self, level: crate::server::Level) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Adds an entry to the request's metadata.
    #[must_use]
    pub fn meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        let meta = self.options.meta.get_or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(name.into(), value.into());
        }
        self
    }

    /// Sends it.
    ///
    /// # Errors
    /// `Usage` when it cannot be sent to this server, `Disconnected` when the connection is over.
    pub async fn send(self) -> Result<Call<T>, Error> {
        let Self { client, method, params, options, on_progress, .. } = self;
        let options = raw(options);
        let engine = Arc::clone(&client.engine);
        let waiting = engine.request(&method, params, options.get(), on_progress.is_some(), None).await?;
        Ok(Call { waiting, on_progress, over: false, client, result: PhantomData })
    }
}

impl<T: DeserializeOwned + 'static> IntoFuture for Request<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await?.await })
    }
}

/// A call of a tool that is not sent yet.
pub struct ToolRequest {
    request: Request<ToolResult>,
    name: String,
    arguments: Raw,
}

impl ToolRequest {
    pub(super) fn new(client: &Arc<Inner>, name: impl Into<String>) -> Self {
        let request = Request::new(client, "tools/call", ());
        Self { request, name: name.into(), arguments: raw(json!({})) }
    }

    /// The tool's arguments: anything that serde writes as an object.
    #[must_use]
    pub fn args(mut self, arguments: impl Serialize) -> Self {
        self.arguments = raw(arguments);
        self
    }

    /// Hears of progress, in order, before the result. Called while the call is awaited.
    #[must_use]
    pub fn progress(mut self, on_progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.request = self.request.progress(on_progress);
        self
    }

    /// How long it may take without any progress.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.request = self.request.timeout(timeout);
        self
    }

    /// The least level of log messages to be sent during this call.
    #[must_use]
    pub fn log_level(mut self, level: crate::server::Level) -> Self {
        self.request = self.request.log_level(level);
        self
    }

    /// Adds an entry to the request's metadata.
    #[must_use]
    pub fn meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.request = self.request.meta(name, value);
        self
    }

    /// Sends it, to hold the running call.
    ///
    /// # Errors
    /// As [`Request::send`].
    pub async fn send(self) -> Result<Call<ToolResult>, Error> {
        #[derive(Serialize)]
        struct Params {
            name: String,
            arguments: Raw,
        }
        let Self { mut request, name, arguments } = self;
        request.params = raw(Params { name, arguments });
        request.send().await
    }

    /// Calls the tool and waits for its result. Dropping the future cancels the call.
    ///
    /// # Errors
    /// Any ending but a result. A tool that failed is a result.
    pub async fn call(self) -> Result<ToolResult, Error> {
        self.send().await?.await
    }
}

impl IntoFuture for ToolRequest {
    type Output = Result<ToolResult, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.call())
    }
}

/// A call that was sent. Await it for its result; drop it to cancel it.
pub struct Call<T> {
    waiting: Waiting,
    on_progress: Option<OnProgress>,
    over: bool,
    client: Arc<Inner>,
    result: PhantomData<fn() -> T>,
}

impl<T> Call<T> {
    /// Cancels it: awaiting it then gives `Cancelled`, unless it ended before.
    pub fn cancel(&self, reason: &str) {
        self.client.engine.cancel(self.waiting.handle, reason);
    }

    fn report(&mut self, context: &mut Context<'_>) {
        let (Some(progress), Some(on_progress)) = (&mut self.waiting.progress, &mut self.on_progress) else { return };
        while let Poll::Ready(Some(step)) = progress.poll_recv(context) {
            on_progress(step);
        }
    }
}

impl<T: DeserializeOwned> Future for Call<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // First the result, then what was reported before it; else a step between the two looks would be lost.
        let outcome = Pin::new(&mut this.waiting.outcome).poll(context);
        this.report(context);
        let Poll::Ready(outcome) = outcome else { return Poll::Pending };
        this.over = true;
        let outcome = outcome.unwrap_or_else(|_| Err(Error::Disconnected("the client is gone".into())));
        Poll::Ready(outcome.and_then(|raw| serde_json::from_str(raw.get()).map_err(Error::invalid)))
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        if !self.over {
            self.cancel("the caller is not interested any more");
        }
    }
}

/// Notifications that were asked for with [`Client::listen`](super::Client::listen). Drop it to stop.
pub struct Listen {
    call: Call<Raw>,
    notices: mpsc::Receiver<Notice>,
}

impl Listen {
    pub(super) async fn open(client: Arc<Inner>, filter: impl Serialize) -> Result<Self, Error> {
        let params = raw(json!({"notifications": serde_json::to_value(filter).map_err(Error::invalid)?}));
        let (sender, notices) = mpsc::channel(WAITING);
        let engine = Arc::clone(&client.engine);
        let waiting = engine.request("subscriptions/listen", params, "{}", false, Some(sender)).await?;
        let call = Call { waiting, on_progress: None, over: false, client, result: PhantomData };
        Ok(Self { call, notices })
    }

    /// The next notification; `None` when the server or the connection ended it. At most 1024 wait here, more are dropped.
    pub async fn next(&mut self) -> Option<Notice> {
        self.notices.recv().await
    }

    /// Waits for the end and tells why it came: `Ok` when the server ended it in good order.
    ///
    /// # Errors
    /// As any request; `Usage` when the server has nothing to listen to.
    pub async fn ended(self) -> Result<(), Error> {
        self.call.await.map(drop)
    }
}

impl Stream for Listen {
    type Item = Notice;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Notice>> {
        self.notices.poll_recv(context)
    }
}
