//! JSON text: checked once as it comes in, kept raw afterwards.
//!
//! Nothing here builds a tree. [`Scanner`] walks text and proves that it is JSON which every host language can read
//! (bounded nesting, no lone surrogate, no number beyond a double's range); [`Members`] and [`Elements`] walk text that
//! was proved before. Both hand out slices of the text they were given.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use core::hash::Hasher as _;
use core::ops::{Deref, Range};

use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// The deepest nesting that any limit can allow: the scanner's stack of open containers is this many bits.
pub const MAX_NESTING: usize = 1024;

/// Why text is not acceptable JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Not JSON at all.
    Syntax,
    /// Not UTF-8.
    Utf8,
    /// A string holds half of a surrogate pair, which is no Unicode text.
    Surrogate,
    /// Nested deeper than the limit.
    Nesting,
    /// A number beyond the range of a double: most hosts would read infinity.
    NumberRange,
    /// A member occurs twice where that would make the meaning depend on the reader.
    Duplicate,
}

impl Fault {
    /// The stable word for this fault.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Syntax => "json_syntax",
            Self::Utf8 => "json_utf8",
            Self::Surrogate => "json_surrogate",
            Self::Nesting => "json_nesting",
            Self::NumberRange => "json_number_range",
            Self::Duplicate => "json_duplicate",
        }
    }

    /// A sentence for people.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Syntax => "the text is not valid JSON",
            Self::Utf8 => "the text is not valid UTF-8",
            Self::Surrogate => "a string holds a lone surrogate escape",
            Self::Nesting => "the value is nested too deeply",
            Self::NumberRange => "a number is beyond the range of a double",
            Self::Duplicate => "a member occurs twice",
        }
    }
}

/// Owned JSON text that was checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Raw(String);

impl Raw {
    /// Checks `text` and keeps it.
    ///
    /// # Errors
    /// The first fault found.
    pub fn parse(text: &str, nesting: usize) -> Result<Self, Fault> {
        check(text, nesting)?;
        Ok(Self(text.to_owned()))
    }

    /// Text that is known to be JSON: made by us, or a slice of something checked.
    #[must_use]
    pub fn trusted(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Deref for Raw {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl serde::Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = alloc::boxed::Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(Self(alloc::boxed::Box::<str>::from(raw).into_string()))
    }
}

/// Checks that `text` is one JSON value and nothing else.
///
/// # Errors
/// The first fault found.
pub fn check(text: &str, nesting: usize) -> Result<(), Fault> {
    let mut scanner = Scanner::new(text.as_bytes(), nesting);
    scanner.value()?;
    scanner.finish()
}

/// Walks text once and proves it.
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    nesting: usize,
    depth: usize,
    /// One bit for each open container: set for an object.
    open: [u64; MAX_NESTING / 64],
}

impl<'a> Scanner<'a> {
    /// A scanner at the start of `text`, which must be UTF-8.
    #[must_use]
    pub const fn new(text: &'a [u8], nesting: usize) -> Self {
        let nesting = if nesting > MAX_NESTING { MAX_NESTING } else { nesting };
        Self { text, at: 0, nesting, depth: 0, open: [0; MAX_NESTING / 64] }
    }

