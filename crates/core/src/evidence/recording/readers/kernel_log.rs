//! The kernel's log: `dmesg`, `dmesg -T`, `journalctl -k`, syslog. Few of its messages say why a
//! machine is slow; the others are passed over.

use super::{Lines, Reader, Taken};
use crate::evidence::recording::{Builder, Field, SourceKind, Subject};

/// What is left of a line behind the time: `[ 12.345678] `, `[Mon Nov 23 10:00:00 2026] `, or
/// `Nov 23 10:00:00 db1 kernel: `; `None` where neither is there.
fn message(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some((_, rest)) = line.split_once(" kernel: ") {
        return Some(message(rest).unwrap_or(rest));
    }
    let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
    let since_boot = time.trim().split_once('.').is_some_and(|(seconds, rest)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits(seconds) && digits(rest)
    });
    let words: Vec<&str> = time.split_whitespace().collect();
    let wall = words.len() == 5 && words[3].matches(':').count() == 2;
    (since_boot || wall).then(|| rest.trim_start())
}

/// Begins at a line with the kernel's time, or with its name.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    message(lines.ahead(0))?;
    out.begin(SourceKind::KernelLog, lines.number());
    Some(Box::<KernelLog>::default())
}

#[derive(Default)]
struct KernelLog {
    kills: u64,
    at_limit: u64,
    floods: u64,
    untracked: u64,
}

/// What the kernel's log said of a disk last, as a setting of this name and the disk's.
pub const DISK_LOG: &str = "kernel log about ";

/// Longest message that is quoted.
const QUOTE_CHARS_MAX: usize = 120;

/// The disk that a message complains of: `sd 0:2:1:0: [sdb] tag#118 FAILED ...`,
/// `blk_update_request: I/O error, dev sdb, sector 5`, `nvme nvme0: I/O 5 QID 1 timeout`,
/// `Buffer I/O error on dev sdb1`.
fn failing_disk(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let bad =
        ["error", "fail", "timeout", "timed out", "abort", "reset", "unrecovered", "mfi stat"];
    if !bad.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let name =
        |rest: &'_ str| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().map(str::len);
    let after = |mark: &str| {
        let (_, rest) = text.split_once(mark)?;
        rest.get(..name(rest)?).filter(|name| name.len() > 2)
    };
    let scsi = text.starts_with("sd ").then(|| after("[")).flatten();
    let found = scsi.or_else(|| after("dev ")).or_else(|| after("device "));
    let nvme = || text.starts_with("nvme ").then(|| after("nvme ")).flatten();
    let found = found.or_else(nvme);
    // A partition's name goes on with its number.
    let whole = |name: &'_ str| name.starts_with("sd") || name.starts_with("vd");
    found.map(|name| match whole(name) {
        true => name.trim_end_matches(|c: char| c.is_ascii_digit()),
        false => name,
    })
}

/// An amount such as `4194304kB` behind a word.
fn kib_behind(text: &str, word: &str) -> Option<f64> {
    let (_, rest) = text.split_once(word)?;
    rest.split("kB").next()?.trim().parse().ok()
}

/// The name in brackets, `1234 (java)`.
fn in_brackets(text: &str) -> Option<&str> {
    text.split_once('(')?.1.split_once(')').map(|(name, _)| name)
}

impl KernelLog {
    fn said(&mut self, text: &str, out: &mut Builder) {
        if let Some((_, victim)) = text.split_once("illed process ") {
            // `Out of memory: Killed process`, `Memory cgroup out of memory: Kill process`.
            if text.contains("emory") {
                self.kills += 1;
                self.at_limit += u64::from(text.starts_with("Memory cgroup"));
                let name = in_brackets(victim).unwrap_or("?");
                out.put(Field::ProcKilled, &Subject::process(None, name), None, 1.0);
            }
        } else if let Some(task) = text.strip_prefix("INFO: task ")
            && let Some((task, _)) = task.split_once(" blocked for more than ")
        {
            let (name, pid) = task.rsplit_once(':').unwrap_or((task, ""));
            let subject = Subject::process(pid.parse().ok(), name);
            out.put(Field::ProcBlocked, &subject, None, 1.0);
            out.put(Field::ProcHung, &subject, None, 1.0);
        } else if (text.starts_with("nfs: server") && text.contains("not responding"))
            || (text.starts_with("CIFS") && text.contains("has not responded"))
        {
            out.put(Field::ProcRemoteWait, &Subject::process(None, "file server"), None, 1.0);
        } else if text.contains("Possible SYN flooding on port") {
            self.floods += 1;
        } else if text.contains("conntrack") && text.contains("table full") {
            self.untracked += 1;
        } else if text.starts_with("memory: usage ") {
            if let Some(limit) = kib_behind(text, "limit ") {
                out.put(Field::OomLimit, &Subject::Machine, None, limit * 1024.0);
            }
        } else if let Some(disk) = failing_disk(text) {
            out.put(Field::DiskComplaints, &Subject::Disk(disk.to_owned()), None, 1.0);
            let quote: String = text.chars().take(QUOTE_CHARS_MAX).collect();
            out.setting(&format!("{DISK_LOG}{disk}"), &quote);
        }
    }
}

