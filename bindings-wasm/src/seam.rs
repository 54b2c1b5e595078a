//! What every call through the seam shares: numbers checked, records made into one array, refusals into errors.

use alloc::string::String;
use alloc::vec::Vec;

use js_sys::{Array, Error, JsString, Reflect, Uint8Array};
use mcp_keel_core::flat::{FlatError, Record};
use wasm_bindgen::JsValue;

/// What the methods of the classes return.
pub(crate) type Answer<T> = Result<T, JsValue>;

/// Numbers from here on are not all exact as numbers of the host.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A refusal as an Error with its word as `code`.
pub(crate) fn refusal(error: FlatError) -> JsValue {
    refused(error.code, &error.message)
}

fn refused(code: &str, message: &str) -> JsValue {
    let error = Error::new(message);
    // An error object takes any property.
    let _ = Reflect::set(&error, &JsValue::from_str("code"), &JsValue::from_str(code));
    error.into()
}

/// A number of the host as a stream, handle, call or time.
pub(crate) fn whole(number: f64) -> Answer<u64> {
    let exact = number as u64;
    if number >= 0.0 && number < EXACT && exact as f64 == number {
        Ok(exact)
    } else {
        Err(refused("usage", "a number is not a whole number from 0 to 2^53 - 1"))
    }
}

/// The 32 bytes of randomness that an object is born with.
pub(crate) fn seed(bytes: &[u8]) -> Answer<[u8; 32]> {
    bytes.try_into().map_err(|_| refused("usage", "a seed has 32 bytes"))
}

/// A number of the host as an HTTP status.
pub(crate) fn status(number: f64) -> Answer<u16> {
    u16::try_from(whole(number)?).map_err(|_| refused("usage", "that is no HTTP status"))
}

/// Records as one array of six entries each: kind, stream, id, name, text, until.
/// An object for each would cost more than the call itself.
pub(crate) fn records(outcome: Result<Vec<Record>, FlatError>) -> Answer<Array> {
    let records = outcome.map_err(refusal)?;
    let array = Array::new();
    for record in records {
        array.push(&text(record.kind.as_bytes()));
        array.push(&number(record.stream));
        array.push(&number(record.id));
        array.push(&text(record.name.as_bytes()));
        if record.is_bytes() {
            array.push(&Uint8Array::from(record.text.as_slice()));
        } else {
            array.push(&text(&record.text));
        }
        array.push(&number(record.until));
    }
    Ok(array)
}

/// Exact: no number of the core reaches 2^53.
fn number(number: u64) -> JsValue {
    JsValue::from_f64(number as f64)
}

/// Bytes that are no UTF-8 become U+FFFD.
fn text(bytes: &[u8]) -> JsString {
    JsString::from(&*String::from_utf8_lossy(bytes))
}
