//! What every call through the seam shares: numbers checked, records made into one array, refusals into errors.

use alloc::string::String;

use js_sys::{Array, Error, Reflect, Uint8Array};
use mcp_keel_core::flat::{FlatError, Records};
use wasm_bindgen::JsValue;

/// What the methods of the classes return.
pub(crate) type Answer<T> = Result<T, JsValue>;

/// Numbers from here on are not all exact as numbers of the host.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A refusal as an Error with its word as `code`.
pub(crate) fn refusal(error: FlatError) -> JsValue {
    let thrown = Error::new(&error.message);
    // An error object takes any property.
    let _ = Reflect::set(&thrown, &JsValue::from_str("code"), &JsValue::from_str(error.code));
    thrown.into()
}

fn usage(message: &str) -> FlatError {
    FlatError { code: "usage", message: String::from(message) }
}

/// A number of the host as a stream, handle, call or time.
pub(crate) fn whole(number: f64) -> Result<u64, FlatError> {
    let exact = number as u64;
    if number >= 0.0 && number < EXACT && exact as f64 == number {
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
    let array = Array::new();
    for record in records {
        array.push(&JsValue::from_str(record.kind));
        array.push(&number(record.stream));
        array.push(&number(record.id));
        array.push(&JsValue::from_str(&record.name));
        if record.is_bytes() {
            array.push(&Uint8Array::from(record.text.as_slice()));
        } else {
            // What is no bytes came from a string.
            array.push(&JsValue::from_str(core::str::from_utf8(&record.text).unwrap_or_default()));
        }
        array.push(&number(record.until));
    }
    Ok(array)
}

/// Exact: no number of the core reaches 2^53.
fn number(number: u64) -> JsValue {
    JsValue::from_f64(number as f64)
}
