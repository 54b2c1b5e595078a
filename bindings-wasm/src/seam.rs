//! What every call through the seam shares. A call brings numbers and bytes; what it gives goes out as calls of the host's
//! `record` and `refuse`, so that no handle of the host is held here.

use alloc::string::String;
use alloc::vec::Vec;

use mcp_keel_core::flat::{FlatError, Record, Records};
use wasm_bindgen::prelude::wasm_bindgen;

/// Numbers from here on are not all exact as numbers of the host.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[wasm_bindgen(raw_module = "../../../web/seam.js")]
extern "C" {
    fn record(kind: &str, stream: f64, id: f64, name: &str, text: &str, until: f64);
    #[wasm_bindgen(js_name = record)]
    fn record_bytes(kind: &str, stream: f64, id: f64, name: &str, bytes: Vec<u8>, until: f64);
    fn refuse(code: &str, message: &str);
}

/// What a method is called with: numbers that it has not are 0, bytes empty.
pub(crate) struct Call {
    /// Stream, handle or token.
    pub(crate) number: u64,
    pub(crate) code: u64,
    pub(crate) now: u64,
    pub(crate) a: Vec<u8>,
    pub(crate) b: Vec<u8>,
    pub(crate) c: Vec<u8>,
}

impl Call {
    pub(crate) fn new(numbers: [f64; 3], a: Vec<u8>, b: Vec<u8>, c: Vec<u8>) -> Result<Self, FlatError> {
        let [number, code, now] = numbers;
        Ok(Self { number: whole(number)?, code: whole(code)?, now: whole(now)?, a, b, c })
    }

    /// The 32 bytes of randomness that an object is born with.
    pub(crate) fn seed(&self) -> Result<[u8; 32], FlatError> {
        (&*self.b).try_into().map_err(|_| usage("a seed has 32 bytes"))
    }

    /// An HTTP status.
    pub(crate) fn status(&self) -> Result<u16, FlatError> {
        u16::try_from(self.code).map_err(|_| usage("that is no HTTP status"))
    }
}

pub(crate) fn usage(message: &str) -> FlatError {
    FlatError { code: "usage", message: String::from(message) }
}

/// A number of the host as a stream, handle, call or time.
fn whole(number: f64) -> Result<u64, FlatError> {
    let exact = number as u64;
    if (0.0..EXACT).contains(&number) && exact as f64 == number {
        Ok(exact)
    } else {
        Err(usage("a number is not a whole number from 0 to 2^53 - 1"))
    }
}

pub(crate) fn text(bytes: &[u8]) -> Result<&str, FlatError> {
    core::str::from_utf8(bytes).map_err(|_| usage("a text is not UTF-8"))
}

/// A text, or bytes of kind `body`, of a method that has no records.
#[cfg(feature = "server")]
pub(crate) fn value(kind: &'static str, text: Vec<u8>) -> Records {
    let record = Record { kind, stream: 0, id: 0, name: String::from("value"), text, until: 0 };
    Ok(alloc::vec![record])
}

/// Hands out what a method gave. No number of the core reaches 2^53: they are exact.
pub(crate) fn give(outcome: Records) {
    match outcome {
        Ok(records) => records.into_iter().for_each(give_record),
        Err(error) => refuse(error.code, &error.message),
    }
}

fn give_record(given: Record) {
    let is_bytes = given.is_bytes();
    let Record { kind, stream, id, name, text, until } = given;
    let (stream, id, until) = (stream as f64, id as f64, until as f64);
    if is_bytes {
        record_bytes(kind, stream, id, &name, text, until);
    } else {
        // What is no bytes came from a string.
        record(kind, stream, id, &name, core::str::from_utf8(&text).unwrap_or_default(), until);
    }
}
