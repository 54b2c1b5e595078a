//! This process's stdin and stdout as async streams, without a thread where the system allows it.
use std::{
    io::Read as _,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc,
};

pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Ends when nobody can read our output any more; never, where that cannot be known before writing.
pub(super) type Left = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) fn streams() -> (Reader, Writer, Left) {
    #[cfg(target_os = "linux")]
    {
        let reader = linux::reader().unwrap_or_else(|| Box::new(ThreadReader::new()));
        let writer = linux::writer().unwrap_or_else(|| Box::new(tokio::io::stdout()));
        (reader, writer, Box::pin(linux::left()))
    }
    #[cfg(not(target_os = "linux"))]
    (Box::new(ThreadReader::new()), Box::new(tokio::io::stdout()), Box::pin(std::future::pending()))
}

/// Pipes are opened anew, so that non-blocking mode is ours alone and not of whoever shares the descriptor.
/// Sockets cannot be; ours are made non-blocking unless stderr is the same one, which others write to.
#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::{AsFd, BorrowedFd};

    use rustix::fs::{FileType, fstat};
    use tokio::{
        io::Interest,
        net::{UnixStream, unix::pipe},
    };

    use super::{Reader, Writer};

    pub(super) fn reader() -> Option<Reader> {
        let stdin = std::io::stdin();
        match kind(stdin.as_fd())? {
            FileType::Fifo => Some(Box::new(pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").ok()?)),
            FileType::Socket => Some(Box::new(socket(stdin.as_fd())?)),
            _ => None,
        }
    }

    pub(super) fn writer() -> Option<Writer> {
        let stdout = std::io::stdout();
        match kind(stdout.as_fd())? {
            FileType::Fifo => Some(Box::new(pipe::OpenOptions::new().open_sender("/proc/self/fd/1").ok()?)),
            FileType::Socket => Some(Box::new(socket(stdout.as_fd())?)),
            _ => None,
        }
    }

    pub(super) async fn left() {
        let pipe = pipe::OpenOptions::new().open_sender("/proc/self/fd/1");
        match pipe {
            Ok(pipe) if pipe.ready(Interest::ERROR).await.is_ok() => {}
            _ => std::future::pending().await,
        }
    }

    fn kind(fd: BorrowedFd<'_>) -> Option<FileType> {
        Some(FileType::from_raw_mode(fstat(fd).ok()?.st_mode))
    }

    fn socket(fd: BorrowedFd<'_>) -> Option<UnixStream> {
        let (ours, stderr) = (fstat(fd).ok()?, fstat(std::io::stderr()).ok()?);
        if (ours.st_dev, ours.st_ino) == (stderr.st_dev, stderr.st_ino) {
            return None;
        }
        let socket = std::os::unix::net::UnixStream::from(fd.try_clone_to_owned().ok()?);
        socket.local_addr().ok()?;
        socket.set_nonblocking(true).ok()?;
        UnixStream::from_std(socket).ok()
    }
}

/// stdin read by a thread of its own, which may stay in its last read for ever: unlike the runtime's blocking threads it
/// holds up no shutdown.
struct ThreadReader {
    chunks: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

impl ThreadReader {
    fn new() -> Self {
        let (sender, chunks) = mpsc::channel(4);
        std::thread::spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut buffer = vec![0; 64 << 10];
            loop {
                match stdin.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => {
                        if sender.blocking_send(Bytes::copy_from_slice(&buffer[..length])).is_err() {
                            return;
                        }
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Self { chunks, rest: Bytes::new() }
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.chunks.poll_recv(context)) {
                Some(chunk) => self.rest = chunk,
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest.split_to(length));
        Poll::Ready(Ok(()))
    }
}
