//! What a process has waited for, by the kernel's delay accounting.

use hugewise_base::parse::taskstats::{self, Delays, NoDelays};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::os::fd::OwnedFd;

/// Whether the kernel counts, for threads that begin from then on (Linux 5.14; before, the word
/// `delayacct` on its command line).
pub const SWITCH: &str = "proc/sys/kernel/task_delayacct";

/// Bytes of an answer: `struct taskstats` has 416 to 560, and few attributes stand around it.
const ANSWER_BYTES: usize = 4096;

/// A socket to the kernel's statistics of tasks.
#[derive(Debug)]
pub struct DelayReader {
    socket: OwnedFd,
    family: u16,
}

fn no_answer(errno: Errno) -> NoDelays {
    NoDelays::Errno(errno.raw_os_error())
}

fn ask(socket: &OwnedFd, question: &[u8]) -> Result<Vec<u8>, NoDelays> {
    let mut answer = vec![0; ANSWER_BYTES];
    send(socket, question, SendFlags::empty()).map_err(no_answer)?;
    // The kernel answers before `send` returns.
    let received = recv(socket, &mut answer[..], RecvFlags::DONTWAIT).map_err(no_answer)?;
    answer.truncate(received.0);
    Ok(answer)
}

impl DelayReader {
    /// Opens it.
    ///
    /// # Errors
    /// `ENOENT` where the kernel has none (`CONFIG_TASKSTATS`).
    pub fn open() -> Result<Self, NoDelays> {
        let (domain, protocol) = (AddressFamily::NETLINK, Some(netlink::GENERIC));
        let socket = socket_with(domain, SocketType::RAW, SocketFlags::CLOEXEC, protocol);
        let socket = socket.map_err(no_answer)?;
        let family = taskstats::family(&ask(&socket, &taskstats::family_request())?)?;
        Ok(Self { socket, family })
    }

    /// What all threads of a process have waited for since it began.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`, `ESRCH` where the process has ended.
    pub fn read(&self, pid: u32) -> Result<Delays, NoDelays> {
        taskstats::delays(&ask(&self.socket, &taskstats::delays_request(self.family, pid))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_waited_for_something_or_nobody_counts() {
        let own = std::process::id();
        match DelayReader::open().and_then(|reader| reader.read(own)) {
            Ok(delays) => assert!(delays.cpu.is_some() && delays.reclaim.is_some(), "{delays:?}"),
            Err(NoDelays::Errno(errno)) => {
                // No such kernel, no such right, or a sandbox.
                let known = [Errno::NOENT, Errno::PERM, Errno::ACCESS, Errno::AFNOSUPPORT];
                assert!(known.iter().any(|known| known.raw_os_error() == errno), "{errno}");
            }
            Err(NoDelays::Layout(version)) => assert_eq!(version, Some(15)),
        }
    }
}
