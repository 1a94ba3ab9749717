//! Lines of `strace`, with times (`-T`) or without: how often each call was made, how long it took
//! and what it was refused. What it was given is not kept. strace(1).

use std::collections::BTreeMap;

use super::failures::FAILURES;
use super::prelude::*;

/// What one line tells.
struct Call<'a> {
    name: &'a str,
    /// The error, such as `EAGAIN`.
    failed: Option<&'a str>,
    seconds: Option<f64>,
}

/// A call, with whatever a tool puts before it: `[pid 812] 12:00:00.123 read(3, 5, 4) = 4 <0.01>`,
/// `<... futex resumed>) = 0 <1.5>`.
fn call(line: &str) -> Option<Call<'_>> {
    let line = line.trim();
    let resumed = line.find("<... ").map(|at| (line.get(..at), line.get(at + 5..)));
    let (before, name, rest) = match resumed {
        Some((before, rest)) => {
            let (name, rest) = rest?.split_once(" resumed>")?;
            (before?, name, rest)
        }
        None => {
            let (start, rest) = line.split_once('(')?;
            let begins = start.rfind(' ').map_or(0, |at| at + 1);
            (start.get(..begins)?, start.get(begins..)?, rest)
        }
    };
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let usual = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let named = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    // A process, the word `pid` and a time may stand before it.
    let process = |c: char| c.is_ascii_digit() || "[]:., pid".contains(c);
    let plain = named && name.bytes().all(usual) && before.chars().all(process);
    let plain = plain && arguments.trim_end().ends_with(')');
    let words: Vec<&str> = result.split_whitespace().collect();
    let (value, rest) = words.split_first().filter(|_| plain)?;
    // `-y` shows a file behind its number.
    let value = &value.split('<').next().unwrap_or(value);
    let digits = value.trim_start_matches('-');
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let known = *value == "?" || value.starts_with("0x") || whole;
    let spent = rest.last().and_then(|last| last.strip_prefix('<')?.strip_suffix('>'));
    let seconds = spent.and_then(number);
    let error = rest.first().copied().filter(|word| {
        word.starts_with('E')
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    });
    let failed = error.filter(|_| *value == "-1");
    // Behind a result stands its error, what it means, or its time: no code that looks like it.
    let sure = rest.is_empty() || seconds.is_some() || failed.is_some() || rest[0].starts_with('(');
    (known && sure).then_some(Call { name, failed, seconds })
}

/// What it says of processes and signals, and calls that continue below.
fn passed_over(line: &str) -> bool {
    let line = line.trim();
    line.contains("<unfinished ...>")
        || line.starts_with("strace: Process ")
        || line.contains("--- SIG")
        || line.contains("+++ exited with")
}

/// How many lines of a few are calls: one alone may be a program's text.
const CALLS_MIN: usize = 2;

/// Begins at a call with more of them around.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let told = (0..LINES_AROUND).take_while(|by| passed_over(lines.ahead(*by))).count();
    let first = call(lines.ahead(told))?;
    let more = (told + 1..told + 4).filter(|by| call(lines.ahead(*by)).is_some()).count();
    (more + 1 >= CALLS_MIN || first.seconds.is_some())
        .then(|| lines.resume(SourceKind::Strace, Strace::default(), out))
}

/// Errors of calls that a limit, and nothing else, causes: calls, errors and what was refused. No
/// calls: any of them. mprotect(2), munmap(2), madvise(2) and mremap(2) split a mapping in two;
/// accept(2), open(2), fork(2), connect(2), send(2).
const LIMITS: [(&[&str], &[&str], Field); 5] = [
    (&["mprotect", "munmap", "madvise", "mremap"], &["ENOMEM"], Field::MapErrors),
    (&[], &["EMFILE", "ENFILE"], Field::OpenFileErrors),
    (&["fork", "vfork", "clone", "clone3"], &["EAGAIN"], Field::TaskErrors),
    (&["connect"], &["EADDRNOTAVAIL"], Field::PortErrors),
    (&["send", "sendto", "sendmsg", "sendmmsg"], &["ENOBUFS"], Field::BufferErrors),
];

