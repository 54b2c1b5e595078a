//! Every message that we send, checked against the published schema of the revision it is sent in.
//!
//! [`Conversation`] follows both directions, because what a result must look like depends on the request it answers, and
//! the revision on what was negotiated before, or on the request's own metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use jsonschema::Validator;
use mcp_keel_core::revision::Revision;
use serde_json::{Value, json};

/// Where the published schema is known to be narrower than its own source, or than the text of the specification. Each
/// is applied to the schema as it is loaded, or to the choice of definition.
pub const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "integer for number",
        "`JSONValue` and elicitation content say integer where the source says number (ELIC-010, CAP-019)",
    ),
    ("null left out", "`JSONValue` leaves out null, so settings and metadata with null would fail (CAP-019)"),
    (
        "error without id",
        "a refused message whose id could not be read has none to repeat (RPC-015); pipes do the same",
    ),
    ("custom methods", "a method of no schema is checked as an envelope only"),
];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The schemas of all revisions.
#[derive(Debug)]
pub struct Schemas(Vec<Schema>);

#[derive(Debug)]
struct Schema {
    revision: Revision,
    dialect: Value,
    key: &'static str,
    definitions: Value,
    compiled: Mutex<BTreeMap<String, std::sync::Arc<Validator>>>,
}

impl Schemas {
    /// Reads `<revision>/schema.json` for each revision below `dir`.
    ///
    /// # Errors
    /// A missing or malformed file.
    pub fn load(dir: &Path) -> Result<Self, String> {
        let load = |revision: &Revision| {
            let file = dir.join(revision.label()).join("schema.json");
            let text = fs::read_to_string(&file).map_err(|fault| format!("{}: {fault}", file.display()))?;
            let whole: Value = serde_json::from_str(&text).map_err(|fault| format!("{}: {fault}", file.display()))?;
            let key = if whole.get("$defs").is_some() { "$defs" } else { "definitions" };
            let mut definitions = whole[key].clone();
            widen(&mut definitions);
            let dialect = whole["$schema"].clone();
            Ok(Schema { revision: *revision, dialect, key, definitions, compiled: Mutex::default() })
        };
        Ok(Self(Revision::ALL.iter().map(load).collect::<Result<_, String>>()?))
    }

    fn of(&self, revision: Revision) -> &Schema {
        &self.0[revision as usize]
    }

    /// The names of the methods that `revision` defines, each with whether it is a request.
    #[must_use]
    pub fn methods(&self, revision: Revision) -> Vec<(String, bool)> {
        let definitions = self.of(revision).definitions.as_object().into_iter().flatten();
        let named = definitions.filter_map(|(name, body)| {
            let method = body.pointer("/properties/method/const")?.as_str()?;
            let request = name.ends_with("Request");
            (request || name.ends_with("Notification")).then(|| (method.to_owned(), request))
        });
        let mut all: Vec<_> = named.collect();
        all.sort();
        all.dedup();
        all
    }

    /// The methods in a union definition such as `ClientRequest`.
    #[must_use]
    pub fn union(&self, revision: Revision, name: &str) -> Vec<String> {
        let schema = self.of(revision);
        let Some(body) = schema.definitions.get(name) else { return Vec::new() };
        if let Some(method) = body.pointer("/properties/method/const").and_then(Value::as_str) {
            return vec![method.to_owned()];
        }
        let members = body.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let method = |member: &Value| {
            let name = member.get("$ref")?.as_str()?.rsplit('/').next()?;
            Some(schema.definitions.get(name)?.pointer("/properties/method/const")?.as_str()?.to_owned())
        };
        members.filter_map(method).collect()
    }

    /// Checks a value against a definition, or a part of it (`Name#properties/params`).
    ///
    /// # Errors
    /// Each fault with its place.
    pub fn check(&self, revision: Revision, definition: &str, value: &Value) -> Result<(), String> {
        self.of(revision).check(definition, value)
    }
}

/// The schema as its source means it; see [`EXCEPTIONS`].
fn widen(definitions: &mut Value) {
    if let Some(any) = definitions.pointer_mut("/JSONValue/anyOf").and_then(Value::as_array_mut) {
        for choice in any {
            if choice["type"].is_array() {
                choice["type"] = json!(["string", "number", "boolean", "null"]);
            }
        }
    }
    let content = definitions.pointer_mut("/ElicitResult/properties/content/additionalProperties");
    if let Some(content) = content {
        let scalar = json!({"type": ["string", "number", "boolean"]});
        match content.get_mut("anyOf").and_then(Value::as_array_mut) {
            Some(choices) => choices.push(scalar),
            None => *content = scalar,
        }
    }
}

