//! The one way to another process's address space.
//!
//! Each of these calls takes the lock of the process's memory map or its `exec_update_lock`, which
//! the process, or a file server whose files it maps, can hold for as long as it likes (kernel
//! 6.18: `fs/proc/task_mmu.c`, `mm/madvise.c`, `mm_access` in `kernel/fork.c`). They are collected
//! here, and called by workers only ([`crate::worker`]).

use crate::account::Accounts;
use crate::root::Root;
use crate::spaces::{Answer, Means, Order};
use crate::worker::{self, Workers};
use hugewise_base::parse::{cgroup, pid_status};
use hugewise_manager::suspension::Party;
use hugewise_sys::Errno;
use hugewise_sys::madvise::{RemoteAdvice, process_madvise};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A file below `/proc/PID` that shows, or changes, an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpaceFile {
    /// Marks all memory as not accessed; for writing.
    ClearRefs,
    /// Arguments, read from the program's own memory.
    CommandLine,
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

/// Reads such a file as a whole, by a worker where there are any: it returns in time.
///
/// # Errors
/// As [`open`]; `InvalidData` above 64 MiB; `TimedOut` where it cannot be read now, or could not be
/// a moment ago.
pub fn read(root: &Root, pid: u32, file: SpaceFile) -> io::Result<Vec<u8>> {
    read_all(root, &[(pid, file)]).pop().unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
}

/// Reads several, which costs less than one after the other.
pub fn read_all(root: &Root, files: &[(u32, SpaceFile)]) -> Vec<io::Result<Vec<u8>>> {
    if !root.is_live() || !worker::enabled() {
        return files.iter().map(|(pid, file)| read_here(root, *pid, *file)).collect();
    }
    let orders: Vec<_> = files.iter().map(|(pid, file)| Order::Read(*pid, *file)).collect();
    let party_of = |order: &Order| party(root, order.pid().unwrap_or(0));
    let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
    let readers = readers.get_or_insert_with(|| Workers::new(Means::default()));
    let mut texts = Vec::with_capacity(files.len());
    for answer in readers.carry_out(&orders, &party_of) {
        texts.push(match answer {
            Answer::Read(Ok(text)) => Ok(text),
            Answer::Read(Err(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        });
    }
    texts
}

/// Workers that read for views.
static READERS: Mutex<Option<Workers>> = Mutex::new(None);

/// Who stands for a process that was not listed.
pub(crate) fn party(root: &Root, pid: u32) -> Party {
    let status = root.read(format!("proc/{pid}/status")).unwrap_or_default();
    let uid = pid_status::parse(&status).value.uid;
    let account = uid.and_then(|uid| Accounts::of(root).of_uid(root, pid, uid));
    let cgroups = root.read(format!("proc/{pid}/cgroup")).unwrap_or_default();
    Party::of(account.or(uid), cgroup::parse(&cgroups).value.memory())
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
