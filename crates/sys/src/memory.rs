//! Memory this process maps for itself: to warm up free blocks, and to run experiments on.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};

use crate::madvise::MADV_COLLAPSE;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Maps the beginning of a file, for reading, for as long as this process lives; returns where.
///
/// # Errors
/// As `mmap(2)`.
pub fn map_file(file: &File, bytes: usize) -> io::Result<u64> {
    let (protection, flags) = (ProtFlags::READ, MapFlags::SHARED);
    // SAFETY: the kernel chooses the place, so that nothing else is replaced, and no reference to
    // what is mapped is given away.
    // WHY UNSAFE: whoever reads there can be shown a file that others change.
    let at = unsafe { mmap(ptr::null_mut(), bytes, protection, flags, file, 0) }?;
    Ok(at as u64)
}

/// A file without a name whose pages are mapped in no other process, nor in the kernel
/// (`memfd_secret`, Linux 5.14).
///
/// # Errors
/// `ENOSYS` where the kernel has none, or they are switched off.
pub fn secret_file() -> io::Result<File> {
    // SAFETY: takes a number only.
    // WHY UNSAFE: neither std nor rustix 1.1 has it.
    let fd = unsafe { libc::syscall(libc::SYS_memfd_secret, 0) };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel made it for this call, so that nobody else owns it.
    // WHY UNSAFE: numbers become descriptors only so.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Advice about this process's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAdvice {
    /// `MADV_HUGEPAGE`: huge pages are wanted here.
    HugePage,
    /// `MADV_NOHUGEPAGE`: no huge pages here.
    NoHugePage,
    /// `MADV_DONTNEED`: give the memory back; private contents become zero.
    DontNeed,
    /// `MADV_MERGEABLE`: pages of equal contents may become one (KSM).
    Mergeable,
    /// `MADV_REMOVE`: give shared memory back to the kernel, a hole for all who map it.
    Remove,
    /// `MADV_COLLAPSE` (Linux 6.1): make huge pages now.
    Collapse,
    /// `MADV_POPULATE_WRITE` (Linux 5.14): fault every page in, as if written.
    PopulateWrite,
}

impl LocalAdvice {
    const fn number(self) -> libc::c_int {
        match self {
            Self::HugePage => libc::MADV_HUGEPAGE,
            Self::NoHugePage => libc::MADV_NOHUGEPAGE,
            Self::DontNeed => libc::MADV_DONTNEED,
            Self::Mergeable => libc::MADV_MERGEABLE,
            Self::Remove => libc::MADV_REMOVE,
            Self::Collapse => MADV_COLLAPSE,
            Self::PopulateWrite => libc::MADV_POPULATE_WRITE,
        }
    }
}

/// Anonymous memory that this process maps, unmapped on drop. Starts out zero.
#[derive(Debug)]
pub struct Arena {
    start: NonNull<u8>,
    len: usize,
    all_writable: bool,
}

// SAFETY: an `Arena` owns its mapping alone, memory is the same for every thread, and every change
// goes through `&mut self`.
// WHY UNSAFE: a raw pointer takes `Send` away; nothing here depends on the thread.
unsafe impl Send for Arena {}

