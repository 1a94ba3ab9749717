//! What signals mean to this process, and whether it has a terminal that they come from.

use crate::root::Root;
use rustix::io::Errno;
use std::fs::File;

pub use hugewise_sys::signal::survive_harmless;

/// Whether this process was started to ignore a signal, as by `nohup`.
pub fn is_ignored(signal: i32) -> bool {
    let status = Root::live().read_text("proc/self/status").unwrap_or_default();
    ignores(&status, signal)
}

/// Whether this process has a controlling terminal, also one that was closed already.
pub fn has_terminal() -> bool {
    match File::open("/dev/tty") {
        Ok(_) => true,
        Err(error) => Errno::from_io_error(&error) == Some(Errno::IO),
    }
}

/// Whether `/proc/PID/status` says that a process ignores a signal.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Bit 0 is signal 1 (proc_pid_status(5)).
    let bit = u32::try_from(signal - 1).ok().and_then(|shift| 1_u64.checked_shl(shift));
    mask.zip(bit).is_some_and(|(mask, bit)| mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_told_from_others() {
        let nohup = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tffffffffffffffff\n";
        let (hangup, quit, terminate) = (1, 3, 15);
        assert!(ignores(nohup, hangup));
        assert!(!ignores(nohup, quit) && !ignores(nohup, terminate));
        assert!(!ignores("", hangup) && !ignores("SigIgn:\tx\n", hangup));
        assert!(!ignores(nohup, 0) && !ignores(nohup, 1000));
    }
}
