//! Error numbers as values a policy can match on.

use std::fmt;
use std::io;

/// A kernel error number, such as 22 for `EINVAL`.
///
/// The policy reads meaning out of the exact number (`EAGAIN` and `EINVAL` from the same call ask
/// for opposite reactions), so it stays as it came and is not folded into `io::ErrorKind`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// Not permitted: who asks lacks a capability.
    pub const PERM: Self = Self(libc::EPERM);
    /// No such file.
    pub const NOENT: Self = Self(libc::ENOENT);
    /// No such process, or its address space is gone.
    pub const SRCH: Self = Self(libc::ESRCH);
    /// Input or output failed.
    pub const IO: Self = Self(libc::EIO);
    /// No memory, or nothing mapped there.
    pub const NOMEM: Self = Self(libc::ENOMEM);
    /// Somebody else has it.
    pub const BUSY: Self = Self(libc::EBUSY);
    /// The kernel knows no such thing, or not with these values.
    pub const INVAL: Self = Self(libc::EINVAL);
    /// This device cannot do that.
    pub const OPNOTSUPP: Self = Self(libc::EOPNOTSUPP);
    /// There is no such device, or it is off.
    pub const NODEV: Self = Self(libc::ENODEV);
    /// It took too long.
    pub const TIMEDOUT: Self = Self(libc::ETIMEDOUT);
    /// Too large.
    pub const FBIG: Self = Self(libc::EFBIG);
    /// Access denied.
    pub const ACCES: Self = Self(libc::EACCES);
    /// The file does not know this ioctl.
    pub const NOTTY: Self = Self(libc::ENOTTY);
    /// The kernel does not have this system call.
    pub const NOSYS: Self = Self(libc::ENOSYS);

    /// The error of the last failed C library call of this thread.
    pub(crate) fn last() -> Self {
        Self::of(&io::Error::last_os_error())
    }

    /// The number inside an `io::Error`; `EIO` when the error did not come from the kernel.
    pub fn of(error: &io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(Self::IO.0))
    }

    /// The symbolic name, such as `"EINVAL"`; `"E?"` for a number none of these calls documents.
    pub const fn name(self) -> &'static str {
        match self.0 {
            libc::EPERM => "EPERM",
            libc::ENOENT => "ENOENT",
            libc::ESRCH => "ESRCH",
            libc::EINTR => "EINTR",
            libc::EIO => "EIO",
            libc::E2BIG => "E2BIG",
            libc::EBADF => "EBADF",
            libc::ECHILD => "ECHILD",
            libc::EAGAIN => "EAGAIN",
            libc::ENOMEM => "ENOMEM",
            libc::EACCES => "EACCES",
            libc::EFAULT => "EFAULT",
            libc::EBUSY => "EBUSY",
            libc::EEXIST => "EEXIST",
            libc::ENODEV => "ENODEV",
            libc::ENOTDIR => "ENOTDIR",
            libc::EINVAL => "EINVAL",
            libc::ENFILE => "ENFILE",
            libc::EMFILE => "EMFILE",
            libc::ENOTTY => "ENOTTY",
            libc::ENOSPC => "ENOSPC",
            libc::EROFS => "EROFS",
            libc::EDOM => "EDOM",
            libc::ERANGE => "ERANGE",
            libc::ENAMETOOLONG => "ENAMETOOLONG",
            libc::ENOSYS => "ENOSYS",
            libc::EOVERFLOW => "EOVERFLOW",
            libc::EOPNOTSUPP => "EOPNOTSUPP",
            libc::EHWPOISON => "EHWPOISON",
            _ => "E?",
        }
    }
}

/// In words, with the name that manuals use: `Operation not permitted (EPERM)`.
impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.0).to_string();
        let words = text.split(" (os error").next().unwrap_or_default();
        match self.name() {
            "E?" => write!(f, "{words} (error {})", self.0),
            name => write!(f, "{words} ({name})"),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errno({} {})", self.0, self.name())
    }
}

impl std::error::Error for Errno {}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Self(error.raw_os_error())
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

/// What a side-effect-free probe found out about one kernel interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The kernel knows the interface.
    Present,
    /// The kernel does not know it.
    Absent,
    /// Something (a seccomp filter, a missing right) answered in its place: nothing is known.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_prints_numbers() {
        assert_eq!(Errno(libc::EINVAL).name(), "EINVAL");
        assert_eq!(Errno(libc::EAGAIN).to_string(), "Resource temporarily unavailable (EAGAIN)");
        assert_eq!(Errno(4095).to_string(), "Unknown error 4095 (error 4095)");
        assert_eq!(format!("{:?}", Errno(libc::ENOMEM)), "Errno(12 ENOMEM)");
    }

    #[test]
    fn survives_the_way_through_an_io_error() {
        let error: io::Error = Errno(libc::ESRCH).into();
        assert_eq!(Errno::of(&error), Errno(libc::ESRCH));
        assert_eq!(Errno::of(&io::Error::other("not from the kernel")), Errno(libc::EIO));
    }
}
