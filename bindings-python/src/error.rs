//! The exceptions of the native module.

use mcp_keel_core::flat::FlatError;
use pyo3::PyTypeInfo;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    mcp_keel._native,
    NativeError,
    PyException,
    "The core refused a call and changed nothing. `code` is a stable word."
);
create_exception!(
    mcp_keel._native,
    InternalError,
    NativeError,
    "A defect of the core. The object that raised it refuses further use."
);

/// A refusal of the core as the exception of the host.
pub(crate) fn refused(py: Python<'_>, error: &FlatError) -> PyErr {
    with_code::<NativeError>(py, error.code, &error.message)
}

/// A panic of the core, or the use of an object that had one.
pub(crate) fn internal(py: Python<'_>, message: &str) -> PyErr {
    with_code::<InternalError>(py, "internal_error", message)
}

fn with_code<E: PyTypeInfo>(py: Python<'_>, code: &str, message: &str) -> PyErr {
    let made = py.get_type::<E>().call1((message,)).and_then(|value| value.setattr("code", code).map(|()| value));
    made.map_or_else(|error| error, PyErr::from_value)
}
