//! The flat surface of the core for JavaScript engines, as a WebAssembly module.
//!
//! Three classes; bytes and text go in, records come out as one array. A panic is a trap here: the TypeScript around
//! this module turns it into an error, and the object into one that refuses further use.
#![cfg(target_family = "wasm")]
#![no_std]

extern crate alloc;

mod client;
#[cfg(feature = "server")]
mod http1;
mod seam;
#[cfg(feature = "server")]
mod server;

#[global_allocator]
static MEMORY: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Texts of panics would be a third of the module; what failed shows in the trap's stack.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
