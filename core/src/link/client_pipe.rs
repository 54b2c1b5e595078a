//! A client on a pipe: one message a line.

use alloc::string::String;
use alloc::vec::Vec;

use crate::client::{Client, Config, Event, Output};
use crate::limits::Limits;
use crate::message;
use crate::time::Millis;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One thing to do or to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipeOutput {
    /// Write this line.
    Write(String),
    /// No more will be written: close the server's input.
    Close,
    /// Something for the host.
    Event(Event),
}

/// A client and the framing of its pipe.
#[derive(Debug)]
pub struct PipeClient {
    client: Client,
    limits: Limits,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// That line is too long: what was kept of it was reported, and the rest is skipped.
    skipping: bool,
    at_start: bool,
    /// The other end is gone, so there is nothing to close.
    ended: bool,
    held: Option<Event>,
}

impl PipeClient {
    /// A client that has not started yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let limits = config.limits;
        let client = Client::new(Config { own_streams: false, ..config });
        Self { client, limits, line: Vec::new(), skipping: false, at_start: true, ended: false, held: None }
    }

    /// The machine, for commands.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The machine, for questions.
    #[must_use]
    pub const fn machine(&self) -> &Client {
        &self.client
    }

    /// Bytes arrived.
    pub fn receive(&mut self, mut bytes: &[u8], now: Millis) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = bytes.split_at(end);
            bytes = &tail[1..];
            if self.line.is_empty() && !self.skipping {
                self.take_line(head, now);
            } else {
                self.keep(head, now);
                let mut line = core::mem::take(&mut self.line);
                if !core::mem::take(&mut self.skipping) {
                    self.take_line(&line, now);
                }
                line.clear();
                // A long line must not hold its memory for ever.
                if line.capacity() <= 64 * 1024 {
                    self.line = line;
                }
            }
        }
        self.keep(bytes, now);
    }

    /// The pipe is gone; in words, why. A last line without a line break still counts.
    pub fn end(&mut self, reason: &str, now: Millis) {
        self.ended = true;
        let line = core::mem::take(&mut self.line);
        if !self.skipping {
            self.take_line(&line, now);
        }
        self.client.handle_lost(reason);
    }

    /// What is to be done, in order.
    pub fn poll_output(&mut self) -> Option<PipeOutput> {
        if let Some(event) = self.held.take() {
            return Some(PipeOutput::Event(event));
        }
        loop {
            return Some(match self.client.poll_output()? {
                Output::Send(outgoing) => {
                    let mut line = outgoing.text;
                    line.push('\n');
                    PipeOutput::Write(line)
                }
                // Nothing but the whole pipe could be aborted.
                Output::Abort(_) => continue,
                Output::Event(event @ Event::Closed { .. }) if !self.ended => {
                    self.held = Some(event);
                    PipeOutput::Close
                }
                Output::Event(event) => PipeOutput::Event(event),
            });
        }
    }

    fn keep(&mut self, bytes: &[u8], now: Millis) {
        if self.skipping {
            return;
        }
        let room = self.limits.message_bytes.saturating_add(BOM.len() + 1).saturating_sub(self.line.len());
        if bytes.len() > room {
            self.line.extend_from_slice(&bytes[..room]);
            let start = core::mem::take(&mut self.line);
            self.skipping = true;
            self.client.handle_invalid(message::too_big(&start, &self.limits), now);
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take_line(&mut self, line: &[u8], now: Millis) {
        let line = match core::mem::take(&mut self.at_start) {
            true => line.strip_prefix(BOM).unwrap_or(line),
            false => line,
        };
        let line = line.trim_ascii();
        match line.first() {
            None => {}
            Some(b'{' | b'[') => self.client.handle_message(0, 0, line, now),
            Some(_) => {
                let start = String::from_utf8_lossy(&line[..line.len().min(200)]);
                self.client.violation("stray_output", start.into_owned());
            }
        }
    }
}
