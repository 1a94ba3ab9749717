//! How soon a thread of this program has a CPU where others leave none idle.

use crate::root::Root;
use rustix::process::setpriority_process;

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
    let root = Root::live();
    if leads_session(&root) {
        let _ = std::fs::write(root.path("proc/self/autogroup"), NICE.to_string());
    }
}

/// Whether this process began its session. `getsid` says 0 of one that began in another pid
/// namespace.
fn leads_session(root: &Root) -> bool {
    let stat = root.read_text("proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything: state, parent, group, session.
    let session = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(3));
    session.and_then(|session| session.parse().ok()) == Some(std::process::id())
}

/// This thread has a CPU as those of others have.
pub fn as_others() {
    let _ = setpriority_process(None, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_from_outside_is_led_by_another() {
        let leads = |session: u32| {
            let stat = format!("7 (a ) 1 2 3) S 1 7 {session} 0 -1\n");
            leads_session(&Root::of_files([("proc/self/stat", stat.as_bytes())]))
        };
        assert!(leads(std::process::id()));
        assert!(!leads(0));
        assert!(!leads_session(&Root::of_files([("proc/self/stat", b"".as_slice())])));
    }
}