    /// The next byte that is not white space, without taking it.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Takes `byte` or fails.
    ///
    /// # Errors
    /// [`Fault::Syntax`] when something else comes next.
    pub fn take(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(Fault::Syntax)
        }
    }

    /// The bytes of a range that this scanner returned.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> &'a [u8] {
        &self.text[range]
    }

    /// Fails unless only white space is left.
    ///
    /// # Errors
    /// [`Fault::Syntax`] when there is more.
    pub fn finish(&mut self) -> Result<(), Fault> {
        if self.peek().is_none() { Ok(()) } else { Err(Fault::Syntax) }
    }

    /// Opens a container that the caller walks itself.
    ///
    /// # Errors
    /// [`Fault::Nesting`] at the limit.
    pub fn enter(&mut self, object: bool) -> Result<(), Fault> {
        if self.depth >= self.nesting {
            return Err(Fault::Nesting);
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if object {
            self.open[word] |= 1 << bit;
        } else {
            self.open[word] &= !(1 << bit);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Closes the container opened last by [`Self::enter`], whose closing bracket comes next.
    pub const fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    const fn in_object(&self) -> bool {
        let top = self.depth - 1;
        self.open[top / 64] & (1 << (top % 64)) != 0
    }

    /// Walks one value and returns where it stands.
    ///
    /// # Errors
    /// The first fault in it.
    pub fn value(&mut self) -> Result<Range<usize>, Fault> {
        let floor = self.depth;
        let first = self.peek().ok_or(Fault::Syntax)?;
        let start = self.at;
        let mut next = first;
        loop {
            let opened = self.scalar_or_open(next)?;
            if !opened {
                loop {
                    if self.depth == floor {
                        return Ok(start..self.at);
                    }
                    match (self.peek(), self.in_object()) {
                        (Some(b','), object) => {
                            self.at += 1;
                            if object {
                                self.key()?;
                            }
                            break;
                        }
                        (Some(b'}'), true) | (Some(b']'), false) => self.leave(),
                        _ => return Err(Fault::Syntax),
                    }
                }
            }
            next = self.peek().ok_or(Fault::Syntax)?;
        }
    }

    /// Takes a scalar or an empty container (false), or opens a container up to its first value (true).
    fn scalar_or_open(&mut self, first: u8) -> Result<bool, Fault> {
        match first {
            b'{' => {
                self.enter(true)?;
                if self.peek() == Some(b'}') {
                    self.leave();
                    return Ok(false);
                }
                self.key()?;
                Ok(true)
            }
            b'[' => {
                self.enter(false)?;
                if self.peek() == Some(b']') {
                    self.leave();
                    return Ok(false);
                }
                Ok(true)
            }
            b'"' => self.string().map(|_| false),
            b'-' | b'0'..=b'9' => self.number().map(|()| false),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => Err(Fault::Syntax),
        }
    }

    /// Takes a member's name and its colon; returns where the name's content stands.
    ///
    /// # Errors
    /// The first fault in it.
    pub fn key(&mut self) -> Result<Range<usize>, Fault> {
        if self.peek() != Some(b'"') {
            return Err(Fault::Syntax);
        }
        let range = self.string()?;
        self.take(b':')?;
        Ok(range)
    }

    fn literal(&mut self, word: &[u8]) -> Result<bool, Fault> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(false)
        } else {
            Err(Fault::Syntax)
        }
    }

    fn string(&mut self) -> Result<Range<usize>, Fault> {
        self.at += 1;
        let start = self.at;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.iter().position(|b| *b == b'"' || *b == b'\\' || *b < 0x20).ok_or(Fault::Syntax)?;
            self.at += plain + 1;
            match rest[plain] {
                b'"' => return Ok(start..self.at - 1),
                b'\\' => self.escape()?,
                _ => return Err(Fault::Syntax),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let kind = *self.text.get(self.at).ok_or(Fault::Syntax)?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let unit = self.unit()?;
                match unit {
                    0xD800..=0xDBFF => {
                        if !self.text[self.at..].starts_with(b"\\u") {
                            return Err(Fault::Surrogate);
                        }
                        self.at += 2;
                        match self.unit()? {
                            0xDC00..=0xDFFF => Ok(()),
                            _ => Err(Fault::Surrogate),
                        }
                    }
                    0xDC00..=0xDFFF => Err(Fault::Surrogate),
                    _ => Ok(()),
                }
            }
            _ => Err(Fault::Syntax),
        }
    }

    fn unit(&mut self) -> Result<u32, Fault> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(Fault::Syntax)?;
        self.at += 4;
        hex4(digits).ok_or(Fault::Syntax)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.at;
        if self.text[self.at] == b'-' {
            self.at += 1;
        }
        let zero = self.text.get(self.at) == Some(&b'0');
        let whole = self.digits();
        if whole == 0 || (zero && whole > 1) {
            return Err(Fault::Syntax);
        }
        let mut far = whole > 300;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(Fault::Syntax);
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(Fault::Syntax);
            }
            far = true;
        }
        if far {
            let text = core::str::from_utf8(&self.text[start..self.at]).map_err(|_| Fault::Utf8)?;
            if !text.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err(Fault::NumberRange);
            }
        }
        Ok(())
    }
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, digit| Some(value * 16 + (*digit as char).to_digit(16)?))
}

/// The members of an object that was checked, in order.
#[derive(Debug)]
pub struct Members<'a> {
    text: &'a str,
    scanner: Option<Scanner<'a>>,
    first: bool,
}

