//! The three flat objects. Each method is the method of the same name in `mcp_keel_core::flat`.

use mcp_keel_core::flat;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::seam::{Guarded, Text, seed};

type Tuples<'py> = PyResult<Bound<'py, PyList>>;

/// One server with all its connections.
#[pyclass(module = "mcp_keel._native")]
pub(crate) struct FlatServer(Guarded<flat::FlatServer>);

#[pymethods]
impl FlatServer {
    #[new]
    fn new(py: Python<'_>, config: &str, seed: &[u8]) -> PyResult<Self> {
        let seed = self::seed(seed)?;
        Guarded::new(py, || flat::FlatServer::new(config, &seed)).map(Self)
    }

    /// Replaces the whole catalog; connected clients are told what changed.
    fn set_catalog<'py>(&mut self, py: Python<'py>, catalog: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, catalog.len(), |s| s.set_catalog(catalog, now))
    }

    /// A connection was opened; `transport` is "pipe" or "http1".
    fn open<'py>(&mut self, py: Python<'py>, stream: u64, transport: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |s| s.open(stream, transport, now))
    }

    /// Bytes arrived on a pipe or http1 stream.
    fn receive<'py>(&mut self, py: Python<'py>, stream: u64, data: &[u8], now: u64) -> Tuples<'py> {
        self.0.records(py, data.len(), |s| s.receive(stream, data, now))
    }

    /// No more input comes on this stream.
    fn end<'py>(&mut self, py: Python<'py>, stream: u64, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |s| s.end(stream, now))
    }

    /// An HTTP request arrived through the host's own HTTP stack.
    fn request<'py>(&mut self, py: Python<'py>, stream: u64, head: &str, body: &[u8], now: u64) -> Tuples<'py> {
        self.0.records(py, body.len(), |s| s.request(stream, head, body, now))
    }

    /// Nothing can be delivered on this stream any more.
    fn gone<'py>(&mut self, py: Python<'py>, stream: u64, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |s| s.gone(stream, now))
    }

    /// The outcome of one call: `{"result": ...}` or `{"error": ...}`. In a list, it is taken out of it.
    fn respond<'py>(&mut self, py: Python<'py>, call: u64, outcome: Text<'_>, now: u64) -> Tuples<'py> {
        self.0.records(py, outcome.0.len(), |s| s.respond(call, outcome.0, now))
    }

    /// Asks the client something inside a call.
    fn ask<'py>(&mut self, py: Python<'py>, call: u64, key: &str, request: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, request.len(), |s| s.ask(call, key, request, now))
    }

    /// Progress of a call.
    fn progress<'py>(&mut self, py: Python<'py>, call: u64, progress: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |s| s.progress(call, progress, now))
    }

    /// A log message of a call, or of none (call 0).
    fn log<'py>(&mut self, py: Python<'py>, call: u64, entry: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, entry.len(), |s| s.log(call, entry, now))
    }

    /// Something that clients may have subscribed to has changed.
    fn publish<'py>(&mut self, py: Python<'py>, change: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |s| s.publish(change, now))
    }

    /// What is known about a running call, as JSON.
    fn call_info(&mut self, py: Python<'_>, call: u64) -> PyResult<String> {
        self.0.call(py, 0, |s| s.call_info(call))
    }

    /// The deadline of the last `wait` has come.
    fn timeout<'py>(&mut self, py: Python<'py>, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |s| s.timeout(now))
    }

    /// Cancels what runs and closes all streams.
    fn close<'py>(&mut self, py: Python<'py>, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |s| s.close(now))
    }
}

/// One connection to a server.
#[pyclass(module = "mcp_keel._native")]
pub(crate) struct FlatClient(Guarded<flat::FlatClient>);

#[pymethods]
impl FlatClient {
    #[new]
    fn new(py: Python<'_>, config: &str, seed: &[u8]) -> PyResult<Self> {
        let seed = self::seed(seed)?;
        Guarded::new(py, || flat::FlatClient::new(config, &seed)).map(Self)
    }

