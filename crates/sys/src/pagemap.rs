//! `PAGEMAP_SCAN`: which pages of a process are present, huge, or zero (Linux 6.7).

use std::mem::{align_of, offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

use linux_raw_sys::general::{page_region, pm_scan_arg};

pub use crate::errno::{Errno, Presence};

/// Most regions one [`scan`] may return.
///
/// The kernel collects regions in a bounce buffer of 512 and restarts its walk when that fills.
/// When such a restarted walk then runs to the end, the `walk_end` it reports is a stale one from
/// before, and continuing there counts regions twice. Seen on 6.12, 6.18 and 7.3. A buffer no
/// larger than the bounce buffer never makes it restart.
pub const MAX_REGIONS: usize = 512;

/// Page categories (`include/uapi/linux/fs.h`, `PAGE_IS_*`).
pub mod category {
    use linux_raw_sys::general as uapi;

    const fn bit(value: u32) -> u64 {
        value as u64
    }

    /// In memory. The shared zero page counts as present.
    pub const PRESENT: u64 = bit(uapi::PAGE_IS_PRESENT);
    /// Swapped out; also migration entries, userfaultfd markers and guard pages.
    pub const SWAPPED: u64 = bit(uapi::PAGE_IS_SWAPPED);
    /// The shared zero page: present, but no memory is used.
    pub const PFNZERO: u64 = bit(uapi::PAGE_IS_PFNZERO);
    /// Mapped by one page-table entry for the whole huge page. A huge page mapped in pieces is
    /// not in this category.
    pub const HUGE: u64 = bit(uapi::PAGE_IS_HUGE);
}

/// One run of pages with the same categories.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRegion {
    /// First address, in bytes.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// Those of the requested categories (bits of [`category`]) that every page has.
    pub categories: u64,
}

const _: () = {
    assert!(size_of::<PageRegion>() == size_of::<page_region>());
    assert!(align_of::<PageRegion>() == align_of::<page_region>());
    assert!(offset_of!(PageRegion, start) == offset_of!(page_region, start));
    assert!(offset_of!(PageRegion, end) == offset_of!(page_region, end));
    assert!(offset_of!(PageRegion, categories) == offset_of!(page_region, categories));
    // The sizes are part of the ioctl numbers below.
    assert!(size_of::<pm_scan_arg>() == 96);
};

/// Which pages to find, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanQuery {
    /// First address, in bytes; page aligned.
    pub start: u64,
    /// Address to stop before.
    pub end: u64,
    /// Report pages in at least one of these categories; 0 reports every page.
    pub any_of: u64,
    /// The categories to tell of each reported page.
    pub returned: u64,
    /// Stop after so many reported pages; 0: no limit.
    pub max_pages: u64,
}

/// How far one call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// How many entries of the buffer were filled.
    pub regions: usize,
    /// Where the walk stopped; below the query's `end` there is more to see from here.
    pub walk_end: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`
/// (`include/uapi/linux/fs.h`).
const PAGEMAP_SCAN: libc::c_ulong = io_read_write(16, size_of::<pm_scan_arg>());

/// `_IOWR('f', number, size)` of `include/uapi/asm-generic/ioctl.h`, as on x86-64 and arm64.
const fn io_read_write(number: libc::c_ulong, size: usize) -> libc::c_ulong {
    const READ_AND_WRITE: libc::c_ulong = 3;
    (READ_AND_WRITE << 30)
        | ((size as libc::c_ulong) << 16)
        | ((b'f' as libc::c_ulong) << 8)
        | number
}

/// Walks page tables through `fd`, an open `/proc/PID/pagemap`, and fills `buf` from the front.
///
/// The descriptor stays bound to the address space it was opened on: after the process ends or
/// replaces its program, a scan fails and never shows the new one.
///
/// The kernel holds the target's mmap lock for reading while it walks, up to a buffer full of
/// regions: keep ranges short (`docs/measurements.md#page-scan-cost`).
///
/// # Errors
/// `EINVAL` for an empty buffer, one above [`MAX_REGIONS`], an unaligned start or a category the
/// kernel does not know; `ENOTTY` before Linux 6.7; `ESRCH` when the address space is gone;
/// `EINTR` when a fatal signal arrived.
pub fn scan(fd: BorrowedFd<'_>, q: &ScanQuery, buf: &mut [PageRegion]) -> Result<Scanned, Errno> {
    if buf.is_empty() || buf.len() > MAX_REGIONS {
        return Err(Errno(libc::EINVAL));
    }
    let mut arg = scan_arg(q);
    arg.vec = buf.as_mut_ptr() as u64;
    arg.vec_len = buf.len() as u64;
    // SAFETY: `arg` lives across the call, has the size it states, and the kernel writes only its
    // `walk_end`. `vec` and `vec_len` describe `buf`, borrowed mutably for this call, whose
    // element has the layout of the kernel's `page_region` (asserted above); any bytes the kernel
    // leaves there are valid `u64`s. No flag asks for write-protection, so the target does not
    // change.
    // WHY UNSAFE: no crate in use has this ioctl.
    let answer =
        unsafe { libc::syscall(libc::SYS_ioctl, fd.as_raw_fd(), PAGEMAP_SCAN, &raw mut arg) };
    let regions = usize::try_from(answer).map_err(|_| Errno::last())?;
    Ok(Scanned { regions: regions.min(buf.len()), walk_end: arg.walk_end })
}

/// Tells whether the kernel can scan and knows `category`, by scanning nothing.
///
/// # Errors
/// `ENOTTY`: no such ioctl (before Linux 6.7); `EINVAL`: the category is unknown.
pub fn scan_supported(fd: BorrowedFd<'_>, category: u64) -> Result<(), Errno> {
    let mut arg = scan_arg(&ScanQuery { returned: category, ..ScanQuery::default() });
    // SAFETY: `arg` lives across the call and has the size it states; with no buffer and an empty
    // range the kernel has nothing to write but `walk_end`.
    // WHY UNSAFE: no crate in use has this ioctl.
    let answer =
        unsafe { libc::syscall(libc::SYS_ioctl, fd.as_raw_fd(), PAGEMAP_SCAN, &raw mut arg) };
    if answer >= 0 { Ok(()) } else { Err(Errno::last()) }
}

/// The argument for a query, without a buffer.
fn scan_arg(q: &ScanQuery) -> pm_scan_arg {
    pm_scan_arg {
        size: size_of::<pm_scan_arg>() as u64,
        flags: 0,
        start: q.start,
        end: q.end,
        walk_end: 0,
        vec: 0,
        vec_len: 0,
        max_pages: q.max_pages,
        category_inverted: 0,
        category_mask: 0,
        category_anyof_mask: q.any_of,
        return_mask: q.returned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn the_ioctl_number_is_the_published_one() {
        assert_eq!(PAGEMAP_SCAN, 0xc060_6610);
    }

    #[test]
    fn refuses_buffers_that_meet_the_kernel_bug() {
        let file = File::open("/proc/self/pagemap").expect("own pagemap opens");
        let query = ScanQuery::default();
        let mut large = vec![PageRegion::default(); MAX_REGIONS + 1];
        assert_eq!(scan(file.as_fd(), &query, &mut large), Err(Errno(libc::EINVAL)));
        assert_eq!(scan(file.as_fd(), &query, &mut []), Err(Errno(libc::EINVAL)));
    }
}
