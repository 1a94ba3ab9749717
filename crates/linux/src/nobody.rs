//! A user that is nobody else: programs that hugewise starts as root become it, so that whoever
//! takes one of them over has gained nothing.
//!
//! `serve`, which has to have no rights itself, becomes one, too.
//!
//! `nobody` itself will not do. It is shared: each of its processes may trace, kill and read the
//! others.

use crate::root::Root;
use hugewise_base::parse::{id_map, passwd, pid_status};
use hugewise_sys::pidfd::PidFd;
use hugewise_sys::signal::{Signal, kill};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::thread::{
    Gid, Uid, set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Ids that no distribution gives out, the best first: above those of containers and below 2^31
/// (systemd's table of users and groups); and in a container that has 2^16 of them, a gap between
/// users and services in the same table.
const FREE: [Range<u32>; 2] = [1_900_000_000..1_900_065_536, 60_578..61_184];
/// Ids below are accounts of the system.
const FIRST_USER: u32 = 1000;
/// How many ids are looked at before there is none.
const TRIES: u32 = 64;
/// How often a user's processes are looked for until they are gone.
const LOOK: Duration = Duration::from_millis(10);

/// Ids of a user and a group without a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nobody {
    /// The user.
    pub uid: u32,
    /// The only group.
    pub gid: u32,
}

impl Nobody {
    /// A user whom nothing belongs to: no account has its id, and no process runs under it. `None`
    /// for whoever is not root, or is root of a namespace in which there is nobody else: then there
    /// is nothing to give up.
    ///
    /// # Errors
    /// When the ids of this namespace cannot be read, or none is free.
    pub fn pick(root: &Root) -> io::Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let map = |file| match root.read_text(file) {
            Ok(text) => Ok(id_map::parse(&text).value),
            // A kernel without user namespaces has all ids.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Vec::from([Range { start: 0, end: u32::MAX }]))
            }
            Err(error) => Err(error),
        };
        let (users, groups) = (map("proc/self/uid_map")?, map("proc/self/gid_map")?);
        let both = |id: u32| {
            let within = |all: &[Range<u32>]| all.iter().any(|range| range.contains(&id));
            within(&users) && within(&groups)
        };
        let accounts = root.read("etc/passwd").map(|text| passwd::parse(&text).value);
        let accounts = accounts.unwrap_or_default();
        let rest = users.iter().map(|range| range.start.max(FIRST_USER)..range.end);
        let mut any = false;
        for range in FREE.into_iter().chain(rest).filter(|range| !range.is_empty()) {
            for _ in 0..TRIES {
                let id = range.start + random()? % (range.end - range.start);
                any |= both(id);
                if both(id) && !accounts.contains_key(&id) && processes(root, id)?.is_empty() {
                    return Ok(Some(Self { uid: id, gid: id }));
                }
            }
        }
        match any {
            true => Err(io::Error::other("no user id is free for programs of others")),
            false => Ok(None),
        }
    }
}

impl Nobody {
    /// Makes this process that user, for good: no other group, no capability, and no way to gain
    /// one.
    ///
    /// # Errors
    /// Without CAP_SETUID and CAP_SETGID; and in a process with several threads, each of which
    /// would have to do it.
    pub fn become_it(self) -> io::Result<()> {
        if std::fs::read_dir("/proc/self/task")?.count() != 1 {
            return Err(io::Error::other("this process has several threads"));
        }
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_no_new_privs(true)?;
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    }
}

/// Processes of a user. What has ended meanwhile is left out.
///
/// # Errors
/// When processes cannot be listed.
pub fn processes(root: &Root, uid: u32) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.path("proc"))? {
        let pid = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid else { continue };
        if is_of(root, pid, uid) {
            found.push(pid);
        }
    }
    Ok(found)
}