/// The members of `object`; nothing when it is no object.
#[must_use]
pub fn members(object: &str) -> Members<'_> {
    let mut scanner = Scanner::new(object.as_bytes(), MAX_NESTING);
    let is_object = scanner.peek() == Some(b'{') && scanner.enter(true).is_ok();
    Members { text: object, scanner: is_object.then_some(scanner), first: true }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let scanner = self.scanner.as_mut()?;
        if !self.first {
            scanner.take(b',').ok()?;
        } else if scanner.peek() == Some(b'}') {
            return None;
        }
        self.first = false;
        let key = scanner.key().ok()?;
        let value = scanner.value().ok()?;
        Some((unescape(&self.text[key]), &self.text[value]))
    }
}

/// The elements of an array that was checked, in order.
#[derive(Debug)]
pub struct Elements<'a> {
    text: &'a str,
    scanner: Option<Scanner<'a>>,
    first: bool,
}

/// The elements of `array`; nothing when it is no array.
#[must_use]
pub fn elements(array: &str) -> Elements<'_> {
    let mut scanner = Scanner::new(array.as_bytes(), MAX_NESTING);
    let is_array = scanner.peek() == Some(b'[') && scanner.enter(false).is_ok();
    Elements { text: array, scanner: is_array.then_some(scanner), first: true }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let scanner = self.scanner.as_mut()?;
        if !self.first {
            scanner.take(b',').ok()?;
        } else if scanner.peek() == Some(b']') {
            return None;
        }
        self.first = false;
        Some(&self.text[scanner.value().ok()?])
    }
}

/// The values of the named members, in one pass. A name that occurs twice gives its last value, as hosts read it.
#[must_use]
pub fn pick<'a, const N: usize>(object: &'a str, names: [&str; N]) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    for (key, value) in members(object) {
        if let Some(at) = names.iter().position(|name| *name == key) {
            found[at] = Some(value);
        }
    }
    found
}

/// The value of one member.
#[must_use]
pub fn get<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    pick(object, [name])[0]
}

/// The text of a string value; nothing when it is no string.
#[must_use]
pub fn string(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(inner))
}

/// The member `name` of `object` as a string.
#[must_use]
pub fn get_string<'a>(object: &'a str, name: &str) -> Option<Cow<'a, str>> {
    string(get(object, name)?)
}

/// A whole number that fits; nothing for anything else.
#[must_use]
pub fn integer(value: &str) -> Option<i64> {
    value.trim().parse().ok()
}

/// Whether checked text is an object.
#[must_use]
pub fn is_object(value: &str) -> bool {
    value.trim_start().starts_with('{')
}

/// Whether checked text is an array.
#[must_use]
pub fn is_array(value: &str) -> bool {
    value.trim_start().starts_with('[')
}

/// Undoes the escapes of a checked string's content.
#[must_use]
pub fn unescape(inner: &str) -> Cow<'_, str> {
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let kind = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or("");
        match kind {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let high = rest.as_bytes().get(..4).and_then(hex4).unwrap_or(0xFFFD);
                rest = rest.get(4..).unwrap_or("");
                let mut scalar = high;
                if (0xD800..0xDC00).contains(&high) {
                    let low = rest.as_bytes().get(2..6).and_then(hex4).unwrap_or(0xDC00);
                    rest = rest.get(6..).unwrap_or("");
                    scalar = 0x10000 + ((high - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
                }
                out.push(char::from_u32(scalar).unwrap_or('\u{FFFD}'));
            }
            other => out.push(char::from(other)),
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            other => out.push_str(&format!("\\u{other:04x}")),
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

/// `text` as a JSON string.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// Removes white space between tokens, so that checked text stands on one line (STDIO-002).
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return Cow::Borrowed(text);
    }
    // A raw line break cannot stand inside a string, so every one of them is between tokens.
    Cow::Owned(text.replace(['\n', '\r'], " "))
}

/// A keyed hash of what a checked text means: order of members and spelling of strings do not matter, numbers count as
/// they are written. Nobody without the key can find two values with one fingerprint.
#[must_use]
pub fn fingerprint(value: &str, key: &[u8; 16]) -> u128 {
    // The text was checked; a fault here could only end the walk early, and equally for both sides of a comparison.
    walk(&mut Scanner::new(value.as_bytes(), MAX_NESTING), value, key).unwrap_or(0)
}

