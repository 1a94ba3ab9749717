//! `iotop`, both the Python one and iotop-c, in batch mode or pasted. iotop(8).

use super::prelude::*;

fn is_total(words: &[&str]) -> bool {
    let disk = words.windows(2).any(|pair| pair[0] == "DISK" && pair[1].starts_with("READ"));
    let head = words.iter().any(|word| matches!(*word, "Total" | "Actual" | "Current"));
    head && disk && words.contains(&"|")
}

fn is_columns(words: &[&str]) -> bool {
    let id = words.iter().take(2).any(|word| matches!(word.trim_end_matches('>'), "TID" | "PID"));
    id && words.contains(&"PRIO") && words.contains(&"DISK")
}

/// Begins at the totals or at the head of the table.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let words = words(lines.ahead(0));
    (is_total(&words) || is_columns(&words))
        .then(|| lines.begin(SourceKind::Iotop, Iotop::default(), out))
}

#[derive(Default)]
struct Iotop {
    at: Option<Stamp>,
    day: i64,
    said_sums: bool,
}

/// What stands at the front of `words`: an amount, or `None`.
enum Amount {
    /// Bytes a second.
    Rate(f64),
    /// A sum since iotop began (`-a`): no rate.
    Sum,
}

/// `2.39 M/s`. iotop divides by 1024.
fn amount(words: &[&str]) -> Option<Amount> {
    let value = number(words.first()?)?;
    let unit = words.get(1)?;
    let (prefix, rate) = match unit.strip_suffix("/s") {
        Some(prefix) => (prefix, true),
        None => (*unit, false),
    };
    let factor = binary_factor(prefix.trim_end_matches('B'))?;
    Some(if rate { Amount::Rate(value * factor) } else { Amount::Sum })
}

impl Iotop {
    fn time(&mut self, word: &str) -> bool {
        let Some(time) = time_of_day(word) else { return false };
        let before = self.at.map(|at| at.days_later(-self.day));
        if before.is_some_and(|before| time < before) {
            self.day += 1;
        }
        self.at = Some(time.days_later(self.day));
        true
    }

    fn put(&mut self, field: Field, subject: &Subject, amount: &Amount, out: &mut Builder) {
        match amount {
            Amount::Rate(rate) => out.put(field, subject, self.at, *rate),
            Amount::Sum if self.said_sums => {}
            Amount::Sum => {
                self.said_sums = true;
                out.problem("sums since iotop began (option -a): no rates, left out");
            }
        }
    }

    /// The second line of totals is the block devices' part, from `pgpgin` and `pgpgout` of
    /// `/proc/vmstat`. The first is a sum over tasks, page cache writes included: not recorded.
    fn total(&mut self, words: &[&str], out: &mut Builder) {
        let device = words.iter().any(|word| matches!(*word, "Actual" | "Current"));
        if !device {
            return;
        }
        for (label, field) in [("READ", Field::PageIn), ("WRITE", Field::PageOut)] {
            let at = words.iter().position(|word| word.trim_end_matches(':') == label);
            let rest = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
            let rest = if rest.first() == Some(&":") { &rest[1..] } else { rest };
            if let Some(amount) = amount(rest) {
                self.put(field, &Subject::Machine, &amount, out);
            }
        }
    }

    /// A task; `false` when the line is none.
    fn row(&mut self, words: &[&str], out: &mut Builder) -> bool {
        let [pid, _priority, _user, rest @ ..] = words else { return false };
        let Some(pid) = count(pid).and_then(|pid| u32::try_from(pid).ok()) else { return false };
        let (Some(read), Some(written)) = (amount(rest), rest.get(2..).and_then(amount)) else {
            return false;
        };
        let mut rest = rest.get(4..).unwrap_or_default();
        // SWAPIN and IO, or IO alone; nothing where the kernel does not count delays.
        let mut shares = Vec::new();
        while let [value, "%", after @ ..] = rest {
            let Some(value) = number(value) else { break };
            shares.push(value);
            rest = after;
        }
        if rest.first() == Some(&"?unavailable?") {
            rest = &rest[1..];
        }
        let Some(name) = rest.first().map(|word| command_name(word)) else { return false };
        let subject = Subject::process(Some(pid), name);
        self.put(Field::ProcRead, &subject, &read, out);
        self.put(Field::ProcWrite, &subject, &written, out);
        out.put_known(Field::ProcIo, &subject, self.at, shares.last().copied());
        true
    }
}

