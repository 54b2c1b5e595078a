//! What a running case knows by name, and how values of a case are filled in with it.

use std::collections::BTreeMap;

use crate::bytes;
use crate::json::Json;

/// Shared values (`$use`) and values bound while the case runs (`$ref`, `${name}`).
#[derive(Debug, Clone, Default)]
pub struct Env {
    vars: BTreeMap<String, Json>,
    bound: BTreeMap<String, Json>,
}

impl Env {
    /// With these shared values.
    #[must_use]
    pub fn new(vars: impl IntoIterator<Item = (String, Json)>) -> Self {
        Self { vars: vars.into_iter().collect(), bound: BTreeMap::new() }
    }

    /// Adds a shared value.
    pub fn define(&mut self, name: &str, value: Json) {
        self.vars.insert(name.to_owned(), value);
    }

    /// Gives a value its name for the rest of the case.
    pub fn bind(&mut self, name: &str, value: Json) {
        self.bound.insert(name.to_owned(), value);
    }

    /// The value bound to `name`.
    ///
    /// # Errors
    /// When nothing has that name yet.
    pub fn bound(&self, name: &str) -> Result<&Json, String> {
        self.bound.get(name).ok_or_else(|| format!("nothing is bound to `{name}`"))
    }

    /// `value` with `$use`, `$by`, `$ref`, `$merge`, `$text` and `${name}` replaced.
    ///
    /// # Errors
    /// An unknown name, or a malformed expression.
    pub fn fill(&self, value: &Json) -> Result<Json, String> {
        Ok(match value {
            Json::String(text) => Json::String(self.text(text)?),
            Json::Array(items) => Json::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?),
            Json::Object(members) => match value.only() {
                Some(("$use", name)) => {
                    let path = name.as_str().ok_or("`$use` takes a name")?;
                    let mut steps = path.split('/');
                    let start = self.vars.get(steps.next().unwrap_or_default());
                    let found = start.and_then(|start| steps.try_fold(start, |value, key| value.get(key)));
                    self.fill(found.ok_or_else(|| format!("no shared value `{path}`"))?)?
                }
                Some(("$by", choices)) => {
                    let chosen = self.choose(choices).ok_or_else(|| format!("no choice fits: {choices}"))?;
                    self.fill(chosen)?
                }
                // A JSON Schema's own reference is no name of ours.
                Some(("$ref", name)) if name.as_str().is_some_and(|name| name.starts_with('#')) => value.clone(),
                Some(("$ref", name)) => self.bound(name.as_str().ok_or("`$ref` takes a name")?)?.clone(),
                Some(("$merge", parts)) => self.merge(parts)?,
                Some(("$text", part)) => {
                    let text = String::from_utf8(bytes::eval(part, self)?).map_err(|_| "`$text` is not UTF-8")?;
                    Json::String(text)
                }
                _ => {
                    let fill = |(key, item): &(String, Json)| Ok::<_, String>((self.text(key)?, self.fill(item)?));
                    Json::Object(members.iter().map(fill).collect::<Result<_, _>>()?)
                }
            },
            _ => value.clone(),
        })
    }

    /// What a choice by revision, era or `else` says for this case, the narrowest first.
    #[must_use]
    pub fn choose<'a>(&self, choices: &'a Json) -> Option<&'a Json> {
        let named = |name: &str| self.bound.get(name).and_then(Json::as_str).and_then(|key| choices.get(key));
        named("revision").or_else(|| named("era")).or_else(|| choices.get("else"))
    }

    fn merge(&self, parts: &Json) -> Result<Json, String> {
        let mut merged: Vec<(String, Json)> = Vec::new();
        for part in parts.as_array().ok_or("`$merge` takes an array")? {
            let part = self.fill(part)?;
            for (key, value) in part.as_object().ok_or("`$merge` takes objects")? {
                merged.retain(|(name, _)| name != key);
                merged.push((key.clone(), value.clone()));
            }
        }
        Ok(Json::Object(merged))
    }

    /// `text` with each `${name}` replaced.
    ///
    /// # Errors
    /// An unknown name.
    pub fn text(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, after) = (&rest[..start], &rest[start + 2..]);
            let end = after.find('}').ok_or("`${` without `}`")?;
            out.push_str(before);
            match self.bound(&after[..end])? {
                Json::String(text) => out.push_str(text),
                other => out.push_str(&other.to_string()),
            }
            rest = &after[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}
