//! What a server is told once: who it is, what it serves, its bounds.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use crate::error::Error;
use crate::json::{self, Raw};
use crate::limits::Limits;
use crate::revision::Revision;

/// The configuration of a server.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// Name, version and more about the server: an `Implementation` object.
    pub info: Raw,
    /// A hint for the model, part of the opening.
    pub instructions: Option<String>,
    /// Labels of the revisions to serve; all when absent.
    #[serde(default)]
    revisions: Option<Vec<String>>,
    /// Entries of one page of a list; 0 for all in one page.
    #[serde(default)]
    pub page_size: usize,
    /// Capabilities declared besides those that follow from the catalog; a key here wins.
    #[serde(default = "empty")]
    pub capabilities: Raw,
    /// Whether completions are offered.
    #[serde(default)]
    pub completions: bool,
    /// How long clients may keep lists and resources.
    #[serde(default)]
    pub cache: Cache,
    /// The rules of the HTTP endpoint.
    #[serde(default)]
    pub http: Http,
    /// Bounds.
    #[serde(default)]
    pub limits: Limits,
    /// Tell every message that comes and goes.
    #[serde(default)]
    pub trace: bool,
    /// The revisions to serve, newest first.
    #[serde(skip)]
    pub served: Vec<Revision>,
}

/// How long answers may be kept (DISC-003).
#[derive(Debug, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Cache {
    /// Milliseconds.
    pub ttl_ms: u64,
    /// `private` or `public`.
    pub scope: String,
}

impl Default for Cache {
    fn default() -> Self {
        Self { ttl_ms: 0, scope: "private".to_string() }
    }
}

/// The rules of the HTTP endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Http {
    /// The one path; none for any.
    pub path: Option<String>,
    /// Values of `Host` that are let in, without port; none for any (HTTP-003).
    pub hosts: Option<Vec<String>>,
    /// Values of `Origin` that are let in besides loopback ones; none for any.
    pub origins: Option<Vec<String>>,
}

impl Default for Http {
    fn default() -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(ToString::to_string).to_vec();
        Self { path: Some("/mcp".to_string()), hosts: Some(hosts), origins: Some(Vec::new()) }
    }
}

fn empty() -> Raw {
    Raw::trusted("{}")
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// `config_invalid`, naming what is wrong.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: String| Error::usage("config_invalid", why);
        let mut config: Self = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let [name, version] = json::pick(&config.info, ["name", "version"]);
        if name.and_then(json::string).is_none() || version.and_then(json::string).is_none() {
            return Err(bad("`info` needs a string `name` and a string `version`".to_string()));
        }
        if !json::is_object(&config.capabilities) {
            return Err(bad("`capabilities` must be an object".to_string()));
        }
        if !matches!(config.cache.scope.as_str(), "private" | "public") {
            return Err(bad("`cache.scope` must be \"private\" or \"public\"".to_string()));
        }
        let mut served: Vec<Revision> = match &config.revisions {
            None => Revision::ALL.to_vec(),
            Some(labels) => {
                let parsed: Option<Vec<_>> = labels.iter().map(|label| Revision::parse(label)).collect();
                parsed
                    .filter(|all| !all.is_empty())
                    .ok_or_else(|| bad("`revisions` must name known ones".to_string()))?
            }
        };
        served.sort_unstable_by(|left, right| right.cmp(left));
        served.dedup();
        config.served = served;
        Ok(config)
    }

    /// The newest revision with a handshake that is served.
    #[must_use]
    pub fn newest_with_handshake(&self) -> Option<Revision> {
        self.served.iter().copied().find(|revision| !revision.is_stateless())
    }
}
