//! A client on a pipe: one message a line.

use alloc::boxed::Box;
use alloc::string::String;

use super::lines::{Line, Lines};
use crate::client::{Client, Config, Event, Output};
use crate::limits::Limits;
use crate::message;
use crate::time::Millis;
use crate::words;

/// One thing to do or to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PipeOutput {
    /// Write this line.
    Write(String),
    /// No more will be written: close the server's input.
    Close,
    /// Something for the host.
    Event(Box<Event>),
}

/// A client and the framing of its pipe.
#[derive(Debug)]
pub struct PipeClient {
    client: Client,
    limits: Limits,
    lines: Lines,
    /// The other end is gone, so there is nothing to close.
    ended: bool,
    held: Option<Box<Event>>,
}

impl PipeClient {
    /// A client that has not started yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let limits = config.limits;
        let client = Client::new(Config { own_streams: false, ..config });
        Self { client, limits, lines: Lines::new(limits.message_bytes), ended: false, held: None }
    }

    /// The machine, for commands.
    pub const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Bytes arrived.
    pub fn receive(&mut self, bytes: &[u8], now: Millis) {
        let (client, limits) = (&mut self.client, &self.limits);
        self.lines.receive(bytes, |line| take(client, limits, line, now));
    }

    /// The pipe is gone; in words, why. A last line without a line break still counts.
    pub fn end(&mut self, reason: &str, now: Millis) {
        self.ended = true;
        let (client, limits) = (&mut self.client, &self.limits);
        self.lines.finish(|line| take(client, limits, line, now));
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
                Output::Event(event) if !self.ended && matches!(*event, Event::Closed { .. }) => {
                    self.held = Some(event);
                    PipeOutput::Close
                }
                Output::Event(event) => PipeOutput::Event(event),
            });
        }
    }
}

fn take(client: &mut Client, limits: &Limits, line: Line<'_>, now: Millis) {
    if client.is_closed() {
        return;
    }
    let text = match line {
        Line::TooLong(start) => {
            client.handle_invalid(message::too_big(start, limits), now);
            return;
        }
        Line::Text(text) => text.trim_ascii(),
    };
    if text.starts_with(b"{") || text.starts_with(b"[") {
        client.handle_message(0, 0, text, now);
    } else {
        let start = words::lossy(&text[..text.len().min(200)]);
        client.violation("stray_output", &[&start]);
    }
}
