//! What every call through the seam shares: numbers checked, records made into one array, refusals into errors.

use alloc::string::String;
use alloc::vec::Vec;

use js_sys::Array;
use mcp_keel_core::flat::{FlatError, Records};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

/// What the methods of the classes return.
pub(crate) type Answer<T> = Result<T, JsValue>;

/// Numbers from here on are not all exact as numbers of the host.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[wasm_bindgen]
extern "C" {
    /// An Error of the host.
    type Refusal;
    #[wasm_bindgen(constructor, js_class = "Error")]
    fn new(message: &str) -> Refusal;
    #[wasm_bindgen(method, setter)]
    fn set_code(this: &Refusal, code: &str);

    /// An Array of the host, filled without a handle for each value.
    type Entries;
    #[wasm_bindgen(method, js_name = push)]
    fn number(this: &Entries, value: f64);
    #[wasm_bindgen(method, js_name = push)]
    fn text(this: &Entries, value: &str);
    #[wasm_bindgen(method, js_name = push)]
    fn bytes(this: &Entries, value: Vec<u8>);
}

/// A refusal as an Error with its word as `code`.
pub(crate) fn refusal(error: FlatError) -> JsValue {
    let thrown = Refusal::new(&error.message);
    thrown.set_code(error.code);
    thrown.into()
}

fn usage(message: &str) -> FlatError {
    FlatError { code: "usage", message: String::from(message) }
}

/// A number of the host as a stream, handle, call or time.
pub(crate) fn whole(number: f64) -> Result<u64, FlatError> {
    let exact = number as u64;
    if (0.0..EXACT).contains(&number) && exact as f64 == number {
        Ok(exact)
    } else {
        Err(usage("a number is not a whole number from 0 to 2^53 - 1"))
    }
}

/// The 32 bytes of randomness that an object is born with.
pub(crate) fn seed(bytes: &[u8]) -> Result<[u8; 32], FlatError> {
    bytes.try_into().map_err(|_| usage("a seed has 32 bytes"))
}

/// A number of the host as an HTTP status.
pub(crate) fn status(number: f64) -> Result<u16, FlatError> {
    u16::try_from(whole(number)?).map_err(|_| usage("that is no HTTP status"))
}

/// Calls a method with a number and the time. Not generic, so that a method is little more than its own call.
pub(crate) fn run(number: f64, now: f64, work: &mut dyn FnMut(u64, u64) -> Records) -> Answer<Array> {
    let outcome = whole(number).and_then(|number| work(number, whole(now)?));
    records(outcome)
}

/// Records as one array of six entries each: kind, stream, id, name, text, until.
/// An object for each would cost more than the call itself.
pub(crate) fn records(outcome: Records) -> Answer<Array> {
    let records = outcome.map_err(refusal)?;
    let array: Entries = Array::new().unchecked_into();
    for record in records {
        let is_bytes = record.is_bytes();
        array.text(record.kind);
        array.exact(record.stream);
        array.exact(record.id);
        array.text(&record.name);
        if is_bytes {
            array.bytes(record.text);
        } else {
            // What is no bytes came from a string.
            array.text(core::str::from_utf8(&record.text).unwrap_or_default());
        }
        array.exact(record.until);
    }
    Ok(array.unchecked_into())
}

impl Entries {
    /// Exact: no number of the core reaches 2^53.
    fn exact(&self, number: u64) {
        self.number(number as f64);
    }
}
