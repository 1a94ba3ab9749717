//! Open files that a service manager hands to the program that it starts (`sd_listen_fds(3)`).

use rustix::io::{FdFlags, fcntl_setfd};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Descriptor of the first one (`SD_LISTEN_FDS_START`).
const FIRST: RawFd = 3;

/// Takes the first open file that this program was started with, beside its standard ones. No
/// program that it executes inherits it.
///
/// # Errors
/// `EBADF` where there is none, and an error where this process opened it itself.
pub fn first() -> io::Result<OwnedFd> {
    take(FIRST)
}

fn take(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    // WHY UNSAFE: rustix asks only owners of a descriptor, and it is not yet known to be open.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    if flags & libc::FD_CLOEXEC != 0 {
        return Err(io::Error::other("this process was not started with it"));
    }
    // SAFETY: it is open, and nothing of this process owns it: what the standard library and rustix
    // open has the other flag, and so has what was taken here before.
    // WHY UNSAFE: a descriptor that is inherited has no owner that could give it away.
    let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
    fcntl_setfd(&owned, FdFlags::CLOEXEC)?;
    Ok(owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_opened_itself_is_not_taken() {
        let file = std::fs::File::open("/proc/self/status").expect("opened");
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
        assert!(take(descriptor).expect_err("ours").to_string().contains("not started"));
        let none = take(RawFd::MAX).expect_err("not open");
        assert_eq!(none.raw_os_error(), Some(libc::EBADF));
    }
}
