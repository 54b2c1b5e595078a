//! Clients: connect to a program, an HTTP endpoint, byte streams or a server in this process.
mod call;
mod engine;
mod http;
mod options;
mod pipe;

use std::{collections::BTreeMap, sync::Arc};

use mcp_keel_core::flat::FlatClient;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{sync::Mutex, task::JoinHandle};

pub use self::{
    call::{Call, Listen, Progress, Request, ToolRequest},
    options::{Command, ElicitRequest, Mode, Notice, Options, Target},
};
use self::{
    engine::{Engine, Status},
    http::Fetcher,
};
use crate::{
    clock,
    error::Error,
    model::{Completion, Prompt, PromptResult, Raw, ReadResult, Resource, ResourceTemplate, Tool, ToolResult, raw},
    trace::tracer,
};

/// A connection to one server. Cheap to clone; the connection ends with the last clone, or with [`close`](Self::close).
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    engine: Arc<Engine>,
    /// Moves the bytes of a pipe; HTTP has a task per exchange instead.
    link: Mutex<Option<JoinHandle<()>>>,
    process: Option<u32>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.engine.drive(|flat, now| flat.close(now));
    }
}

/// Which era of the protocol a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Era {
    /// Handshake and session.
    Legacy,
    /// Every request stands alone.
    Modern,
}

/// What the opening found out.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Ready {
    /// Name, version and more of the server, when it told them.
    #[serde(default)]
    pub server: Option<BTreeMap<String, Value>>,
    /// What the server can do.
    #[serde(default)]
    pub capabilities: BTreeMap<String, Value>,
    /// How to use it.
    #[serde(default)]
    pub instructions: Option<String>,
    /// The era.
    pub era: Era,
    /// The revision of the protocol.
    #[serde(default)]
    pub revision: String,
}

impl Client {
    /// Connects, and waits until the server is known.
    ///
    /// # Errors
    /// `Disconnected` with the reason (exit code and last stderr of a program), `Timeout`, `Usage` when nothing both sides
    /// speak was found.
    pub async fn connect(target: impl Into<Target>, mut options: Options) -> Result<Self, Error> {
        let target = target.into();
        let mut config = options.config.clone();
        config
            .entry("info".into())
            .or_insert_with(|| json!({"name": "mcp-keel", "version": env!("CARGO_PKG_VERSION")}));
        config.insert("capabilities".into(), Value::from_iter(options.capabilities.clone()));
        let fetcher = if let Target::Http(url) = &target {
            config.insert("link".into(), "http".into());
            config.insert("url".into(), url.clone().into());
            Some(Fetcher::new(url))
        } else {
            config.insert("link".into(), "pipe".into());
            None
        };
        options.trace = tracer("client", options.trace);
        config.insert("trace".into(), options.trace.is_some().into());
        let flat = FlatClient::new(raw(config).get(), &clock::seed()?)?;
        let engine = Engine::new(flat, options, fetcher);
        let (link, process) = link(&engine, target)?;
        let inner = Inner { engine: Arc::clone(&engine), link: Mutex::new(link), process };
        let client = Self { inner: Arc::new(inner) };
        engine.drive(|flat, now| flat.start(now))?;
        if let Err(error) = engine.opened().await {
            client.close().await;
            return Err(error);
        }
        Ok(client)
    }

    /// What the opening found out.
    #[must_use]
    pub fn ready(&self) -> Option<Arc<Ready>> {
        match self.inner.engine.status() {
            Status::Ready(ready) | Status::Closed(_, Some(ready)) => Some(ready),
            Status::Opening | Status::Closed(_, None) => None,
        }
    }

    /// The era this connection speaks.
    #[must_use]
    pub fn era(&self) -> Era {
        self.ready().map_or(Era::Legacy, |ready| ready.era)
    }

    /// The revision of the protocol this connection speaks.
    #[must_use]
    pub fn revision(&self) -> String {
        self.ready().map(|ready| ready.revision.clone()).unwrap_or_default()
    }

    /// Name, version and more of the server, when it told them.
    #[must_use]
    pub fn server_info(&self) -> Option<BTreeMap<String, Value>> {
        self.ready().and_then(|ready| ready.server.clone())
    }

