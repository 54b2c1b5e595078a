//! Who is told of the messages of a client or a server.
//!
//! With `KEEL_TRACE=FOLDER` in the environment every client and server of this process writes down there what it sends and
//! gets: `ROLE#OBJECT.CONVERSATION > JSON`, a message a line, in a file for each process. Messages hold what users said: for
//! looking into a problem, not for keeping.
use std::{
    fs::{File, OpenOptions, create_dir_all},
    io::Write as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_keel_core::flat::Record;

/// Which way a traced message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From us.
    Sent,
    /// To us.
    Received,
}

/// Sees the direction, the message, and whose it is.
pub(crate) type Trace = Arc<dyn Fn(Direction, &str, u64) + Send + Sync>;

/// The user's trace and the journal as one; none when there is neither.
pub(crate) fn tracer(role: &'static str, own: Option<Trace>) -> Option<Trace> {
    match (own, journal(role)) {
        (Some(own), Some(kept)) => Some(Arc::new(move |direction, message: &str, conversation| {
            kept(direction, message, conversation);
            own(direction, message, conversation);
        })),
        (own, kept) => own.or(kept),
    }
}

/// Tells one record of the kind `trace`.
pub(crate) fn tell(trace: &Trace, record: &Record) {
    let direction = if record.name == ">" { Direction::Sent } else { Direction::Received };
    trace(direction, &String::from_utf8_lossy(&record.text), record.id);
}

fn journal(role: &'static str) -> Option<Trace> {
    static OBJECTS: AtomicU64 = AtomicU64::new(1);
    let folder = PathBuf::from(std::env::var_os("KEEL_TRACE").filter(|folder| !folder.is_empty())?);
    create_dir_all(&folder).ok()?;
    let file = folder.join(format!("{}.trace", std::process::id()));
    let file: File = OpenOptions::new().create(true).append(true).open(file).ok()?;
    let object = OBJECTS.fetch_add(1, Ordering::Relaxed);
    Some(Arc::new(move |direction, message, conversation| {
        let sign = if direction == Direction::Sent { '>' } else { '<' };
        // A line feed in JSON is space between its parts.
        let line = format!("{role}#{object}.{conversation} {sign} {}\n", message.replace(['\r', '\n'], " "));
        // One write, so that lines of several objects do not mix. A journal that cannot be written is no reason to stop.
        let _ = (&file).write_all(line.as_bytes());
    }))
}
