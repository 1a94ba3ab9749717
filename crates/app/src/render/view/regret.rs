//! What a suite says: the worst row of each of hugewise's modes, and then every row.

use crate::render::colour::Paint;
use crate::render::text::{left, right, trimmed, wrap};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_experiment::regret::{Kind, Mode, ROUNDS_MIN, Report, Row, Verdict};
use hugewise_experiment::suite::{Part, Suite};
use hugewise_experiment::summary::words;
use hugewise_lab::engine::duration;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Verdicts in the order in which rows are shown, with what they mean.
const VERDICTS: [(Verdict, &str, &str); 4] = [
    (Verdict::Beyond, "beyond", "Beyond the bar, with the whole interval"),
    (
        Verdict::Inconclusive,
        "inconclusive",
        "Inconclusive: the bar is within the interval, or there is none yet",
    ),
    (Verdict::Holds, "holds", "Holds, with the whole interval"),
    (Verdict::Reported, "reported", "Reported: peaks have no bar"),
];

/// A value in at most seven columns.
fn number(value: f64, digits: usize) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{:.1} G", value / 1e9),
        size if size >= 1e6 => format!("{:.1} M", value / 1e6),
        size if size >= 1e5 => format!("{:.0} k", value / 1e3),
        _ => words::number(value, digits),
    }
}

