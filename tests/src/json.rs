//! JSON as tests need it: members keep their order, numbers keep their text. A number that went through a double would
//! hide exactly the faults that the corpus looks for.

use std::fmt::{self, Write as _};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Self>),
    /// An object, in the order of the text.
    Object(Vec<(String, Self)>),
}

const DEEPEST: usize = 1100;

impl Json {
    /// Reads one value and nothing else.
    ///
    /// # Errors
    /// A sentence with the byte position.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let value = reader.value()?;
        reader.space();
        if reader.at == text.len() { Ok(value) } else { Err(reader.fault("more text than one value")) }
    }

    /// A whole number.
    #[must_use]
    pub fn int(value: u64) -> Self {
        Self::Number(value.to_string())
    }

    /// A string.
    #[must_use]
    pub fn string(value: impl Into<String>) -> Self {
        Self::String(value.into())
    }

    /// An object of these members.
    #[must_use]
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// The member with this name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value at a path of member names.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// A whole number that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Number(text) = self { text.parse().ok() } else { None }
    }

    /// The elements of an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The one member of an object that has just one.
    #[must_use]
    pub fn only(&self) -> Option<(&str, &Self)> {
        match self.as_object()? {
            [(key, value)] => Some((key, value)),
            _ => None,
        }
    }

    /// Which of the six kinds it is, as JSON Schema names them.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(text) => f.write_str(text),
            Self::String(text) => quote(text, f),
            Self::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{item}")?;
                }
                f.write_char(']')
            }
            Self::Object(members) => {
                f.write_char('{')?;
                for (index, (key, value)) in members.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    quote(key, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quote(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        f.write_str(&text[plain..index])?;
        plain = index + 1;
        if escape.is_empty() { write!(f, "\\u{byte:04x}")? } else { f.write_str(escape)? }
    }
    f.write_str(&text[plain..])?;
    f.write_char('"')
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn fault(&self, what: &str) -> String {
        format!("{what} at byte {}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, String> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.fault("no JSON value"))
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        self.space();
        match self.peek() {
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[' | b'{') if self.depth == DEEPEST => Err(self.fault("too deep")),
            Some(b'[') => self.nested(Self::array),
            Some(b'{') => self.nested(Self::object),
            _ => Err(self.fault("no JSON value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json, String>) -> Result<Json, String> {
        self.at += 1;
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Result<Json, String> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            if !self.take(b',') {
                return Err(self.fault("`,` or `]` expected"));
            }
        }
    }

    fn object(&mut self) -> Result<Json, String> {
        let mut members: Vec<(String, Json)> = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.fault("a member name expected"));
            }
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.fault("`:` expected"));
            }
            let value = self.value()?;
            if members.iter().any(|(name, _)| *name == key) {
                return Err(self.fault(&format!("member `{key}` twice")));
            }
            members.push((key, value));
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.take(b',') {
                return Err(self.fault("`,` or `}` expected"));
            }
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while matches!(reader.peek(), Some(b'0'..=b'9')) {
                reader.at += 1;
            }
            reader.at > from
        };
        self.at += usize::from(self.peek() == Some(b'-'));
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.at;
        let mut good = digits(self) && !(leading_zero && self.at > whole + 1);
        if self.peek() == Some(b'.') {
            self.at += 1;
            good &= digits(self);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            good &= digits(self);
        }
        if good { Ok(Json::Number(self.text[start..self.at].to_owned())) } else { Err(self.fault("no JSON number")) }
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f));
            let plain = plain.ok_or_else(|| self.fault("an open string"))?;
            out.push_str(&rest[..plain]);
            self.at += plain + 1;
            match rest.as_bytes()[plain] {
                b'"' => return Ok(out),
                b'\\' => out.push(self.escape()?),
                _ => return Err(self.fault("a control character in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let byte = self.peek().ok_or_else(|| self.fault("an open string"))?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut unit = self.unit()?;
                if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let low = self.unit()?;
                    unit = 0x10000 + ((unit - 0xd800) << 10) + low.wrapping_sub(0xdc00);
                }
                char::from_u32(unit).ok_or_else(|| self.fault("a lone surrogate"))?
            }
            _ => return Err(self.fault("an unknown escape")),
        })
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(|| self.fault("a cut escape"))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.fault("a bad escape"))
    }
}

/// Whether two values are the same: members in any order, numbers by their text.
#[must_use]
pub fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_text() {
        let text = r#"{"b":9007199254740993,"a":[1.0,-0,1e400,"é\n\u0001🦀"]}"#;
        let value = Json::parse(text).expect("well-formed");
        assert_eq!(value.to_string(), text);
        assert!(same(
            &value,
            &Json::parse(r#"{"a":[1.0,-0,1e400,"\u00e9\n\u0001\ud83e\udd80"],"b":9007199254740993}"#).expect("ok")
        ));
        assert!(!same(&Json::int(1), &Json::Number("1.0".into())));
    }

    #[test]
    fn what_is_no_json() {
        for text in ["", "01", "1.", "[1,]", "{\"a\":1,\"a\":2}", "\"\\ud800\"", "nul", "1 2", "{a:1}", "\"\n\""] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
