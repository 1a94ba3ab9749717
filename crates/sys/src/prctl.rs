//! Settings a process makes about itself.

use std::io;

use rustix::process::Signal;

use crate::errno::Errno;

/// `PR_SET_THP_DISABLE` and `PR_GET_THP_DISABLE` (`include/uapi/linux/prctl.h`, Linux 3.15).
const PR_SET_THP_DISABLE: libc::c_int = 41;
const PR_GET_THP_DISABLE: libc::c_int = 42;

/// Flag in the third argument of `PR_SET_THP_DISABLE`: leave advised memory alone
/// (`include/uapi/linux/prctl.h`, Linux 6.18).
const PR_THP_DISABLE_EXCEPT_ADVISED: libc::c_ulong = 1 << 1;

/// What a process has said about huge pages for itself; inherited by `fork` and kept by `execve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThpDisable {
    /// Nothing: the system-wide settings apply.
    NotDisabled,
    /// No huge pages at all. A remote collapse of such a process fails with `EINVAL`.
    Disabled,
    /// Huge pages only where advised. `MADV_COLLAPSE`, remote too, counts as advice (Linux 6.18).
    ExceptAdvised,
    /// A flag combination newer than this program, as the kernel returned it.
    Other(i32),
}

/// Switches huge pages off (`true`) or back to the system settings (`false`) for this process.
///
/// # Errors
/// `EINTR` when a fatal signal arrived while waiting for the address-space lock.
pub fn set_thp_disable(disable: bool) -> Result<(), Errno> {
    Ok(rustix::thread::disable_transparent_huge_pages(disable)?)
}

/// Asks what this process has said; 1 and 3 are the kernel's values for "off" and "off, except
/// where advised".
///
/// # Errors
/// `EINVAL` before Linux 3.15.
pub fn get_thp_disable() -> Result<ThpDisable, Errno> {
    let zero: libc::c_ulong = 0;
    // SAFETY: this option takes no pointers and changes nothing; the unused arguments are zero,
    // as the kernel demands.
    // WHY UNSAFE: rustix folds every non-zero answer into `true`, which hides "except advised".
    let answer = unsafe { libc::prctl(PR_GET_THP_DISABLE, zero, zero, zero, zero) };
    match answer {
        0 => Ok(ThpDisable::NotDisabled),
        1 => Ok(ThpDisable::Disabled),
        3 => Ok(ThpDisable::ExceptAdvised),
        other if other < 0 => Err(Errno::last()),
        other => Ok(ThpDisable::Other(other)),
    }
}

/// Keeps huge pages only where they were asked for (Linux 6.18).
///
/// # Errors
/// `EINVAL` on kernels before 6.18: nothing has been changed then.
pub fn set_thp_disable_except_advised() -> Result<(), Errno> {
    let (on, zero): (libc::c_ulong, libc::c_ulong) = (1, 0);
    let flags = PR_THP_DISABLE_EXCEPT_ADVISED;
    // SAFETY: this option takes no pointers; it only changes which page sizes later faults and
    // collapses may use, never the contents of memory.
    // WHY UNSAFE: rustix 1.1 has no argument for the flags.
    let answer = unsafe { libc::prctl(PR_SET_THP_DISABLE, on, flags, zero, zero) };
    if answer == 0 { Ok(()) } else { Err(Errno::last()) }
}

/// Asks the kernel to kill this process when the *thread* that started it ends.
///
/// The request is lost on `execve` of a set-user-id program, and comes too late when the parent
/// has already gone: compare the parent's pid before and after.
///
/// # Errors
/// None are documented; the kernel's answer is passed on.
pub fn set_parent_death_signal() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_child::Child;

    /// The settings are process-wide: changed here, they would spoil tests that collapse memory
    /// in other threads. So a child changes its own.
    #[test]
    fn thp_disable_round_trip() {
        let child = Child::start("prctl::tests::child_thp_disable");
        assert_eq!(child.finish(), "done");
    }

    #[test]
    #[ignore = "runs in a child of thp_disable_round_trip"]
    fn child_thp_disable() -> Result<(), Errno> {
        if !Child::is_this_process() {
            return Ok(());
        }
        set_thp_disable(true)?;
        assert_eq!(get_thp_disable()?, ThpDisable::Disabled);
        set_thp_disable(false)?;
        assert_eq!(get_thp_disable()?, ThpDisable::NotDisabled);
        match set_thp_disable_except_advised() {
            Ok(()) => assert_eq!(get_thp_disable()?, ThpDisable::ExceptAdvised),
            // Kernels before 6.18 do not know the flag, and must then have changed nothing.
            Err(errno) => {
                assert_eq!(errno, Errno(libc::EINVAL));
                assert_eq!(get_thp_disable()?, ThpDisable::NotDisabled);
            }
        }
        Child::say("done");
        Ok(())
    }

    /// The signal follows the thread that spawned the child: a short-lived thread must take its
    /// child with it.
    #[test]
    fn child_dies_with_the_thread_that_started_it() {
        let child = std::thread::spawn(|| {
            let mut child = Child::start("prctl::tests::child_waits_for_death");
            // Only after this word has the child asked for the signal.
            assert_eq!(child.line(), "ready");
            child
        });
        let child = child.join().expect("the starting thread does not panic");
        assert!(child.was_killed());
    }

    #[test]
    #[ignore = "runs in a child of child_dies_with_the_thread_that_started_it"]
    fn child_waits_for_death() -> io::Result<()> {
        if !Child::is_this_process() {
            return Ok(());
        }
        set_parent_death_signal()?;
        Child::say("ready");
        Child::wait_for_end_of_input();
        Ok(())
    }
}
