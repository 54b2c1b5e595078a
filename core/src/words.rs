//! Texts and numbers, put together and read by hand. What the standard library has for any type and any format would be
//! a tenth of a client's code, which counts where the core is downloaded.

use alloc::string::String;
use core::ops::Range;

/// The parts in a row.
pub(crate) fn join(parts: &[&str]) -> String {
    let mut out = String::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        out.push_str(part);
    }
    out
}

/// A part of a text between two bytes that were found in it. Indexing would bring the library's words for mistakes along.
pub(crate) fn part(text: &str, range: Range<usize>) -> &str {
    debug_assert!(text.get(range.clone()).is_some(), "a part is cut where characters meet");
    text.get(range).unwrap_or_default()
}

/// A number in decimal digits.
pub(crate) fn digits(number: u64) -> String {
    let mut out = String::new();
    push_digits(&mut out, number);
    out
}

fn push_digits(out: &mut String, number: u64) {
    if number >= 10 {
        push_digits(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// At most so many characters from the start of the text.
pub(crate) fn start(text: &str, most: usize) -> &str {
    // Every byte but those that go on with a character begins one.
    let mut starts = text.bytes().enumerate().filter(|(_, byte)| byte & 0xC0 != 0x80);
    starts.nth(most).map_or(text, |(at, _)| part(text, 0..at))
}

/// A whole number in decimal digits.
pub(crate) fn integer(number: i64) -> String {
    let digits = digits(number.unsigned_abs());
    if number < 0 { join(&["-", &digits]) } else { digits }
}

/// The number that decimal digits alone make; nothing for anything else, or when it does not fit.
pub(crate) fn read_digits(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// The whole number in decimal digits; nothing for anything else, or when it does not fit.
pub(crate) fn read_integer(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(digits) => 0i64.checked_sub_unsigned(read_digits(digits)?),
        None => i64::try_from(read_digits(text)?).ok(),
    }
}

/// Bytes as text; what is no UTF-8 becomes U+FFFD, as the standard library has it.
pub(crate) fn lossy(mut bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    loop {
        let (good, fault) = match core::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(fault) => {
                let good = bytes.get(..fault.valid_up_to()).unwrap_or_default();
                (core::str::from_utf8(good).unwrap_or_default(), Some(fault))
            }
        };
        out.push_str(good);
        let Some(fault) = fault else { return out };
        out.push('\u{FFFD}');
        let Some(length) = fault.error_len() else { return out };
        bytes = bytes.get(good.len() + length..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_start_has_whole_characters() {
        let text = "a\u{fc}\u{20ac}\u{1f600}";
        for (most, length) in [(0, 0), (1, 1), (2, 3), (3, 6), (4, 10), (9, 10)] {
            assert_eq!(start(text, most).len(), length);
        }
    }

    #[test]
    fn numbers_there_and_back() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, 1 << 53, u64::MAX] {
            assert_eq!(digits(number), number.to_string());
            assert_eq!(read_digits(&digits(number)), Some(number));
        }
        for number in [i64::MIN, -32_700, -1, 0, 7, i64::MAX] {
            assert_eq!(integer(number), number.to_string());
            assert_eq!(read_integer(&integer(number)), Some(number));
        }
        for text in ["", "-", "+1", "1.0", " 1", "1e3", "--1", "18446744073709551616"] {
            assert_eq!((read_digits(text), read_integer(text)), (None, None), "{text}");
        }
        assert_eq!((read_integer("-9223372036854775809"), read_integer("9223372036854775808")), (None, None));
    }

    #[test]
    fn lossy_text_is_that_of_the_library() {
        let pieces: [&[u8]; 8] =
            [b"a", b"\xFF", b"\xC3", "\u{fc}".as_bytes(), b"\xE2\x82", b"\xF0\x9F\x98", b"\x80", b"\xED\xA0\x80"];
        for (first, second) in pieces.iter().flat_map(|first| pieces.iter().map(move |second| (first, second))) {
            for third in pieces {
                let bytes = [first, second, third].concat();
                assert_eq!(lossy(&bytes), String::from_utf8_lossy(&bytes), "{bytes:?}");
            }
        }
    }
}
