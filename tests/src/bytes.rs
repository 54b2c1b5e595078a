//! Byte expressions: how a case writes input, also input that is too big or too odd to be stored.

use base64::Engine as _;

use crate::env::Env;
use crate::json::Json;

/// The bytes that an expression stands for: a string (UTF-8), or an object with one of `utf8`, `base64`, `hex`, `json`
/// (a value as text), `lines` (each value as text with a line feed; a string is taken as the line itself), `sse`,
/// `repeat` `[expression, count]`, `concat` `[expressions]`.
///
/// # Errors
/// A malformed expression.
pub fn eval(part: &Json, env: &Env) -> Result<Vec<u8>, String> {
    if let Json::String(text) = part {
        return Ok(env.text(text)?.into_bytes());
    }
    let (word, value) = part.only().ok_or_else(|| format!("no byte expression: {part}"))?;
    let text = || value.as_str().ok_or_else(|| format!("`{word}` takes a string"));
    let list = || value.as_array().ok_or_else(|| format!("`{word}` takes an array"));
    Ok(match word {
        "$use" => match env.fill(part)? {
            Json::String(text) => text.into_bytes(),
            other => other.to_string().into_bytes(),
        },
        "utf8" => env.text(text()?)?.into_bytes(),
        "raw" => text()?.as_bytes().to_vec(),
        "base64" => base64::engine::general_purpose::STANDARD.decode(text()?).map_err(|fault| fault.to_string())?,
        "hex" => hex(text()?)?,
        "json" => env.fill(value)?.to_string().into_bytes(),
        "lines" => {
            let mut out = Vec::new();
            for line in list()? {
                match line {
                    Json::String(text) => out.extend_from_slice(env.text(text)?.as_bytes()),
                    _ => out.extend_from_slice(env.fill(line)?.to_string().as_bytes()),
                }
                out.push(b'\n');
            }
            out
        }
        "sse" => {
            let mut out = String::new();
            for event in list()? {
                out.push_str(&sse(&env.fill(event)?));
            }
            out.into_bytes()
        }
        "concat" => {
            let mut out = Vec::new();
            for item in list()? {
                out.extend_from_slice(&eval(item, env)?);
            }
            out
        }
        "repeat" => {
            let [item, count] = list()? else { return Err("`repeat` takes an expression and a count".to_owned()) };
            let count = count.as_u64().and_then(|count| usize::try_from(count).ok()).ok_or("a count")?;
            eval(item, env)?.repeat(count)
        }
        _ => return Err(format!("no byte expression: `{word}`")),
    })
}

/// One event: a message, or `{"$event": {"event"?, "id"?, "retry"?, "comment"?, "data"?}}`.
fn sse(event: &Json) -> String {
    let Some(("$event", fields)) = event.only() else { return format!("event: message\ndata: {event}\n\n") };
    let mut out = String::new();
    for (name, value) in fields.as_object().unwrap_or_default() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let name = if name == "comment" { "" } else { name };
        for line in text.split('\n') {
            out.push_str(&format!("{name}: {line}\n"));
        }
    }
    out + "\n"
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16));
    pairs.collect::<Result<_, _>>().map_err(|fault| fault.to_string())
}

/// Standard base64.
#[must_use]
pub fn to_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