fn is_of(root: &Root, pid: u32, uid: u32) -> bool {
    let Ok(text) = root.read(format!("proc/{pid}/status")) else { return false };
    let status = pid_status::parse(&text).value;
    [status.uid, status.euid].contains(&Some(uid))
}

/// Ends what programs of a user have left behind, whatever they did to stay: nobody else has
/// processes under an id that [`Nobody::pick`] gave. Waits for so long.
pub fn end_all(root: &Root, user: Nobody, patience: Duration) {
    let until = Instant::now() + patience;
    loop {
        let mut left = false;
        for pid in processes(root, user.uid).unwrap_or_default() {
            // By then the number may be another's: asked again, with the process held.
            let Ok(held) = PidFd::open(pid) else { continue };
            if held.has_exited().unwrap_or(true) || !is_of(root, pid, user.uid) {
                continue;
            }
            left = true;
            let _ = kill(&held, Signal::KILL);
        }
        if !left || Instant::now() >= until {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

fn random() -> io::Result<u32> {
    let mut bytes = [0; 4];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u32::from_ne_bytes(bytes))
}

/// So many random bytes as text, two digits each: for passwords, and for names that nobody guesses.
///
/// # Errors
/// When the kernel has none.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut all = vec![0; bytes];
    // Up to 256 bytes come in one piece (getrandom(2)).
    for part in all.chunks_mut(256) {
        getrandom(part, GetRandomFlags::empty())?;
    }
    Ok(all.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    fn tree(map: &str) -> (Scratch, Root) {
        let scratch = Scratch::new();
        let root = Root::at(&scratch);
        std::fs::create_dir_all(root.path("proc/self")).expect("mkdir");
        std::fs::create_dir_all(root.path("etc")).expect("mkdir");
        for file in ["proc/self/uid_map", "proc/self/gid_map"] {
            std::fs::write(root.path(file), map).expect("write");
        }
        (scratch, root)
    }

    #[test]
    fn nobody_else_has_the_id() {
        if !rustix::process::geteuid().is_root() {
            assert_eq!(Nobody::pick(&Root::live()).expect("asked"), None);
            return;
        }
        let (_scratch, root) = tree("0 0 4294967295\n");
        let one = Nobody::pick(&root).expect("asked").expect("a user");
        assert!(FREE[0].contains(&one.uid) && one.gid == one.uid, "{one:?}");
        let (_scratch, root) = tree("0 100000 65536\n");
        let one = Nobody::pick(&root).expect("asked").expect("a user");
        assert!(FREE[1].contains(&one.uid), "{one:?}");
        std::fs::remove_file(root.path("proc/self/uid_map")).expect("removed");
        assert!(Nobody::pick(&root).expect("asked").is_some(), "no user namespaces at all");
        let (_scratch, root) = tree("0 1000 1\n");
        assert_eq!(Nobody::pick(&root).expect("asked"), None);
        // The only one that there is has an account.
        let (_scratch, root) = tree("0 0 1\n2000 2000 1\n");
        std::fs::write(root.path("etc/passwd"), "a:x:2000:2000::/:/bin/sh\n").expect("write");
        assert!(Nobody::pick(&root).is_err());
        std::fs::write(root.path("etc/passwd"), "a:x:2001:2000::/:/bin/sh\n").expect("write");
        assert_eq!(Nobody::pick(&root).expect("asked"), Some(Nobody { uid: 2000, gid: 2000 }));
        std::fs::create_dir_all(root.path("proc/7")).expect("mkdir");
        std::fs::write(root.path("proc/7/status"), "Uid:\t0\t2000\t0\t0\n").expect("write");
        assert!(Nobody::pick(&root).is_err(), "a process runs under it");
    }

    #[test]
    fn random_text_differs() {
        let [one, other] = [16, 16].map(|bytes| random_hex(bytes).expect("random bytes"));
        assert!(one.len() == 32 && one != other);
        assert!(one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(random_hex(300).expect("random bytes").len(), 600);
    }
}
