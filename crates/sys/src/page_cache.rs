//! What the kernel holds of a file: `cachestat` (Linux 6.5).

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::errno::Errno;

/// `cachestat`, the same on all machines (`include/uapi/asm-generic/unistd.h`, Linux 6.5).
const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` (`include/uapi/linux/mman.h`), in bytes.
#[repr(C)]
struct Range {
    off: u64,
    len: u64,
}

/// `struct cachestat` (`include/uapi/linux/mman.h`), in base pages.
#[repr(C)]
#[derive(Default)]
struct Stat {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Base pages of `offset..offset + len` (bytes) that the kernel had and has evicted: of shared
/// memory those in swap. Takes no lock (`filemap_cachestat`, `mm/filemap.c`).
///
/// # Errors
/// `ENOSYS` before Linux 6.5; `EPERM` for a file that this process neither owns nor may write
/// (`can_do_cachestat`).
pub fn evicted(file: BorrowedFd<'_>, offset: u64, len: u64) -> Result<u64, Errno> {
    let range = Range { off: offset, len };
    let mut stat = Stat::default();
    let flags: libc::c_uint = 0;
    // SAFETY: the kernel reads one range and writes one answer; both live until it returns, and
    // have the layout of the kernel's own.
    // WHY UNSAFE: rustix has no such call.
    let answer = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            std::ptr::from_ref(&range),
            std::ptr::from_mut(&mut stat),
            flags,
        )
    };
    if answer < 0 { Err(Errno::last()) } else { Ok(stat.evicted) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_in_memory_has_nothing_evicted() {
        let own = std::fs::File::open("/proc/self/exe").expect("this program");
        match evicted(own.as_fd(), 0, 1 << 20) {
            Ok(pages) => assert!(pages <= 256),
            Err(errno) => assert!([libc::ENOSYS, libc::EPERM].contains(&errno.0), "{errno:?}"),
        }
    }
}
