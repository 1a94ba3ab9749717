//! Queues of sockets in a sample that no file of the kernel has: those of the UNIX domain, and
//! whose a socket is.
//!
//! Each is a text of the sample's own, a row for each socket: `WAITING MOST INODE NAME` of those
//! that have connections waiting, and `INODE PID PROGRAM`.

use hugewise_base::parse::decimal;
use hugewise_base::parse::unix_diag::Listener;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::previous::Now;
use crate::recording::{Field, Subject};

/// Where a sample has listening sockets of the UNIX domain with connections that wait. There and
/// empty: none waits.
pub const UNIX: &str = "/hugewise/unix_listeners";
/// Where it has the programs of sockets whose queues are not empty.
pub const OWNERS: &str = "/hugewise/socket_owners";

/// Most rows that are written or read.
const ROWS_MAX: usize = 10_000;

/// The program of a socket by the socket's inode, as `PID/NAME`.
pub type Owners = BTreeMap<u64, String>;

/// The text of those in whose queue somebody waits.
pub fn unix_text(all: &[Listener]) -> String {
    let mut out = String::new();
    for one in all.iter().filter(|one| one.waiting > 0).take(ROWS_MAX) {
        let _ = writeln!(out, "{} {} {} {}", one.waiting, one.most, one.inode, one.name);
    }
    out
}

/// Reads such a text; what is no row is left out.
pub(super) fn unix(text: &str) -> Vec<Listener> {
    let row = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let (waiting, most) = (decimal(words.next()?)?, decimal(words.next()?)?);
        let inode = decimal(words.next()?)?;
        Some(Listener { waiting, most, inode, name: words.next()?.to_owned() })
    };
    text.lines().filter_map(row).take(ROWS_MAX).collect()
}

/// The text of the owners.
pub fn owners_text(all: &Owners) -> String {
    let mut out = String::new();
    for (inode, program) in all.iter().take(ROWS_MAX) {
        let (pid, name) = program.split_once('/').unwrap_or(("", program));
        let _ = writeln!(out, "{inode} {pid} {name}");
    }
    out
}

/// Reads such a text.
pub(super) fn owners(text: &str) -> Owners {
    let row = |line: &str| {
        let (inode, program) = line.split_once(' ')?;
        let (pid, name) = program.split_once(' ')?;
        let pid: u32 = decimal(pid)?;
        Some((decimal(inode)?, format!("{pid}/{name}")))
    };
    text.lines().filter_map(row).take(ROWS_MAX).collect()
}

/// Listening sockets of one kind in whose queue somebody has waited.
#[derive(Debug, Default)]
pub(super) struct Waited(BTreeSet<String>);

/// Most of them that are remembered.
const WAITED_MAX: usize = 1_000;

impl Waited {
    /// Puts how many wait now, and that nobody waits any longer where somebody did.
    pub(super) fn put(&mut self, waiting: &BTreeMap<&str, u64>, now: &mut Now<'_>) {
        for name in self.0.iter().filter(|name| !waiting.contains_key(name.as_str())) {
            now.state(Field::AcceptWaiting, &Subject::Named(name.clone()), 0.0);
        }
        for (name, count) in waiting {
            #[expect(clippy::cast_precision_loss, reason = "numbers of connections")]
            now.state(Field::AcceptWaiting, &Subject::Named((*name).to_owned()), *count as f64);
            if self.0.len() < WAITED_MAX {
                self.0.insert((*name).to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let one = |waiting, name: &str| Listener { inode: 9, name: name.into(), waiting, most: 5 };
        let text = unix_text(&[one(4, "/run/fpm.sock"), one(0, "/run/idle")]);
        assert_eq!(unix(&text), [one(4, "/run/fpm.sock")]);
        let all = Owners::from([(9, "12/php-fpm: pool www".to_owned())]);
        assert_eq!(owners(&owners_text(&all)), all);
        assert_eq!(owners("x\n1 2\n").len() + unix("4 5\n").len(), 0);
    }
}
