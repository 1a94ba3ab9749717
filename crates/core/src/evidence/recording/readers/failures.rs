//! Limits of a process, and what programs log where they reach one: no more files, no more ports.

use super::kernel_log::date_and_time;
use super::words::{count, time_of_day, words};
use super::{Lines, Reader, Taken};
use crate::evidence::recording::{Builder, Field, SourceKind, Subject};

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

/// The process whose limits a command shows.
fn pid_of(command: &str) -> Option<u32> {
    let (_, rest) = command.split_once("/proc/")?;
    rest.split_once("/limits")?.0.parse().ok()
}

/// What a program could not do, by the text that `strerror` gives: EMFILE and ENFILE, and
/// EADDRNOTAVAIL of `connect`.
fn failure(line: &str) -> Option<Field> {
    // A log has the time; somebody who asks has not.
    let timed = line.split([' ', 'T', '[', ']', '+', '.', ',']).any(|w| time_of_day(w).is_some());
    if !timed {
        return None;
    }
    if line.contains("oo many open files") {
        return Some(Field::OpenFileErrors);
    }
    let address = ["annot assign requested address", "EADDRNOTAVAIL"];
    let found = address.iter().any(|text| line.contains(text));
    // To listen at an address that the machine does not have fails in the same way.
    (found && !line.contains("bind")).then_some(Field::PortErrors)
}

/// Begins at a row of the limits, or at a line about a failure.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let titled = is_limit(line) && line.trim().starts_with("Limit ");
    let kind = match open_files(line).is_some() || titled {
        true => SourceKind::Limits,
        false if failure(line).is_some() => SourceKind::ProgramLog,
        false => return None,
    };
    out.begin(kind, lines.number());
    Some(Box::new(Failures { limits: kind == SourceKind::Limits }))
}

struct Failures {
    limits: bool,
}

impl Reader for Failures {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() {
            return Taken::Yes;
        }
        if self.limits {
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
        if let Some(at) = date_and_time(&first.join(" ")) {
            out.put(Field::LogClock, &subject, None, at.0 as f64);
        }
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
        for text in [
            "is it \"Too many open files\"? nobody knows\n",
            "Jun 14 03:11:20 x nginx: bind() to 10.0.0.5:80 failed (99: Cannot assign requested \
             address)\n",
        ] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
