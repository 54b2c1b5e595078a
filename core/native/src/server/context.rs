//! What a handler knows about its call, and can do inside it.
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use super::running::Shared;
use crate::{
    error::{Error, Outcome},
    model::{ElicitResult, Raw, Root, raw},
};

/// One running call. Cheap to clone; of no effect once the call is over.
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
}

/// How serious a log message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names of syslog say it")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What is known about the peer of a call.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallInfo {
    /// Name and version of the client, when it told them.
    #[serde(default)]
    pub client: Option<BTreeMap<String, Value>>,
    /// What the client can do.
    #[serde(default)]
    pub capabilities: BTreeMap<String, Value>,
    /// Revision of the protocol this call speaks.
    pub revision: String,
    /// The request's metadata.
    #[serde(default)]
    pub meta: Option<Raw>,
    /// Whether the client asked for progress.
    #[serde(default)]
    pub progress: bool,
    /// The least level the client wants logged, when it wants any.
    #[serde(default)]
    pub log_level: Option<Level>,
}

impl Context {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Tells how far the work is: `progress` must grow, `total` is its end when that is known. Waits while the client is slow
    /// to read and lets other calls run; sends nothing when the client did not ask for progress.
    pub async fn progress<'a>(
        &self,
        progress: f64,
        total: impl Into<Option<f64>>,
        message: impl Into<Option<&'a str>>,
    ) {
        #[derive(Serialize)]
        struct Step<'a> {
            progress: Option<Number>,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<Number>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }
        let step = Step { progress: number(progress), total: total.into().and_then(number), message: message.into() };
        let step = raw(step);
        let call = self.shared.call;
        let _ = self.shared.engine.drive_call(call, |flat, now| flat.progress(call, step.get(), now)).await;
        self.shared.turn().await;
    }

    /// Sends a log message to the client, if it wants this level. Waits while the client is slow to read.
    pub async fn log(&self, level: Level, data: impl Serialize) {
        self.log_as(None, level, data).await;
    }

    /// [`log`](Self::log) with the name of the logger.
    pub async fn log_as(&self, logger: Option<&str>, level: Level, data: impl Serialize) {
        let entry = log_entry(logger, level, data);
        let call = self.shared.call;
        let _ = self.shared.engine.drive_call(call, |flat, now| flat.log(call, entry.get(), now)).await;
        self.shared.turn().await;
    }

    /// Asks the user with a form. `schema` is a flat object schema.
    ///
    /// # Errors
    /// `Peer` when the client refused, or has no user to ask; returned by the handler, it is the answer to the call.
    pub async fn elicit(&self, message: &str, schema: impl Serialize) -> Result<ElicitResult, Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Form<'a> {
            message: &'a str,
            requested_schema: Raw,
        }
        let requested_schema = serde_json::value::to_raw_value(&schema).map_err(Error::invalid)?;
        self.ask("elicitation/create", Form { message, requested_schema }).await
    }

    /// Asks the client's model. Parameters and result as the specification's `sampling/createMessage`.
    ///
    /// # Errors
    /// `Peer` when the client refused, or has no model for us; returned by the handler, it is the answer to the call.
    pub async fn sample(&self, params: impl Serialize) -> Result<Raw, Error> {
        self.ask("sampling/createMessage", params).await
    }

    /// Asks for the places the client lets us work in.
    ///
    /// # Errors
    /// `Peer` when the client refused, or has none to tell; returned by the handler, it is the answer to the call.
    pub async fn roots(&self) -> Result<Vec<Root>, Error> {
        #[derive(Deserialize)]
        struct Roots {
            roots: Vec<Root>,
        }
        self.ask::<Roots>("roots/list", json!({})).await.map(|answer| answer.roots)
    }

    /// Waits until the client cancels the call or is gone. The handler itself is dropped then; this is for tasks it started.
    pub async fn cancelled(&self) {
        self.shared.cancelled.wait().await;
    }

    /// Whether the call was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.is_set()
    }

    /// What is known about the call's peer.
    ///
    /// # Errors
    /// `Usage` when the call is over.
    pub fn info(&self) -> Result<CallInfo, Error> {
        serde_json::from_str(&self.shared.engine.call_info(self.shared.call)?).map_err(Error::invalid)
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, method: &str, params: impl Serialize) -> Result<T, Error> {
        #[derive(Serialize)]
        struct Ask<'a, P> {
            method: &'a str,
            params: P,
        }
        // A handler that runs again asks in the same order, so the number finds the answer that was given.
        let key = (self.shared.asked.fetch_add(1, Ordering::Relaxed) + 1).to_string();
        let request = serde_json::to_string(&Ask { method, params }).map_err(Error::invalid)?;
        let outcome = self.shared.engine.ask(self.shared.call, &key, &request).await?;
        serde_json::from_str(Outcome::parse(&outcome)?.get()).map_err(Error::invalid)
    }
}

pub(super) fn log_entry(logger: Option<&str>, level: Level, data: impl Serialize) -> Raw {
    #[derive(Serialize)]
    struct Entry<'a> {
        level: Level,
        #[serde(skip_serializing_if = "Option::is_none")]
        logger: Option<&'a str>,
        data: Raw,
    }
    raw(Entry { level, logger, data: raw(data) })
}

/// Whole numbers are written without a fraction.
fn number(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and in range, as checked")]
        return Some((value as i64).into());
    }
    Number::from_f64(value)
}