/// One pass, however deep the value: what is inside is hashed on the way.
fn walk(scanner: &mut Scanner<'_>, text: &str, key: &[u8; 16]) -> Result<u128, Fault> {
    let mut hasher = SipHasher13::new_with_key(key);
    let kind = scanner.peek().ok_or(Fault::Syntax)?;
    hasher.write_u8(kind);
    let close = match kind {
        b'{' => b'}',
        b'[' => b']',
        b'"' => {
            let range = scanner.value()?;
            hasher.write(string(&text[range]).unwrap_or_default().as_bytes());
            return Ok(hasher.finish128().as_u128());
        }
        _ => {
            hasher.write(text[scanner.value()?].as_bytes());
            return Ok(hasher.finish128().as_u128());
        }
    };
    scanner.enter(kind == b'{')?;
    let mut members_sum = 0u128;
    while scanner.peek() != Some(close) {
        if kind == b'{' {
            let mut pair = SipHasher13::new_with_key(key);
            pair.write(unescape(&text[scanner.key()?]).as_bytes());
            pair.write_u8(0xFF);
            pair.write_u128(walk(scanner, text, key)?);
            members_sum = members_sum.wrapping_add(pair.finish128().as_u128());
        } else {
            hasher.write_u128(walk(scanner, text, key)?);
        }
        if scanner.peek() == Some(b',') {
            scanner.take(b',')?;
        }
    }
    scanner.leave();
    hasher.write_u128(members_sum);
    Ok(hasher.finish128().as_u128())
}

/// Whether two checked texts mean the same value, see [`fingerprint`]. For short values: both are walked in full.
#[must_use]
pub fn same(left: &str, right: &str) -> bool {
    const FIXED: [u8; 16] = *b"any key will do.";
    left == right || fingerprint(left, &FIXED) == fingerprint(right, &FIXED)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn accepts_json_and_refuses_the_rest() {
        for good in [
            "{}",
            "[]",
            " 1 ",
            "-0.5e-3",
            "\"\\ud83e\\udd80\"",
            "[1,{\"a\":[]},null,true,false]",
            "18446744073709551615",
        ] {
            assert_eq!(check(good, 64), Ok(()), "{good}");
        }
        for (bad, fault) in [
            ("", Fault::Syntax),
            ("{", Fault::Syntax),
            ("[1,]", Fault::Syntax),
            ("{\"a\":1,}", Fault::Syntax),
            ("[1}", Fault::Syntax),
            ("01", Fault::Syntax),
            ("1.", Fault::Syntax),
            ("-", Fault::Syntax),
            ("1 2", Fault::Syntax),
            ("\"\n\"", Fault::Syntax),
            ("\"\\x\"", Fault::Syntax),
            ("nul", Fault::Syntax),
            ("1e400", Fault::NumberRange),
            ("\"\\ud800\"", Fault::Surrogate),
            ("\"\\udc00\"", Fault::Surrogate),
            ("\"\\ud800\\u0041\"", Fault::Surrogate),
            ("[[[[", Fault::Nesting),
        ] {
            assert_eq!(check(bad, 3), Err(fault), "{bad}");
        }
    }

    #[test]
    fn members_and_elements_are_slices() {
        let object = r#" { "a" : 1 , "b\n" : [ 2 , { } ] } "#;
        let found: Vec<_> = members(object).map(|(key, value)| (key.into_owned(), value)).collect();
        assert_eq!(found, [("a".to_owned(), "1"), ("b\n".to_owned(), "[ 2 , { } ]")]);
        assert_eq!(elements("[1,\"x\"]").collect::<Vec<_>>(), ["1", "\"x\""]);
        assert_eq!(members("[1]").count(), 0);
    }

    #[test]
    fn strings_come_back() {
        let text = "grüß \u{1F980} \u{0}\n\"\\/";
        assert_eq!(string(&quote(text)).as_deref(), Some(text));
        assert_eq!(unescape("\\ud83e\\udd80\\/"), "\u{1F980}/");
    }

    #[test]
    fn same_ignores_order_only() {
        assert!(same(r#"{"a":1,"b":[2]}"#, r#"{ "b":[ 2 ], "a":1 }"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":2}"#));
        assert!(same(r#""\u0041""#, r#""A""#));
    }
}
