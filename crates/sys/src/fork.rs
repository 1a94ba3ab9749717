//! A child that shares this process's memory by `fork`, and does nothing with it.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::errno::Errno;

/// A forked copy of this process that only waits; ended and reaped on drop.
///
/// While it lives, every private page that was populated at the fork is shared copy-on-write.
#[derive(Debug)]
pub struct PausingChild(Pid);

/// Forks a child that waits until it is ended, at the latest together with the thread that
/// called this.
///
/// # Errors
/// `EAGAIN` when no more processes are allowed, `ENOMEM` when memory for page tables is short.
pub fn pausing_child() -> Result<PausingChild, Errno> {
    let parent = rustix::process::getpid();
    // SAFETY: the child of a program with several threads may only call async-signal-safe
    // functions. It calls prctl, getppid, pause and _exit, which are bare system calls, touches
    // no memory beyond its stack, runs no destructor and never returns from `wait_for_the_end`.
    // WHY UNSAFE: no safe function forks.
    let answer = unsafe { libc::fork() };
    if answer == 0 {
        wait_for_the_end(parent.as_raw_nonzero().get());
    }
    Pid::from_raw(answer).filter(|_| answer > 0).map(PausingChild).ok_or_else(Errno::last)
}

impl PausingChild {
    /// The child's pid, valid for as long as this value lives: nobody else reaps it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.as_raw_nonzero().get().unsigned_abs()
    }
}

impl Drop for PausingChild {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(self.0), WaitOptions::empty()));
    }
}

/// The child's whole life.
fn wait_for_the_end(parent: libc::c_int) -> ! {
    let signal = libc::SIGKILL.unsigned_abs();
    // SAFETY: takes no pointers, and only asks for a signal at the parent's end.
    // WHY UNSAFE: a wrapper might do more than the system call, which is all a child may do.
    let asked = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::c_ulong::from(signal)) };
    loop {
        // SAFETY: takes nothing and always succeeds.
        // WHY UNSAFE: as above.
        let now = unsafe { libc::getppid() };
        // Another parent: ours ended before the request, so that no signal would come.
        if asked != 0 || now != parent {
            // SAFETY: ends the process without running anything of it.
            // WHY UNSAFE: as above.
            unsafe { libc::_exit(1) };
        }
        // SAFETY: waits for a signal; no handler of ours is safe to run in a child, but pause
        // itself calls none, and with the default disposition signals end the child.
        // WHY UNSAFE: std cannot wait without locks.
        unsafe { libc::pause() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_of(pid: u32) -> Option<String> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ").map(|(_, rest)| rest[..1].to_owned())
    }

    #[test]
    fn the_child_waits_and_ends_with_its_handle() -> Result<(), Errno> {
        let child = pausing_child()?;
        let pid = child.id();
        assert!(matches!(state_of(pid).as_deref(), Some("S" | "R" | "D")));
        drop(child);
        // Reaped: not even a zombie is left.
        assert_eq!(state_of(pid), None);
        Ok(())
    }

    #[test]
    fn pages_are_shared_while_it_lives() -> Result<(), Box<dyn std::error::Error>> {
        use std::os::unix::fs::FileExt;
        let mut arena = crate::memory::Arena::new(4096, 4096)?;
        arena.as_mut_slice().fill(7);
        let pagemap = std::fs::File::open("/proc/self/pagemap")?;
        let exclusive = |at: u64| -> std::io::Result<bool> {
            let mut entry = [0u8; 8];
            pagemap.read_exact_at(&mut entry, at / 4096 * 8)?;
            Ok(u64::from_ne_bytes(entry) & (1 << 56) != 0)
        };
        // Other tests start programs, which shares all pages for a moment.
        let exclusive_soon = |at: u64| -> std::io::Result<bool> {
            for _ in 0..10_000 {
                if exclusive(at)? {
                    return Ok(true);
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Ok(false)
        };
        assert!(exclusive_soon(arena.addr())?);
        let child = pausing_child().map_err(|errno| errno.to_string())?;
        assert!(!exclusive(arena.addr())?);
        drop(child);
        assert!(exclusive_soon(arena.addr())?);
        assert!(arena.as_slice().iter().all(|byte| *byte == 7));
        Ok(())
    }
}
