//! From async functions of any types to the one shape the engine runs.
use std::{any::Any, fmt::Display, future::Future, pin::Pin, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use super::Context;
use crate::{
    error::{Error, McpError, Outcome},
    model::{Completion, Json, PromptMessage, PromptResult, Read, ReadResult, ResourceContents, ToolResult},
};

pub(crate) type Answer = Pin<Box<dyn Future<Output = String> + Send>>;
/// Takes the input's JSON text, gives the outcome's.
pub(crate) type Handler = Arc<dyn Fn(String, Context) -> Answer + Send + Sync>;

/// Input that does not fit the function's type: told to the model by tools, to the client by everything else.
type Refusal = fn(serde_json::Error) -> String;

fn handler<A, F, Fut, R>(function: F, finish: fn(R, &A::Kept) -> String, refuse: Refusal) -> Handler
where
    A: Input,
    F: Fn(A::Value, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: 'static,
{
    Arc::new(move |input, context| match A::read(&input) {
        Ok((value, kept)) => {
            let future = function(value, context);
            Box::pin(async move { finish(future.await, &kept) })
        }
        Err(error) => {
            let answer = refuse(error);
            Box::pin(async move { answer })
        }
    })
}

/// How an input is read, and what of it is needed again when the result is written.
trait Input: 'static {
    type Value;
    type Kept: Send + 'static;
    fn read(text: &str) -> Result<(Self::Value, Self::Kept), serde_json::Error>;
}

struct Plain<A>(std::marker::PhantomData<A>);
struct Reading;

impl<A: DeserializeOwned + 'static> Input for Plain<A> {
    type Value = A;
    type Kept = ();
    fn read(text: &str) -> Result<(A, ()), serde_json::Error> {
        Ok((serde_json::from_str(text)?, ()))
    }
}

impl Input for Reading {
    type Value = Read;
    type Kept = String;
    fn read(text: &str) -> Result<(Read, String), serde_json::Error> {
        let read: Read = serde_json::from_str(text)?;
        let uri = read.uri.clone();
        Ok((read, uri))
    }
}

pub(crate) fn tool<A, F, Fut, R>(function: F) -> Handler
where
    A: DeserializeOwned + 'static,
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult + 'static,
{
    handler::<Plain<A>, _, _, _>(
        function,
        |result, ()| Outcome::text(result.into_tool_result()),
        |error| Outcome::text(Ok(ToolResult::error(unfit(&error)))),
    )
}

pub(crate) fn prompt<A, F, Fut, R>(function: F) -> Handler
where
    A: DeserializeOwned + 'static,
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoPromptResult + 'static,
{
    handler::<Plain<A>, _, _, _>(function, |result, ()| Outcome::text(result.into_prompt_result()), refused)
}

pub(crate) fn completion<F, Fut, R>(function: F) -> Handler
where
    F: Fn(crate::model::CompletionRequest, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoCompletion + 'static,
{
    #[derive(Serialize)]
    struct Completed {
        completion: Completion,
    }
    handler::<Plain<_>, _, _, _>(
        function,
        |result, ()| Outcome::text(result.into_completion().map(|completion| Completed { completion })),
        refused,
    )
}

pub(crate) fn read<F, Fut, R>(function: F, mime_type: Option<String>) -> Handler
where
    F: Fn(Read, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoReadResult + 'static,
{
    let typed = move |read: Read, context| {
        let future = function(read, context);
        let mime_type = mime_type.clone();
        async move {
            let mut result = future.await.into_read_result()?;
            for contents in &mut result.contents {
                if contents.mime_type.is_none() {
                    contents.mime_type.clone_from(&mime_type);
                }
            }
            Ok(result)
        }
    };
    let finish = |result: Result<ReadResult, McpError>, uri: &String| {
        Outcome::text(result.map(|mut result| {
            for contents in result.contents.iter_mut().filter(|contents| contents.uri.is_empty()) {
                contents.uri.clone_from(uri);
            }
            result
        }))
    };
    handler::<Reading, _, _, _>(typed, finish, refused)
}

fn refused(error: serde_json::Error) -> String {
    Outcome::text::<()>(Err(McpError::invalid_params(unfit(&error))))
}

fn unfit(error: &serde_json::Error) -> String {
    format!("invalid arguments: {error}")
}

/// A [`McpError`] stays one, wherever it comes from, and so does what the client answered to a question; anything else is
/// only words.
fn mcp_error<E: Display + 'static>(error: &E) -> Option<McpError> {
    let any: &dyn Any = error;
    let boxed = any.downcast_ref::<Box<dyn std::error::Error + Send + Sync>>();
    let own = any.downcast_ref::<McpError>().or_else(|| boxed?.downcast_ref());
    let asked = || any.downcast_ref::<Error>().or_else(|| boxed?.downcast_ref());
    match (own, asked) {
        (Some(error), _) => Some(error.clone()),
        (None, asked) => asked().filter(|error| matches!(error, Error::Peer { .. })).cloned().map(McpError::from),
    }
}

/// What a tool may return: text, [`Json`], [`ToolResult`], nothing, or a `Result` of these. An error becomes a result with
/// `isError` that carries its text; a [`McpError`], and an [`Error::Peer`] from a question, become that JSON-RPC error.
pub trait IntoToolResult {
    /// Converts.
    ///
    /// # Errors
    /// The JSON-RPC error to answer with.
    fn into_tool_result(self) -> Result<ToolResult, McpError>;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, McpError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, McpError> {
        Ok(ToolResult::default())
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, McpError> {
        Ok(ToolResult::text_block(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<ToolResult, McpError> {
        Ok(ToolResult::text_block(self))
    }
}

impl IntoToolResult for crate::model::Content {
    fn into_tool_result(self) -> Result<ToolResult, McpError> {
        Ok(ToolResult::default().with(self))
    }
}

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, McpError> {
        match serde_json::value::to_raw_value(&self.0) {
            Ok(value) => Ok(ToolResult::structured(value)),
            Err(error) => Err(McpError::internal(format!("the result is not JSON: {error}"))),
        }
    }
}

impl<T: IntoToolResult, E: Display + 'static> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, McpError> {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => match mcp_error(&error) {
                Some(error) => Err(error),
                None => Ok(ToolResult::error(error.to_string())),
            },
        }
    }
}

