//! How a client behaves and what it connects to.
use std::{collections::BTreeMap, ffi::OsString, future::Future, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    error::{Error, McpError, Outcome},
    model::{ElicitResult, Raw, Root},
    server::{Connection, Server},
    trace::{Direction, Trace},
};

pub(super) type InputHandler = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;
pub(super) type NoticeHandler = Arc<dyn Fn(Notice) + Send + Sync>;

/// Which era of the protocol to speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Find out what the server speaks.
    #[default]
    Auto,
    /// Handshake and session.
    Legacy,
    /// Every request stands alone.
    Modern,
}

/// Something the server tells without being asked in particular.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Notice {
    /// The notification's method.
    pub method: String,
    /// Its parameters as JSON text.
    pub params: Raw,
}

impl Notice {
    /// The parameters as a type of yours.
    ///
    /// # Errors
    /// `Invalid` when they do not fit.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(self.params.get()).map_err(Error::invalid)
    }
}

/// A question of the server to the user.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequest {
    /// What to ask.
    pub message: String,
    /// JSON Schema of the form, when it is one.
    #[serde(default)]
    pub requested_schema: Option<Raw>,
    /// Where to send the user, when it is not a form.
    #[serde(default)]
    pub url: Option<String>,
}

/// Everything a client may be told; all of it optional.
#[derive(Clone, Default)]
pub struct Options {
    pub(super) config: BTreeMap<String, Value>,
    pub(super) capabilities: BTreeMap<String, Value>,
    pub(super) inputs: BTreeMap<&'static str, InputHandler>,
    pub(super) on_notice: Option<NoticeHandler>,
    pub(super) trace: Option<Trace>,
}

impl Options {
    /// The defaults: any era, 60 seconds a request, no handlers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Name and version told to the server.
    #[must_use]
    pub fn info(self, name: &str, version: &str) -> Self {
        self.config("info", json!({"name": name, "version": version}))
    }

    /// Fixes the era.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        let word = match mode {
            Mode::Auto => "auto",
            Mode::Legacy => "legacy",
            Mode::Modern => "modern",
        };
        self.config("mode", word)
    }

    /// How long a request may take without any progress.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.config("timeoutMs", millis(timeout))
    }

    /// How long to wait for an answer to the first question to a server of unknown era.
    #[must_use]
    pub fn probe_timeout(self, timeout: Duration) -> Self {
        self.config("probeMs", millis(timeout))
    }

    /// Adds a header to every HTTP request.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let headers = self.config.entry("headers".into()).or_insert_with(|| json!({}));
        if let Value::Object(headers) = headers {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Answers questions to the user. Without it the server is told that there is no user to ask.
    #[must_use]
    pub fn on_elicit<F, Fut, E>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ElicitResult, E>> + Send + 'static,
        E: Into<McpError> + 'static,
    {
        self.capabilities.insert("elicitation".into(), json!({}));
        self.inputs.insert("elicitation/create", input(handler));
        self
    }

    /// Answers requests for the model: takes and gives what `sampling/createMessage` of the specification says, as JSON.
    #[must_use]
    pub fn on_sample<F, Fut, E>(mut self, handler: F) -> Self
    where
        F: Fn(Raw) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<McpError> + 'static,
    {
        self.capabilities.insert("sampling".into(), json!({}));
        self.inputs.insert("sampling/createMessage", input(handler));
        self
    }

    /// Tells servers which places they may work in.
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let answer = json!({"roots": roots.into_iter().collect::<Vec<_>>()});
        self.capabilities.insert("roots".into(), json!({}));
        let handler = move |_: Raw| std::future::ready(Ok::<_, McpError>(answer.clone()));
        self.inputs.insert("roots/list", input(handler));
        self
    }

    /// Hears all notifications, in order and before the answers that follow them. Must not block.
    #[must_use]
    pub fn on_notice(mut self, handler: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        self.on_notice = Some(Arc::new(handler));
        self
    }

    /// Sees every message that is sent or comes, as JSON text. Must not block.
    #[must_use]
    pub fn trace(mut self, trace: impl Fn(Direction, &str) + Send + Sync + 'static) -> Self {
        self.trace = Some(Arc::new(move |direction, message, _| trace(direction, message)));
        self
    }

    /// Sets any other part of the core's configuration (`revision`, `maxRounds`, `limits`, …).
    #[must_use]
    pub fn config(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.config.insert(name.into(), value.into());
        self
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX >> 11)
}

fn input<A, F, Fut, R, E>(handler: F) -> InputHandler
where
    A: DeserializeOwned,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: serde::Serialize,
    E: Into<McpError>,
{
    Arc::new(move |params| match serde_json::from_str(&params) {
        Ok(params) => {
            let answer = handler(params);
            Box::pin(async move { Outcome::text(answer.await.map_err(Into::into)) })
        }
        Err(error) => {
            let refusal = Outcome::text::<()>(Err(McpError::invalid_params(error.to_string())));
            Box::pin(std::future::ready(refusal))
        }
    })
}

/// What to connect to.
#[non_exhaustive]
pub enum Target {
    /// A program that is started, and spoken to on its stdin and stdout.
    Command(Command),
    /// An HTTP endpoint.
    Http(String),
    /// A connection in this process.
    Memory(Connection),
    /// Any byte streams.
    Duplex(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

impl Target {
    /// Starts a program and speaks to it on its stdin and stdout.
    pub fn command<I: Into<OsString>>(program: impl Into<OsString>, arguments: impl IntoIterator<Item = I>) -> Self {
        Self::Command(arguments.into_iter().fold(Command::new(program), Command::argument))
    }

    /// Connects to an HTTP endpoint.
    pub fn http(url: impl Into<String>) -> Self {
        Self::Http(url.into())
    }

    /// Connects to a server in this process.
    #[must_use]
    pub fn server(server: &Server) -> Self {
        Self::Memory(server.pair())
    }

    /// Speaks over any byte streams, a message per line.
    pub fn duplex(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::Duplex(Box::new(reader), Box::new(writer))
    }
}

impl From<&Server> for Target {
    fn from(server: &Server) -> Self {
        Self::server(server)
    }
}

impl From<Connection> for Target {
    fn from(connection: Connection) -> Self {
        Self::Memory(connection)
    }
}

impl From<Command> for Target {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

/// A program to start. It inherits this process's environment and folder, and ends with its client.
#[derive(Debug, Clone)]
pub struct Command {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) folder: Option<PathBuf>,
}

impl Command {
    /// A program without arguments.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), environment: Vec::new(), folder: None }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable on top of the inherited environment.
    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Starts it in this folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}