// SAFETY: `&Arena` only reads: `as_slice` and plain numbers.
// WHY UNSAFE: a raw pointer takes `Sync` away.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps `len` bytes of shared memory (kept by the kernel's tmpfs) whose address is a multiple
    /// of `align` bytes: the first byte of the object is at the first address.
    ///
    /// # Errors
    /// As for [`Arena::new`].
    pub fn shared(len: usize, align: usize) -> io::Result<Self> {
        let arena = Self::new(len, align)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: what is replaced is the arena's own, of which no reference was given away.
        // WHY UNSAFE: std has no way to map memory.
        unsafe { mmap_anonymous(arena.start.as_ptr().cast(), len, protection, flags)? };
        Ok(arena)
    }

    /// Maps `len` bytes of private memory whose address is a multiple of `align` bytes.
    ///
    /// # Errors
    /// `InvalidInput` when `len` is not a positive multiple of the page size, or `align` is no
    /// power of two or below the page size; `ENOMEM` when the kernel refuses the mapping.
    pub fn new(len: usize, align: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE;
        let page = rustix::param::page_size();
        if len == 0 || !len.is_multiple_of(page) {
            return Err(invalid("length is not a positive multiple of the page size"));
        }
        if !align.is_power_of_two() || align < page {
            return Err(invalid("alignment is not a power of two of at least a page"));
        }
        // The kernel aligns to pages, so `align - page` more always holds an aligned range.
        let slack = align - page;
        let total = len.checked_add(slack).ok_or_else(|| invalid("length overflows"))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: without MAP_FIXED and with no address asked for, the kernel picks a range that
        // nothing else uses.
        // WHY UNSAFE: std has no way to map memory.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), total, protection, flags)? };
        let mapped: *mut u8 = mapped.cast();
        let head = mapped.addr().next_multiple_of(align) - mapped.addr();
        let start = NonNull::new(mapped.wrapping_add(head)).ok_or_else(|| invalid("null map"))?;
        let arena = Self { start, len, all_writable: true };
        // The part to keep is owned by now: a failure below leaks no more than the trimmings.
        trim(mapped, head)?;
        trim(arena.start.as_ptr().wrapping_add(len), slack - head)?;
        Ok(arena)
    }

    /// Address of the first byte.
    pub fn addr(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "an arena is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The memory, for reading. Pages that were never written are mapped by reading them.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the range is mapped and readable for as long as `self` lives (no method takes
        // read permission away), every byte is initialized (the kernel starts with zeros), and
        // the borrow keeps every writer out.
        // WHY UNSAFE: a mapping is not an object Rust knows.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The memory, for writing.
    ///
    /// # Panics
    /// After [`Arena::protect_read_only`]: writing would end the process.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        assert!(self.all_writable, "part of this arena was made read-only");
        // SAFETY: as in `as_slice`; all of it is writable (checked above), and `&mut self` makes
        // this the only reference.
        // WHY UNSAFE: a mapping is not an object Rust knows.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The memory as words, for reading.
    pub fn words(&self) -> &[u64] {
        debug_assert!(self.start.cast::<u64>().is_aligned(), "mappings start at a page");
        // SAFETY: as in `as_slice`: mapped, readable, initialized, no writer. The start is aligned
        // to a page, the length is a multiple of the page size, and every bit pattern is a `u64`.
        // WHY UNSAFE: a mapping is not an object Rust knows.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len / WORD) }
    }

    /// The memory as words, for writing.
    ///
    /// # Panics
    /// As [`Arena::as_mut_slice`].
    pub fn words_mut(&mut self) -> &mut [u64] {
        assert!(self.all_writable, "part of this arena was made read-only");
        debug_assert!(self.start.cast::<u64>().is_aligned(), "mappings start at a page");
        // SAFETY: as in `words`; all of it is writable (checked above), and `&mut self` makes this
        // the only reference.
        // WHY UNSAFE: a mapping is not an object Rust knows.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len / WORD) }
    }

    /// Writes one byte back to itself, so that its page is faulted in for writing. Volatile: the
    /// compiler may not leave it out. It reads first: see [`Arena::set`] for what that means.
    ///
    /// # Panics
    /// When `offset` (bytes) is outside, or after [`Arena::protect_read_only`].
    pub fn touch(&mut self, offset: usize) {
        let byte: *mut u8 = &raw mut self.as_mut_slice()[offset];
        // SAFETY: `byte` was just derived from a live, unique reference to initialized memory.
        // WHY UNSAFE: volatile access has no safe form.
        let value = unsafe { byte.read_volatile() };
        // SAFETY: as above; the memory is writable.
        // WHY UNSAFE: volatile access has no safe form.
        unsafe { byte.write_volatile(value) };
    }

    /// Writes one byte, without reading its page first. Volatile: the compiler may not leave it
    /// out.
    ///
    /// Before Linux 6.13 this is the only way to fault a huge page into advised memory by a write:
    /// a read maps the huge zero page, and a write to that gives a base page.
    ///
    /// # Panics
    /// As [`Arena::touch`].
    pub fn set(&mut self, offset: usize, value: u8) {
        let byte: *mut u8 = &raw mut self.as_mut_slice()[offset];
        // SAFETY: `byte` was just derived from a live, unique reference to writable memory.
        // WHY UNSAFE: volatile access has no safe form.
        unsafe { byte.write_volatile(value) };
    }

    /// Gives `advice` about `range` (bytes from the start; the start page aligned).
    ///
    /// Takes `&mut self` because [`LocalAdvice::DontNeed`] changes what a reader would see.
    ///
    /// # Errors
    /// `InvalidInput` when `range` is not inside; `EINVAL` for an unaligned start, advice the
    /// kernel does not know, or a collapse that can never work; `ENOMEM`, `EAGAIN` and `EBUSY`
    /// from a collapse as for a remote one; `EFAULT` when populating read-only memory.
    pub fn advise(&mut self, range: Range<usize>, advice: LocalAdvice) -> io::Result<()> {
        let start = self.part(&range)?;
        // SAFETY: the range lies inside the mapping, which `&mut self` owns alone, so no
        // reference into it exists. Every advice leaves initialized, mapped memory behind.
        // WHY UNSAFE: rustix's function is unsafe as well and lacks MADV_COLLAPSE.
        let answer = unsafe { libc::madvise(start.cast(), range.len(), advice.number()) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Takes write permission of `range` (bytes from the start, page aligned) away for good.
    ///
    /// # Errors
    /// `InvalidInput` when `range` is not inside; `EINVAL` when it is not aligned; `ENOMEM` when
    /// the process has too many mappings.
    pub fn protect_read_only(&mut self, range: Range<usize>) -> io::Result<()> {
        let start = self.part(&range)?;
        // Set before the call: a failure half way may have protected a part.
        self.all_writable = false;
        // SAFETY: the range lies inside the mapping, which `&mut self` owns alone; reading stays
        // allowed, and `all_writable` keeps every writer of this type away from now on.
        // WHY UNSAFE: permissions of mapped memory have no safe interface.
        unsafe { mprotect(start.cast(), range.len(), MprotectFlags::READ) }?;
        Ok(())
    }

    /// Unmaps the first page of each `step` bytes. What is left can only be given back.
    ///
    /// # Errors
    /// `InvalidInput` when `step` is no positive multiple of the page size; `ENOMEM` when the
    /// process has too many mappings.
    pub fn into_holed(self, step: usize) -> io::Result<Holed> {
        let page = rustix::param::page_size();
        if step == 0 || !step.is_multiple_of(page) {
            return Err(invalid("step is not a positive multiple of the page size"));
        }
        for at in (0..self.len).step_by(step) {
            trim(self.start.as_ptr().wrapping_add(at), page.min(self.len - at))?;
        }
        Ok(Holed(self))
    }

    /// The address of a range that lies inside the arena.
    pub(crate) fn part(&self, range: &Range<usize>) -> io::Result<*mut u8> {
        if range.start > range.end || range.end > self.len {
            return Err(invalid("range is outside the arena"));
        }
        Ok(self.start.as_ptr().wrapping_add(range.start))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let _ = trim(self.start.as_ptr(), self.len);
    }
}

/// Memory with holes, which nobody may read any more; given back on drop.
#[derive(Debug)]
pub struct Holed(#[expect(dead_code, reason = "held, not read")] Arena);

/// Unmaps `len` bytes at `start`, which the caller owns and will not use again.
fn trim(start: *mut u8, len: usize) -> io::Result<()> {
    if len == 0 {
        return Ok(());
    }
    // SAFETY: private to this module: the callers pass parts of a mapping made by `map` that no
    // `Arena` keeps, or that `Holed` lets nobody reach, with no reference into them.
    // WHY UNSAFE: std has no way to unmap memory.
    unsafe { munmap(start.cast(), len) }?;
    Ok(())
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn is_aligned_zero_and_writable() -> io::Result<()> {
        for _ in 0..8 {
            let mut arena = Arena::new(3 * MIB, 2 * MIB)?;
            assert_eq!(arena.addr() % (2 * MIB as u64), 0);
            assert_eq!((arena.len(), arena.as_slice().len()), (3 * MIB, 3 * MIB));
            assert!(arena.as_slice().iter().all(|byte| *byte == 0));
            arena.as_mut_slice()[3 * MIB - 1] = 9;
            arena.touch(3 * MIB - 1);
            assert_eq!(arena.as_slice()[3 * MIB - 1], 9);
        }
        Ok(())
    }

    #[test]
    fn words_are_the_same_memory() -> io::Result<()> {
        let mut arena = Arena::new(8192, 4096)?;
        arena.words_mut()[1023] = u64::from_ne_bytes([1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(arena.as_slice()[8184..], [1, 2, 3, 4, 5, 6, 7, 8]);
        arena.as_mut_slice()[8] = 9;
        assert_eq!(arena.words()[1].to_ne_bytes()[0], 9);
        assert_eq!(arena.words().len(), 1024);
        Ok(())
    }

    #[test]
    fn dont_need_zeroes_private_memory_only() -> io::Result<()> {
        let mut private = Arena::new(MIB, 4096)?;
        private.as_mut_slice().fill(5);
        private.advise(0..4096, LocalAdvice::DontNeed)?;
        assert_eq!((private.as_slice()[0], private.as_slice()[4096]), (0, 5));
        let mut shared = Arena::shared(MIB, rustix::param::page_size())?;
        shared.as_mut_slice().fill(5);
        shared.advise(0..MIB, LocalAdvice::DontNeed)?;
        assert_eq!(shared.as_slice()[0], 5);
        Ok(())
    }

    #[test]
    fn collapse_keeps_contents() -> io::Result<()> {
        let mut arena = Arena::new(2 * MIB, 2 * MIB)?;
        match arena.advise(0..2 * MIB, LocalAdvice::PopulateWrite) {
            // Kernels before 5.14 do not know it.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            other => other?,
        }
        arena.as_mut_slice().fill(3);
        // May fail for want of a free block or (before 6.1) of the advice: then nothing changed.
        let _ = arena.advise(0..2 * MIB, LocalAdvice::Collapse);
        assert!(arena.as_slice().iter().all(|byte| *byte == 3));
        Ok(())
    }

    #[test]
    fn refuses_bad_sizes_and_ranges() -> io::Result<()> {
        assert!(Arena::new(0, 4096).is_err());
        assert!(Arena::new(4097, 4096).is_err());
        assert!(Arena::new(4096, 3).is_err());
        assert!(Arena::new(4096, 1).is_err());
        assert!(Arena::new(usize::MAX - 4095, 2 * MIB).is_err());
        let mut arena = Arena::new(8192, 4096)?;
        assert!(arena.advise(4096..12288, LocalAdvice::HugePage).is_err());
        assert!(arena.advise(1..4096, LocalAdvice::DontNeed).is_err());
        Ok(())
    }

    #[test]
    fn read_only_memory_can_be_read() -> io::Result<()> {
        let mut arena = Arena::new(8192, 4096)?;
        arena.as_mut_slice().fill(1);
        arena.protect_read_only(0..4096)?;
        assert_eq!(arena.as_slice()[0], 1);
        Ok(())
    }

    #[test]
    #[should_panic(expected = "read-only")]
    fn read_only_memory_cannot_be_touched() {
        let mut arena = Arena::new(8192, 4096).expect("two pages can be mapped");
        arena.protect_read_only(4096..8192).expect("own memory can be protected");
        arena.touch(0);
    }

    #[test]
    fn can_move_to_another_thread() -> io::Result<()> {
        let mut arena = Arena::new(4096, 4096)?;
        let arena = std::thread::spawn(move || {
            arena.as_mut_slice()[0] = 4;
            arena
        });
        assert_eq!(arena.join().expect("the thread does not panic").as_slice()[0], 4);
        Ok(())
    }
}
