//! The one way to another process's address space.
//!
//! Each of these calls takes the lock of the process's memory map or its `exec_update_lock`, which
//! the process, or a file server whose files it maps, can hold for as long as it likes (kernel
//! 6.18: `fs/proc/task_mmu.c`, `mm/madvise.c`, `mm_access` in `kernel/fork.c`). They are collected
//! here, and called by workers only ([`crate::worker`]).

use crate::root::Root;
use hugewise_base::units::Addr;
use hugewise_sys::Errno;
use hugewise_sys::madvise::process_madvise;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

pub use hugewise_sys::madvise::RemoteAdvice;

/// A file below `/proc/PID` that shows, or changes, an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpaceFile {
    /// Marks all memory as not accessed; for writing.
    ClearRefs,
    /// Arguments, read from the program's own memory.
    CommandLine,
    /// Variables it was started with, read from the program's own memory.
    Environment,
    /// What was read from and written to disks; behind `exec_update_lock`.
    Io,
    /// Mappings.
    Maps,
    /// Contents.
    Memory,
    /// Pages, one entry each, and the file of `PAGEMAP_SCAN`.
    Pagemap,
    /// Mappings with what they hold.
    Smaps,
    /// Sums of [`Self::Smaps`].
    SmapsRollup,
}

impl SpaceFile {
    /// Its name below `/proc/PID`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClearRefs => "clear_refs",
            Self::CommandLine => "cmdline",
            Self::Environment => "environ",
            Self::Io => "io",
            Self::Maps => "maps",
            Self::Memory => "mem",
            Self::Pagemap => "pagemap",
            Self::Smaps => "smaps",
            Self::SmapsRollup => "smaps_rollup",
        }
    }

    fn path(self, pid: u32) -> PathBuf {
        format!("proc/{pid}/{}", self.name()).into()
    }
}

/// Opens such a file.
///
/// # Errors
/// As the system says: `NotFound` when the process ended, `PermissionDenied`.
pub fn open(root: &Root, pid: u32, file: SpaceFile) -> io::Result<File> {
    let path = root.path(file.path(pid));
    match file {
        SpaceFile::ClearRefs => OpenOptions::new().write(true).open(path),
        _ => File::open(path),
    }
}

/// Opens the object that a mapping shows, for reading. Who has a lease on it (fcntl(2)) is not
/// waited for.
///
/// # Errors
/// As the system says: `NotFound` when there is no such mapping any more, `PermissionDenied`
/// without `CAP_CHECKPOINT_RESTORE`, `WouldBlock` for a lease.
pub(crate) fn open_mapped(root: &Root, pid: u32, start: Addr, end: Addr) -> io::Result<File> {
    let path = root.path(format!("proc/{pid}/map_files/{:x}-{:x}", start.0, end.0));
    let without_wait = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(without_wait).open(path)
}

/// The number of an error, as far as the kernel said one.
pub(crate) fn number_of(error: &io::Error) -> i32 {
    let made_here =
        if error.kind() == io::ErrorKind::InvalidData { Errno::FBIG } else { Errno::IO };
    error.raw_os_error().unwrap_or(made_here.0)
}

/// Reads such a file in this process, which waits for as long as the other one lets it.
pub(crate) fn read_here(root: &Root, pid: u32, file: SpaceFile) -> io::Result<Vec<u8>> {
    root.read(file.path(pid))
}

/// Advises a range of the process behind `pidfd`.
///
/// # Errors
/// As [`process_madvise`].
pub fn advise(
    pidfd: BorrowedFd<'_>,
    start: u64,
    length: u64,
    advice: RemoteAdvice,
) -> Result<u64, Errno> {
    process_madvise(pidfd, start, length, advice)
}
