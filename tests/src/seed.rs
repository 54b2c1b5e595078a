//! The seed cases of the specification data, made cases of the corpus as they are read. `corpus/seed.json` says for each
//! kind of value how to bring it through a server or a client; the values themselves are never copied.

use std::fs;
use std::path::Path;

use crate::case::{self, Case, Shared};
use crate::corpus_dir;
use crate::json::Json;

/// One case for each seed case in `spec`.
///
/// # Errors
/// A malformed file, or a kind that no template covers.
pub fn cases(spec: &Path, shared: &Shared) -> Result<Vec<Case>, String> {
    let read = |path: &Path| {
        let text = fs::read_to_string(path).map_err(|fault| format!("{}: {fault}", path.display()))?;
        Json::parse(&text).map_err(|fault| format!("{}: {fault}", path.display()))
    };
    let templates = read(&corpus_dir().join("seed.json"))?;
    let seeds = read(&spec.join("seed-cases.json"))?;
    let mut cases = Vec::new();
    for seed in seeds.as_array().ok_or("seed cases are an array")? {
        cases.extend(one(seed, &templates, shared)?);
    }
    Ok(cases)
}

fn one(seed: &Json, templates: &Json, shared: &Shared) -> Result<Vec<Case>, String> {
    let text = |key: &str| seed.get(key).and_then(Json::as_str).unwrap_or_default();
    let (id, kind) = (text("id"), text("kind"));
    let valid = seed.get("valid") == Some(&Json::Bool(true));
    let value = seed.get("json").unwrap_or(&Json::Null);
    let key = match (valid, value) {
        (true, _) => kind.to_owned(),
        (false, Json::Null) => "raw".to_owned(),
        (false, _) => format!("invalid {kind}"),
    };
    let template =
        templates.get(id).or_else(|| templates.get(&key)).ok_or_else(|| format!("{id}: no template for {key}"))?;
    let revision = text("seed_source").split(' ').next().unwrap_or_default();
    let mut whole = template.as_object().ok_or("a template is an object")?.to_vec();
    let mut vars = template.get("vars").and_then(Json::as_object).unwrap_or_default().to_vec();
    vars.push(("seed".to_owned(), value.clone()));
    vars.push(("raw".to_owned(), Json::string(text("raw"))));
    whole.retain(|(name, _)| name != "vars");
    whole.extend([
        ("vars".to_owned(), Json::Object(vars)),
        (
            "about".to_owned(),
            Json::string(format!("{}: {}", text("seed_section"), if valid { "valid" } else { "invalid" })),
        ),
        ("revision".to_owned(), Json::string(revision)),
    ]);
    case::make(&format!("seed/{id}"), &Json::Object(whole), shared)
}
