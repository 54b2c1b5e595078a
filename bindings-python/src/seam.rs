//! What every call through the seam shares: panics caught, records made into tuples.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_keel_core::flat::{FlatError, Record, Records};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::error::{internal, refused};

/// From this many bytes on, a call lets other threads of the host run. Below it, giving the
/// interpreter away costs more than the call: a busy thread may keep it for milliseconds.
const LARGE: usize = 32 * 1024;

/// An object of the core, taken away for good after its first panic.
pub(crate) struct Guarded<T>(Option<T>);

impl<T: Send> Guarded<T> {
    pub(crate) fn new(py: Python<'_>, make: impl FnOnce() -> Result<T, FlatError>) -> PyResult<Self> {
        match catch_unwind(AssertUnwindSafe(make)) {
            Ok(Ok(inner)) => Ok(Self(Some(inner))),
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
        let Some(inner) = self.0.as_mut() else {
            return Err(internal(py, "this object had an internal error and refuses further use"));
        };
        let caught = || catch_unwind(AssertUnwindSafe(|| run(inner)));
        let outcome = if size < LARGE { caught() } else { py.detach(caught) };
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(refused(py, &error)),
            Err(panic) => {
                self.0 = None;
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
        // One after the other, so that a large text is not there twice for longer than its copy takes.
        let tuples: PyResult<Vec<_>> = records.into_iter().map(|record| tuple(py, &record)).collect();
        PyList::new(py, tuples?)
    }
}

/// The 32 bytes of randomness that an object is born with.
pub(crate) fn seed(bytes: &[u8]) -> PyResult<[u8; 32]> {
    bytes.try_into().map_err(|_| PyValueError::new_err("a seed has 32 bytes"))
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
