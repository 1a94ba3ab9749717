//! Pages that the kernel cannot move, as buffers of `io_uring`, RDMA and graphics cards are: they
//! keep a block of a huge page from being made where they lie.

use crate::memory::Arena;
use std::io;
use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Most buffers of one ring (`IORING_MAX_REG_BUFFERS` of `io_uring/rsrc.c`, Linux 6.18).
pub const BUFFERS_MAX: usize = 1 << 14;

/// `struct io_uring_params` (`include/uapi/linux/io_uring.h`) has 120 bytes.
const PARAMS_WORDS: usize = 15;
/// `IORING_REGISTER_BUFFERS`.
const REGISTER_BUFFERS: libc::c_uint = 0;

/// Pages that are pinned until this is dropped; `VmPin` of the process counts them.
#[derive(Debug)]
pub struct PinnedPages(#[expect(dead_code, reason = "held, not read")] OwnedFd);

impl PinnedPages {
    /// Pins the pages of these ranges of arenas, in bytes from the start of each. What is given
    /// back later stays allocated, and pinned.
    ///
    /// # Errors
    /// `InvalidInput` for a range outside, and for more than [`BUFFERS_MAX`]; `EPERM` and `ENOSYS`
    /// where the kernel has no `io_uring`, or not for this process; `ENOMEM` beyond the limit of
    /// locked memory.
    pub fn pin(parts: &[(&Arena, Range<usize>)]) -> io::Result<Self> {
        if parts.is_empty() || parts.len() > BUFFERS_MAX {
            let what = "no such number of buffers";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let mut buffers = Vec::new();
        let mut count: libc::c_uint = 0;
        for (arena, range) in parts {
            let start = arena.part(range)?;
            let buffer = libc::iovec { iov_base: start.cast(), iov_len: range.len() };
            buffers.push(buffer);
            count += 1;
        }
        let mut params = [0_u64; PARAMS_WORDS];
        // SAFETY: the kernel reads and writes one structure, which has this size.
        // WHY UNSAFE: no safe crate here has the call.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = RawFd::try_from(fd).map_err(|_| io::ErrorKind::Other)?;
        // SAFETY: the kernel made it for this call, so that nobody else owns it.
        // WHY UNSAFE: numbers become descriptors only so.
        let ring = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the kernel reads `count` ranges, which live until it returns. Each is part of a
        // live mapping; the pages are only held: no request to the ring names them, so nothing is
        // written there.
        // WHY UNSAFE: as above.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                fd,
                REGISTER_BUFFERS,
                buffers.as_ptr(),
                count,
            )
        };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(ring))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_pages_are_counted() -> io::Result<()> {
        let page = rustix::param::page_size();
        let arena = Arena::new(16 * page, page)?;
        assert!(PinnedPages::pin(&[(&arena, 0..17 * page)]).is_err());
        match PinnedPages::pin(&[(&arena, 0..page), (&arena, 8 * page..9 * page)]) {
            Ok(pinned) => {
                let status = std::fs::read_to_string("/proc/self/status")?;
                let line = status.lines().find_map(|line| line.strip_prefix("VmPin:"));
                let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
                assert!(kib >= Some((2 * page) >> 10), "{status}");
                drop(pinned);
            }
            Err(error) => {
                let known = [libc::EPERM, libc::ENOSYS, libc::ENOMEM];
                assert!(error.raw_os_error().is_some_and(|e| known.contains(&e)), "{error}");
            }
        }
        Ok(())
    }
}
