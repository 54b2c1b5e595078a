//! `mcp_keel._native`: the flat objects of the core as Python classes, one to one.
//!
//! Every method hands its arguments to the core and returns what came out as a list of tuples
//! `(kind, stream, id, name, text, until)`. Nothing here knows what a message means.

mod error;
mod memory;
mod objects;
mod seam;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::error::{InternalError, NativeError};
    #[pymodule_export]
    use crate::objects::{FlatClient, FlatHttp1, FlatServer};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
