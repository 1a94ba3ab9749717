//! Signals: sent to a process that cannot be mistaken for another one, and survived.

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

/// Signals whose default action ends a process, though they mean nothing that a program would have
/// to end for: timers, events of files, a limit of file size (the write fails as well), and those
/// that have no meaning of their own.
const HARMLESS: [libc::c_int; 9] = [
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXFSZ,
];

/// Handles a signal by doing nothing.
extern "C" fn nothing(_: libc::c_int) {}

/// From now on, harmless signals (timers, user and real-time signals, a limit of file size) do not
/// end this process. Programs that it starts have them as ever: unlike an ignored signal, a handled
/// one is not inherited.
///
/// # Errors
/// None are to be expected: these signals can be handled.
pub fn survive_harmless() -> Result<(), Errno> {
    let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
    HARMLESS.into_iter().chain(real_time).try_for_each(survive)
}

fn survive(signal: libc::c_int) -> Result<(), Errno> {
    // SAFETY: all fields of the struct are numbers, null pointers or absent callbacks.
    // WHY UNSAFE: libc offers no other way to make one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // A system call that waits goes on.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler touches nothing, so that it may run at any moment; the struct outlives
    // the call.
    // WHY UNSAFE: the standard library has no signals.
    let answer = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    if answer == 0 { Ok(()) } else { Err(Errno::last()) }
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

    #[test]
    fn harmless_signals_end_nothing_here_and_are_not_inherited() -> std::io::Result<()> {
        survive_harmless()?;
        let own = PidFd::open(std::process::id())?;
        for signal in [Signal::USR1, Signal::ALARM, Signal::XFSZ, Signal::STKFLT] {
            kill(&own, signal)?;
        }
        // SAFETY: raising a signal that is handled touches no memory.
        // WHY UNSAFE: rustix does not name the real-time signals.
        assert_eq!(unsafe { libc::raise(libc::SIGRTMIN() + 3) }, 0);
        let mut child = Command::new("sleep").arg("60").spawn()?;
        kill(&PidFd::open(child.id())?, Signal::USR1)?;
        assert_eq!(child.wait()?.signal(), Some(libc::SIGUSR1));
        Ok(())
    }
}
