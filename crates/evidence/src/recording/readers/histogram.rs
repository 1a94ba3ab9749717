//! Histograms of times, as the tools of bcc and bpftrace print them: `biolatency`, `runqlat`,
//! `fileslower`, `@us = hist(...)`.

use super::prelude::*;

/// How long a unit is, in milliseconds.
fn unit_ms(text: &str) -> Option<f64> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    words.find_map(|word| match word.trim_start_matches(|c: char| c.is_ascii_digit()) {
        "nsecs" | "ns" => Some(1e-6),
        "usecs" | "us" | "usec" => Some(1e-3),
        "msecs" | "ms" | "msec" => Some(1.0),
        "secs" | "seconds" => Some(1e3),
        _ => None,
    })
}

/// `     usecs               : count     distribution`, `@usecs[sda]:`: the unit.
fn heading(line: &str) -> Option<f64> {
    let words = words(line);
    let table = words.ends_with(&[":", "count", "distribution"]);
    let map = words.len() == 1 && line.starts_with('@') && line.trim_end().ends_with(':');
    (table || map).then(|| unit_ms(line)).flatten()
}

/// `16K` of 1024.
fn end(text: &str) -> Option<f64> {
    let (value, unit) = number_and_unit(text.trim())?;
    Some(value * binary_factor(unit)?)
}

/// `  256 -> 511   : 17  |***  |`, `[256, 512)  17 |@@@ |`, `[0]  5 |@ |`: up to where, and how
/// many.
fn row(line: &str) -> Option<(f64, u64)> {
    let line = line.trim();
    let (range, rest) = match line.strip_prefix(['[', '(']) {
        Some(inner) => inner.split_once([')', ']'])?,
        None => line.split_once(':').filter(|(range, _)| range.contains("->"))?,
    };
    let to = range.rsplit([',', '>']).next()?;
    let (found, bar) = rest.trim().split_once('|')?;
    bar.ends_with('|').then_some(())?;
    // `(..., 0)` and `[1M, ...)` are open.
    let to = if to.trim() == "..." { end(range.split(',').next()?)? } else { end(to)? };
    Some((to, count(found.trim())?))
}

/// What is measured: by the tool that was typed, or by what it says when it begins.
fn title(lines: &Lines<'_>, command: &str) -> String {
    let tool = command.split_whitespace().find_map(|word| {
        let name = word.rsplit('/').next()?;
        let name = name.trim_end_matches(".bt").trim_end_matches(".py").trim_end_matches("-bpfcc");
        let ends = ["latency", "qlat", "dist", "slower", "lat"];
        ends.iter().any(|end| name.ends_with(end)).then_some(name)
    });
    let above = || (1..=LINES_ABOVE).filter_map(|by| lines.above(by));
    let says = |text: &str| above().any(|line| line.contains(text));
    let said = [("block", "biolatency"), ("run queue", "runqlat")];
    let said = said.iter().find(|(text, _)| says(text)).map(|(_, name)| *name);
    let own = lines.ahead(0).trim();
    let map = own.starts_with('@').then(|| own.trim_end_matches(':'));
    // `disk = 'sda'`, `pid = 812`.
    let part = above().take(2).find_map(|line| line.split_once(" = ")).map(|(_, name)| name.trim());
    let name = tool.or(said).or(map).unwrap_or("a histogram");
    part.map_or(name.to_owned(), |part| format!("{name} of {}", part.trim_matches('\'')))
}

/// How many lines above a histogram tell what it is of.
const LINES_ABOVE: usize = 4;

/// Begins at a heading with a row below.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let unit_ms = heading(lines.ahead(0))?;
    row(lines.ahead(1))?;
    let subject = Subject::Named(title(lines, out.latest_command()));
    let histogram = Histogram { unit_ms, subject, headed: false, rows: Vec::new() };
    Some(lines.begin(SourceKind::Bcc, histogram, out))
}

struct Histogram {
    unit_ms: f64,
    subject: Subject,
    headed: bool,
    rows: Vec<(f64, u64)>,
}

/// Most rows: times in powers of two have 64.
const ROWS_MAX: usize = 1000;

impl Reader for Histogram {
    fn take(&mut self, line: &str, _out: &mut Builder) -> Taken {
        if !self.headed {
            self.headed = true;
            return Taken::Yes;
        }
        match row(line).filter(|_| self.rows.len() < ROWS_MAX) {
            Some(row) => self.rows.push(row),
            None => return Taken::No,
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        let all: f64 = self.rows.iter().map(|(_, found)| *found as f64).sum();
        if all <= 0.0 {
            return;
        }
        out.put(Field::LatencyEvents, &self.subject, None, all);
        for (field, share) in
            [(Field::LatencyMedian, 0.5), (Field::Latency99, 0.99), (Field::LatencyMost, 1.0)]
        {
            let mut seen = 0.0;
            let reached = self.rows.iter().find(|(_, found)| {
                seen += *found as f64;
                seen >= all * share && *found > 0
            });
            out.put_known(field, &self.subject, None, reached.map(|(to, _)| to * self.unit_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{read, values};
    use super::*;

    #[test]
    fn times_of_both_tools() {
        let bcc = "# biolatency -m\nTracing block device I/O... Hit Ctrl-C to end.\n^C\n     \
                   msecs               : count     distribution\n         \
                   0 -> 1          : 90       |****************************************|\n         \
                   2 -> 3          : 0        |                                        |\n         \
                   4 -> 7          : 8        |***                                     |\n       \
                   128 -> 255        : 2        |                                        |\n";
        let trace = "@usecs:\n[0]                   50 |@@@@@@@@@@@@@@@|\n\
                     [2, 4)                40 |@@@@@@@@@@@@   |\n\
                     [4K, 8K)               8 |@@             |\n\
                     [128K, 256K)           2 |               |\n";
        let of = |text: &str, field, name: &str| {
            values(&read(text), field, &Subject::Named(name.to_owned()))
        };
        assert_eq!(of(bcc, Field::LatencyEvents, "biolatency"), [100.0]);
        assert_eq!(of(bcc, Field::LatencyMedian, "biolatency"), [1.0]);
        assert_eq!(of(bcc, Field::Latency99, "biolatency"), [255.0]);
        assert_eq!(of(trace, Field::LatencyMedian, "@usecs"), [0.0]);
        assert_eq!(of(trace, Field::LatencyMost, "@usecs"), [256.0 * 1.024]);
        let disk = bcc.replace("^C\n", "\ndisk = 'sdc'\n").replace("# biolatency -m\n", "");
        assert_eq!(of(&disk, Field::Latency99, "biolatency of sdc"), [255.0]);
        // Sizes are no times.
        assert!(read(&bcc.replace("msecs", "kbytes")).hosts[0].series.is_empty());
    }
}