/// What a call was refused.
fn limit(call: &str, error: &str) -> Option<Field> {
    let fits = |(calls, errors, _): &&(&[&str], &[&str], Field)| {
        errors.contains(&error) && (calls.is_empty() || calls.contains(&call))
    };
    LIMITS.iter().find(fits).map(|(.., field)| *field)
}

/// All calls of one name.
#[derive(Default)]
struct Sum {
    calls: u64,
    timed: u64,
    seconds: f64,
    longest: f64,
}

#[derive(Default)]
struct Strace {
    calls: BTreeMap<String, Sum>,
}

impl Reader for Strace {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || elided(line) || passed_over(line) {
            return Taken::Yes;
        }
        let Some(call) = call(line) else { return Taken::No };
        let sum = self.calls.entry(call.name.to_owned()).or_default();
        sum.calls += 1;
        if let Some(field) = call.failed.and_then(|error| limit(call.name, error)) {
            out.put(field, &Subject::part(FAILURES, field.about().key), None, 1.0);
        }
        if let Some(seconds) = call.seconds {
            sum.timed += 1;
            sum.seconds += seconds;
            sum.longest = sum.longest.max(seconds);
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        let all: f64 = self.calls.values().map(|sum| sum.seconds).sum();
        for (name, sum) in std::mem::take(&mut self.calls) {
            let subject = Subject::Symbol(name);
            out.put(Field::SyscallCalls, &subject, None, sum.calls as f64);
            if sum.timed > 0 {
                let mean = sum.seconds / sum.timed as f64;
                out.put(Field::SyscallTime, &subject, None, mean * 1e3);
                out.put(Field::SyscallLongest, &subject, None, sum.longest * 1e3);
            }
            if all > 0.0 {
                out.put(Field::SyscallShare, &subject, None, sum.seconds / all * 100.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn calls_with_their_times() {
        let recording = read(
            "strace: Process 812 attached\n\
             [pid   812] 12:00:00.100001 fsync(7)  = 0 <0.250000>\n\
             [pid   813] 12:00:00.200001 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>\n\
             [pid   812] 12:00:00.300001 fsync(7)  = 0 <0.050000>\n\
             [pid   813] 12:00:00.400001 <... futex resumed>) = -1 EAGAIN (Resource temporarily \
             unavailable) <0.200000>\n\
             812 openat(AT_FDCWD, \"/x (y) = 5\", O_RDONLY) = 3</x> <0.000100>\n\
             --- SIGCHLD {si_signo=SIGCHLD} ---\n",
        );
        all_understood(&recording);
        let of = |field, name: &str| values(&recording, field, &Subject::Symbol(name.to_owned()));
        assert_eq!(of(Field::SyscallCalls, "fsync"), [2.0]);
        assert_eq!(of(Field::SyscallTime, "fsync"), [150.0]);
        assert_eq!(of(Field::SyscallLongest, "fsync"), [250.0]);
        let plain =
            read("read(3, \"abc\", 8192) = 3\nwrite(4, \"abc\", 3) = 3\nread(3, \"\", 8192) = 0\n");
        let read_call = Subject::Symbol("read".to_owned());
        assert_eq!(values(&plain, Field::SyscallCalls, &read_call), [2.0]);
        assert!(values(&plain, Field::SyscallTime, &read_call).is_empty());
    }

    #[test]
    fn code_is_no_trace() {
        for text in ["x = f(1) = 5\n", "if (a) b = 5\nif (c) d = 6\n", "total(all) = 5 apples\n"] {
            assert!(read(text).sources.iter().all(|s| s.kind != SourceKind::Strace), "{text}");
        }
    }
}
