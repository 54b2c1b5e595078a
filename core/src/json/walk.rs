//! Checked text, taken apart into slices.

use alloc::borrow::Cow;

use super::scanner::{MAX_NESTING, Scanner};
use super::unescape;
use crate::words;

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
        Some((unescape(words::part(self.text, key)), words::part(self.text, value)))
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
        Some(words::part(self.text, scanner.value().ok()?))
    }
}

/// The values of the named members, in one pass. A name that occurs twice gives its last value, as hosts read it.
#[must_use]
pub fn pick<'a, const N: usize>(object: &'a str, names: [&str; N]) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    find(object, &names, &mut found);
    found
}

fn find<'a>(object: &'a str, names: &[&str], found: &mut [Option<&'a str>]) {
    for (key, value) in members(object) {
        let mut slots = names.iter().zip(&mut *found);
        if let Some((_, slot)) = slots.find(|(name, _)| **name == key) {
            *slot = Some(value);
        }
    }
}

/// The value of one member.
#[must_use]
pub fn get<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    pick(object, [name])[0]
}

/// The text of a string value; nothing when it is no string.
#[must_use]
pub fn string(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.trim_ascii().strip_prefix('"')?.strip_suffix('"')?;
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
    words::read_integer(value.trim_ascii())
}

/// Whether checked text is an object.
#[must_use]
pub fn is_object(value: &str) -> bool {
    value.trim_ascii_start().starts_with('{')
}

/// Whether checked text is a string.
#[must_use]
pub fn is_string(value: &str) -> bool {
    value.trim_ascii_start().starts_with('"')
}

/// Whether checked text is an array.
#[must_use]
pub fn is_array(value: &str) -> bool {
    value.trim_ascii_start().starts_with('[')
}
