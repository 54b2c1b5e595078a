//! What every call through the seam shares: one caller at a time, panics caught, numbers checked, records made over.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use mcp_keel_core::flat::{self, Record};

const INTERNAL: &str = "internal_error";
/// Numbers from here on are not exact in every host.
const EXACT: i64 = 1 << 53;

/// One thing for the host to do or to know.
#[derive(uniffi::Record)]
pub struct FlatRecord {
    /// What it is: a word.
    pub kind: String,
    /// Stream number, 0 when unused.
    pub stream: i64,
    /// Call, handle, token or status, 0 when unused.
    pub id: i64,
    /// Method, key or code, empty when unused.
    pub name: String,
    /// Payload: UTF-8 text, or the bytes of `write` and `body`.
    pub text: Vec<u8>,
    /// Deadline of `wait`; 1 on the last `body`.
    pub until: i64,
}

impl From<Record> for FlatRecord {
    fn from(record: Record) -> Self {
        // No number of the core reaches 2^53.
        let Record { kind, stream, id, name, text, until } = record;
        Self { kind: kind.into(), stream: stream as i64, id: id as i64, name, text, until: until as i64 }
    }
}

/// Why a call did nothing.
#[derive(Debug, uniffi::Error)]
pub enum FlatError {
    /// The core refused the call and changed nothing; or, with the code `internal_error`, it has a defect, and the object
    /// refuses further use.
    Refused {
        /// Stable word.
        code: String,
        /// A sentence for people.
        detail: String,
    },
}

impl FlatError {
    fn new(code: &str, detail: impl Into<String>) -> Self {
        Self::Refused { code: code.into(), detail: detail.into() }
    }
}

impl fmt::Display for FlatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Refused { code, detail } = self;
        write!(f, "{detail} ({code})")
    }
}

impl std::error::Error for FlatError {}

/// What the methods of the objects return.
pub(crate) type Answer<T> = Result<T, FlatError>;
pub(crate) type Records = Answer<Vec<FlatRecord>>;

/// An object of the core, taken away for good after its first panic.
pub(crate) struct Guarded<T>(Mutex<Option<T>>);

impl<T> Guarded<T> {
    pub(crate) fn new(make: impl FnOnce() -> Result<T, flat::FlatError>) -> Answer<Self> {
        caught(make)?.map(|inner| Self(Mutex::new(Some(inner))))
    }

    pub(crate) fn call<R>(&self, run: impl FnOnce(&mut T) -> Result<R, flat::FlatError>) -> Answer<R> {
        // Poison cannot be: what panics is caught before the lock is given back.
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(core) = inner.as_mut() else {
            return Err(FlatError::new(INTERNAL, "this object had an internal error and refuses further use"));
        };
        match caught(|| run(core)) {
            Ok(outcome) => outcome,
            Err(panic) => {
                *inner = None;
                Err(panic)
            }
        }
    }

    pub(crate) fn records(&self, run: impl FnOnce(&mut T) -> Result<Vec<Record>, flat::FlatError>) -> Records {
        self.call(run).map(|records| records.into_iter().map(FlatRecord::from).collect())
    }
}

/// Runs one call of the core. A refusal is the inner error, a panic the outer one: in Swift it would end the process.
pub(crate) fn caught<R>(run: impl FnOnce() -> Result<R, flat::FlatError>) -> Answer<Answer<R>> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(outcome) => Ok(outcome.map_err(|error| FlatError::new(error.code, error.message))),
        Err(panic) => Err(FlatError::new(INTERNAL, words(panic.as_ref()))),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error: {}", said.unwrap_or("panic"))
}

/// A number of the host as a stream, handle, call or time.
pub(crate) fn whole(number: i64) -> Answer<u64> {
    if (0..EXACT).contains(&number) {
        Ok(number as u64)
    } else {
        Err(FlatError::new("usage", format!("{number} is no whole number from 0 to 2^53 - 1")))
    }
}

/// A number of the host as a status of HTTP.
pub(crate) fn status(number: i64) -> Answer<u16> {
    u16::try_from(number).map_err(|_| FlatError::new("usage", format!("{number} is no HTTP status")))
}

/// The 32 bytes of randomness that an object is born with.
pub(crate) fn seed(bytes: &[u8]) -> Answer<[u8; 32]> {
    bytes.try_into().map_err(|_| FlatError::new("usage", "a seed has 32 bytes"))
}
