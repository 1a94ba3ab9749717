//! `strace -c` and `perf trace -s`: how often a program calls the kernel, by call.

use super::prelude::*;
use std::collections::BTreeMap;

/// Columns of a table, by the word in their heading.
struct Columns {
    calls: usize,
    /// Of `strace`: the share of the time, and microseconds of a call.
    times: Option<(usize, usize)>,
    /// Where the name stands: behind all numbers in `strace`'s, before them in `perf`'s.
    name_last: bool,
}

/// A line without what the terminal shows of Ctrl-C.
fn uninterrupted(line: &str) -> &str {
    let line = line.trim_start();
    line.strip_prefix("^C").unwrap_or(line)
}

/// What `strace` says of the processes that it follows.
fn follows(line: &str) -> bool {
    let line = uninterrupted(line);
    let of_process = line.starts_with("strace: Process ") || line.starts_with("Process ");
    of_process && (line.contains(" attached") || line.contains(" detached"))
}

/// Finds the line of headings.
fn heading(line: &str) -> Option<Columns> {
    let words = words(uninterrupted(line));
    let place = |name: &str| words.iter().position(|word| *word == name);
    match *words.first()? {
        // "% time" are two words of one column.
        "%" if words.get(1) == Some(&"time") && words.last() == Some(&"syscall") => {
            let times = place("usecs/call").and_then(|at| Some((0, at.checked_sub(1)?)));
            let calls = place("calls")?.checked_sub(1)?;
            Some(Columns { calls, times, name_last: true })
        }
        "syscall" => {
            place("errors").or_else(|| place("total"))?;
            Some(Columns { calls: place("calls")?, times: None, name_last: false })
        }
        _ => None,
    }
}

/// How long the command traced, in seconds: `timeout 10 strace ...`, `perf trace ... sleep 10`.
fn traced_s(command: &str) -> Option<f64> {
    let mut words = command.split_whitespace();
    words.find(|word| matches!(*word, "timeout" | "sleep"))?;
    let time = words.find(|word| !word.starts_with('-'))?;
    let (time, unit) = match time.strip_suffix('m') {
        Some(minutes) => (minutes, 60.0),
        None => (time.trim_end_matches('s'), 1.0),
    };
    number(time).filter(|seconds| *seconds > 0.0).map(|seconds| seconds * unit)
}

/// Begins at the headings.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let before = (0..LINES_AROUND).take_while(|by| follows(lines.ahead(*by))).count();
    let columns = heading(lines.ahead(before))?;
    out.begin(SourceKind::Syscalls, lines.number());
    let seconds = traced_s(out.latest_command());
    let (calls, times) = (BTreeMap::new(), BTreeMap::new());
    Some(Box::new(Syscalls { columns, seconds, calls, times }))
}

struct Syscalls {
    columns: Columns,
    seconds: Option<f64>,
    /// Of all threads together: `perf` has a table for each.
    calls: BTreeMap<String, u64>,
    /// By call: its share of the time, percent, and the milliseconds of one.
    times: BTreeMap<String, (f64, f64)>,
}

impl Syscalls {
    /// A row; `None` when it is none.
    fn row(&mut self, words: &[&str]) -> Option<()> {
        let name = if self.columns.name_last { words.last()? } else { words.first()? };
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let named = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        // The line of sums leaves columns out.
        if *name == "total"
            && words.len() >= 3
            && words.first().is_some_and(|w| number(w).is_some())
        {
            return Some(());
        }
        let calls = count(words.get(self.columns.calls)?)?;
        let numbers = words.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        if !named || !name.bytes().all(plain) || numbers.count() + 1 < words.len() {
            return None;
        }
        let cell = |at: usize| words.get(at).and_then(|word| number(word));
        if let Some((share, each)) = self.columns.times
            && let (Some(share), Some(each)) = (cell(share), cell(each))
        {
            self.times.insert((*name).to_owned(), (share, each / 1e3));
        }
        let sum = self.calls.entry((*name).to_owned()).or_default();
        *sum = sum.saturating_add(calls);
        Some(())
    }
}

impl Reader for Syscalls {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        let words = words(line);
        let rule = words.iter().all(|word| word.bytes().all(|byte| byte == b'-'));
        let units = words.first().is_some_and(|word| word.starts_with("(msec"));
        // `perf` names each thread: `dd (123), 456 events, 99.9%`.
        let thread = words.contains(&"events,");
        let again = heading(line).is_some();
        let ours = rule || units || thread || again || follows(line) || self.row(&words).is_some();
        if ours { Taken::Yes } else { Taken::No }
    }

    fn end(&mut self, out: &mut Builder) {
        for (name, calls) in &self.calls {
            let subject = Subject::Symbol(name.clone());
            out.put(Field::SyscallCalls, &subject, None, *calls as f64);
            if let Some((share, each)) = self.times.get(name) {
                out.put(Field::SyscallShare, &subject, None, share.min(100.0));
                out.put(Field::SyscallTime, &subject, None, *each);
            }
            out.put_known(
                Field::SyscallRate,
                &subject,
                None,
                self.seconds.map(|seconds| *calls as f64 / seconds),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn tables_of_both_tools() {
        let strace = "a@b:~$ timeout 4 strace -f -c -p 19544\n\
                      % time     seconds  usecs/call     calls    errors syscall\n\
                      ------ ----------- ----------- --------- --------- ----------------\n \
                      50.31    0.230006           0    251174           read\n \
                      49.69    0.227183           0    251174        12 write\n\
                      ------ ----------- ----------- --------- --------- ----------------\n\
                      100.00    0.457189           0    502348           total\n";
        let recording = read(strace);
        all_understood(&recording);
        let of = |field, name: &str| values(&recording, field, &Subject::Symbol(name.to_owned()));
        assert_eq!(of(Field::SyscallCalls, "write"), [251_174.0]);
        assert_eq!(of(Field::SyscallRate, "read"), [62_793.5]);
        assert_eq!(of(Field::SyscallShare, "write"), [49.69]);
        assert_eq!(of(Field::SyscallCalls, "total").len(), 0);
        // Ended by Ctrl-C, and by a version whose sums leave a column out.
        let ended = strace
            .replace("% time", "^C% time")
            .replace("0.457189           0    502348", "0.457189    502348")
            .replace("-p 19544\n", "-p 19544\nstrace: Process 19544 attached\n");
        let recording = read(&ended);
        all_understood(&recording);
        let write = Subject::Symbol("write".to_owned());
        assert_eq!(values(&recording, Field::SyscallCalls, &write), [251_174.0]);
        let row = |calls: u32| format!("   read  {calls}  0  3.456  0.000  0.001  0.020  1.00%\n");
        let perf = format!(
            " dd (31), 20 events, 99.9%\n\n  syscall  calls  errors  total  min  avg  max  stddev\n\
             \u{20}   (msec) (msec) (msec) (msec) (%)\n   ------- ------ ------\n\
             {}{}",
            row(5000),
            row(20)
        );
        let recording = read(&perf);
        let read = Subject::Symbol("read".to_owned());
        assert_eq!(values(&recording, Field::SyscallCalls, &read), [5020.0]);
        assert_eq!(values(&recording, Field::SyscallRate, &read).len(), 0);
    }
}
