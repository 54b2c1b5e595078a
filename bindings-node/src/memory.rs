//! Memory that large messages leave behind: in the allocator, and with the host's collector.

use napi::bindgen_prelude::ArrayBuffer;
use napi::{Env, JsValue, sys};
use napi_derive::napi;

/// From this many bytes on, a message is worth the time that it takes to give memory back.
pub(crate) const LARGE: usize = 1024 * 1024;

/// Gives freed memory back to the system. The allocator of glibc keeps what is freed, up to 32 MiB a block, once blocks of
/// that size came and went; a few large messages would leave the process with several times their size.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: touches nothing but free blocks, and may be called from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Frees the memory of a buffer that nobody reads any more, without waiting for a collection.
#[napi(catch_unwind)]
#[cfg_attr(test, allow(dead_code, reason = "only the host calls it"))]
pub(crate) fn release(env: Env, memory: ArrayBuffer) {
    // SAFETY: both are of the running call. One that cannot be detached stays as it is.
    unsafe {
        let _ = sys::napi_detach_arraybuffer(env.raw(), memory.raw());
    }
}

/// Has the host collect its garbage now.
#[napi(catch_unwind)]
#[cfg_attr(test, allow(dead_code, reason = "only the host calls it"))]
pub(crate) fn collect(env: Env) {
    // More than any limit, so that the collection does not merely begin.
    const PRESSURE: i64 = 1 << 50;
    let mut total = 0;
    // SAFETY: only the collector's own figures change, and they change back.
    unsafe {
        let _ = sys::napi_adjust_external_memory(env.raw(), PRESSURE, &mut total);
        let _ = sys::napi_adjust_external_memory(env.raw(), -PRESSURE, &mut total);
    }
    give_back();
}
