//! Memory that large messages leave behind.

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