impl Reader for Iotop {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let all = words(line);
        let mut words = all.as_slice();
        if words.is_empty() || elided(line) {
            return Taken::Yes;
        }
        if is_columns(words) {
            return Taken::Yes;
        }
        let timed = time_of_day(words[0]).is_some();
        let time = words[0];
        if timed {
            words = &words[1..];
        }
        if is_total(words) {
            if timed {
                self.time(time);
            }
            self.total(words, out);
            return Taken::Yes;
        }
        let before = self.at;
        if timed {
            self.time(time);
        }
        if self.row(words, out) {
            return Taken::Yes;
        }
        self.at = before;
        Taken::No
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    const PASTED: &str = "\
Total DISK READ: 20.30 M/s | Total DISK WRITE: 24.95 M/s
Actual DISK READ: 20.30 M/s | Actual DISK WRITE: 8.27 M/s
TID  PRIO  USER  DISK READ  DISK WRITE  SWAPIN  IO    COMMAND
12180 be/4 root    2.39 M/s   16.01 M/s   0.00 % 35.94 % [nfsd]
12178 be/4 root    2.34 M/s   1473.47 K/s  0.00 % 30.43 % [nfsd]
...............
12175 be/4 root    1894.69 K/s  27.71 K/s  0.00 % 24.94 % /opt/db/server --password=x
";

    #[test]
    fn rates_and_waits_by_task() {
        let recording = read(PASTED);
        all_understood(&recording);
        let nfsd = Subject::process(Some(12180), "nfsd");
        assert_eq!(values(&recording, Field::ProcWrite, &nfsd), [16.01 * 1_048_576.0]);
        assert_eq!(values(&recording, Field::ProcIo, &nfsd), [35.94]);
        let server = Subject::process(Some(12175), "server");
        assert_eq!(values(&recording, Field::ProcRead, &server), [1894.69 * 1024.0]);
        assert_eq!(machine(&recording, Field::PageOut), [8.27 * 1_048_576.0]);
    }

    #[test]
    fn times_missing_delays_and_old_layouts() {
        let recording = read(
            "    TIME    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN      IO    COMMAND\n\
             23:59:59 Total DISK READ :    0.00 B/s | Total DISK WRITE :  11.84 K/s\n\
             23:59:59 Actual DISK READ:    1.00 B/s | Actual DISK WRITE:   0.00 B/s\n\
             23:59:59     1 be/4 root    0.00 B/s    3.00 B/s ?unavailable?  init --x\n\
             00:00:01     1 rt/0 root    0.00 B/s    4.00 B/s  0.00 %  0.10 % init\n\
             They write little.\n",
        );
        let init = Subject::process(Some(1), "init");
        assert_eq!(values(&recording, Field::ProcWrite, &init), [3.0, 4.0]);
        assert_eq!(values(&recording, Field::ProcIo, &init), [0.1]);
        assert_eq!(machine(&recording, Field::PageIn), [1.0]);
        let points = &recording.hosts[0].series(Field::ProcWrite, &init).expect("it").points;
        assert_eq!(points[1].at.expect("a time").0 - points[0].at.expect("a time").0, 2);
        assert_eq!(recording.unrecognised[0].first_line, 6);
    }

    #[test]
    fn sums_are_no_rates() {
        let recording = read(
            "Total DISK READ: 0.00 B/s | Total DISK WRITE: 0.00 B/s\n\
             12 be/4 root    2.39 M   16.01 M   0.00 % 35.94 % java\n",
        );
        assert_eq!(recording.problems.len(), 1);
        let java = Subject::process(Some(12), "java");
        assert_eq!(values(&recording, Field::ProcRead, &java).len(), 0);
    }
}
