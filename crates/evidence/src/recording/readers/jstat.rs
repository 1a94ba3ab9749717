//! `jstat -gcutil` and `-gccause`: use of a Java heap's parts, and time in collections (jstat(1)).

use super::prelude::*;

/// Where things stand in the rows.
#[derive(Clone, Copy, Debug)]
struct Columns {
    old: usize,
    full: usize,
    full_time: usize,
    all_time: usize,
    width: usize,
}

fn columns(line: &str) -> Option<Columns> {
    let words = words(line);
    let place = |name: &str| words.iter().position(|word| *word == name);
    let (old, full, full_time) = (place("O")?, place("FGC")?, place("FGCT")?);
    Some(Columns { old, full, full_time, all_time: place("GCT")?, width: words.len() })
}

/// Begins at the names of the columns.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let columns = columns(lines.ahead(0))?;
    let every_ms = interval_ms(out.latest_command());
    Some(lines.begin(SourceKind::Jstat, PastBlanks(Jstat { columns, every_ms, before: None }), out))
}

/// `jstat -gcutil PID 1000 10`, `... 1s 10`: how far apart its rows are.
fn interval_ms(command: &str) -> Option<f64> {
    let (_, rest) = command.split_once("jstat ")?;
    let plain = rest.split_whitespace().filter(|word| !word.starts_with('-'));
    let word = plain.skip(1).find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    match word.strip_suffix("ms").map_or_else(|| (word.strip_suffix('s'), 1e3), |w| (Some(w), 1.0))
    {
        (Some(value), factor) => number(value).map(|value| value * factor),
        (None, _) => number(word),
    }
}

struct Jstat {
    columns: Columns,
    every_ms: Option<f64>,
    /// Full collections, their time and that of all, of the row before.
    before: Option<(f64, f64, f64)>,
}

impl Jstat {
    fn row(&mut self, cell: impl Fn(usize) -> Option<f64>, out: &mut Builder) -> Option<()> {
        let subject = Subject::process(None, "java");
        let old = cell(self.columns.old).filter(|percent| *percent <= 100.0)?;
        let now =
            (cell(self.columns.full)?, cell(self.columns.full_time)?, cell(self.columns.all_time)?);
        out.put(Field::GcOld, &subject, None, old);
        let (full, full_s, all_s) = match self.before {
            Some(before) => (now.0 - before.0, now.1 - before.1, now.2 - before.2),
            None => now,
        };
        if full >= 1.0 && full_s > 0.0 {
            out.put(Field::GcPause, &subject, None, full_s / full * 1e3);
        }
        if let Some(every_ms) = self.every_ms.filter(|ms| *ms > 0.0 && self.before.is_some()) {
            let percent = (all_s * 1e3 / every_ms * 100.0).clamp(0.0, 100.0);
            out.put(Field::GcBusy, &subject, None, percent);
        }
        self.before = Some(now);
        Some(())
    }
}

impl Reader for Jstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(columns) = columns(line) {
            self.columns = columns;
            return Taken::Yes;
        }
        let words = words(line);
        if words.len() < self.columns.width.min(9) || number_of(words[0]).is_none() {
            return Taken::No;
        }
        let cell = |at: usize| words.get(at).copied().and_then(number_of);
        if self.row(cell, out).is_none() {
            out.problem("a row of 'jstat' without its numbers; it is left out");
        }
        Taken::Yes
    }
}

/// A number; a part that the collector does not have is `-`.
fn number_of(word: &str) -> Option<f64> {
    if word == "-" { Some(0.0) } else { number(&word.replace(',', ".")) }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn a_heap_that_is_collected_all_the_time() {
        let rows = " S0   S1   E      O     M     CCS   YGC  YGCT    FGC FGCT     GCT\n  \
             0.00   0.00 100.00  99.98  95.11  91.00   4120  120.100   811  2044.500  2164.600\n  \
             0.00   0.00  99.00  99.99  95.11  91.00   4120  120.100   812  2047.000  2167.100\n";
        let recording = read(&format!("app@web1:~$ jstat -gcutil 2211 3s 2\n{rows}"));
        all_understood(&recording);
        let java = Subject::process(None, "java");
        assert_eq!(values(&recording, Field::GcOld, &java), [99.98, 99.99]);
        assert_eq!(values(&recording, Field::GcPause, &java)[1], 2500.0);
        let busy = values(&recording, Field::GcBusy, &java);
        assert!((busy[0] - 83.3).abs() < 0.1, "{busy:?}");
        assert_eq!(interval_ms("jstat -gcutil 2211 1000 5"), Some(1000.0));
        assert_eq!(interval_ms("jstat -gcutil -h5 2211 500ms"), Some(500.0));
        assert_eq!(interval_ms("jstat -gcutil 2211"), None);
        assert!(values(&read(rows), Field::GcBusy, &java).is_empty());
    }
}
