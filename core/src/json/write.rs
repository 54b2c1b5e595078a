//! Objects and arrays, written member by member.

use alloc::string::{String, ToString};

use super::{push_line, push_string};

/// Writes one object, member by member.
#[derive(Debug)]
pub struct Object {
    out: String,
    empty: bool,
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

impl Object {
    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        Self { out: String::from("{"), empty: true }
    }

    /// An object behind text that stands before it, in the same piece of memory.
    #[must_use]
    pub fn after(mut text: String) -> Self {
        text.push('{');
        Self { out: text, empty: true }
    }

    /// Room for about `bytes` more.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        let mut out = String::with_capacity(bytes + 2);
        out.push('{');
        Self { out, empty: true }
    }

    fn key(&mut self, name: &str) {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        push_string(&mut self.out, name);
        self.out.push(':');
    }

    /// A member whose value is JSON text.
    #[must_use]
    pub fn raw(mut self, name: &str, value: &str) -> Self {
        self.key(name);
        self.out.push_str(value);
        self
    }

    /// The same for text of others, which may have line breaks.
    #[must_use]
    pub fn line(mut self, name: &str, value: &str) -> Self {
        self.key(name);
        push_line(&mut self.out, value);
        self
    }

    /// A member that is there only when it has a value.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.raw(name, value),
            None => self,
        }
    }

    /// A string member.
    #[must_use]
    pub fn string(mut self, name: &str, value: &str) -> Self {
        self.key(name);
        push_string(&mut self.out, value);
        self
    }

    /// A number member.
    #[must_use]
    pub fn number(self, name: &str, value: impl ToString) -> Self {
        let text = value.to_string();
        self.raw(name, &text)
    }

    /// A boolean member.
    #[must_use]
    pub fn bool(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    /// The text without its end.
    pub(crate) fn unfinished(self) -> String {
        self.out
    }

    /// The finished text.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

/// An array from texts that are JSON.
#[must_use]
pub fn array<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::from("[");
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(item);
    }
    out.push(']');
    out
}