    /// Begins the opening.
    fn start<'py>(&mut self, py: Python<'py>, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.start(now))
    }

    /// Bytes arrived on the pipe.
    fn receive<'py>(&mut self, py: Python<'py>, data: &[u8], now: u64) -> Tuples<'py> {
        self.0.records(py, data.len(), |c| c.receive(data, now))
    }

    /// The pipe is gone; `reason` says why in words.
    fn ended<'py>(&mut self, py: Python<'py>, reason: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.ended(reason, now))
    }

    /// The head of the answer to a `fetch`; `headers` are lines `name: value`.
    fn response<'py>(&mut self, py: Python<'py>, stream: u64, status: u16, headers: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.response(stream, status, headers, now))
    }

    /// Part of the body of an answer.
    fn body<'py>(&mut self, py: Python<'py>, stream: u64, data: &[u8], now: u64) -> Tuples<'py> {
        self.0.records(py, data.len(), |c| c.body(stream, data, now))
    }

    /// An answer is complete.
    fn end<'py>(&mut self, py: Python<'py>, stream: u64, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.end(stream, now))
    }

    /// An exchange failed, or its body was cut short.
    fn failed<'py>(&mut self, py: Python<'py>, stream: u64, reason: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.failed(stream, reason, now))
    }

    /// Sends a request. Parameters in a list are taken out of it.
    fn request<'py>(
        &mut self,
        py: Python<'py>,
        handle: u64,
        method: &str,
        params: Text<'_>,
        options: &str,
        now: u64,
    ) -> Tuples<'py> {
        self.0.records(py, params.0.len(), |c| c.request(handle, method, params.0, options, now))
    }

    /// Cancels a request.
    fn cancel<'py>(&mut self, py: Python<'py>, handle: u64, reason: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.cancel(handle, reason, now))
    }

    /// Answers an `input` record.
    fn answer<'py>(&mut self, py: Python<'py>, token: u64, outcome: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, outcome.len(), |c| c.answer(token, outcome, now))
    }

    /// Sends a notification.
    fn notify<'py>(&mut self, py: Python<'py>, method: &str, params: &str, now: u64) -> Tuples<'py> {
        self.0.records(py, params.len(), |c| c.notify(method, params, now))
    }

    /// The deadline of the last `wait` has come.
    fn timeout<'py>(&mut self, py: Python<'py>, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.timeout(now))
    }

    /// Ends the connection.
    fn close<'py>(&mut self, py: Python<'py>, now: u64) -> Tuples<'py> {
        self.0.records(py, 0, |c| c.close(now))
    }
}

/// The client side of HTTP/1.1 on one connection.
#[pyclass(module = "mcp_keel._native")]
pub(crate) struct FlatHttp1(Guarded<flat::FlatHttp1>);

#[pymethods]
impl FlatHttp1 {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Guarded::new(py, || Ok(flat::FlatHttp1::new())).map(Self)
    }

    /// The bytes of the request that a `fetch` record describes.
    fn encode<'py>(&mut self, py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.call(py, text.len(), |h| h.encode(name, text))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes of the answer arrived.
    fn receive<'py>(&mut self, py: Python<'py>, data: &[u8]) -> Tuples<'py> {
        self.0.records(py, data.len(), |h| h.receive(data))
    }

    /// The peer closed the connection.
    fn finish<'py>(&mut self, py: Python<'py>) -> Tuples<'py> {
        self.0.records(py, 0, flat::FlatHttp1::finish)
    }

    /// Where to connect for a URL: `{"tls": bool, "host": "...", "port": n}`.
    #[staticmethod]
    fn target(py: Python<'_>, url: &str) -> PyResult<String> {
        Guarded::new(py, || Ok(()))?.call(py, 0, |()| flat::FlatHttp1::target(url))
    }
}