    /// The process that was started, when it is a program that this is connected to.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.inner.process
    }

    /// All tools, from all pages.
    ///
    /// # Errors
    /// As any request.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        #[derive(Deserialize)]
        struct List {
            tools: Vec<Tool>,
        }
        self.list::<List>("tools/list").await.map(|list| list.tools)
    }

    /// All resources, from all pages.
    ///
    /// # Errors
    /// As any request.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        #[derive(Deserialize)]
        struct List {
            resources: Vec<Resource>,
        }
        self.list::<List>("resources/list").await.map(|list| list.resources)
    }

    /// All resource templates, from all pages.
    ///
    /// # Errors
    /// As any request.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct List {
            resource_templates: Vec<ResourceTemplate>,
        }
        self.list::<List>("resources/templates/list").await.map(|list| list.resource_templates)
    }

    /// All prompts, from all pages.
    ///
    /// # Errors
    /// As any request.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        #[derive(Deserialize)]
        struct List {
            prompts: Vec<Prompt>,
        }
        self.list::<List>("prompts/list").await.map(|list| list.prompts)
    }

    async fn list<T: DeserializeOwned + 'static>(&self, method: &str) -> Result<T, Error> {
        self.request::<T>(method, json!({})).all().await
    }

    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    /// Any ending but a result. A tool that failed is a result with `is_error`.
    pub async fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<ToolResult, Error> {
        self.tool(name).args(arguments).call().await
    }

    /// Begins a call of a tool, to set more than its arguments.
    pub fn tool(&self, name: impl Into<String>) -> ToolRequest {
        ToolRequest::new(&self.inner, name)
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// As any request.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResult, Error> {
        self.request("resources/read", json!({"uri": uri})).await
    }

    /// Gets the messages of a prompt.
    ///
    /// # Errors
    /// As any request.
    pub async fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<PromptResult, Error> {
        #[derive(Serialize)]
        struct Params<'a, A> {
            name: &'a str,
            arguments: A,
        }
        self.request("prompts/get", Params { name, arguments }).await
    }

    /// Completes an argument of a prompt.
    ///
    /// # Errors
    /// As any request.
    pub async fn complete_prompt(&self, prompt: &str, argument: &str, value: &str) -> Result<Completion, Error> {
        self.complete(json!({"type": "ref/prompt", "name": prompt}), argument, value).await
    }

    /// Completes a variable of a resource template.
    ///
    /// # Errors
    /// As any request.
    pub async fn complete_template(&self, template: &str, variable: &str, value: &str) -> Result<Completion, Error> {
        self.complete(json!({"type": "ref/resource", "uri": template}), variable, value).await
    }

    /// Completes an argument of anything, by a reference as the specification has it.
    ///
    /// # Errors
    /// As any request.
    pub async fn complete(&self, reference: Value, argument: &str, value: &str) -> Result<Completion, Error> {
        #[derive(Deserialize)]
        struct Completed {
            completion: Completion,
        }
        let params = json!({"ref": reference, "argument": {"name": argument, "value": value}});
        self.request::<Completed>("completion/complete", params).await.map(|completed| completed.completion)
    }

    /// Any request. The result is read into `T`; [`Raw`] takes it as it is.
    pub fn request<T: DeserializeOwned>(&self, method: impl Into<String>, params: impl Serialize) -> Request<T> {
        Request::new(&self.inner, method, params)
    }

    /// Any notification.
    ///
    /// # Errors
    /// `Usage` when it cannot be sent to this server.
    pub async fn notify(&self, method: &str, params: impl Serialize) -> Result<(), Error> {
        let params: Raw = raw(params);
        self.inner.engine.outbox.room().await;
        Ok(self.inner.engine.drive(|flat, now| flat.notify(method, params.get(), now))?)
    }

    /// Listens to changes. The filter has `toolsListChanged`, `promptsListChanged`, `resourcesListChanged` (booleans) and
    /// `resourceSubscriptions` (uris), all optional.
    ///
    /// # Errors
    /// As any request.
    pub async fn listen(&self, filter: impl Serialize) -> Result<Listen, Error> {
        Listen::open(Arc::clone(&self.inner), filter).await
    }

    /// Ends the connection: everything pending fails, a program is ended (its stdin is closed; two seconds later SIGTERM, two
    /// seconds later SIGKILL). May be called from anywhere, any number of times.
    pub async fn close(&self) {
        let engine = &self.inner.engine;
        match engine.drive(|flat, now| flat.close(now)) {
            Err(error) if error.code == "internal_error" => {}
            // Closed before, or being closed by another task: the same end.
            _ => engine.until_closed().await,
        }
        let mut link = self.inner.link.lock().await;
        if let Some(running) = link.as_mut() {
            let _ = running.await;
            *link = None;
        }
    }
}

/// Starts what moves the bytes; for a program also gives its process.
fn link(engine: &Arc<Engine>, target: Target) -> Result<(Option<JoinHandle<()>>, Option<u32>), Error> {
    let runtime = engine.runtime.clone();
    let engine = Arc::clone(engine);
    let mut process = None;
    let task = match target {
        Target::Http(_) => return Ok((None, None)),
        Target::Command(command) => {
            let child = pipe::start(&command)?;
            process = child.id();
            runtime.spawn(pipe::supervise(engine, child))
        }
        Target::Memory(connection) => runtime.spawn(async move {
            let (reader, writer) = tokio::io::split(connection.stream);
            pipe::run(&engine, reader, writer).await;
            drop(connection.presence);
        }),
        Target::Duplex(reader, writer) => runtime.spawn(async move { pipe::run(&engine, reader, writer).await }),
    };
    Ok((Some(task), process))
}