impl Reader for KernelLog {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            return Taken::Yes;
        }
        let Some(text) = message(line) else { return Taken::No };
        self.said(text, out);
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        let counts = [
            (Field::OomKillCount, self.kills),
            (Field::OomKillsAtLimit, self.at_limit),
            (Field::SynFloods, self.floods),
            (Field::ConntrackDrops, self.untracked),
        ];
        for (field, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            out.put(field, &Subject::Machine, None, count as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    #[test]
    fn kills_hangs_and_servers_that_do_not_answer() {
        let recording = read(
            "[23225.078567] oom-kill:constraint=CONSTRAINT_MEMCG,task=redis-server,pid=17401\n\
             [23225.078600] Memory cgroup out of memory: Killed process 17401 (redis-server) \
             total-vm:154008kB, anon-rss:65024kB\n\
             [Mon Nov 23 10:00:00 2026] Out of memory: Killed process 812 (java) total-vm:1kB\n\
             Nov 23 10:00:02 db1 kernel: [23226.1] INFO: task jbd2/sda1-8:312 blocked for more \
             than 120 seconds.\n\
             Nov 23 10:00:03 db1 kernel: nfs: server 192.0.2.7 not responding, still trying\n\
             [    5.000000] usb 1-1: new high-speed USB device\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::OomKillCount), [2.0]);
        let hung = Subject::process(Some(312), "jbd2/sda1-8");
        assert_eq!(values(&recording, Field::ProcBlocked, &hung), [1.0]);
        let server = Subject::process(None, "file server");
        assert_eq!(values(&recording, Field::ProcRemoteWait, &server), [1.0]);
    }

    #[test]
    fn full_tables_limits_and_disks() {
        let recording = read(
            "[1.0] nf_conntrack: nf_conntrack: table full, dropping packet\n\
             [1.5] nf_conntrack: table full, dropping packet.\n\
             [2.0] TCP: request_sock_TCP: Possible SYN flooding on port 80. Sending cookies.\n\
             [3.0] memory: usage 4194304kB, limit 4194304kB, failcnt 0\n\
             [3.0] Memory cgroup out of memory: Killed process 5 (java) total-vm:1kB\n\
             [4.0] sd 0:2:1:0: [sdb] tag#118 BRCM Debug mfi stat 0x2d, data len\n\
             [5.0] blk_update_request: I/O error, dev sdc, sector 5\n\
             [6.0] Buffer I/O error on dev sdd1, logical block 5\n\
             [7.0] nvme nvme0: I/O 5 QID 1 timeout, aborting\n\
             [8.0] sd 0:0:0:0: [sda] Attached SCSI disk\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::ConntrackDrops), [2.0]);
        assert_eq!(machine(&recording, Field::SynFloods), [1.0]);
        assert_eq!(machine(&recording, Field::OomLimit), [4_294_967_296.0]);
        assert_eq!(machine(&recording, Field::OomKillsAtLimit), [1.0]);
        for (disk, lines) in [("sdb", 1), ("sdc", 1), ("sdd", 1), ("nvme0", 1), ("sda", 0)] {
            let said = values(&recording, Field::DiskComplaints, &Subject::Disk(disk.into()));
            assert_eq!(said.len(), lines, "{disk}");
        }
    }

    #[test]
    fn other_brackets_are_none() {
        assert!(read("[12:30:01] something\n[info] kernel\n[1/2] step\n").hosts.is_empty());
    }
}
