//! A descriptor that names one process for as long as it is open.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A handle on one process (Linux 5.3). Unlike a pid it never comes to name another process.
///
/// It does survive `execve`: after that it acts on the *new* address space of the same process.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Opens the process whose thread group leader is `pid`.
    ///
    /// # Errors
    /// `InvalidInput` when `pid` is 0 or above `i32::MAX`; `ESRCH` when no such process exists;
    /// `EINVAL` or `ENOENT` when `pid` is a thread that does not lead its group; `ENOSYS` before
    /// Linux 5.3.
    pub fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a process id"))?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Whether the process has ended. A zombie counts as ended: its memory is gone.
    ///
    /// # Errors
    /// Those of `poll(2)`: in practice only `ENOMEM`.
    pub fn has_exited(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::io::retry_on_intr(|| poll(&mut fds, Some(&now)))?;
        Ok(!fds[0].revents().is_empty())
    }

    /// Frees the anonymous memory of a process that was killed and has not ended: one that waits in
    /// a call which signals do not interrupt. Does nothing for others.
    ///
    /// # Errors
    /// `EINVAL` where the process is not being killed, `ESRCH` where its memory is gone already,
    /// `EAGAIN` where somebody holds its lock, `ENOSYS` before Linux 5.15.
    pub fn release_memory(&self) -> io::Result<()> {
        // SAFETY: takes numbers only, and frees memory of a process that never runs again.
        // WHY UNSAFE: neither std nor rustix 1.1 has it.
        let answer = unsafe { libc::syscall(libc::SYS_process_mrelease, self.0.as_raw_fd(), 0) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn sees_a_child_end() -> io::Result<()> {
        let mut child = Command::new("sleep").arg("60").spawn()?;
        let pidfd = PidFd::open(child.id())?;
        assert!(!pidfd.has_exited()?);
        child.kill()?;
        // `wait` reaps, and the descriptor must still answer afterwards.
        child.wait()?;
        assert!(pidfd.has_exited()?);
        assert!(PidFd::open(child.id()).is_err());
        Ok(())
    }

    #[test]
    fn memory_of_the_living_is_not_freed() -> io::Result<()> {
        let mut child = Command::new("sleep").arg("60").spawn()?;
        let freed = PidFd::open(child.id())?.release_memory();
        let errno = freed.expect_err("it lives").raw_os_error();
        assert!(matches!(errno, Some(libc::EINVAL | libc::ENOSYS)), "{errno:?}");
        assert!(child.try_wait()?.is_none());
        child.kill()?;
        child.wait().map(drop)
    }

    #[test]
    fn refuses_what_is_no_pid() {
        for pid in [0, u32::MAX] {
            let error = PidFd::open(pid).expect_err("no process has this id");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