impl Schema {
    fn has(&self, definition: &str) -> bool {
        self.definitions.get(definition).is_some()
    }

    fn first(&self, names: &[&'static str]) -> &'static str {
        names.iter().find(|name| self.has(name)).copied().unwrap_or("JSONRPCMessage")
    }

    fn validator(&self, definition: &str) -> Result<std::sync::Arc<Validator>, String> {
        let mut compiled = self.compiled.lock().map_err(|_| "a check panicked before")?;
        if let Some(found) = compiled.get(definition) {
            return Ok(found.clone());
        }
        let (name, inner) = definition.split_once('#').unwrap_or((definition, ""));
        if !self.has(name) {
            return Err(format!("{} has no definition {name}", self.revision));
        }
        let inner = if inner.is_empty() { String::new() } else { format!("/{inner}") };
        let schema = json!({
            "$schema": self.dialect,
            "$ref": format!("#/{}/{name}{inner}", self.key),
            self.key: self.definitions,
        });
        let made = jsonschema::options().build(&schema).map_err(|fault| format!("{definition}: {fault}"))?;
        let made = std::sync::Arc::new(made);
        compiled.insert(definition.to_owned(), made.clone());
        Ok(made)
    }

    fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        let validator = self.validator(definition)?;
        let fault =
            |error: jsonschema::ValidationError<'_>| format!("{definition} at {}: {error}", error.instance_path());
        let faults: Vec<_> = validator.iter_errors(value).take(3).map(fault).collect();
        if faults.is_empty() { Ok(()) } else { Err(format!("{}: {}", self.revision, faults.join("; "))) }
    }

    /// The definition of a request or a notification.
    fn of_method(&self, method: &str, ending: &str) -> Option<&str> {
        let definitions = self.definitions.as_object()?;
        let is = |body: &Value| body.pointer("/properties/method/const").and_then(Value::as_str) == Some(method);
        definitions
            .iter()
            .find(|(name, body)| is(body) && name.ends_with(ending) && !name.starts_with("Client"))
            .map(|(name, _)| name.as_str())
    }

    fn request(&self, method: &str, message: &Value) -> Result<(), String> {
        self.check("JSONRPCRequest", message)?;
        self.of_method(method, "Request").map_or(Ok(()), |definition| self.check(definition, message))
    }

    fn notification(&self, method: &str, message: &Value) -> Result<(), String> {
        self.check("JSONRPCNotification", message)?;
        if message.get("id").is_some() {
            return Err("a notification has an id".to_owned());
        }
        self.of_method(method, "Notification").map_or(Ok(()), |definition| self.check(definition, message))
    }

    fn result(&self, method: &str, message: &Value) -> Result<(), String> {
        self.check(self.first(&["JSONRPCResultResponse", "JSONRPCResponse"]), message)?;
        let result = &message["result"];
        if result["resultType"] == "input_required" {
            return self.check("InputRequiredResult", result);
        }
        let request = self.of_method(method, "Request").unwrap_or_default();
        let own = request.strip_suffix("Request").map(|stem| format!("{stem}Result")).filter(|name| self.has(name));
        self.check(own.as_deref().unwrap_or("EmptyResult"), result)
    }

    fn error(&self, message: &Value) -> Result<(), String> {
        let definition = self.first(&["JSONRPCErrorResponse", "JSONRPCError"]);
        let mut message = message.clone();
        if let Some(object) = message.as_object_mut().filter(|object| !object.contains_key("id")) {
            object.insert("id".to_owned(), json!(0));
        }
        self.check(definition, &message)?;
        let by_code = |name: &&String| {
            self.definitions[name.as_str()].pointer("/properties/error/allOf/1/properties/code/const")
                == Some(&message["error"]["code"])
        };
        let special = self.definitions.as_object().and_then(|all| all.keys().find(by_code));
        special.map_or(Ok(()), |name| self.check(name, &message))
    }
}

/// Who sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// What is known about one connection or session.
#[derive(Debug, Default)]
pub struct Conversation {
    revision: Option<Revision>,
    from_client: Asked,
    from_server: Asked,
    /// Handshakes that were answered.
    opened: BTreeSet<String>,
}

/// Requests by id. An id may come twice, wrongly or in its time, so each keeps all that it stood for.
type Asked = BTreeMap<String, Vec<(String, Revision)>>;

impl Conversation {
    /// One where the revision was agreed on elsewhere.
    #[must_use]
    pub fn in_revision(revision: Option<Revision>) -> Self {
        Self { revision, ..Self::default() }
    }

