//! Listening sockets of the UNIX domain, and whose a socket is.

use std::collections::BTreeSet;
use std::fs;

use hugewise_base::parse::decimal;
use hugewise_base::parse::unix_diag::{self, Listener};
use hugewise_evidence::recording::readers::capture::listeners::Owners;
use hugewise_linux::process;
use hugewise_linux::root::Root;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// Bytes of one datagram of an answer: the kernel fills 32 KiB at most (`netlink_dump`).
const DATAGRAM_BYTES: usize = 32 << 10;
/// Most datagrams of an answer: some 100,000 sockets.
const DATAGRAMS_MAX: usize = 256;
/// Most descriptors that are looked at for the owners of sockets, in one sample.
const DESCRIPTORS_MAX: usize = 100_000;

/// All sockets of the UNIX domain that listen in this network namespace. The kernel may load its
/// module `unix_diag` for it, as for `ss -x`.
///
/// # Errors
/// A kernel without socket monitoring, or a sandbox that forbids it.
pub(super) fn unix_listeners() -> Result<Vec<Listener>, Errno> {
    let (domain, protocol) = (AddressFamily::NETLINK, Some(netlink::SOCK_DIAG));
    let socket = socket_with(domain, SocketType::DGRAM, SocketFlags::CLOEXEC, protocol)?;
    send(&socket, &unix_diag::request(), SendFlags::empty())?;
    let (mut all, mut buffer) = (Vec::new(), vec![0; DATAGRAM_BYTES]);
    for _ in 0..DATAGRAMS_MAX {
        // What is asked for is there at once, or never comes.
        let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::DONTWAIT)?;
        let answer = unix_diag::parse(&buffer[..length.min(DATAGRAM_BYTES)]);
        all.extend(answer.listeners);
        if answer.ended {
            break;
        }
    }
    Ok(all)
}

/// Who has these sockets open: the oldest process of each, as far as this user may see it.
pub(super) fn owners(root: &Root, mut wanted: BTreeSet<u64>) -> Owners {
    let mut found = Owners::new();
    let mut left = DESCRIPTORS_MAX;
    for pid in process::pids(root).unwrap_or_default() {
        if wanted.is_empty() || left == 0 {
            break;
        }
        let folder = root.path(format!("proc/{pid}/fd"));
        let mut name = None;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(left) {
            left -= 1;
            let Some(inode) = fs::read_link(entry.path()).ok().and_then(|to| inode(to.to_str()?))
            else {
                continue;
            };
            if wanted.remove(&inode) {
                let read = || root.read_line(format!("proc/{pid}/comm")).unwrap_or_default();
                let name = name.get_or_insert_with(read);
                found.insert(inode, format!("{pid}/{name}"));
            }
        }
    }
    found
}

/// `socket:[2339246]`
fn inode(link: &str) -> Option<u64> {
    decimal(link.strip_prefix("socket:[")?.strip_suffix(']')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn a_queue_that_nobody_accepts_from_has_its_length_and_its_program() {
        let scratch = hugewise_scratch::Scratch::new();
        let path = scratch.path().join("queue.sock");
        let _listener = UnixListener::bind(&path).expect("bound");
        let _waiting: Vec<UnixStream> =
            (0..3).map(|_| UnixStream::connect(&path).expect("connected")).collect();
        let all = unix_listeners().expect("a kernel with unix_diag");
        let name = path.to_str().expect("plain");
        let own = all.iter().find(|one| one.name == name).expect("listed");
        assert_eq!(own.waiting, 3);
        assert!(own.most >= 3, "{own:?}");
        let owners = owners(&Root::live(), BTreeSet::from([own.inode, 0]));
        let program = &owners[&own.inode];
        assert!(program.starts_with(&format!("{}/", std::process::id())), "{program}");
        assert_eq!(owners.len(), 1);
    }
}
