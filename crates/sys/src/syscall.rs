//! Which system call a process is in.

use std::ffi::c_long;

/// Calls that enter the address space of another process, read a file that shows one, or wait for
/// the lock of an object that it maps; every
/// other call of a process waits at most for that process itself.
const ENTERING: [c_long; 9] = [
    libc::SYS_ioctl,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
];

/// Whether the call that `/proc/PID/syscall` shows may enter another address space. Its first word
/// is the number of the call, -1 outside of one, or `running` (`fs/proc/base.c`).
pub fn may_enter(shown: &str) -> bool {
    let number = shown.split_whitespace().next().map(str::parse::<c_long>);
    // Where nothing is shown, it may.
    !matches!(number, Some(Ok(number)) if !ENTERING.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_enter_are_known() {
        let shown = |number: c_long| format!("{number} 0x3 0x1 0x0 0x0 0x0 0x0 0x7ffc 0x7f01\n");
        assert!(may_enter(&shown(libc::SYS_process_madvise)));
        assert!(!may_enter(&shown(libc::SYS_munmap)) && !may_enter(&shown(libc::SYS_futex)));
        assert!(!may_enter("-1 0x7ffc 0x7f01\n"), "a page fault of its own");
        assert!(may_enter(""), "it cannot be read");
        let own = std::fs::read_to_string("/proc/thread-self/syscall").expect("readable");
        assert!(may_enter(&own), "it reads this: {own}");
    }
}
