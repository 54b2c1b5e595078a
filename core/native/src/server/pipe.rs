//! Connections: a pair of byte streams with newline JSON on them.
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::engine::Engine;
use crate::error::Error;

const CHUNK: usize = 64 << 10;

/// Serves one connection until it is closed: by the core (no input is left and everything is answered) or by a failing write.
/// `left` ends when it is known that the peer does not read either: then what still runs is cancelled.
pub(super) async fn serve(
    engine: &Arc<Engine>,
    mut reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    left: impl Future<Output = ()>,
) -> Result<(), Error> {
    let (stream, outbox) = engine.open()?;
    let guard = Gone { engine: Arc::clone(engine), stream };
    let read = async {
        let mut chunk = vec![0; CHUNK];
        loop {
            // A peer that does not read gets no more requests read.
            outbox.room().await;
            match reader.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    if engine.drive(|flat, now| flat.receive(stream, &chunk[..length], now)).is_err() {
                        break;
                    }
                }
            }
        }
        let _ = engine.drive(|flat, now| flat.end(stream, now));
        left.await;
    };
    let written = tokio::select! {
        written = outbox.write_to(writer) => written,
        // The write may hang when the stream is given up.
        () = outbox.until_gone() => false,
        () = read => false,
    };
    drop(guard);
    if written { Ok(()) } else { Err(Error::Disconnected("the other side does not read any more".into())) }
}

/// Tells the core when the connection is over, however that came; no news when the core closed it.
pub(super) struct Gone {
    pub(super) engine: Arc<Engine>,
    pub(super) stream: u64,
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.engine.gone(self.stream);
    }
}
