//! `uptime` and the first line of `w`, and `lscpu`: what a machine has.

use super::kernel_log::up_ms;
use super::prelude::*;
use super::prompt::prompt;

/// A format, by its first line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormatKind {
    Uptime,
    /// `/proc/loadavg`.
    Loadavg,
    Lscpu,
}

fn kind_of(line: &str) -> Option<FormatKind> {
    let words = words(line);
    match words.as_slice() {
        [time, "up", ..] if time_of_day(time).is_some() => {
            line.contains("load average").then_some(FormatKind::Uptime)
        }
        [_, _, _, tasks, _] if is_loadavg(&words, tasks) => Some(FormatKind::Loadavg),
        [name, ..] if is_architecture(name) && line.contains(':') => Some(FormatKind::Lscpu),
        _ if lscpu_row(line).is_some_and(is_cpu_count) => Some(FormatKind::Lscpu),
        _ => None,
    }
}

/// Begins at the first line of one of them.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let kind = kind_of(lines.ahead(0))?;
    let source = match kind {
        FormatKind::Uptime | FormatKind::Loadavg => SourceKind::Uptime,
        FormatKind::Lscpu => SourceKind::Lscpu,
    };
    Some(lines.begin(source, MachineFacts { kind, lines: 0 }, out))
}

struct MachineFacts {
    kind: FormatKind,
    lines: usize,
}

/// How long the machine runs, and its load averages. They have no date, and the time of day alone
/// orders nothing.
fn uptime(line: &str, out: &mut Builder) {
    out.put_known(Field::Uptime, &Subject::Machine, None, up_ms(line));
    if let Some((_, all)) = line.split_once("load average") {
        loads(all, out);
    }
}

/// `16.10 15.98 15.70 17/812 812044`: loads, tasks that run of all, the latest process.
fn is_loadavg(words: &[&str], tasks: &str) -> bool {
    let decimal = |word: &&str| word.contains('.') && number(word).is_some();
    let parts = tasks.split_once('/').map(|(run, all)| (count(run), count(all)));
    let tasks = matches!(parts, Some((Some(_), Some(_))));
    tasks && words.iter().take(3).all(decimal) && words.last().is_some_and(|w| count(w).is_some())
}

/// How many tasks there are.
fn tasks(line: &str, out: &mut Builder) {
    let all = words(line).get(3).and_then(|word| count(word.split_once('/')?.1));
    out.put_known(Field::Tasks, &Subject::Machine, None, all.map(|all| all as f64));
}

/// The averages over 1, 5 and 15 minutes.
fn loads(text: &str, out: &mut Builder) {
    let loads = text.split_whitespace().filter_map(|word| number(word.trim_end_matches(',')));
    for (field, load) in [Field::Load1, Field::Load5, Field::Load15].into_iter().zip(loads) {
        out.put(field, &Subject::Machine, None, load);
    }
}

/// The first row, in the languages that `lscpu` speaks.
fn is_architecture(name: &str) -> bool {
    let name = name.trim_end_matches(':');
    matches!(name, "Architecture" | "Architektur" | "Arquitectura" | "Arquitetura" | "Architettura")
}

/// A row of `lscpu`: name and value.
fn lscpu_row(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let apart = value.is_empty() || value.starts_with(char::is_whitespace);
    (apart && prompt(line).is_none()).then(|| (name.trim(), value.trim()))
}

/// The row that has the number of CPUs.
fn is_cpu_count((name, value): (&str, &str)) -> bool {
    const NAMES: [&str; 4] = ["CPU(s)", "Processeur(s)", "Prozessor(en)", "CPU"];
    NAMES.contains(&name) && count(value).is_some_and(|cpus| cpus > 0)
}

/// The clock as it is now, and as the processor's name has it: `... @ 2.90GHz`.
fn clock((name, value): (&str, &str), out: &mut Builder) {
    let rated = || value.split_once("@ ")?.1.strip_suffix("GHz").and_then(number);
    match name {
        "CPU MHz" => {
            out.put_known(Field::CpuClock, &Subject::Machine, None, number(value));
        }
        _ => {
            out.put_known(Field::CpuRated, &Subject::Machine, None, rated().map(|ghz| ghz * 1e3));
        }
    }
}

/// A row of `lscpu`; `false` when it is none.
fn lscpu(line: &str, out: &mut Builder) -> bool {
    let Some(row) = lscpu_row(line) else { return false };
    if is_cpu_count(row)
        && let Some(cpus) = count(row.1)
    {
        out.put(Field::CpuCount, &Subject::Machine, None, cpus as f64);
    }
    clock(row, out);
    true
}

impl Reader for MachineFacts {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        self.lines += 1;
        if line.trim().is_empty() && !matches!(self.kind, FormatKind::Uptime | FormatKind::Loadavg)
        {
            return Taken::Yes;
        }
        let ours = match self.kind {
            FormatKind::Uptime if self.lines == 1 => {
                uptime(line, out);
                true
            }
            FormatKind::Loadavg if self.lines == 1 => {
                loads(line, out);
                tasks(line, out);
                true
            }
            // The list of users of `w` is no one's.
            FormatKind::Uptime | FormatKind::Loadavg => false,
            FormatKind::Lscpu => lscpu(line, out),
        };
        if ours { Taken::Yes } else { Taken::No }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn facts_of_a_machine() {
        let recording = read(
            " 18:33:03 up 11:52,  1 user,  load average: 21.01, 3,15, 1,18\n\
             Architecture:                            x86_64\nCPU op-mode(s):  32-bit, 64-bit\n\
             CPU(s):                                  64\nOn-line CPU(s) list:  0-63\n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::Load1), [21.01]);
        assert_eq!(machine(&recording, Field::Load5), [3.15]);
        assert_eq!(machine(&recording, Field::CpuCount), [64.0]);
        let recording = read("$ cat /proc/loadavg\n16.10 15.98 15.70 17/812 812044\n");
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::Load5), [15.98]);
        assert!(read("1.0 2.0 3.0 a/b 5\n").hosts.is_empty());
    }

    #[test]
    fn the_number_of_cpus_in_other_languages_and_alone() {
        for text in [
            "CPU(s):                          12\nModellname:      Intel(R) Xeon(R) Silver 4214\n",
            "Architektur:                     x86_64\nCPU(s):           12\nSockel:     1\n",
            "Architecture :                   x86_64\nBoutisme :     Little Endian\n\
             Processeur(s) :                  12\nListe de processeur(s) en ligne :   0-11\n",
        ] {
            let text = format!(
                "$ lscpu\n{text}jens@db1:~$ uptime\n 10:00:00 up 1 day,  1 user,  \
                                load average: 1.00, 2.00, 3.00\n"
            );
            let recording = read(&text);
            all_understood(&recording);
            assert_eq!(machine(&recording, Field::CpuCount), [12.0], "{text}");
            assert_eq!(machine(&recording, Field::Load1), [1.0], "the prompt is no row");
        }
    }
}
