//! Whose mark counts: that of root, and of the user who asks. Everybody else's is a stranger's.

use crate::process;
use crate::root::Root;
use hugewise_base::parse::pid_status;
use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::fs::MetadataExt;

/// Most strangers that are named.
const NAMED: usize = 3;

/// Who has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process.
    Pid(u32),
    /// A process that cannot be seen from this pid namespace. Nobody can tell from here whether it
    /// is root's.
    Outside,
    /// Somebody who uses the same state directory, from a pid namespace beside this one.
    SameDirectory,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pid(pid) => write!(f, "pid {pid}"),
            Self::Outside => f.write_str("a process outside of this container"),
            Self::SameDirectory => f.write_str("a process that cannot be seen from here"),
        }
    }
}

/// What a look at the marks has shown.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Somebody whose mark counts.
    pub(super) holder: Option<u32>,
    /// Somebody has the mark who cannot be seen from here.
    pub(super) outside: bool,
    /// Time was up before the end.
    pub(super) cut_short: bool,
    /// Everybody who was judged.
    judged: BTreeSet<u32>,
    /// The first strangers, with their users.
    strangers: Vec<(u32, u32)>,
}

impl Seen {
    /// Who is in the way.
    pub(super) fn in_the_way(&self) -> Option<Holder> {
        let outside = self.outside.then_some(Holder::Outside);
        self.holder.map(Holder::Pid).or(outside)
    }

    /// What an operator should know of, in sentences.
    pub(super) fn remarks(&self) -> Vec<String> {
        let users = process::users(&Root::live());
        let stranger = |(pid, uid): &(u32, u32)| {
            let name = users.get(uid).map_or_else(String::new, |name| format!(" ({name})"));
            format!(
                "pid {pid} of user {uid}{name} holds a mark that only a hugewise of root should \
                 have: it is ignored; ask that user why"
            )
        };
        let mut all: Vec<String> = self.strangers.iter().map(stranger).collect();
        if self.cut_short {
            let text = "there are too many file locks on this machine to check them all \
                        (/proc/locks): it is not known whether another hugewise with another state \
                        directory runs";
            all.push(text.into());
        }
        all
    }
}

/// Notes whose mark it is; whether it counts.
pub(super) fn judge(pid: u32, seen: &mut Seen) -> bool {
    // One process can have as many locks as it likes.
    if !seen.judged.insert(pid) {
        return false;
    }
    let live = Root::live();
    // It ended meanwhile.
    let Ok(status) = live.read(format!("proc/{pid}/status")) else { return false };
    let Some(uid) = pid_status::parse(&status).value.uid else { return false };
    let own = rustix::process::getuid().as_raw();
    // A lock outlives execve: a stranger who takes one and then starts a set-user-ID program, which
    // may even make root its real user, is still a stranger.
    if (uid == 0 || uid == own) && !is_set_user_id(pid) {
        seen.holder = Some(pid);
        return true;
    }
    if seen.strangers.len() < NAMED {
        seen.strangers.push((pid, uid));
    }
    false
}

/// Whether a process runs a program that makes its user another one. Where that cannot be seen it
/// is taken for an ordinary one: at worst nothing is started beside it.
fn is_set_user_id(pid: u32) -> bool {
    let program = std::fs::metadata(format!("/proc/{pid}/exe"));
    program.is_ok_and(|meta| meta.mode() & 0o4000 != 0)
}