/// What a resource may return: text, [`ResourceContents`], several of them, or a `Result` of these.
pub trait IntoReadResult {
    /// Converts.
    ///
    /// # Errors
    /// The JSON-RPC error to answer with.
    fn into_read_result(self) -> Result<ReadResult, McpError>;
}

impl IntoReadResult for ReadResult {
    fn into_read_result(self) -> Result<ReadResult, McpError> {
        Ok(self)
    }
}

impl IntoReadResult for ResourceContents {
    fn into_read_result(self) -> Result<ReadResult, McpError> {
        Ok(ReadResult { contents: vec![self] })
    }
}

impl IntoReadResult for Vec<ResourceContents> {
    fn into_read_result(self) -> Result<ReadResult, McpError> {
        Ok(ReadResult { contents: self })
    }
}

impl IntoReadResult for String {
    fn into_read_result(self) -> Result<ReadResult, McpError> {
        ResourceContents::text(self).into_read_result()
    }
}

impl IntoReadResult for &str {
    fn into_read_result(self) -> Result<ReadResult, McpError> {
        ResourceContents::text(self).into_read_result()
    }
}

/// What a prompt may return: text (one message of the user), messages, [`PromptResult`], or a `Result` of these.
pub trait IntoPromptResult {
    /// Converts.
    ///
    /// # Errors
    /// The JSON-RPC error to answer with.
    fn into_prompt_result(self) -> Result<PromptResult, McpError>;
}

impl IntoPromptResult for PromptResult {
    fn into_prompt_result(self) -> Result<PromptResult, McpError> {
        Ok(self)
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<PromptResult, McpError> {
        Ok(PromptResult { description: None, messages: self })
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> Result<PromptResult, McpError> {
        Ok(PromptResult::user(self))
    }
}

impl IntoPromptResult for &str {
    fn into_prompt_result(self) -> Result<PromptResult, McpError> {
        Ok(PromptResult::user(self))
    }
}

/// What a completion may return: strings, [`Completion`], or a `Result` of these.
pub trait IntoCompletion {
    /// Converts.
    ///
    /// # Errors
    /// The JSON-RPC error to answer with.
    fn into_completion(self) -> Result<Completion, McpError>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, McpError> {
        Ok(self)
    }
}

impl IntoCompletion for Vec<String> {
    fn into_completion(self) -> Result<Completion, McpError> {
        Ok(Completion { values: self, ..Completion::default() })
    }
}

impl IntoCompletion for Vec<&str> {
    fn into_completion(self) -> Result<Completion, McpError> {
        self.into_iter().map(String::from).collect::<Vec<_>>().into_completion()
    }
}

macro_rules! results {
    ($($trait:ident :: $method:ident -> $out:ident),*) => {$(
        impl<T: $trait, E: Display + 'static> $trait for Result<T, E> {
            fn $method(self) -> Result<$out, McpError> {
                match self {
                    Ok(value) => value.$method(),
                    Err(error) => Err(mcp_error(&error).unwrap_or_else(|| McpError::internal(error.to_string()))),
                }
            }
        }
    )*};
}
results!(
    IntoReadResult::into_read_result -> ReadResult,
    IntoPromptResult::into_prompt_result -> PromptResult,
    IntoCompletion::into_completion -> Completion
);
