//! One HTTP request of any hyper stack. Which request gets which answer is the core's business.
use std::{
    fmt::Write as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Version, header, request};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, timeout_at};

use super::{engine::Engine, pace::Turn, pipe::Gone};
use crate::{error::Error, outbox::Outbox};

/// The room for a body that is made on the client's word alone.
const TRUSTED: usize = 256 << 10;

/// A request as the core takes it.
pub(super) struct Arrived {
    head: String,
    body: Vec<u8>,
    /// The connection cannot be used again: part of the body was left unread on it.
    spoilt: bool,
}

/// Reads a request; what does not arrive by then is answered with a status instead.
pub(super) async fn arrive<B>(
    engine: &Engine,
    request: Request<B>,
    by: Instant,
) -> Result<Arrived, Response<AnswerBody>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let (parts, mut body) = request.into_parts();
    let multiplexed = parts.version >= Version::HTTP_2;
    match timeout_at(by, read_body(&mut body, engine.message_limit)).await {
        Ok(Ok(bytes)) => {
            let spoilt = !multiplexed && bytes.len() > engine.message_limit;
            Ok(Arrived { head: head_text(&parts), body: bytes, spoilt })
        }
        failed => {
            let mut response =
                bare(if failed.is_err() { StatusCode::REQUEST_TIMEOUT } else { StatusCode::BAD_REQUEST });
            if !multiplexed {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Err(response)
        }
    }
}

/// Answers a request. Dropped before it is done, it tells the core that the client is gone, as its body does.
pub(super) async fn answer(engine: Arc<Engine>, request: Arrived) -> Response<AnswerBody> {
    let Arrived { head, body, spoilt } = request;
    let Ok((stream, head, outbox)) = engine.request(&head, &body) else {
        return bare(StatusCode::INTERNAL_SERVER_ERROR);
    };
    drop(body);
    let body = AnswerBody { outbox, gone: Some(Gone { engine, stream }), turn: None };
    let Ok(head) = head.await else { return bare(StatusCode::INTERNAL_SERVER_ERROR) };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in head.lines.lines().filter_map(|line| line.split_once(':')) {
        let name = HeaderName::try_from(name.trim());
        let value = HeaderValue::try_from(value.trim());
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().append(name, value);
        }
    }
    if spoilt {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn head_text(request: &request::Parts) -> String {
    let target = request.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut head = format!("{} {target}", request.method);
    // Where the target names a host, that is the one; in HTTP/2 there is no other. Two of them are for the core to refuse.
    let named = match request.headers.get_all(header::HOST).iter().count() {
        0 | 1 => request.uri.authority(),
        _ => None,
    };
    if let Some(host) = named {
        let _ = write!(head, "\nhost: {host}");
    }
    for (name, value) in &request.headers {
        if named.is_some() && name == header::HOST {
            continue;
        }
        match std::str::from_utf8(value.as_bytes()) {
            Ok(value) => drop(write!(head, "\n{name}: {value}")),
            // Latin-1, its historic meaning.
            Err(_) => {
                let _ = write!(head, "\n{name}: ");
                head.extend(value.as_bytes().iter().copied().map(char::from));
            }
        }
    }
    head
}

/// Reads up to one byte more than the limit: enough for the core to see that it is too much.
async fn read_body<B>(body: &mut B, limit: usize) -> Result<Vec<u8>, B::Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if expected > limit {
        // Refused by its length, whatever is in it.
        return Ok(vec![0; limit + 1]);
    }
    let mut bytes = Vec::with_capacity(expected.min(TRUSTED));
    while bytes.len() <= limit {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
        let Some(frame) = frame.await else { break };
        if let Ok(data) = frame?.into_data() {
            let fits = data.len().min(limit + 1 - bytes.len());
            bytes.extend_from_slice(&data[..fits]);
        }
    }
    Ok(bytes)
}

fn bare(status: StatusCode) -> Response<AnswerBody> {
    let outbox = Arc::<Outbox>::default();
    outbox.finish();
    let mut response = Response::new(AnswerBody { outbox, gone: None, turn: None });
    *response.status_mut() = status;
    response
}

/// A streaming answer. Dropped before its end, it tells the core that the client is gone.
pub struct AnswerBody {
    outbox: Arc<Outbox>,
    gone: Option<Gone>,
    /// Our own server's connection waits for its next request when this is dropped.
    pub(super) turn: Option<Turn>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match ready!(self.outbox.poll_take(context)) {
            Some(chunk) => Poll::Ready(Some(Ok(Frame::data(chunk)))),
            None if self.outbox.is_gone() => {
                // An error, not an end: a cut answer must not look like a whole one.
                self.gone = None;
                Poll::Ready(Some(Err(Error::Disconnected("the client reads too slowly".into()))))
            }
            None => {
                self.gone = None;
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.outbox.remaining() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.outbox.remaining().map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}
