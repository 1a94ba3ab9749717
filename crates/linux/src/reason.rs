//! Reasons out of the errors of system calls.

use hugewise_manager::reason::SkipReason;
use hugewise_sys::Errno;
use std::io;

/// The name of an error met while reading a process's files.
pub(crate) fn reason_of_io(error: &io::Error) -> SkipReason {
    error.raw_os_error().map_or(SkipReason::Unreadable, |errno| reason_of_errno(Errno(errno)))
}

/// The same of an error number.
pub(crate) fn reason_of_errno(errno: Errno) -> SkipReason {
    match errno {
        // No such process, or the address space behind an open file is gone. Which of the two, the
        // next listing tells.
        Errno::NOENT => SkipReason::Gone,
        Errno::SRCH => SkipReason::AddressSpaceChanged,
        Errno::TIMEDOUT => SkipReason::NotAnswering,
        Errno::PERM | Errno::ACCES => SkipReason::NoPermission,
        Errno::NOTTY | Errno::NOSYS => SkipReason::NoMechanism,
        _ => SkipReason::Unreadable,
    }
}
