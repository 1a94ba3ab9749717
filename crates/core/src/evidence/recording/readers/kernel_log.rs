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
    overflows: u64,
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
                let name = in_brackets(victim).unwrap_or("?");
                out.put(Field::ProcKilled, &Subject::process(None, name), None, 1.0);
            }
        } else if let Some(task) = text.strip_prefix("INFO: task ")
            && let Some((task, _)) = task.split_once(" blocked for more than ")
        {
            let (name, pid) = task.rsplit_once(':').unwrap_or((task, ""));
            let subject = Subject::process(pid.parse().ok(), name);
            out.put(Field::ProcBlocked, &subject, None, 1.0);
        } else if (text.starts_with("nfs: server") && text.contains("not responding"))
            || (text.starts_with("CIFS") && text.contains("has not responded"))
        {
            out.put(Field::ProcRemoteWait, &Subject::process(None, "file server"), None, 1.0);
        } else if text.contains("Possible SYN flooding on port") {
            self.overflows += 1;
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
        let counts =
            [(Field::OomKillCount, self.kills), (Field::TcpListenOverflowCount, self.overflows)];
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
    fn other_brackets_are_none() {
        assert!(read("[12:30:01] something\n[info] kernel\n[1/2] step\n").hosts.is_empty());
    }
}
