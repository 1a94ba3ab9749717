//! User namespaces: which lies in which, and whose they are (ioctl_nsfs(2), Linux 4.9 and 4.11).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `NS_GET_PARENT` and `NS_GET_OWNER_UID` (`include/uapi/linux/nsfs.h`).
const NS_GET_PARENT: libc::c_ulong = 0xb702;
const NS_GET_OWNER_UID: libc::c_ulong = 0xb704;

/// The namespace in which this one lies.
///
/// # Errors
/// `EPERM` for the outermost one that this process may see.
pub fn parent(namespace: &File) -> io::Result<File> {
    // SAFETY: takes no pointer.
    // WHY UNSAFE: rustix 1.1 does not have it.
    let answer = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_PARENT) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for this call, with `O_CLOEXEC`.
    // WHY UNSAFE: nobody else can say whose a descriptor is.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(answer) }))
}

/// The user who made it.
///
/// # Errors
/// `EINVAL` for what is no user namespace.
pub fn owner(namespace: &File) -> io::Result<u32> {
    let mut uid: libc::uid_t = 0;
    // SAFETY: the pointer is to a live value of the type that the call fills.
    // WHY UNSAFE: rustix 1.1 does not have it.
    let answer = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_OWNER_UID, &raw mut uid) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(uid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_user_namespace_has_no_owner() -> io::Result<()> {
        assert!(owner(&File::open("/proc/self/ns/uts")?).is_err());
        assert!(parent(&File::open("/proc/self/status")?).is_err());
        Ok(())
    }
}