fn unknown(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

fn interval(row: &Row) -> String {
    unknown(row.interval.map(|at| {
        let digits = if at.high < 9.995 { 2 } else { usize::from(at.high < 99.95) };
        format!("[{:.digits$}..{:.digits$}]", at.low, at.high)
    }))
}

/// A row, 80 columns wide: the names of workload and figure, ours, the best, the ratio.
fn line(row: &Row) -> String {
    let best = row.best.as_ref();
    let ours = unknown(row.ours.map(|value| number(value, row.digits)));
    let value = unknown(best.map(|best| number(best.value, row.digits)));
    let cells = [
        left(&row.workload, 15),
        " ".to_owned(),
        left(&row.figure, 19),
        right(&ours, 8),
        right(&value, 8),
        " ".to_owned(),
        left(best.map_or("", |best| &best.variant), 10),
        right(&unknown(row.ratio.map(|ratio| format!("{ratio:.2}"))), 5),
        " ".to_owned(),
        interval(row),
    ];
    trimmed(&(cells.concat() + "\n"))
}

fn head() -> String {
    let cells = [left("workload", 15), left(" figure", 20), right("here", 8), right("best", 8)];
    format!("{} {} ratio [95 %]\n", cells.concat(), left("under", 10))
}

/// The worst row in words.
fn worst(mode: &Mode) -> String {
    let Some(row) = mode.rows.iter().find(|row| row.bar.is_some() && row.ratio.is_some()) else {
        return wrap(&format!("{}: ", mode.variant), "no row can be compared yet.");
    };
    let better = match row.kind {
        Kind::Speed => "of the speed",
        Kind::Memory | Kind::Reported => "of the memory",
        Kind::Tail => "of the p99.9",
    };
    let verdict = VERDICTS.iter().find(|(verdict, ..)| *verdict == row.verdict);
    let known = row.interval.map_or(String::new(), |_| format!(" {}", interval(row)));
    let text = format!(
        "worst row: {}, {}: {:.2} x {better} under {}{known}, bar {:.2}: {}.",
        row.workload,
        row.figure,
        row.ratio.unwrap_or_default(),
        row.best.as_ref().map_or("-", |best| best.variant.as_str()),
        row.bar.unwrap_or_default(),
        verdict.map_or("", |(_, word, _)| word)
    );
    wrap(&format!("{}: ", mode.variant), &text)
}

fn counts(mode: &Mode) -> String {
    let of = VERDICTS.iter().map(|(verdict, word, _)| format!("{} {word}", mode.count(*verdict)));
    of.collect::<Vec<_>>().join(", ")
}

/// The report.
pub(crate) fn text(report: &Report, paint: Paint) -> String {
    let mut out = wrap("", &format!("{}: {}", report.name, report.question)) + "\n";
    for mode in &report.modes {
        let is_bad = mode.count(Verdict::Beyond) > 0;
        let said = worst(mode);
        out += &if is_bad { paint.bad(&said) } else { said };
    }
    let [taken, planned] = report.runs;
    let quick = if report.quick { ", in the quick form" } else { "" };
    let skipped = report.absent.iter().filter(|one| one.variant.is_none()).count();
    let begun = format!(
        "{taken} of {planned} runs in {} ({} of {} workloads in {}{quick}); {skipped} workloads \
         skipped.",
        duration(report.seconds),
        report.workloads - skipped,
        report.workloads,
        counted(report.rounds, "round", "rounds"),
    );
    let _ = write!(out, "\n{}", wrap("", &begun));
    if report.runs[0] < report.runs[1] {
        let more = format!("A row needs {ROUNDS_MIN} rounds for an interval.");
        out += &wrap("", &more);
    }
    for mode in &report.modes {
        let _ = write!(
            out,
            "\n{}",
            paint.bold(&wrap("", &format!("{}: {}", mode.variant, counts(mode))))
        );
        for (verdict, _, title) in VERDICTS {
            let compared = mode.rows.iter().filter(|row| row.ratio.is_some());
            let mut rows = compared.filter(|row| row.verdict == verdict).peekable();
            if rows.peek().is_some() {
                let _ = write!(out, "\n{title}\n{}", paint.dim(&head()));
                rows.for_each(|row| out += &line(row));
            }
        }
    }
    out + &waiting(report) + &absent(report) + &legend(report)
}

/// Rows of which there is nothing to see yet.
fn waiting(report: &Report) -> String {
    let rows = report.modes.iter().flat_map(|mode| &mode.rows);
    let waiting = rows.filter(|row| row.ratio.is_none()).count();
    if waiting == 0 {
        return String::new();
    }
    let rows = counted(waiting, "row has", "rows have");
    format!("\n{}", wrap("", &format!("{rows} nothing to be compared with yet.")))
}

/// What says nothing, and why.
fn absent(report: &Report) -> String {
    let mut out = if report.absent.is_empty() { String::new() } else { "\n".to_owned() };
    for one in &report.absent {
        let (first, why) = match &one.variant {
            None => (format!("Skipped: {}: ", one.workload), one.why.clone()),
            Some(variant) if one.failed == 0 => {
                (format!("Left out: {}, {variant}: ", one.workload), one.why.clone())
            }
            Some(variant) => {
                let failed = counted(one.failed, "run", "runs");
                (format!("Failed: {}, {variant}: ", one.workload), format!("{failed}: {}", one.why))
            }
        };
        out += &wrap("", &printable(&(first + &why)));
    }
    out
}

fn legend(report: &Report) -> String {
    let bars = &report.bars;
    let said = format!(
        "A ratio is the mode as a multiple of the best other variant, times as speeds: speed at \
         least {:.2}, memory at most {:.2}, p99.9 at most {:.2}. The best is picked in every \
         other round and compared by its runs in the rest.",
        bars.speed, bars.memory, bars.tail
    );
    format!("\n{}", wrap("", &said))
}

/// Where more is.
pub(crate) fn places(directory: &str) -> String {
    let said = format!("{directory}/WORKLOAD/report.html, {directory}/regret.json");
    format!("\n{}", wrap("Each workload, and all of it: ", &said))
}

/// What would be run.
pub(crate) fn planned(
    suite: &Suite,
    parts: &[Part],
    report: &Report,
    wide: &BTreeSet<(String, String)>,
    seconds: f64,
) -> String {
    let mut out = wrap("", &format!("{}: {}", suite.name, suite.question));
    let _ = write!(out, "\n{}\nVariants:\n", wrap("", suite.about.trim()));
    let first = parts.first().map(|part| &part.experiment.variants);
    for variant in first.into_iter().flatten() {
        let mut about = variant.about.clone();
        if about.is_empty() {
            let own = variant.settings.iter().map(|(key, value)| format!("{key} = {value}"));
            about = own.collect::<Vec<_>>().join(", ");
        }
        if let Some(manage) = &variant.manage {
            let _ = write!(about, " with hugewise, mode {}", manage.mode.key());
        }
        out += &wrap(&format!("  {:<15} ", variant.name), &about);
    }
    out += "\nWorkloads, and what is compared:\n";
    for part in parts {
        let keys = part.figures.iter().map(|figure| figure.key.as_str());
        out += &wrap(&format!("  {:<15} ", part.name), &keys.collect::<Vec<_>>().join(", "));
    }
    if !wide.is_empty() {
        let keys: BTreeSet<&str> = wide.iter().map(|(key, _)| key.as_str()).collect();
        let said = format!(
            "{} concern every program of this machine while a run lasts: 'run' needs \
             --machine-wide",
            keys.into_iter().collect::<Vec<_>>().join(", ")
        );
        let _ = write!(out, "\n{}", wrap("Note: ", &said));
    }
    out += &absent(report);
    let runs = counted(report.runs[1], "run", "runs");
    let rounds = counted(report.rounds, "round", "rounds");
    let _ = writeln!(out, "\n{runs} in {rounds}, up to {} in all.", duration(seconds));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text::width;
    use hugewise_base::stats::Interval;
    use hugewise_experiment::regret::{Absent, Bars, Best};

    fn row(workload: &str, figure: &str, ratio: f64, verdict: Verdict) -> Row {
        Row {
            workload: workload.into(),
            phase: "steady".into(),
            figure: figure.into(),
            kind: Kind::Speed,
            digits: 0,
            ours: Some(123_456_789.0 * ratio),
            best: Some(Best { variant: "always-409".into(), value: 123_456_789.0 }),
            ratio: Some(ratio),
            interval: Interval::new(ratio * 0.9, ratio * 1.1),
            bar: Some(0.95),
            verdict,
        }
    }

    #[test]
    fn the_worst_row_is_said_first_and_no_line_is_too_wide() {
        let mut unknown = row("gups", "fill_s", 1.0, Verdict::Inconclusive);
        (unknown.ratio, unknown.best) = (None, None);
        let rows = vec![
            row("java-allocation", "start.allocated_mib_per_s", 0.5, Verdict::Beyond),
            unknown,
            row("a-name-of-many-letters", "ops_per_s", 12.0, Verdict::Holds),
        ];
        let why = "it said \x1b[31m and more words than one line of a terminal has room for".into();
        let report = Report {
            schema: 1,
            name: "n".into(),
            question: "Where?".into(),
            quick: false,
            workloads: 3,
            rounds: 6,
            runs: [9, 18],
            seconds: 100.0,
            bars: Bars { speed: 0.95, memory: 1.05, tail: 1.2 },
            modes: vec![Mode { variant: "ingens".into(), rows }],
            absent: vec![Absent { workload: "w".into(), variant: None, failed: 0, why }],
            environment: serde_json::Value::Null,
            began: None,
        };
        let text = text(&report, Paint::plain());
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        let first = text.lines().nth(2).expect("a line");
        assert!(first.starts_with("ingens: worst row: java-allocation, start.alloc"), "{text}");
        for words in ["1 beyond, 1 inconclusive, 1 holds", "1 row has nothing", "Skipped: w: it"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains('\x1b') && text.contains("61.7 M 123.5 M always-409"), "{text}");
    }
}
