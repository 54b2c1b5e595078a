//! What the host cannot see of its own descriptors.

use napi_derive::napi;

/// Whether nobody can read any more what is written to this pipe or socket; false where that cannot be known.
#[napi(catch_unwind)]
#[cfg_attr(test, allow(dead_code, reason = "only the host calls it"))]
pub(crate) fn abandoned(descriptor: i32) -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::BorrowedFd;

        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        if descriptor < 0 {
            return false;
        }
        // SAFETY: only used for the poll below; a descriptor that is not open is reported as such.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let mut polled = [PollFd::new(&borrowed, PollFlags::empty())];
        poll(&mut polled, Some(&Timespec::default())).is_ok()
            && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }
    #[cfg(not(unix))]
    {
        let _ = descriptor;
        false
    }
}
