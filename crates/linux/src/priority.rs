//! How soon a thread of this program has a CPU where others leave none idle.

use crate::root::Root;
use rustix::process::{getpid, getsid, setpriority_process};

/// Niceness of a thread on which others wait. A worker that is put aside in the middle of a
/// promotion keeps the lock of a program meanwhile, and a manager that is put aside serves nobody;
/// beside hundreds of programs that compute each would wait for all of them. What they use in all
/// is limited elsewhere (`controller.cpu_percent`).
const NICE: i32 = -10;

/// This thread, and those that it starts from now on, have a CPU before those of others. Without
/// `CAP_SYS_NICE` they stay as they are.
pub fn before_others() {
    let _ = setpriority_process(None, NICE);
    // Where the kernel groups sessions (CONFIG_SCHED_AUTOGROUP), niceness counts within one. The
    // group has one of its own: nobody else's is changed.
    if getsid(None).is_ok_and(|session| session == getpid()) {
        let file = Root::live().path("proc/self/autogroup");
        let _ = std::fs::write(file, NICE.to_string());
    }
}

/// This thread has a CPU as those of others have.
pub fn as_others() {
    let _ = setpriority_process(None, 0);
}
