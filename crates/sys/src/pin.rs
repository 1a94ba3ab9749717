//! Pages that nobody can move: what a pipe holds stays where it is.

use crate::memory::Arena;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A pipe that holds base pages of this process. They cannot be moved until it is dropped, even if
/// the process gives them back: compaction leaves a page with a further user alone
/// (`mm/migrate.c`, `folio_migrate_mapping`).
#[derive(Debug)]
pub struct Pinned {
    into: OwnedFd,
    /// Open, or the pipe would hold nothing.
    _out: OwnedFd,
    room: usize,
}

impl Pinned {
    /// Most pages of one pipe without further rights (`fs.pipe-max-size`, 1 MiB by default).
    pub const PAGES_MAX: usize = 256;

    /// An empty one.
    ///
    /// # Errors
    /// `EMFILE`; `EPERM` where this user's pipes hold too much already
    /// (`fs.pipe-user-pages-soft`).
    pub fn new() -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        fcntl_setpipe_size(&into, Self::PAGES_MAX * rustix::param::page_size())?;
        Ok(Self { into, _out: out, room: Self::PAGES_MAX })
    }

    /// Pages that it holds.
    #[must_use]
    pub const fn pages(&self) -> usize {
        Self::PAGES_MAX - self.room
    }

    /// Holds the base page at `offset` bytes of the memory. `false`: it holds as many as it can.
    ///
    /// # Errors
    /// `InvalidInput` when no whole page of the memory begins at `offset`.
    pub fn hold(&mut self, memory: &Arena, offset: usize) -> io::Result<bool> {
        let page = rustix::param::page_size();
        let bytes = memory.as_slice().get(offset..).and_then(|rest| rest.get(..page));
        let bytes = bytes.filter(|_| offset.is_multiple_of(page));
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        if self.room == 0 {
            return Ok(false);
        }
        let piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: page };
        // SAFETY: the piece is mapped memory, of which the kernel takes a reference and writes
        // nothing; nobody reads the pipe, so that later changes of the memory hurt nobody.
        // WHY UNSAFE: rustix's function is unsafe as well.
        let taken = unsafe { libc::vmsplice(self.into.as_raw_fd(), &raw const piece, 1, 0) };
        if taken < 0 {
            return Err(io::Error::last_os_error());
        }
        self.room -= 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_holds_so_many_pages_and_no_more() -> io::Result<()> {
        let page = rustix::param::page_size();
        let mut memory = Arena::new((Pinned::PAGES_MAX + 1) * page, page)?;
        let mut pinned = Pinned::new()?;
        for number in 0..Pinned::PAGES_MAX {
            memory.touch(number * page);
            assert!(pinned.hold(&memory, number * page)?);
        }
        assert!(!pinned.hold(&memory, 0)?);
        for offset in [1, memory.len(), usize::MAX] {
            let refused = Pinned::new()?.hold(&memory, offset).map_err(|error| error.kind());
            assert_eq!(refused, Err(io::ErrorKind::InvalidInput), "{offset}");
        }
        Ok(())
    }
}
