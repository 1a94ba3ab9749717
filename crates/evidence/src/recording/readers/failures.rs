//! Limits of a process, and what programs log where they reach one: no more files, ports, tasks,
//! mappings or memory.

use super::glance::{Glance, bits};
use super::kernel_log::date_and_time;
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

/// Texts about failures: those of `strerror` for EMFILE and ENFILE, EADDRNOTAVAIL of `connect`,
/// EAGAIN of `fork` and ENOMEM, and what Java, Elasticsearch and shells say of the same.
const FAILED: [(&str, Field); 15] = [
    ("oo many open files", Field::OpenFileErrors),
    ("annot assign requested address", Field::PortErrors),
    ("EADDRNOTAVAIL", Field::PortErrors),
    ("ork: Resource temporarily unavailable", Field::TaskErrors),
    ("ork: retry: Resource temporarily unavailable", Field::TaskErrors),
    ("fork() failed (11: Resource temporarily unavailable", Field::TaskErrors),
    ("unable to create new native thread", Field::TaskErrors),
    ("unable to create native thread", Field::TaskErrors),
    ("ork rejected by pids controller", Field::TaskErrors),
    ("pthread_create failed (EAGAIN)", Field::TaskErrors),
    ("OutOfMemoryError: Map failed", Field::MapErrors),
    ("vm.max_map_count [", Field::MapErrors),
    ("annot allocate memory", Field::MemoryErrors),
    ("ENOMEM", Field::MemoryErrors),
    ("Not enough space' (errno=12)", Field::MemoryErrors),
];

/// What a program could not do.
fn failure(line: &str) -> Option<Field> {
    let field = FAILED.iter().find(|(text, _)| line.contains(text)).map(|(_, field)| *field)?;
    // A log has the time, and a shell or Java its name before it; somebody who asks has neither.
    let timed = line.split([' ', 'T', '[', ']', '+', '.', ',']).any(|w| time_of_day(w).is_some());
    let start = line.trim_start();
    let shell =
        ["-bash: ", "bash: ", "sh: ", "-sh: ", "zsh: "].iter().any(|s| start.starts_with(s));
    let java = ["java.lang.OutOfMemoryError:", "Caused by: java.", "Exception in thread \""];
    let java = java.iter().any(|text| start.starts_with(text));
    let said = timed || shell || java;
    // To listen at an address that the machine does not have fails in the same way.
    let bound = field == Field::PortErrors && line.contains("bind");
    (said && !bound).then_some(field)
}

/// Begins at a row of the limits, or at a line about a failure.
/// The letters of each of [`FAILED`].
const LETTERS: [u128; FAILED.len()] = {
    let (mut all, mut at) = ([0; FAILED.len()], 0);
    while at < all.len() {
        all[at] = bits(FAILED[at].0);
        at += 1;
    }
    all
};

/// Whether a line may tell of a failure: it has what a time, a shell or Java has in front, and the
/// words.
pub(super) fn may(line: &Glance<'_>) -> bool {
    let said = line.any(":") || line.has("Exceptionthrad\"");
    let mut known = FAILED.iter().zip(LETTERS);
    said && known.any(|((words, _), bits)| line.has_bits(bits) && line.text.contains(words))
}

pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let titled = is_limit(line) && line.trim().starts_with("Limit ");
    let kind = match open_files(line).is_some() || titled || mappings(line).is_some() {
        true => SourceKind::Limits,
        false if failure(line).is_some() => SourceKind::ProgramLog,
        false => return None,
    };
    Some(lines.begin(kind, PastBlanks(Failures { limits: kind == SourceKind::Limits }), out))
}

struct Failures {
    limits: bool,
}

impl Reader for Failures {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if self.limits {
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
            return if is_limit(line) { Taken::Yes } else { Taken::No };
        }
        let Some(field) = failure(line) else { return Taken::No };
        let subject = Subject::part(FAILURES, field.about().key);
        out.put(field, &subject, None, 1.0);
        let first: Vec<&str> = words(line).into_iter().take(8).collect();
        out.put_known(
            Field::LogClock,
            &subject,
            None,
            date_and_time(&first.join(" ")).map(|at| at.0 as f64),
        );
        Taken::Yes
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

    #[test]
    fn lines_of_logs_about_limits() {
        let recording = read(
            "2024/06/14 03:11:20 [crit] 2210#2210: accept4() failed (24: Too many open files)\n\
             [12-Jun-2024 03:12:10] WARNING: connect() failed: Cannot assign requested address\n",
        );
        all_understood(&recording);
        let of =
            |field: Field| values(&recording, field, &Subject::part(FAILURES, field.about().key));
        assert_eq!(of(Field::OpenFileErrors), [1.0]);
        assert_eq!(of(Field::PortErrors), [1.0]);
        let recording = read(
            "-bash: fork: retry: Resource temporarily unavailable\n\
             java.lang.OutOfMemoryError: unable to create new native thread\n\
             2024-06-14T03:11:20,118 ERROR bootstrap: max virtual memory areas vm.max_map_count \
             [65530] is too low\nJun 14 03:11:21 db1 postgres[811]: could not fork: Cannot \
             allocate memory\n",
        );
        all_understood(&recording);
        let of =
            |field: Field| values(&recording, field, &Subject::part(FAILURES, field.about().key));
        assert_eq!(of(Field::TaskErrors), [1.0, 1.0]);
        assert_eq!(of(Field::MapErrors), [1.0]);
        assert_eq!(of(Field::MemoryErrors), [1.0]);
        for text in [
            "is it \"Too many open files\"? nobody knows\n",
            "Jun 14 03:11:20 x nginx: bind() to 10.0.0.5:80 failed (99: Cannot assign requested \
             address)\n",
        ] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
