//! Takes chunked bodies apart (RFC 9112, section 7.1), strictly: what two readers could understand in two ways is refused.

use alloc::vec::Vec;

/// Bytes of chunk extensions and trailer fields that one body may carry; both are ignored.
const EXTRA_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size {
        value: u64,
        digits: u8,
    },
    /// White space between a size and an extension or the line's end.
    Pad,
    Extension,
    SizeLf,
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Done,
}

/// Reads one chunked body, in pieces of any size.
#[derive(Debug)]
pub(super) struct ChunkReader {
    state: State,
    size: u64,
    extra: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkFault {
    Malformed(&'static str),
    TooLarge,
}

impl ChunkReader {
    pub(super) const fn new() -> Self {
        Self { state: State::Size { value: 0, digits: 0 }, size: 0, extra: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Adds body bytes to `sink`, which may hold at most `limit`; tells how many bytes of the input belong to this body.
    pub(super) fn feed(&mut self, input: &[u8], sink: &mut Vec<u8>, limit: usize) -> Result<usize, ChunkFault> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if let State::Data(left) = self.state {
                let rest = &input[at..];
                let take = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                sink.extend_from_slice(&rest[..take]);
                at += take;
                let left = left - take as u64;
                self.state = if left == 0 { State::DataCr } else { State::Data(left) };
            } else {
                self.state = self.step(input[at])?;
                at += 1;
                if let State::Data(size) = self.state
                    && size > limit.saturating_sub(sink.len()) as u64
                {
                    return Err(ChunkFault::TooLarge);
                }
            }
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<State, ChunkFault> {
        match (self.state, byte) {
            (State::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == 15 {
                    return Err(ChunkFault::TooLarge);
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                Ok(State::Size { value: value * 16 + u64::from(digit), digits: digits + 1 })
            }
            (State::Size { value, digits: 1.. }, b' ' | b'\t' | b';' | b'\r') => {
                self.size = value;
                self.after_size(byte)
            }
            (State::Pad, b' ' | b'\t' | b';' | b'\r') => self.after_size(byte),
            (State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Extension, b'\t' | b' '..=0x7e | 0x80..) => self.ignore(State::Extension),
            (State::SizeLf, b'\n') => Ok(if self.size == 0 { State::TrailerStart } else { State::Data(self.size) }),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(State::Size { value: 0, digits: 0 }),
            (State::TrailerStart, b'\r') => Ok(State::EndLf),
            (State::Trailer, b'\r') => Ok(State::TrailerLf),
            (State::TrailerLf, b'\n') => Ok(State::TrailerStart),
            (State::TrailerStart | State::Trailer, b'\t' | b' '..=0x7e | 0x80..) => self.ignore(State::Trailer),
            (State::EndLf, b'\n') => Ok(State::Done),
            (State::TrailerStart | State::Trailer | State::TrailerLf | State::EndLf, _) => {
                Err(ChunkFault::Malformed("invalid trailer"))
            }
            _ => Err(ChunkFault::Malformed("invalid chunk")),
        }
    }

    fn after_size(&mut self, byte: u8) -> Result<State, ChunkFault> {
        match byte {
            b'\r' => Ok(State::SizeLf),
            b';' => self.ignore(State::Extension),
            _ => self.ignore(State::Pad),
        }
    }

    fn ignore(&mut self, next: State) -> Result<State, ChunkFault> {
        self.extra += 1;
        if self.extra > EXTRA_BYTES { Err(ChunkFault::Malformed("too many chunk extensions")) } else { Ok(next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<u8>, usize, bool), ChunkFault> {
        let (mut reader, mut sink) = (ChunkReader::new(), Vec::new());
        let used = reader.feed(text.as_bytes(), &mut sink, 100)?;
        Ok((sink, used, reader.is_done()))
    }

    #[test]
    fn good_bodies() {
        let text = "3\r\nabc\r\n0A ; a=\"b\"\r\n0123456789\r\n000\r\nTrailer: x\r\nb: c\r\n\r\nGET";
        assert_eq!(read(text), Ok((b"abc0123456789".to_vec(), text.len() - 3, true)));
        assert_eq!(read("0\r\n\r\n"), Ok((Vec::new(), 5, true)));
        assert_eq!(read("5\r\nab"), Ok((b"ab".to_vec(), 5, false)));
    }

    #[test]
    fn bad_bodies() {
        let bad = [
            "\r\n",
            ";a\r\n",
            " 3\r\nabc\r\n",
            "3\nabc\r\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n",
            "3\r\nabc0\r\n",
            "0x3\r\n",
            "-3\r\n",
            "+3\r\n",
            "3 3\r\n",
            "3;a\nabc",
            "3;\0\r\n",
            "0\r\n\n",
            "0\r\na: b\n\r\n",
            "0\r\na\r\rb",
            "3\r\rabc",
            "g\r\n",
        ];
        for text in bad {
            assert!(matches!(read(text), Err(ChunkFault::Malformed(_))), "{text:?} {:?}", read(text));
        }
    }

    #[test]
    fn bounds() {
        assert_eq!(read("65\r\n"), Err(ChunkFault::TooLarge));
        assert_eq!(read("64\r\n"), Ok((Vec::new(), 4, false)));
        assert_eq!(read("fffffffffffffffffff"), Err(ChunkFault::TooLarge));
        assert_eq!(read("fffffffffffffff\r\n"), Err(ChunkFault::TooLarge));
        let extra = ["1;".into(), "x".repeat(EXTRA_BYTES)].concat();
        assert!(matches!(read(&extra), Err(ChunkFault::Malformed(_))));
        let trailers = ["0\r\n".into(), "a: b\r\n".repeat(EXTRA_BYTES)].concat();
        assert!(matches!(read(&trailers), Err(ChunkFault::Malformed(_))));
    }
}
