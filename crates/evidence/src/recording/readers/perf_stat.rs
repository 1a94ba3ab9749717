//! `perf stat`: how often events came, as text and with separators (`-x,`). perf-stat(1).

use super::prelude::*;

/// What is counted in milliseconds: CPU time.
const CLOCKS: [&str; 2] = ["task-clock", "cpu-clock"];

/// A row: the event, its count, and CPUs in use or instructions in a cycle where it shows them.
struct Counted<'a> {
    event: &'a str,
    count: f64,
    rate: Option<(Field, f64)>,
}

/// Digits in groups: `1,234,567` or `1.234.567,8`; `None` for `<not counted>`.
fn grouped(word: &str) -> Option<f64> {
    let parts: Vec<&str> = word.split([',', '.']).collect();
    let whole = parts.iter().skip(1).all(|part| part.len() == 3);
    let digits = || word.replace([',', '.'], "");
    if whole && parts.len() > 1 && parts.first().is_some_and(|first| first.len() <= 3) {
        return count(&digits()).map(|count| count as f64);
    }
    let (whole, fraction) = word.rsplit_once(['.', ',']).unwrap_or((word, "0"));
    number(&format!("{}.{fraction}", whole.replace([',', '.'], "")))
}

fn is_event(word: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:/.,=@".contains(&byte);
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.bytes().all(usual)
}

/// `3,981.12 msec task-clock  #  3.981 CPUs utilized`, `12,345 page-faults  # 3.1 K/sec`.
fn text(line: &str) -> Option<Counted<'_>> {
    let words = words(line);
    let (value, rest) = words.split_first()?;
    let rest = rest.strip_prefix(&["msec"]).unwrap_or(rest);
    let (event, rest) = rest.split_first()?;
    let said = rest.iter().position(|word| *word == "#").and_then(|at| rest.get(at + 1..));
    let rate = said.and_then(|said| {
        let value = number(said.first()?)?;
        match said.get(1..)? {
            ["CPUs", "utilized", ..] => Some((Field::PerfCpus, value)),
            ["insn", "per", "cycle", ..] | ["insns", "per", "cycle", ..] => {
                Some((Field::PerfIpc, value))
            }
            _ => None,
        }
    });
    let own = rest.is_empty() || rest.iter().any(|word| *word == "#" || word.ends_with("%)"));
    let count = grouped(value)?;
    (is_event(event) && own).then_some(Counted { event, count, rate })
}

/// `3981.12,msec,task-clock,3981120000,100.00,3.981,CPUs utilized`.
fn separated(line: &str) -> Option<Counted<'_>> {
    let cells: Vec<&str> = line.trim().split(',').collect();
    let [value, unit, event, time, share, rest @ ..] = cells.as_slice() else { return None };
    let known = matches!(*unit, "" | "msec" | "ns") && count(time).is_some();
    let known = known && number(share).is_some_and(|share| share <= 100.0);
    let rate = match rest {
        [value, "CPUs utilized"] => number(value).map(|value| (Field::PerfCpus, value)),
        [value, "insn per cycle"] => number(value).map(|value| (Field::PerfIpc, value)),
        _ => None,
    };
    let count = number(value).filter(|_| known && is_event(event))?;
    Some(Counted { event, count, rate })
}

/// `1.000123456 seconds time elapsed`, and CPU time of the program.
fn seconds(line: &str) -> Option<(&str, f64)> {
    let (value, what) = line.trim().split_once(" seconds ")?;
    let what = ["time elapsed", "user", "sys"].into_iter().find(|name| what.starts_with(name))?;
    Some((what, number(value.split_whitespace().next()?)?))
}

fn is_title(line: &str) -> bool {
    line.trim_start().starts_with("Performance counter stats for ")
}

/// Begins at the title, or at two rows with separators.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let commas = separated(lines.ahead(0)).is_some() && separated(lines.ahead(1)).is_some();
    (commas || is_title(lines.ahead(0)))
        .then(|| lines.begin(SourceKind::PerfStat, PerfStat { commas, counts: Vec::new() }, out))
}

struct PerfStat {
    commas: bool,
    /// Events and how often they came, until it is known in what time.
    counts: Vec<(String, f64)>,
}

/// Most events of one command.
const EVENTS_MAX: usize = 2000;

impl Reader for PerfStat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let trimmed = line.trim();
        if trimmed.is_empty() || is_title(line) || trimmed.starts_with("<not ") {
            return Taken::Yes;
        }
        if let Some((what, seconds)) = seconds(line) {
            let ms = seconds * 1e3;
            match what {
                "user" => out.put(Field::PerfUser, &Subject::Machine, None, ms),
                "sys" => out.put(Field::PerfSystem, &Subject::Machine, None, ms),
                _ if seconds > 0.0 => {
                    for (event, count) in std::mem::take(&mut self.counts) {
                        let rate = count / seconds;
                        out.put(Field::PerfRate, &Subject::Symbol(event), None, rate);
                    }
                }
                _ => {}
            }
            return Taken::Yes;
        }
        let row = if self.commas { separated(line) } else { text(line) };
        let Some(Counted { event, count, rate }) = row else {
            // `( +-  0.52% )` of several runs stands behind it.
            return Taken::No;
        };
        if let Some((field, value)) = rate {
            out.put(field, &Subject::Machine, None, value);
        }
        if !CLOCKS.contains(&event) && self.counts.len() < EVENTS_MAX {
            out.put(Field::PerfEvents, &Subject::Symbol(event.to_owned()), None, count);
            self.counts.push((event.to_owned(), count));
        }
        Taken::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read, values};
    use super::*;

    #[test]
    fn events_and_rates() {
        let recording = read(
            "\n Performance counter stats for process id '4120':\n\n          \
             7,912.31 msec task-clock                #    3.956 CPUs utilized          \n         \
             31,000      context-switches          #    3.918 K/sec                  \n     \
             <not supported>      cycles                                             \n     \
             4,000,000,000      instructions              #    0.40  insn per cycle  (66.71%)\n  \
             1,200      page-faults\n\n       2.000000000 seconds time elapsed\n\n       \
             1.250000000 seconds user\n       6.500000000 seconds sys\n",
        );
        all_understood(&recording);
        let switches = Subject::Symbol("context-switches".to_owned());
        assert_eq!(values(&recording, Field::PerfRate, &switches), [15_500.0]);
        assert_eq!(machine(&recording, Field::PerfCpus), [3.956]);
        assert_eq!(machine(&recording, Field::PerfIpc), [0.4]);
        assert_eq!(machine(&recording, Field::PerfSystem), [6500.0]);
    }

    #[test]
    fn rows_with_separators() {
        let recording = read(
            "7912.31,msec,task-clock,7912310000,100.00,3.956,CPUs utilized\n\
             31000,,context-switches,7912310000,100.00,3.918,K/sec\n\
             <not supported>,,cycles,0,0.00,,\n",
        );
        let switches = Subject::Symbol("context-switches".to_owned());
        assert_eq!(values(&recording, Field::PerfEvents, &switches), [31_000.0]);
        assert_eq!(machine(&recording, Field::PerfCpus), [3.956]);
        assert!(read("5,,a,b,c\n6,,a,b,c\n").sources.is_empty());
    }
}
