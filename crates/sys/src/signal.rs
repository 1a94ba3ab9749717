//! Signals, sent to a process that cannot be mistaken for another one.

use std::os::fd::AsFd;

pub use rustix::process::Signal;

use crate::errno::Errno;
use crate::pidfd::PidFd;

/// Sends `signal` to the process behind `pid`.
///
/// There is deliberately no variant that takes a number: a pid may be reused between the decision
/// and the call.
///
/// # Errors
/// `ESRCH` when the process has been reaped, `EPERM` without the right to signal it.
pub fn kill(pid: &PidFd, signal: Signal) -> Result<(), Errno> {
    Ok(rustix::process::pidfd_send_signal(pid.as_fd(), signal)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn ends_a_child_and_then_finds_nobody() -> std::io::Result<()> {
        let mut child = Command::new("sleep").arg("60").spawn()?;
        let pidfd = PidFd::open(child.id())?;
        kill(&pidfd, Signal::TERM)?;
        assert_eq!(child.wait()?.signal(), Some(libc::SIGTERM));
        assert_eq!(kill(&pidfd, Signal::TERM), Err(Errno(libc::ESRCH)));
        Ok(())
    }
}
