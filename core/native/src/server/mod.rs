//! Servers: declare what you offer, then serve it on stdio, HTTP, any byte streams, or in memory.
mod answer;
mod catalog;
mod context;
mod engine;
mod handler;
mod http;
mod pace;
mod pipe;
mod running;
mod stdio;

use std::{collections::BTreeMap, convert::Infallible, future::Future, sync::Arc, time::Duration};

use mcp_keel_core::{flat::FlatServer, limits::Limits};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::ToSocketAddrs,
    sync::oneshot,
    time::{Instant, timeout},
};

use self::engine::Engine;
pub use self::{
    answer::AnswerBody,
    catalog::Catalog,
    context::{CallInfo, Context, Level},
    handler::{IntoCompletion, IntoPromptResult, IntoReadResult, IntoToolResult},
    http::HttpServer,
};
use crate::{
    clock,
    error::Error,
    model::{CompletionRequest, Prompt, Read, Resource, ResourceTemplate, Tool, raw},
    signal,
    trace::{Direction, Trace, tracer},
};

/// How long a server that was closed takes for the last words of its connections.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes in flight in one direction of an in-memory connection.
const PAIR: usize = 64 << 10;

/// A server. Cheap to clone; all clones are the same one, and it may serve many connections of any kind at once.
#[derive(Clone)]
pub struct Server {
    engine: Arc<Engine>,
}

/// One side of an in-memory connection, for [`Client::connect`](crate::Client::connect).
pub struct Connection {
    pub(crate) stream: DuplexStream,
    /// Dropped with the stream, which by itself would show only at the next write.
    pub(crate) presence: oneshot::Sender<Infallible>,
}

impl Server {
    /// Begins a server of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        let info = json!({"name": name.into(), "version": version.into()});
        Builder {
            config: BTreeMap::from([("info".into(), info)]),
            limits: BTreeMap::new(),
            catalog: Catalog::default(),
            trace: None,
        }
    }

    /// Serves stdin and stdout until the client is gone: it closed stdin and everything is answered, or it stopped reading.
    /// Nothing else may write to stdout. SIGTERM and SIGINT close the server: what runs is answered with an error first.
    ///
    /// # Errors
    /// `Usage` when the server is closed.
    pub async fn serve_stdio(&self) -> Result<(), Error> {
        let (reader, writer, left) = stdio::streams();
        let serving = pipe::serve(&self.engine, reader, writer, left);
        tokio::pin!(serving);
        let served = tokio::select! {
            served = serving.as_mut() => served,
            () = signal::asked_to_end() => {
                self.close();
                timeout(GRACE, serving).await.unwrap_or(Ok(()))
            }
        };
        match served {
            // A client that left while we wrote is a client that left.
            Err(Error::Disconnected(_)) => Ok(()),
            served => served,
        }
    }

    /// Serves one connection over any byte streams, a message per line.
    ///
    /// # Errors
    /// `Disconnected` when the client stopped reading while there was something to write.
    pub async fn connection(
        &self,
        reader: impl AsyncRead + Send + Unpin,
        writer: impl AsyncWrite + Send + Unpin,
    ) -> Result<(), Error> {
        pipe::serve(&self.engine, reader, writer, std::future::pending()).await
    }

    /// Opens a connection in this process and serves it in a task.
    #[must_use]
    pub fn pair(&self) -> Connection {
        let (ours, stream) = tokio::io::duplex(PAIR);
        let (presence, present) = oneshot::channel();
        let engine = Arc::clone(&self.engine);
        tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(ours);
            let left = async { drop(present.await) };
            // The client knows why its connection ended.
            let _ = pipe::serve(&engine, reader, writer, left).await;
        });
        Connection { stream, presence }
    }

    /// Binds an HTTP server; [`HttpServer::run`] serves it.
    ///
    /// # Errors
    /// `Disconnected` when the address cannot be bound.
    pub async fn bind_http(&self, address: impl ToSocketAddrs) -> Result<HttpServer, Error> {
        HttpServer::bind(Arc::clone(&self.engine), address).await
    }

    /// Serves HTTP on this address until SIGTERM or SIGINT comes: see [`HttpServer::run_until_signal`].
    ///
    /// # Errors
    /// `Disconnected` when the address cannot be bound.
    pub async fn serve_http(&self, address: impl ToSocketAddrs) -> Result<(), Error> {
        self.bind_http(address).await?.run_until_signal().await;
        Ok(())
    }

    /// Answers one HTTP request of your own hyper stack (or tower's, or axum's).
    pub async fn answer_http<B>(&self, request: ::http::Request<B>) -> ::http::Response<AnswerBody>
    where
        B: http_body::Body<Data = bytes::Bytes> + Unpin,
    {
        let by = Instant::now() + self.engine.request_time;
        match answer::arrive(&self.engine, request, by).await {
            Ok(request) => answer::answer(Arc::clone(&self.engine), request).await,
            Err(refusal) => refusal,
        }
    }

    /// Changes what is offered; clients that listen are told. A change that is refused leaves everything as it was.
    ///
    /// # Errors
    /// `Usage` when a declaration is not valid.
    pub fn update(&self, change: impl FnOnce(&mut Catalog)) -> Result<(), Error> {
        self.engine.update(change)
    }

    /// Tells clients that subscribed to it that a resource has changed.
    ///
    /// # Errors
    /// `Usage` when the server is closed.
    pub fn resource_updated(&self, uri: &str) -> Result<(), Error> {
        let change = raw(json!({"resource": uri}));
        Ok(self.engine.drive(|flat, now| flat.publish(change.get(), now))?)
    }

    /// Sends a log message that is not about one call, to clients that want this level.
    ///
    /// # Errors
    /// `Usage` when the server is closed.
    pub fn log(&self, level: Level, data: impl Serialize) -> Result<(), Error> {
        let entry = context::log_entry(None, level, data);
        Ok(self.engine.drive(|flat, now| flat.log(0, entry.get(), now))?)
    }

    /// Stops: running calls are cancelled and answered with an error, all connections closed once that is written.
    pub fn close(&self) {
        self.engine.close();
    }
}

