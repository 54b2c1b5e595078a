//! What the host cannot see of its own descriptors, or not before its loop has turned.

use napi_derive::napi;

/// Whether nobody can read any more what is written to this pipe or socket; false where that cannot be known.
#[napi(catch_unwind)]
#[cfg_attr(test, allow(dead_code, reason = "only the host calls it"))]
pub(crate) fn abandoned(descriptor: i32) -> bool {
    happened(descriptor, false)
}

/// Whether something arrived on this socket that was not read yet, its end included; false where that cannot be known.
#[napi(catch_unwind)]
#[cfg_attr(test, allow(dead_code, reason = "only the host calls it"))]
pub(crate) fn unread(descriptor: i32) -> bool {
    happened(descriptor, true)
}

#[cfg(unix)]
fn happened(descriptor: i32, input: bool) -> bool {
    use std::os::fd::BorrowedFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    if descriptor < 0 {
        return false;
    }
    let asked = if input { PollFlags::IN } else { PollFlags::empty() };
    // SAFETY: only used for the poll below; a descriptor that is not open is reported as such.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let mut polled = [PollFd::new(&borrowed, asked)];
    poll(&mut polled, Some(&Timespec::default())).is_ok()
        && polled[0].revents().intersects(asked | PollFlags::ERR | PollFlags::HUP)
}

#[cfg(not(unix))]
fn happened(_: i32, _: bool) -> bool {
    false
}
