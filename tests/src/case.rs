//! Cases: read from files, made whole with what is shared, one for each revision they name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_keel_core::revision::Revision;

use crate::env::Env;
use crate::json::Json;

/// One case, ready to run.
#[derive(Debug, Clone)]
pub struct Case {
    /// `area/case`, with `@revision` when it runs in several.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// Requirement ids.
    pub spec: Vec<String>,
    /// `server`, `client` or `http1`: which object.
    pub object: &'static str,
    /// `pipe`, `http1` or `http`.
    pub link: String,
    /// The configuration of the object.
    pub config: Json,
    /// The server's catalog.
    pub catalog: Option<Json>,
    /// Whether stream 1 is opened before the first step.
    pub opens: bool,
    /// Commands and expectations.
    pub steps: Vec<Json>,
    /// Hosts that are known to fail it, and why.
    pub skip: BTreeMap<String, String>,
    /// Names.
    pub env: Env,
}

/// What cases share: `shared.json` of the corpus folder.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    vars: Vec<(String, Json)>,
    given: Vec<(String, Json)>,
}

impl Shared {
    /// Reads `shared.json` in `dir`.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn load(dir: &Path) -> Result<Self, String> {
        let file = dir.join("shared.json");
        let all = if file.exists() { read(&file)? } else { Json::object([]) };
        let section = |name| all.get(name).and_then(Json::as_object).unwrap_or_default().to_vec();
        Ok(Self { vars: section("vars"), given: section("given") })
    }

    /// The names of a case that runs in `revision`.
    #[must_use]
    pub fn env(&self, revision: Option<&str>) -> Env {
        let mut env = Env::new(self.vars.iter().cloned());
        if let Some(revision) = revision {
            env.bind("revision", Json::string(revision));
            let era = Revision::parse(revision).map(Revision::era_name).unwrap_or_default();
            env.bind("era", Json::string(era));
        }
        env
    }

    /// The steps of these prologues.
    ///
    /// # Errors
    /// An unknown name.
    pub fn given(&self, names: &Json) -> Result<Vec<Json>, String> {
        let one = [names.clone()];
        let names = names.as_array().unwrap_or(&one);
        let mut steps = Vec::new();
        for name in names.iter().filter_map(Json::as_str) {
            let found = self.given.iter().find(|(key, _)| key == name);
            let (_, found) = found.ok_or_else(|| format!("no prologue `{name}`"))?;
            steps.extend_from_slice(found.as_array().ok_or("a prologue is an array")?);
        }
        Ok(steps)
    }
}

/// All cases of a corpus folder, in the order of their names.
///
/// # Errors
/// The first malformed file.
pub fn load(dir: &Path) -> Result<Vec<Case>, String> {
    let shared = Shared::load(dir)?;
    let mut cases = Vec::new();
    for area in sorted(dir)? {
        if !area.is_dir() {
            continue;
        }
        for file in sorted(&area)? {
            if file.extension().is_some_and(|ext| ext == "json") {
                let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let name = format!("{}/{}", stem(&area), stem(&file));
                let made = read(&file).and_then(|value| make(&name, &value, &shared));
                cases.extend(made.map_err(|fault| format!("{name}: {fault}"))?);
            }
        }
    }
    Ok(cases)
}

fn sorted(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|fault| format!("{}: {fault}", dir.display()))?;
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn read(file: &Path) -> Result<Json, String> {
    let text = fs::read_to_string(file).map_err(|fault| format!("{}: {fault}", file.display()))?;
    Json::parse(&text)
}

const MEMBERS: &[&str] =
    &["about", "spec", "role", "revision", "link", "config", "catalog", "given", "open", "steps", "skip", "vars"];

/// The cases that one file stands for.
///
/// # Errors
/// What is malformed.
pub fn make(name: &str, value: &Json, shared: &Shared) -> Result<Vec<Case>, String> {
    for (key, _) in value.as_object().ok_or("a case is an object")? {
        if !MEMBERS.contains(&key.as_str()) {
            return Err(format!("a case has no member `{key}`"));
        }
    }
    let revisions = revisions(value.get("revision"))?;
    let several = revisions.len() > 1;
    let one = |revision: Option<&str>| {
        let name = if several { format!("{name}@{}", revision.unwrap_or_default()) } else { name.to_owned() };
        build(name, value, shared, revision)
    };
    if revisions.is_empty() {
        return one(None).map(|case| vec![case]);
    }
    revisions.iter().map(|revision| one(Some(revision))).collect()
}

/// A label, a list of them, an era's name, or `all`.
fn revisions(value: Option<&Json>) -> Result<Vec<&'static str>, String> {
    let era = |name: &str| Revision::ALL.iter().filter(|it| it.era_name() == name).map(|it| it.label()).collect();
    let known = |value: &Json| {
        let label = value.as_str().unwrap_or_default();
        let found = Revision::ALL.iter().map(|it| it.label()).find(|it| *it == label);
        found.ok_or_else(|| format!("no revision `{label}`"))
    };
    match value {
        None => Ok(Vec::new()),
        Some(Json::String(text)) if text == "all" => Ok(Revision::ALL.iter().map(|it| it.label()).collect()),
        Some(Json::String(text)) if text == "legacy" || text == "modern" => Ok(era(text)),
        Some(Json::Array(items)) => items.iter().map(known).collect(),
        Some(value) => known(value).map(|label| vec![label]),
    }
}

fn build(name: String, value: &Json, shared: &Shared, revision: Option<&str>) -> Result<Case, String> {
    let text = |key: &str| value.get(key).and_then(Json::as_str).ok_or_else(|| format!("`{key}` is missing"));
    let object = match text("role")? {
        "server" => "server",
        "client" => "client",
        "http1" => "http1",
        other => return Err(format!("no role `{other}`")),
    };
    let link = value.get("link").and_then(Json::as_str).unwrap_or("pipe").to_owned();
    let mut env = shared.env(revision);
    for (key, var) in value.get("vars").and_then(Json::as_object).unwrap_or_default() {
        env.define(key, var.clone());
    }
    let given = value.get("given").map(|names| env.fill(names)).transpose()?;
    let mut steps = given.map_or(Ok(Vec::new()), |names| shared.given(&names))?;
    steps.extend_from_slice(value.get("steps").and_then(Json::as_array).ok_or("`steps` is missing")?);
    let spec = value.get("spec").and_then(Json::as_array).ok_or("`spec` is missing")?;
    let skip = value.get("skip").and_then(Json::as_object).unwrap_or_default();
    let empty = Json::object([]);
    let defaults = default_config(object, &link);
    let config = Json::object([("$merge", Json::Array(vec![defaults, value.get("config").unwrap_or(&empty).clone()]))]);
    Ok(Case {
        about: text("about")?.to_owned(),
        spec: spec.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        object,
        config: env.fill(&config)?,
        catalog: value.get("catalog").map(|catalog| env.fill(catalog)).transpose()?,
        opens: value.get("open") != Some(&Json::Bool(false)),
        steps,
        skip: skip.iter().map(|(key, why)| (key.clone(), why.as_str().unwrap_or_default().to_owned())).collect(),
        name,
        link,
        env,
    })
}

fn default_config(object: &str, link: &str) -> Json {
    let info = Json::object([("name", Json::string("corpus")), ("version", Json::string("1.0"))]);
    match (object, link) {
        ("client", "http") => Json::object([
            ("link", Json::string("http")),
            ("url", Json::string("http://localhost:8000/mcp")),
            ("info", info),
        ]),
        ("client", _) => Json::object([("link", Json::string("pipe")), ("info", info)]),
        _ => Json::object([("info", info)]),
    }
}
