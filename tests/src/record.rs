//! What a host gets back from the flat surface, as plain values.

use crate::json::Json;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its word.
    pub kind: String,
    /// Stream number.
    pub stream: u64,
    /// Call, handle, token or status.
    pub id: u64,
    /// Method, key or code.
    pub name: String,
    /// Payload.
    pub text: Vec<u8>,
    /// Deadline, or 1 on the last `body`.
    pub until: u64,
}

impl Record {
    /// From `[kind, stream, id, name, text, until]`.
    ///
    /// # Errors
    /// When it is no such array.
    pub fn read(value: &Json) -> Result<Self, String> {
        let bad = || format!("no record: {}", clip(&value.to_string()));
        let Some([kind, stream, id, name, text, until]) = value.as_array() else { return Err(bad()) };
        let word = |value: &Json| value.as_str().map(str::to_owned).ok_or_else(bad);
        let number = |value: &Json| value.as_u64().ok_or_else(bad);
        Ok(Self {
            kind: word(kind)?,
            stream: number(stream)?,
            id: number(id)?,
            name: word(name)?,
            text: word(text)?.into_bytes(),
            until: number(until)?,
        })
    }

    /// The payload as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// One line for people.
    #[must_use]
    pub fn show(&self) -> String {
        let mut out = self.kind.clone();
        for (label, value) in [("stream", self.stream), ("id", self.id), ("until", self.until)] {
            if value != 0 {
                out.push_str(&format!(" {label}={value}"));
            }
        }
        for (label, value) in [("name", &self.name), ("text", &self.text())] {
            if !value.is_empty() {
                out.push_str(&format!(" {label}={}", clip(value)));
            }
        }
        out
    }
}

/// Joins what was written in one piece or in many: neighbours of kind `write` or `body` on one stream.
#[must_use]
pub fn joined(records: Vec<Record>) -> Vec<Record> {
    let mut out: Vec<Record> = Vec::new();
    for record in records {
        match out.last_mut() {
            Some(last)
                if matches!(&*record.kind, "write" | "body")
                    && (&last.kind, last.stream) == (&record.kind, record.stream)
                    && !(last.kind == "body" && last.until == 1) =>
            {
                last.text.extend_from_slice(&record.text);
                last.until = record.until;
            }
            _ => out.push(record),
        }
    }
    out
}

/// Text cut to what a person reads in a diff.
#[must_use]
pub fn clip(text: &str) -> String {
    const MOST: usize = 1500;
    let Some((end, _)) = text.char_indices().nth(MOST) else { return text.to_owned() };
    format!("{}… ({} bytes)", &text[..end], text.len())
}
