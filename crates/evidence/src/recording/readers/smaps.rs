//! `/proc/PID/smaps_rollup`: how much of a process's memory is in huge pages.

use super::prelude::*;

/// The head: addresses, rights, offset, device, inode, and its name.
fn is_head(line: &str) -> bool {
    let words = words(line);
    words.len() == 6 && words.last() == Some(&"[rollup]") && words[0].contains('-')
}

/// Begins at its head.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    if !is_head(lines.ahead(0)) {
        return None;
    }
    let subject = of_command(out.latest_command());
    Some(lines.begin(SourceKind::Smaps, Rollup { subject }, out))
}

/// The process that a command names: `/proc/812/smaps_rollup`, `/proc/$(pgrep -o redis)/...`.
fn of_command(command: &str) -> Subject {
    let pid = command.split("/proc/").nth(1).and_then(|rest| rest.split('/').next());
    let pid = pid.and_then(|pid| pid.parse().ok());
    let found = command.split_once("pgrep ").or_else(|| command.split_once("pidof "));
    let inner = found.and_then(|(_, rest)| rest.split(')').next());
    let mut names = inner.into_iter().flat_map(str::split_whitespace);
    let name = names.find(|word| !word.starts_with('-')).unwrap_or("a process");
    Subject::process(pid, name)
}

struct Rollup {
    subject: Subject,
}

impl Reader for Rollup {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if is_head(line) {
            return Taken::Yes;
        }
        let words = words(line);
        let [name, kib, "kB"] = words.as_slice() else { return Taken::No };
        let Some(kib) = count(kib).filter(|_| name.ends_with(':')) else { return Taken::No };
        let field = match *name {
            "Rss:" => Some(Field::ProcRss),
            "AnonHugePages:" => Some(Field::ProcHuge),
            _ => None,
        };
        if let Some(field) = field {
            out.put(field, &self.subject, None, kib as f64 * 1024.0);
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn huge_pages_of_a_process() {
        let recording = read(
            "jens@db1:~$ sudo cat /proc/$(pgrep -o redis-server)/smaps_rollup\n\
             55d0a1c00000-7ffc2b5f1000 ---p 00000000 00:00 0                  [rollup]\n\
             Rss:             2122504 kB\nAnonHugePages:   2101248 kB\nSwap:      0 kB\n",
        );
        all_understood(&recording);
        let redis = Subject::process(None, "redis-server");
        assert_eq!(values(&recording, Field::ProcHuge, &redis), [2_101_248.0 * 1024.0]);
        assert!(!recording.hosts[0].series.contains_key(&Field::AnonHuge), "not the machine's");
        assert_eq!(
            of_command("cat /proc/812/smaps_rollup"),
            Subject::process(Some(812), "a process")
        );
    }
}
