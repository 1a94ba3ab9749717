//! Limits of a process, and how near to them it is.

use super::prelude::*;

/// A row of `/proc/PID/limits`: soft and hard.
fn open_files(line: &str) -> Option<u64> {
    let rest = line.trim().strip_prefix("Max open files")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [soft, _, "files"] = words.as_slice() else { return None };
    count(soft)
}

/// Other rows, which are passed over.
fn is_limit(line: &str) -> bool {
    let line = line.trim();
    let units = ["seconds", "bytes", "files", "processes", "locks", "signals", "us"];
    let unit = units.iter().any(|unit| line.ends_with(unit)) || line.ends_with("unlimited");
    line.starts_with("Limit ") && line.contains("Soft Limit")
        || line.starts_with("Max ")
            && line.split_whitespace().count() >= 4
            && (unit || line.split_whitespace().next_back().and_then(count).is_some())
}

/// `1204 /proc/812/maps`, as `wc -l` has it: how many mappings a process has.
fn mappings(line: &str) -> Option<(u32, u64)> {
    let (lines, path) = line.trim().split_once(' ')?;
    let pid = path.strip_prefix("/proc/")?.strip_suffix("/maps")?.parse().ok()?;
    Some((pid, count(lines)?))
}

/// The process whose limits a command shows.
fn pid_of(command: &str) -> Option<u32> {
    let (_, rest) = command.split_once("/proc/")?;
    rest.split_once("/limits")?.0.parse().ok()
}

/// Begins at a row of the limits.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let titled = is_limit(line) && line.trim().starts_with("Limit ");
    let limit = open_files(line).is_some() || titled || mappings(line).is_some();
    limit.then(|| lines.begin(SourceKind::Limits, PastBlanks(Limits), out))
}

struct Limits;

impl Reader for Limits {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some((pid, maps)) = mappings(line) {
            let process = Subject::process(Some(pid), "process");
            out.put(Field::Maps, &process, None, maps as f64);
            return Taken::Yes;
        }
        if let Some(limit) = open_files(line) {
            let process = Subject::process(pid_of(out.latest_command()), "process");
            out.put(Field::OpenFilesMax, &process, None, limit as f64);
            return Taken::Yes;
        }
        if is_limit(line) { Taken::Yes } else { Taken::No }
    }
}

/// The logs of programs, as what their lines are about.
pub const FAILURES: &str = "logs of programs";

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn limits_and_open_files_of_a_process() {
        let recording = read(
            "root@api-gw:~# cat /proc/2210/limits | egrep 'Limit|open files'\n\
             Limit                     Soft Limit           Hard Limit           Units     \n\
             Max open files            1024                 4096                 files     \n\
             root@api-gw:~# ls /proc/2210/fd | wc -l\n1024\n",
        );
        all_understood(&recording);
        let process = Subject::process(Some(2210), "process");
        assert_eq!(values(&recording, Field::OpenFilesMax, &process), [1024.0]);
        assert_eq!(values(&recording, Field::OpenFiles, &process), [1024.0]);
    }
}
