//! What every call through the seam shares: panics caught, numbers checked, records made into one array.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use mcp_keel_core::flat::{FlatError, Record};
use napi::bindgen_prelude::{ToNapiValue, TypeName};
use napi::{Error, ValueType, check_status, sys};

use crate::memory::{self, give_back};

/// A refusal; its status becomes `code` of the host's error.
pub(crate) type Refusal = Error<&'static str>;
/// What the methods of the classes return.
pub(crate) type Answer<T> = Result<T, Refusal>;

const INTERNAL: &str = "internal_error";
/// Numbers from here on are not all exact as numbers of the host.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// An object of the core, taken away for good after its first panic.
pub(crate) struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    pub(crate) fn new(make: impl FnOnce() -> Result<T, FlatError>) -> Answer<Self> {
        caught(make).map(|inner| Self(Some(inner)))
    }

    pub(crate) fn call<R>(&mut self, run: impl FnOnce(&mut T) -> Result<R, FlatError>) -> Answer<R> {
        let Some(inner) = self.0.as_mut() else {
            return Err(Error::new(INTERNAL, "this object had an internal error and refuses further use"));
        };
        let outcome = caught(|| run(inner));
        if matches!(&outcome, Err(refusal) if refusal.status == INTERNAL) {
            self.0 = None;
        }
        outcome
    }

    pub(crate) fn records(&mut self, run: impl FnOnce(&mut T) -> Result<Vec<Record>, FlatError>) -> Answer<Flat> {
        self.call(run).map(Flat)
    }
}

/// Runs one call of the core; its refusal or panic becomes an error of the host.
pub(crate) fn caught<R>(run: impl FnOnce() -> Result<R, FlatError>) -> Answer<R> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(outcome) => outcome.map_err(|error| Error::new(error.code, error.message)),
        Err(panic) => Err(Error::new(INTERNAL, words(panic.as_ref()))),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error: {}", said.unwrap_or("panic"))
}

/// A number of the host as a stream, handle, call or time.
pub(crate) fn whole(number: f64) -> Answer<u64> {
    if (0.0..EXACT).contains(&number) && number.fract() == 0.0 {
        Ok(number as u64)
    } else {
        Err(Error::new("usage", format!("{number} is no whole number from 0 to 2^53 - 1")))
    }
}

/// The 32 bytes of randomness that an object is born with.
pub(crate) fn seed(bytes: &[u8]) -> Answer<[u8; 32]> {
    bytes.try_into().map_err(|_| Error::new("usage", "a seed has 32 bytes"))
}

/// Records as one array of six entries each: kind, stream, id, name, text, until.
/// An object for each would cost more than the call itself.
pub struct Flat(Vec<Record>);

impl TypeName for Flat {
    fn type_name() -> &'static str {
        "Array"
    }
    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for Flat {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        if value.0.iter().any(|record| record.text.len() >= memory::LARGE) {
            give_back();
        }
        let mut array = ptr::null_mut();
        // SAFETY: `env` is the running call's; the handles made below live until it returns.
        unsafe {
            check_status!(sys::napi_create_array_with_length(env, value.0.len() * 6, &mut array))?;
            let mut at = 0;
            for record in value.0 {
                let bytes = record.is_bytes();
                let entries = [
                    latin(env, record.kind)?,
                    number(env, record.stream)?,
                    number(env, record.id)?,
                    text(env, record.name.as_bytes())?,
                    if bytes { buffer(env, record.text)? } else { text(env, &record.text)? },
                    number(env, record.until)?,
                ];
                for entry in entries {
                    check_status!(sys::napi_set_element(env, array, at, entry))?;
                    at += 1;
                }
            }
        }
        Ok(array)
    }
}

unsafe fn latin(env: sys::napi_env, word: &str) -> napi::Result<sys::napi_value> {
    let mut value = ptr::null_mut();
    // SAFETY: pointer and length are of one string.
    unsafe {
        check_status!(sys::napi_create_string_latin1(env, word.as_ptr().cast(), word.len() as isize, &mut value))?;
    }
    Ok(value)
}

unsafe fn text(env: sys::napi_env, bytes: &[u8]) -> napi::Result<sys::napi_value> {
    let mut value = ptr::null_mut();
    // SAFETY: pointer and length are of one slice; bytes that are no UTF-8 become U+FFFD.
    unsafe {
        check_status!(sys::napi_create_string_utf8(env, bytes.as_ptr().cast(), bytes.len() as isize, &mut value))?;
    }
    Ok(value)
}

unsafe fn number(env: sys::napi_env, number: u64) -> napi::Result<sys::napi_value> {
    let mut value = ptr::null_mut();
    // SAFETY: only writes `value`.
    unsafe {
        // The cast is exact: no number of the core reaches 2^53.
        check_status!(match i32::try_from(number) {
            Ok(small) => sys::napi_create_int32(env, small, &mut value),
            Err(_) => sys::napi_create_int64(env, number as i64, &mut value),
        })?;
    }
    Ok(value)
}

/// From this many bytes on, handing memory over is cheaper than a copy.
const LARGE: usize = 64 * 1024;

unsafe fn buffer(env: sys::napi_env, bytes: Vec<u8>) -> napi::Result<sys::napi_value> {
    if bytes.len() >= LARGE {
        // SAFETY: `env` is the running call's.
        return unsafe { ToNapiValue::to_napi_value(env, napi::bindgen_prelude::Buffer::from(bytes)) };
    }
    let mut value = ptr::null_mut();
    // SAFETY: pointer and length are of one slice, which is copied.
    unsafe {
        check_status!(sys::napi_create_buffer_copy(
            env,
            bytes.len(),
            bytes.as_ptr().cast(),
            ptr::null_mut(),
            &mut value
        ))?;
    }
    Ok(value)
}
