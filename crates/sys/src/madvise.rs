//! Advice about memory: `process_madvise(2)` on another process and probes for what the kernel
//! would accept.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

pub use crate::errno::{Errno, Presence};

/// `MADV_COLD` (`include/uapi/asm-generic/mman-common.h`, Linux 5.4; remote since 5.10).
pub const MADV_COLD: i32 = 20;

/// `MADV_COLLAPSE` (`include/uapi/asm-generic/mman-common.h`, Linux 6.1).
pub const MADV_COLLAPSE: i32 = 25;

/// The advice this program gives about another process's memory.
///
/// Closed on purpose: neither kind can lose data, whatever range it is given and however stale
/// the caller's picture of the target is. The worst outcome is wasted work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteAdvice {
    /// `MADV_COLD`: deactivate; splits a huge page when the range covers only part of it.
    Cold,
    /// `MADV_COLLAPSE`: make each aligned huge-page-sized piece of the range one huge page.
    Collapse,
}

impl RemoteAdvice {
    /// The kernel's number for this advice.
    pub const fn number(self) -> i32 {
        match self {
            Self::Cold => MADV_COLD,
            Self::Collapse => MADV_COLLAPSE,
        }
    }
}

/// Gives `advice` about `start..start + len` (bytes) of the process behind `pidfd` and returns
/// how many bytes the kernel worked through.
///
/// One range per call: with several, a failure in a later one would be reported as a short count
/// and its reason lost. A range without one whole aligned huge page collapses nothing and still
/// succeeds.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE` in the initial user namespace; `EACCES` without ptrace read
/// access; `ESRCH` for a dead process or a kernel thread; `ENOSYS` before Linux 5.10; `EINVAL`
/// for an unaligned `start`, an advice the kernel does not take, or a region that can never be
/// collapsed; `ENOMEM` when no free huge page could be made *or* part of the range is unmapped;
/// `EBUSY` at a memory-cgroup limit; `EAGAIN` when a page was pinned, locked or off the LRU.
pub fn process_madvise(
    pidfd: BorrowedFd<'_>,
    start: u64,
    len: u64,
    advice: RemoteAdvice,
) -> Result<u64, Errno> {
    let too_large = |_| Errno(libc::EINVAL);
    let base = usize::try_from(start).map_err(too_large)?;
    let iov_len = usize::try_from(len).map_err(too_large)?;
    advise_one(pidfd.as_raw_fd(), base, iov_len, advice.number())
}

/// Tells whether the kernel takes `advice_number` for the process behind `pidfd`, by advising a
/// range of no bytes.
///
/// `pidfd` must belong to a *child*: kernels since 6.12 skip the checks for the caller itself.
///
/// # Errors
/// `EINVAL`: the kernel does not take this advice from another process; `EPERM`: it would, but
/// `CAP_SYS_NICE` is missing; `EACCES`: no ptrace read access; `ENOSYS`: no such call.
pub fn advice_accepted(pidfd: BorrowedFd<'_>, advice_number: i32) -> Result<(), Errno> {
    advise_one(pidfd.as_raw_fd(), 0, 0, advice_number).map(|_| ())
}

/// The call itself, with one range.
///
/// Only for advice that cannot change contents, or for an empty range: the two callers above.
fn advise_one(fd: i32, base: usize, len: usize, advice: i32) -> Result<u64, Errno> {
    let range = libc::iovec { iov_base: ptr::without_provenance_mut(base), iov_len: len };
    let (vlen, flags): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: `range` lives across the call and the kernel only reads it, as one iovec. Its
    // address belongs to the target and is never dereferenced here. No caller can pass an advice
    // that changes contents together with a non-empty range, so even when the target is this very
    // process no Rust object changes under its owner.
    // WHY UNSAFE: neither rustix 1.1 nor std has process_madvise.
    let done = unsafe {
        libc::syscall(libc::SYS_process_madvise, fd, &raw const range, vlen, advice, flags)
    };
    u64::try_from(done).map_err(|_| Errno::last())
}

/// Tells whether `process_madvise` exists, by calling it with a descriptor that cannot exist.
pub fn syscall_present() -> Presence {
    let (vlen, flags): (libc::c_ulong, libc::c_ulong) = (0, 0);
    let no_ranges = ptr::null::<libc::iovec>();
    // SAFETY: descriptor -1 is never open, so the call fails before it reads memory, and it
    // was given no ranges.
    // WHY UNSAFE: neither rustix 1.1 nor std has process_madvise.
    let answer = unsafe { libc::syscall(libc::SYS_process_madvise, -1, no_ranges, vlen, 0, flags) };
    if answer >= 0 {
        return Presence::Present;
    }
    match Errno::last().0 {
        libc::ENOSYS => Presence::Absent,
        libc::EPERM | libc::EACCES => Presence::Refused,
        // EBADF is what a kernel that knows the call says; any other number also needed code.
        _ => Presence::Present,
    }
}

/// Whether the kernel knows `MADV_COLLAPSE` at all (Linux 6.1), asked about no memory.
pub fn collapse_known_locally() -> bool {
    // SAFETY: a length of zero names no memory; the kernel only checks the advice number.
    // WHY UNSAFE: rustix's `Advice` stops before this number, and its function is unsafe too.
    unsafe { libc::madvise(ptr::null_mut(), 0, MADV_COLLAPSE) == 0 }
}
