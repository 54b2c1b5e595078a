//! What a client machine hands back.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Error;
use crate::revision::Revision;

/// One thing to perform or to know, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// A message to send.
    Send(Box<Outgoing>),
    /// The exchange of this stream is not wanted any more.
    Abort(u64),
    /// Something for the host.
    Event(Box<Event>),
}

/// A message on its way out, with the facts that a transport may need.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outgoing {
    /// The stream on which it goes; 0 when there is only one.
    pub stream: u64,
    /// The message.
    pub text: String,
    /// Its method, unless it is an answer.
    pub method: Option<String>,
    /// What it is about, where that is mirrored as a header.
    pub target: Option<String>,
    /// Arguments that are mirrored as headers too: the ends of the names, and the values.
    pub mirrored: Vec<(String, String)>,
    /// The revision it is written in.
    pub revision: Revision,
    /// What kind of message it is.
    pub role: Role,
}

/// What a message is for, as far as transports care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `initialize`: before any version was agreed on, and before any session.
    Opening,
    /// The notification that ends the handshake.
    Confirmation,
    /// A request, which gets an answer.
    Request,
    /// A notification or an answer of ours, which gets none.
    OneWay,
}

/// Something for the host to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The connection is open.
    Ready {
        /// In this revision.
        revision: Revision,
        /// What the server says about itself: `{"server","capabilities","instructions","era"}`.
        about: String,
    },
    /// A request succeeded.
    Result {
        /// Which one.
        handle: u64,
        /// Its result as JSON.
        result: String,
    },
    /// A request ended otherwise.
    Failed {
        /// Which one.
        handle: u64,
        /// How.
        error: Error,
    },
    /// A request goes on.
    Progress {
        /// Which one.
        handle: u64,
        /// `{"progress","total"?,"message"?}`.
        progress: String,
    },
    /// The server needs something from the user; to be answered.
    Input {
        /// What to answer to.
        token: u64,
        /// What is wanted.
        method: String,
        /// Its parameters as JSON.
        params: String,
    },
    /// An input is not needed any more.
    InputCancelled {
        /// Which one.
        token: u64,
    },
    /// A notification of the server.
    Notice {
        /// The listening request that it is for; 0 when it is for none.
        handle: u64,
        /// Its method.
        method: String,
        /// Its parameters as JSON.
        params: String,
    },
    /// A message on the wire; told when the configuration asks for it.
    Trace {
        /// We sent it; else it came.
        sent: bool,
        /// The message.
        text: String,
    },
    /// The server broke a rule.
    Violation {
        /// A stable word.
        code: &'static str,
        /// A sentence.
        message: String,
    },
    /// The connection is over, and everything pending was ended before.
    Closed {
        /// A stable word.
        code: &'static str,
        /// A sentence.
        message: String,
    },
}

/// How a stream of its own ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// As it should, with or without messages before.
    Complete,
    /// With an HTTP status and a body that holds no message; the start of that body.
    Status(u16, String),
    /// With a body that holds no message although all seemed well.
    Foreign(String),
    /// The network failed, or the body was cut short.
    Failed(String),
}
