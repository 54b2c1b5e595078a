//! Newline framing (STDIO-002): bytes in any portions, lines out. LF and CRLF end a line, blank lines and a leading byte
//! order mark are skipped, a line beyond the limit is reported once and skipped to its end.

use alloc::vec::Vec;

/// What came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// A whole line without its end.
    Text(&'a [u8]),
    /// The start of a line that is longer than the limit.
    TooLong(&'a [u8]),
}

/// The reader of one stream.
#[derive(Debug)]
pub struct Lines {
    held: Vec<u8>,
    limit: usize,
    skipping: bool,
    started: bool,
}

impl Lines {
    /// A reader for lines of at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { held: Vec::new(), limit, skipping: false, started: false }
    }

    /// Takes bytes; hands out every line that they complete.
    pub fn receive(&mut self, bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, tail) = (&rest[..end], &rest[end + 1..]);
            rest = tail;
            if core::mem::take(&mut self.skipping) {
                continue;
            }
            if self.held.is_empty() {
                self.line(line, &mut each);
            } else {
                let mut held = core::mem::take(&mut self.held);
                held.extend_from_slice(line);
                self.line(&held, &mut each);
            }
        }
        if rest.is_empty() || self.skipping {
            return;
        }
        self.held.extend_from_slice(rest);
        // One more byte may be the carriage return of a line that just fits.
        if self.held.len() > self.limit + 1 {
            self.skipping = true;
            let held = core::mem::take(&mut self.held);
            each(Line::TooLong(&held[..self.limit]));
        }
    }

    /// The stream has ended: what is left is a line too.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        let held = core::mem::take(&mut self.held);
        if !core::mem::take(&mut self.skipping) {
            self.line(&held, &mut each);
        }
    }

    fn line(&mut self, line: &[u8], each: &mut impl FnMut(Line<'_>)) {
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if !core::mem::replace(&mut self.started, true) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if line.len() > self.limit { each(Line::TooLong(&line[..self.limit])) } else { each(Line::Text(line)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::string::String;

    fn read(limit: usize, text: &[u8], step: usize) -> Vec<String> {
        let (mut lines, mut out) = (Lines::new(limit), Vec::new());
        let mut note = |line: Line<'_>| match line {
            Line::Text(text) => out.push(String::from_utf8_lossy(text).into_owned()),
            Line::TooLong(_) => out.push("TOO LONG".to_owned()),
        };
        for part in text.chunks(step) {
            lines.receive(part, &mut note);
        }
        lines.finish(&mut note);
        out
    }

    #[test]
    fn any_portions_give_the_same_lines() {
        let text = b"\xEF\xBB\xBFone\r\n\n  \ntwo\n123456789012\nthree \nlast";
        for step in 1..text.len() {
            assert_eq!(read(10, text, step), ["one", "two", "TOO LONG", "three ", "last"], "{step}");
        }
    }
}
