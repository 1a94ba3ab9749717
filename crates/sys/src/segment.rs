//! System V shared memory, on base pages or on HugeTLB pages.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU8;

/// Permissions of a new segment: its owner's alone.
const MODE: libc::c_int = 0o600;

/// A segment that this process has attached; detached on drop.
///
/// It is marked for removal at once: it lives as long as a process has it attached,
/// and no longer, however its processes end. On Linux others can still attach it by its number
/// (shmctl(2), `IPC_RMID`).
#[derive(Debug)]
pub struct Segment {
    id: i32,
    start: NonNull<u8>,
    len: usize,
}

impl Segment {
    /// Makes a segment of `len` bytes and attaches it; `huge`: on HugeTLB pages of the default
    /// size.
    ///
    /// # Errors
    /// `EPERM` without the right to use HugeTLB pages; `ENOMEM` when the pool has too few of them;
    /// `EINVAL` and `ENOSPC` beyond `kernel.shmmax` and `kernel.shmall`.
    pub fn create(len: usize, huge: bool) -> io::Result<Self> {
        let flags = libc::IPC_CREAT | MODE | if huge { libc::SHM_HUGETLB } else { 0 };
        // SAFETY: takes plain numbers only.
        // WHY UNSAFE: neither std nor rustix knows System V shared memory.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, len, flags) };
        if id < 0 {
            return Err(io::Error::last_os_error());
        }
        let segment = Self::attach(id);
        // SAFETY: removal needs no buffer, for which null is passed.
        // WHY UNSAFE: as above.
        let removed = unsafe { libc::shmctl(id, libc::IPC_RMID, ptr::null_mut()) };
        if removed < 0 {
            return Err(io::Error::last_os_error());
        }
        segment
    }

    /// Attaches a segment by its number, all of it.
    ///
    /// # Errors
    /// `EINVAL` when there is none; `EACCES` when it is another user's.
    fn attach(id: i32) -> io::Result<Self> {
        // SAFETY: with no address given the kernel picks a range that nothing else uses.
        // WHY UNSAFE: neither std nor rustix knows System V shared memory.
        let start = unsafe { libc::shmat(id, ptr::null(), 0) };
        // Failure is the address -1.
        if start.addr() == usize::MAX {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| io::Error::other("attached at address 0"))?;
        // Owned from here on: a failure below detaches it.
        let mut segment = Self { id, start, len: 0 };
        segment.len = size_of_segment(id)?;
        Ok(segment)
    }

    /// Its number, by which others can attach it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// The memory. Other processes change it at any time, so that each byte is an atomic.
    pub fn bytes(&self) -> &[AtomicU8] {
        let start: *const AtomicU8 = self.start.as_ptr().cast();
        // SAFETY: the kernel attached `len` bytes at `start`, readable and writable, which start
        // out zero and stay until `self` is dropped; an `AtomicU8` is laid out as a `u8`, and all
        // access of this program goes through such references.
        // WHY UNSAFE: attached memory is no object that Rust knows.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the address is the one that was attached, and no reference into it is left.
        // WHY UNSAFE: neither std nor rustix knows System V shared memory.
        let _ = unsafe { libc::shmdt(self.start.as_ptr().cast()) };
    }
}

/// The size that a segment was made with.
fn size_of_segment(id: i32) -> io::Result<usize> {
    let mut about = std::mem::MaybeUninit::<libc::shmid_ds>::zeroed();
    // SAFETY: `about` has room for what the kernel writes.
    // WHY UNSAFE: neither std nor rustix knows System V shared memory.
    let answer = unsafe { libc::shmctl(id, libc::IPC_STAT, about.as_mut_ptr()) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed before, and every value of its plain numbers is valid.
    // WHY UNSAFE: the kernel filled it behind the compiler's back.
    let about = unsafe { about.assume_init() };
    Ok(about.shm_segsz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    #[test]
    fn two_attachments_are_the_same_memory() -> io::Result<()> {
        let one = Segment::create(12_288, false)?;
        let two = Segment::attach(one.id())?;
        assert_eq!((one.bytes().len(), two.bytes().len()), (12_288, 12_288));
        one.bytes()[8191].store(7, Ordering::Relaxed);
        assert_eq!(two.bytes()[8191].load(Ordering::Relaxed), 7);
        let id = one.id();
        drop((one, two));
        // Marked for removal: gone with its last user. A test beside this one may just be starting
        // a program, and between fork and exec that child is a user as well.
        let deadline = Instant::now() + Duration::from_secs(10);
        while Segment::attach(id).is_ok() {
            assert!(Instant::now() < deadline, "the segment outlives its users");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    #[test]
    fn an_empty_segment_is_refused() {
        assert!(Segment::create(0, false).is_err());
    }
}
