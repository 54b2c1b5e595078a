//! What a server offers: declarations, and the functions behind them.
use std::{collections::BTreeMap, future::Future};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Context, IntoCompletion, IntoPromptResult, IntoReadResult, IntoToolResult,
    handler::{self, Handler},
};
use crate::model::{CompletionRequest, Prompt, Read, Resource, ResourceTemplate, Tool};

/// Tools, resources, templates and prompts with their functions. A second declaration under the same name replaces the first.
#[derive(Default, Clone)]
pub struct Catalog {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
    pub(super) handlers: BTreeMap<String, Handler>,
}

pub(super) const COMPLETION: &str = "completion/complete";

fn tool_key(name: &str) -> String {
    format!("tools/call {name}")
}

fn resource_key(uri: &str) -> String {
    format!("resources/read {uri}")
}

fn prompt_key(name: &str) -> String {
    format!("prompts/get {name}")
}

impl Catalog {
    /// Adds a tool. Its arguments are read into the function's first parameter. Up to its first wait the function runs on the
    /// task that reads the connection: what keeps the processor busy for long belongs into `tokio::task::spawn_blocking`.
    pub fn tool<A, F, Fut, R>(&mut self, tool: Tool, function: F)
    where
        A: DeserializeOwned + 'static,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult + 'static,
    {
        self.remove_tool(&tool.name);
        self.handlers.insert(tool_key(&tool.name), handler::tool(function));
        self.tools.push(tool);
    }

    /// Adds a resource.
    pub fn resource<F, Fut, R>(&mut self, resource: Resource, function: F)
    where
        F: Fn(Read, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoReadResult + 'static,
    {
        self.remove_resource(&resource.uri);
        self.handlers.insert(resource_key(&resource.uri), handler::read(function, resource.mime_type.clone()));
        self.resources.push(resource);
    }

    /// Adds a template; [`Read::variable`] has the values of its variables.
    pub fn resource_template<F, Fut, R>(&mut self, template: ResourceTemplate, function: F)
    where
        F: Fn(Read, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoReadResult + 'static,
    {
        self.remove_resource_template(&template.uri_template);
        let key = resource_key(&template.uri_template);
        self.handlers.insert(key, handler::read(function, template.mime_type.clone()));
        self.templates.push(template);
    }

    /// Adds a prompt. Its arguments are read into the function's first parameter.
    pub fn prompt<A, F, Fut, R>(&mut self, prompt: Prompt, function: F)
    where
        A: DeserializeOwned + 'static,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoPromptResult + 'static,
    {
        self.remove_prompt(&prompt.name);
        self.handlers.insert(prompt_key(&prompt.name), handler::prompt(function));
        self.prompts.push(prompt);
    }

    /// Sets the function that completes arguments of prompts and templates.
    pub(super) fn completion<F, Fut, R>(&mut self, function: F)
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoCompletion + 'static,
    {
        self.handlers.insert(COMPLETION.into(), handler::completion(function));
    }

    /// Takes a tool away, if it is there.
    pub fn remove_tool(&mut self, name: &str) {
        self.tools.retain(|tool| tool.name != name);
        self.handlers.remove(&tool_key(name));
    }

    /// Takes a resource away, if it is there.
    pub fn remove_resource(&mut self, uri: &str) {
        self.resources.retain(|resource| resource.uri != uri);
        self.handlers.remove(&resource_key(uri));
    }

    /// Takes a template away, if it is there.
    pub fn remove_resource_template(&mut self, uri_template: &str) {
        self.templates.retain(|template| template.uri_template != uri_template);
        self.handlers.remove(&resource_key(uri_template));
    }

    /// Takes a prompt away, if it is there.
    pub fn remove_prompt(&mut self, name: &str) {
        self.prompts.retain(|prompt| prompt.name != name);
        self.handlers.remove(&prompt_key(name));
    }

    pub(super) fn json(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Declared<'a> {
            tools: &'a [Tool],
            resources: &'a [Resource],
            resource_templates: &'a [ResourceTemplate],
            prompts: &'a [Prompt],
        }
        serde_json::to_string(&Declared {
            tools: &self.tools,
            resources: &self.resources,
            resource_templates: &self.templates,
            prompts: &self.prompts,
        })
    }
}
