//! `lsof`: how many files each process has open, and deleted ones that still take space (lsof(8)).

use std::collections::BTreeMap;

use super::prelude::*;

/// What stands in the column of descriptors where it is none: mappings, folders, or nothing that
/// may be seen.
const OTHERS: [&str; 12] =
    ["cwd", "rtd", "txt", "mem", "mmap", "DEL", "NOFD", "err", "ltx", "pd", "jld", "m86"];

/// Columns in which the descriptor may stand: behind it come type, device, size and node.
const COLUMNS: std::ops::Range<usize> = 3..7;

/// Most deleted files that are distinguished, and most processes that are kept.
const DELETED_MAX: usize = 65_536;
const PROCESSES_MAX: usize = 256;

fn is_heading(line: &str) -> bool {
    let words = words(line);
    words.starts_with(&["COMMAND", "PID"]) && words.ends_with(&["NODE", "NAME"])
}

/// `12u`, `3rW`: a number, how it is open, and a lock.
fn is_descriptor(word: &str) -> bool {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < word.len() && rest.len() <= 2 && rest.starts_with(['r', 'w', 'u', '-'])
}

/// A file of a process, or of one of its threads.
struct Open<'a> {
    name: &'a str,
    pid: u32,
    thread: bool,
    /// Whether it is a descriptor, and no mapping or folder.
    numbered: bool,
    /// Device, node with name, and size of a file that was deleted.
    deleted: Option<(&'a str, String, u64)>,
}

fn row(line: &str) -> Option<Open<'_>> {
    let words = words(line);
    let (name, pid) = (*words.first()?, u32::try_from(count(words.get(1)?)?).ok()?);
    let is_column = |at: &usize| {
        let Some(word) = words.get(*at) else { return false };
        // A lock may follow: `mem-W`.
        word.split('-').next().is_some_and(|kind| OTHERS.contains(&kind)) || is_descriptor(word)
    };
    let at = COLUMNS.into_iter().find(is_column)?;
    let numbered = is_descriptor(words.get(at)?);
    let regular = words.get(at + 1) == Some(&"REG") && words.last() == Some(&"(deleted)");
    let deleted = regular.then(|| {
        let (device, size) = (words.get(at + 2)?, words.get(at + 3)?);
        // `+L` puts the number of links before the node.
        Some((*device, words.get(at + 4..)?.join(" "), count(size)?))
    });
    // A thread's id stands before the name of its user.
    let thread = at > COLUMNS.start && words.get(2).and_then(|word| count(word)).is_some();
    Some(Open { name, pid, thread, numbered, deleted: deleted.flatten() })
}

/// Begins at the heading, or at a deleted file that `grep` left.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let known = is_heading(line) || row(line).is_some_and(|row| row.deleted.is_some());
    known.then(|| lines.begin(SourceKind::Lsof, PastGaps(Lsof::default()), out))
}

#[derive(Default)]
struct Lsof {
    /// Descriptors by process.
    open: BTreeMap<(u32, String), u64>,
    /// Processes and sizes by device and node: several descriptors may be of one file.
    deleted: BTreeMap<(String, String), (u32, String, u64)>,
}

impl Reader for Lsof {
    fn take(&mut self, line: &str, _: &mut Builder) -> Taken {
        if is_heading(line) {
            return Taken::Yes;
        }
        let Some(row) = row(line) else { return Taken::No };
        if row.thread {
            return Taken::Yes;
        }
        if row.numbered && (self.open.len() < DELETED_MAX) {
            *self.open.entry((row.pid, row.name.to_owned())).or_default() += 1;
        }
        if let Some((device, node, size)) = row.deleted.filter(|_| self.deleted.len() < DELETED_MAX)
        {
            let file = (device.to_owned(), node);
            self.deleted.entry(file).or_insert_with(|| (row.pid, row.name.to_owned(), size));
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(_, files)| std::cmp::Reverse(*files));
        for ((pid, name), files) in open.into_iter().take(PROCESSES_MAX) {
            out.put(Field::OpenFiles, &Subject::process(Some(pid), &name), None, files as f64);
        }
        let mut bytes: BTreeMap<(u32, String), u64> = BTreeMap::new();
        for (pid, name, size) in std::mem::take(&mut self.deleted).into_values() {
            let sum = bytes.entry((pid, name)).or_default();
            *sum = sum.saturating_add(size);
        }
        for ((pid, name), size) in bytes.into_iter().take(PROCESSES_MAX) {
            out.put(Field::ProcDeleted, &Subject::process(Some(pid), &name), None, size as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn descriptors_and_deleted_files() {
        let recording = read(
            "COMMAND   PID TID TASKCMD USER   FD  TYPE DEVICE    SIZE/OFF NODE NAME\n\
             rsyslogd  812             syslog cwd DIR  253,0        4096    2 /\n\
             rsyslogd  812             syslog 7w  REG  253,0  5368709120 1811 /var/a (deleted)\n\
             rsyslogd  812             syslog 8w  REG  253,0  5368709120 1811 /var/a (deleted)\n\
             rsyslogd  812 815 in:imux syslog 7w  REG  253,0  5368709120 1811 /var/a (deleted)\n\
             nginx     900             www    12u IPv4 91820         0t0  TCP *:80 (LISTEN)\n",
        );
        all_understood(&recording);
        let of = |field, pid, name| values(&recording, field, &Subject::process(Some(pid), name));
        assert_eq!(of(Field::OpenFiles, 812, "rsyslogd"), [2.0]);
        assert_eq!(of(Field::OpenFiles, 900, "nginx"), [1.0]);
        assert_eq!(of(Field::ProcDeleted, 812, "rsyslogd"), [5_368_709_120.0]);
        assert!(read("java 7 is of no TYPE that I know (deleted)\n").hosts.is_empty());
    }
}
