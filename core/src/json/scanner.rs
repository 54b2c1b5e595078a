//! One pass over text that proves it: bounded nesting, no lone surrogate, no number beyond a double's range.

use core::ops::Range;

use super::Fault;

/// The deepest nesting that any limit can allow: the scanner's stack of open containers is this many bits.
pub const MAX_NESTING: usize = 1024;

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
            let plain = plain_length(rest);
            if plain == rest.len() {
                return Err(Fault::Syntax);
            }
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
        if far && !is_finite(&self.text[start..self.at]) {
            return Err(Fault::NumberRange);
        }
        Ok(())
    }
}

/// The least whole number that rounds to infinity as a double: 2^1024 - 2^970.
const INFINITE: &[u8] = b"17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720\
    709633028641669288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557\
    1366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497792";

/// Whether a number of JSON is finite as a double. Compared by its digits: reading it would need a table of powers.
fn is_finite(number: &[u8]) -> bool {
    let end = number.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(number.len());
    let (digits, exponent) = (&number[..end], number.get(end + 1..).unwrap_or_default());
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let whole = digits[..point].iter().filter(|byte| **byte != b'-').count();
    let mut all = digits.iter().copied().filter(u8::is_ascii_digit);
    let Some(zeros) = all.clone().position(|digit| digit != b'0') else { return true };
    let negative = exponent.first() == Some(&b'-');
    let shift = exponent
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    let shift = if negative { -shift } else { shift };
    // How many digits stand before the point when the first one is not 0.
    let length = shift.saturating_add(whole as i64).saturating_sub(zeros as i64);
    if length != INFINITE.len() as i64 {
        return length < INFINITE.len() as i64;
    }
    all.by_ref().take(zeros).for_each(drop);
    all.chain(core::iter::repeat(b'0')).take(INFINITE.len()).lt(INFINITE.iter().copied())
}

pub(super) fn hex4(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, digit| Some(value * 16 + (*digit as char).to_digit(16)?))
}

/// How many bytes stand before the first quote, backslash or control character; eight are looked at together.
fn plain_length(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGHS: u64 = ONES << 7;
    let zero_in = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let (words, rest) = text.as_chunks::<8>();
    for (at, bytes) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*bytes);
        let quote = zero_in(word ^ (ONES * u64::from(b'"')));
        let backslash = zero_in(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let stop = quote | backslash | control;
        if stop != 0 {
            // Borrows may set marks above a real one, never below: the lowest is right.
            return at * 8 + (stop.trailing_zeros() / 8) as usize;
        }
    }
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    text.len() - rest.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_end_of_plain_text_is_found_anywhere() {
        for stop in [b'"', b'\\', 0, 0x1F, b'\n'] {
            for length in 0..40 {
                for plain in [b'a', b' ', b'!', 0x7F, 0xC3, 0xFF] {
                    let mut text: Vec<u8> = core::iter::repeat_n(plain, length).collect();
                    assert_eq!(plain_length(&text), length);
                    text.push(stop);
                    text.extend([b'"', b'x', 1, b'\\', 0xFF, b'y', b'z', b'"', b'!']);
                    assert_eq!(plain_length(&text), length, "{stop} behind {plain} {length}");
                }
            }
        }
    }
}
