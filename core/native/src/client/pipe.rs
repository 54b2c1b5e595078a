//! A link of two byte streams, and the child process that may be behind it.
use std::{
    collections::VecDeque,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    process::{Child, ChildStderr},
    time::timeout,
};

use super::{
    engine::{Engine, lock},
    options::Command,
};
use crate::error::Error;

const CHUNK: usize = 64 << 10;
/// How much of a child's stderr is kept for error messages.
const TAIL: usize = 4 << 10;
/// What a child gets to end after its stdin was closed, and again after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between the end of a child's output and its exit, or the other way round; and for its last words on stderr.
const GRACE: Duration = Duration::from_millis(250);

/// Moves bytes until the link is over.
pub(super) async fn run(engine: &Arc<Engine>, reader: impl AsyncRead + Unpin, writer: impl AsyncWrite + Unpin) {
    let read = read(engine, reader);
    let write = engine.outbox.write_to(writer);
    tokio::pin!(read, write);
    let reason = tokio::select! {
        reason = &mut read => reason,
        written = &mut write => {
            if written {
                // Closed by us: what the peer still says may matter to the core, but not for ever.
                timeout(PATIENCE, read).await.unwrap_or_default()
            } else {
                "the other side does not read any more".into()
            }
        }
        () = engine.until_closed() => {
            // Last words: cancels, notifications.
            let _ = timeout(GRACE, write).await;
            return;
        }
    };
    let _ = engine.drive(|flat, now| flat.ended(&reason, now));
    engine.outbox.finish();
}

/// Feeds the core until the end; tells why it came.
async fn read(engine: &Arc<Engine>, mut reader: impl AsyncRead + Unpin) -> String {
    let mut chunk = vec![0; CHUNK];
    loop {
        match reader.read(&mut chunk).await {
            Ok(0) => return "the other side closed the connection".into(),
            Err(error) => return error.to_string(),
            Ok(length) => {
                let _ = engine.drive(|flat, now| flat.receive(&chunk[..length], now));
            }
        }
    }
}

pub(super) fn start(command: &Command) -> Result<Child, Error> {
    let mut process = tokio::process::Command::new(&command.program);
    process.args(&command.arguments).envs(command.environment.iter().map(|(name, value)| (name, value)));
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    if let Some(folder) = &command.folder {
        process.current_dir(folder);
    }
    // A group of its own, so that what it starts can be ended with it.
    #[cfg(unix)]
    process.process_group(0);
    process
        .spawn()
        .map_err(|error| Error::Disconnected(format!("{} cannot be started: {error}", command.program.display())))
}

/// Moves bytes between the core and a child until the link is over, then sees to it that the child is gone.
pub(super) async fn supervise(engine: Arc<Engine>, mut child: Child) {
    let group = Group::of(&child);
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return;
    };
    let tail = Arc::<Mutex<VecDeque<u8>>>::default();
    let errors = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
    let read = read(&engine, stdout);
    let write = engine.outbox.write_to(stdin);
    tokio::pin!(read, write);
    let (mut exit, mut writing, mut reading) = (None, true, true);
    loop {
        tokio::select! {
            status = child.wait() => {
                exit = status.ok();
                // What it wrote before is still in the pipe; somebody it started may hold the pipe open.
                reading = timeout(GRACE, &mut read).await.is_err();
                break;
            }
            _ = &mut read => {
                reading = false;
                exit = timeout(GRACE, child.wait()).await.ok().and_then(Result::ok);
                break;
            }
            // A child that closed its stdin is about to exit, or is heard of by a timeout.
            _ = &mut write, if writing => writing = false,
            () = engine.until_closed() => break,
        }
    }
    let _ = timeout(GRACE, errors).await;
    let reason = reason(exit, &lock(&tail).iter().copied().collect::<Vec<_>>());
    let _ = engine.drive(|flat, now| flat.ended(&reason, now));
    engine.outbox.finish();
    if writing {
        // Closes stdin, once what is left is written.
        let _ = timeout(GRACE, &mut write).await;
    }
    if exit.is_none() {
        // Still read, lest the child hang in a write.
        let drained = async {
            if reading {
                read.await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = end(&mut child, &group) => {}
            () = drained => {}
        }
    }
}

/// Stdin is closed: waits, asks, and forces.
async fn end(child: &mut Child, group: &Group) {
    if timeout(PATIENCE, child.wait()).await.is_ok() {
        return;
    }
    group.terminate();
    if timeout(PATIENCE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = [0; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        let mut tail = lock(&tail);
        tail.extend(&chunk[..length]);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    }
}

fn reason(exit: Option<std::process::ExitStatus>, stderr: &[u8]) -> String {
    let mut reason =
        exit.map_or_else(|| "the server closed its output".into(), |exit| format!("the server ended: {exit}"));
    let stderr = String::from_utf8_lossy(stderr);
    if !stderr.trim().is_empty() {
        reason.push_str("; its last words: ");
        reason.push_str(stderr.trim());
    }
    reason
}

/// The processes of a child. What is left of them when this is dropped is killed.
struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { id: id.and_then(rustix::process::Pid::from_raw) }
    }

    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self {}
    }

    fn terminate(&self) {}
}
