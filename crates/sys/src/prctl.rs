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
