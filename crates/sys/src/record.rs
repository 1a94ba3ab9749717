//! Record locks (`fcntl(2)`): on single bytes, beside each other, and the kernel tells who holds
//! them. They belong to the process: all of them on a file go when it closes *any* descriptor of
//! that file, and when it ends.

use std::os::fd::{AsFd, AsRawFd};

use crate::errno::Errno;

/// Who is in the way of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTheWay {
    /// A process of this pid namespace.
    Pid(u32),
    /// A process outside of this pid namespace.
    Outside,
    /// The lock belongs to a descriptor, and not to a process.
    Nobody,
}

fn lock(kind: libc::c_int, byte: u64) -> Result<libc::flock, Errno> {
    let narrow = |number: libc::c_int| i16::try_from(number).map_err(|_| Errno(libc::EINVAL));
    Ok(libc::flock {
        l_type: narrow(kind)?,
        l_whence: narrow(libc::SEEK_SET)?,
        l_start: i64::try_from(byte).map_err(|_| Errno(libc::EOVERFLOW))?,
        l_len: 1,
        l_pid: 0,
    })
}

fn set(file: impl AsFd, kind: libc::c_int, byte: u64) -> Result<(), Errno> {
    let lock = lock(kind, byte)?;
    let fd = file.as_fd();
    // SAFETY: the descriptor is open as long as it is borrowed, and the kernel only reads the
    // struct, which outlives the call.
    // WHY UNSAFE: rustix 1.1 locks whole files only.
    let answer = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLK, &raw const lock) };
    if answer == 0 { Ok(()) } else { Err(Errno::last()) }
}

/// Takes a lock for reading on one byte of a file that is open for reading. Others may have it,
/// too: only a lock for writing is in its way, and that needs the right to write the file.
///
/// # Errors
/// `EAGAIN` or `EACCES` beside a lock for writing; `ENOLCK` without memory.
pub fn share(file: impl AsFd, byte: u64) -> Result<(), Errno> {
    set(file, libc::F_RDLCK, byte)
}

/// Gives it back.
///
/// # Errors
/// `ENOLCK` without memory.
pub fn give_back(file: impl AsFd, byte: u64) -> Result<(), Errno> {
    set(file, libc::F_UNLCK, byte)
}

/// Some other process that has a lock of any kind on this byte, the first one that the kernel
/// finds; `None` where nobody has.
///
/// # Errors
/// None are to be expected of a file that is open.
pub fn other(file: impl AsFd, byte: u64) -> Result<Option<InTheWay>, Errno> {
    let mut lock = lock(libc::F_WRLCK, byte)?;
    let fd = file.as_fd();
    // SAFETY: the descriptor is open as long as it is borrowed, and the kernel writes a struct of
    // this very type, which outlives the call.
    // WHY UNSAFE: rustix 1.1 makes a `Pid` of every answer, also of 0 and -1.
    let answer = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    if answer != 0 {
        return Err(Errno::last());
    }
    if libc::c_int::from(lock.l_type) == libc::F_UNLCK {
        return Ok(None);
    }
    Ok(Some(match lock.l_pid {
        0 => InTheWay::Outside,
        pid => u32::try_from(pid).map_or(InTheWay::Nobody, InTheWay::Pid),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn two_share_a_byte_of_a_file_that_neither_may_write() -> std::io::Result<()> {
        // Its own locks are never in the way of a process: asked of a file of its own.
        let file = File::open("/proc/self/ns/user")?;
        share(&file, 77)?;
        share(&file, 77)?;
        assert_eq!(set(&file, libc::F_WRLCK, 77), Err(Errno(libc::EBADF)));
        assert_eq!(other(&file, 77)?, None);
        give_back(&file, 77)?;
        assert_eq!(share(&file, u64::MAX), Err(Errno(libc::EOVERFLOW)));
        Ok(())
    }
}
