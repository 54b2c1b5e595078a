//! What every call through the seam shares: panics caught, records made into tuples.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_keel_core::flat::{FlatError, Record, Records};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use pyo3::{Borrowed, PyErr};

use crate::error::{internal, refused};
use crate::memory::{self, give_back};

/// From this many bytes on, a call lets other threads of the host run. Below it, giving the
/// interpreter away costs more than the call: a busy thread may keep it for milliseconds.
const LARGE: usize = 32 * 1024;

/// Bytes for the host are given in pieces of this size, each gone here before the next is made there.
const PIECE: usize = 1024 * 1024;

/// An object of the core, taken away for good after its first panic.
pub(crate) struct Guarded<T> {
    inner: Option<T>,
    /// The last call was about a large message: by the next one, the host has let go of its copies.
    large: bool,
}

impl<T: Send> Guarded<T> {
    pub(crate) fn new(py: Python<'_>, make: impl FnOnce() -> Result<T, FlatError>) -> PyResult<Self> {
        match catch_unwind(AssertUnwindSafe(make)) {
            Ok(Ok(inner)) => Ok(Self { inner: Some(inner), large: false }),
            Ok(Err(error)) => Err(refused(py, &error)),
            Err(panic) => Err(internal(py, &words(panic.as_ref()))),
        }
    }

    /// Runs one call; `size` is how much input it has to read.
    pub(crate) fn call<R: Send>(
        &mut self,
        py: Python<'_>,
        size: usize,
        run: impl FnOnce(&mut T) -> Result<R, FlatError> + Send,
    ) -> PyResult<R> {
        let large = size >= memory::LARGE;
        let after_large = std::mem::replace(&mut self.large, large);
        if after_large || large {
            give_back();
        }
        let Some(inner) = self.inner.as_mut() else {
            return Err(internal(py, "this object had an internal error and refuses further use"));
        };
        let caught = || catch_unwind(AssertUnwindSafe(|| run(inner)));
        let outcome = if size < LARGE { caught() } else { py.detach(caught) };
        if after_large {
            // What the core kept of it until now.
            give_back();
        }
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(refused(py, &error)),
            Err(panic) => {
                self.inner = None;
                Err(internal(py, &words(panic.as_ref())))
            }
        }
    }

    pub(crate) fn records<'py>(
        &mut self,
        py: Python<'py>,
        size: usize,
        run: impl FnOnce(&mut T) -> Records + Send,
    ) -> PyResult<Bound<'py, PyList>> {
        let records = self.call(py, size, run)?;
        if records.iter().any(|record| record.text.len() >= memory::LARGE) {
            self.large = true;
            give_back();
        }
        let mut tuples = Vec::with_capacity(records.len());
        // One after the other, so that a large text is not there twice for longer than its copy takes.
        for record in records {
            push(py, record, &mut tuples)?;
        }
        PyList::new(py, tuples)
    }
}

/// Text that the core keeps. In a list of the host it is taken out of it: if nothing else there refers to it, it is gone
/// before the core makes something of its copy.
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'a, 'py> FromPyObject<'a, 'py> for Text<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let Ok(list) = given.cast::<PyList>() else {
            return given.extract().map(Self);
        };
        let text = list.call_method0("pop")?.cast_into::<PyString>()?;
        // Not by `to_str`, which leaves its bytes with the string for as long as that lives.
        let bytes = text.encode_utf8()?;
        drop(text);
        give_back();
        Ok(Self(String::from_utf8(bytes.as_bytes().to_vec())?.into()))
    }
}

/// The 32 bytes of randomness that an object is born with.
pub(crate) fn seed(bytes: &[u8]) -> PyResult<[u8; 32]> {
    bytes.try_into().map_err(|_| PyValueError::new_err("a seed has 32 bytes"))
}

fn push<'py>(py: Python<'py>, mut record: Record, tuples: &mut Vec<Bound<'py, PyTuple>>) -> PyResult<()> {
    let first = tuples.len();
    while record.is_bytes() && record.text.len() > PIECE {
        // From the end, for that is where memory can be given back; only the last piece ends a body.
        let text = record.text.split_off((record.text.len() - 1) / PIECE * PIECE);
        record.text.shrink_to_fit();
        let until = std::mem::take(&mut record.until);
        let name = record.name.clone();
        tuples.push(tuple(py, &Record { kind: record.kind, stream: record.stream, id: record.id, name, text, until })?);
    }
    tuples.push(tuple(py, &record)?);
    tuples[first..].reverse();
    Ok(())
}

fn tuple<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyTuple>> {
    let text = if record.is_bytes() {
        PyBytes::new(py, &record.text).into_any()
    } else {
        PyString::new(py, &String::from_utf8_lossy(&record.text)).into_any()
    };
    // Interned, so that the host's comparisons end at the identity.
    let kind = PyString::intern(py, record.kind);
    (kind, record.stream, record.id, record.name.as_str(), text, record.until).into_pyobject(py)
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error: {}", said.unwrap_or("panic"))
}