    /// What was negotiated, once it was.
    #[must_use]
    pub const fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Takes note of a message without judging it.
    pub fn note(&mut self, from: Side, message: &Value) {
        if let Value::Array(parts) = message {
            parts.iter().for_each(|part| self.note(from, part));
            return;
        }
        let id = message.get("id").map(Value::to_string);
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => {
                let revision = self.of_request(method, message);
                let table = if from == Side::Client { &mut self.from_client } else { &mut self.from_server };
                table.entry(id).or_default().push((method.to_owned(), revision));
            }
            (None, Some(id)) if from == Side::Server => {
                let initialize = all(&self.from_client, &id).any(|(method, _)| method == "initialize");
                let label = message.pointer("/result/protocolVersion").and_then(Value::as_str);
                let granted = label.and_then(Revision::parse).filter(|revision| !revision.is_stateless());
                // A second answer to one handshake means nothing.
                if initialize
                    && self.opened.insert(id)
                    && let Some(revision) = granted
                {
                    self.revision = Some(revision);
                }
            }
            _ => {}
        }
    }

    fn of_request(&self, method: &str, message: &Value) -> Revision {
        let own = message.pointer("/params/_meta").and_then(|meta| meta.get(VERSION_KEY));
        let stated = if method == "initialize" { message.pointer("/params/protocolVersion") } else { own };
        match stated.and_then(Value::as_str).map(Revision::parse) {
            Some(Some(revision)) => revision,
            Some(None) if method == "initialize" => Revision::NEWEST_LEGACY,
            Some(None) => Revision::NEWEST_MODERN,
            None => self.revision.unwrap_or(Revision::NEWEST_LEGACY),
        }
    }

    /// Takes note of a message of ours and checks it.
    ///
    /// # Errors
    /// What the schema says against it.
    pub fn check(&mut self, schemas: &Schemas, from: Side, message: &Value) -> Result<(), String> {
        self.note(from, message);
        if let Value::Array(parts) = message {
            if self.revision.is_some_and(|revision| !revision.rules().batching) {
                return Err("an array in a revision without batches".to_owned());
            }
            return parts.iter().try_for_each(|part| self.check(schemas, from, part));
        }
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(_)) => schemas.of(self.of_request(method, message)).request(method, message),
            (Some(method), None) => self.any(schemas, message, |schema| schema.notification(method, message)),
            (None, id) => {
                let asked = if from == Side::Client { &self.from_server } else { &self.from_client };
                let mut meant = id.iter().flat_map(|id| all(asked, &id.to_string())).peekable();
                match (meant.peek().is_some(), message.get("result")) {
                    (true, Some(_)) => {
                        first_good(meant.map(|(method, revision)| result(schemas, method, *revision, message)))
                    }
                    (false, Some(_)) => Err("a result for no request".to_owned()),
                    (true, None) => first_good(meant.map(|(_, revision)| schemas.of(*revision).error(message))),
                    (false, None) => self.any(schemas, message, |schema| schema.error(message)),
                }
            }
        }
    }

    /// A message that does not say which revision it belongs to: the negotiated one, or that of a request in flight.
    fn any(
        &self,
        schemas: &Schemas,
        message: &Value,
        check: impl Fn(&Schema) -> Result<(), String>,
    ) -> Result<(), String> {
        let modern = message.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId").is_some();
        let mut choices: Vec<Revision> = Vec::new();
        if !modern {
            choices.extend(self.revision);
        }
        choices.extend(self.from_client.values().flatten().map(|(_, revision)| *revision));
        if choices.is_empty() {
            choices.extend(Revision::ALL);
        }
        choices.dedup();
        first_good(choices.into_iter().map(|revision| check(schemas.of(revision))))
    }
}

fn all<'a>(asked: &'a Asked, id: &str) -> impl Iterator<Item = &'a (String, Revision)> + use<'a> {
    asked.get(id).into_iter().flatten().rev()
}

/// The handshake is answered in the revision that the answer grants.
fn result(schemas: &Schemas, method: &str, revision: Revision, message: &Value) -> Result<(), String> {
    if method != "initialize" {
        return schemas.of(revision).result(method, message);
    }
    let label = message.pointer("/result/protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let granted = Revision::parse(label).ok_or("initialize was answered with an unknown version")?;
    schemas.of(granted).result(method, message)
}

/// Good when one of them is, else the first fault.
fn first_good(checks: impl Iterator<Item = Result<(), String>>) -> Result<(), String> {
    let mut first = None;
    for check in checks {
        match check {
            Ok(()) => return Ok(()),
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    Err(first.unwrap_or_default())
}