/// Describes a [`Server`].
pub struct Builder {
    config: BTreeMap<String, Value>,
    trace: Option<Trace>,
    limits: BTreeMap<String, Value>,
    catalog: Catalog,
}

impl Builder {
    /// Tells the model how to use this server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.config("instructions", instructions.into())
    }

    /// Adds a tool: see [`Catalog::tool`].
    #[must_use]
    pub fn tool<A, F, Fut, R>(mut self, tool: Tool, function: F) -> Self
    where
        A: DeserializeOwned + 'static,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult + 'static,
    {
        self.catalog.tool(tool, function);
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource<F, Fut, R>(mut self, resource: Resource, function: F) -> Self
    where
        F: Fn(Read, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoReadResult + 'static,
    {
        self.catalog.resource(resource, function);
        self
    }

    /// Adds a resource template.
    #[must_use]
    pub fn resource_template<F, Fut, R>(mut self, template: ResourceTemplate, function: F) -> Self
    where
        F: Fn(Read, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoReadResult + 'static,
    {
        self.catalog.resource_template(template, function);
        self
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt<A, F, Fut, R>(mut self, prompt: Prompt, function: F) -> Self
    where
        A: DeserializeOwned + 'static,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoPromptResult + 'static,
    {
        self.catalog.prompt(prompt, function);
        self
    }

    /// Completes arguments of prompts and resource templates.
    #[must_use]
    pub fn completion<F, Fut, R>(mut self, function: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoCompletion + 'static,
    {
        self.catalog.completion(function);
        self.config("completions", true)
    }

    /// Bounds a resource, by the core's name for it (`messageBytes`, `sessions`, `pendingCalls`, …).
    #[must_use]
    pub fn limit(mut self, name: impl Into<String>, value: u64) -> Self {
        self.limits.insert(name.into(), value.into());
        self
    }

    /// Sees every message that is sent or comes, as JSON text, and the number of its conversation: the same for all of one
    /// pipe or session, 0 when it was refused before it belonged to one. Must not block.
    #[must_use]
    pub fn trace(mut self, trace: impl Fn(Direction, &str, u64) + Send + Sync + 'static) -> Self {
        self.trace = Some(Arc::new(trace));
        self
    }

    /// Sets any other part of the core's configuration (`http`, `pageSize`, `cache`, `capabilities`, …).
    #[must_use]
    pub fn config(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.config.insert(name.into(), value.into());
        self
    }

    /// Makes the server.
    ///
    /// # Errors
    /// `Usage` when the configuration or a declaration is not valid.
    pub fn build(mut self) -> Result<Server, Error> {
        let limits = Value::from_iter(self.limits);
        self.config.insert("limits".into(), limits.clone());
        let trace = tracer("server", self.trace);
        self.config.insert("trace".into(), trace.is_some().into());
        let config = raw(&self.config);
        let flat = FlatServer::new(config.get(), &clock::seed()?)?;
        let limits: Limits = serde_json::from_value(limits).map_err(Error::invalid)?;
        let engine = Arc::new(Engine::new(flat, &limits, trace));
        engine.update(|catalog| *catalog = self.catalog)?;
        Ok(Server { engine })
    }
}
