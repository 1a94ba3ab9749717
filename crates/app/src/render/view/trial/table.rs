//! The result as text of at most 80 columns.

use super::model::Trial;
use super::verdict::{Figures, Verdict, duration, mib, tails};
use crate::render::text::columns;
use std::fmt::Write;

/// Everything that `try` prints.
pub(crate) fn text(trial: &Trial, verdict: &Verdict) -> String {
    let mut out = String::new();
    if let Some(reason) = &trial.simulated {
        push_wrapped(&mut out, "", &format!("{}\n", simulated(reason)));
        out.push('\n');
    }
    push_main(&mut out, &verdict.figures);
    if trial.simulated.is_none() {
        out.push('\n');
        push_tails(&mut out, &verdict.figures);
    }
    push_freeing(&mut out, trial, &verdict.figures);
    out.push('\n');
    for sentence in &verdict.found {
        push_wrapped(&mut out, "", sentence);
    }
    out.push_str("\nNot shown:\n");
    for sentence in &verdict.limits {
        push_wrapped(&mut out, "- ", sentence);
    }
    out
}

/// The sentence that stands wherever simulated figures stand.
pub(crate) fn simulated(reason: &str) -> String {
    format!("SIMULATED: no real memory was promoted, because {reason}.")
}

fn push_main(out: &mut String, figures: &[Figures; 3]) {
    let _ = writeln!(
        out,
        "{:9}{:>12}{:>19}{:>23}{:>17}",
        "", "huge", "memory", "random read, ns", "first touch"
    );
    let _ = writeln!(
        out,
        "{:9}{:>5}{:>7}{:>10}{:>9}{:>23}{:>8}{:>9}",
        "", "dense", "sparse", "RSS", "cgroup", "median [min..max]", "p99", "p99.9"
    );
    for row in figures {
        let percent = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.0}%"));
        let access = row.access.map_or("-".into(), |access| {
            // Four digits before the point leave no room for more of them after it.
            let digits = usize::from(access.max < 1000.0);
            let [median, min, max] = [access.median, access.min, access.max];
            format!("{median:.digits$} [{min:.digits$}..{max:.digits$}]")
        });
        let touch = |q| duration(row.first_touch.quantile(q));
        let _ = writeln!(
            out,
            "{:9}{:>5}{:>7}{:>10}{:>9}{access:>23}{:>8}{:>9}",
            row.variant,
            percent(row.dense_percent),
            percent(row.sparse_percent),
            mib(row.rss),
            mib(row.cgroup),
            touch(0.99),
            touch(0.999),
        );
    }
}

fn push_tails(out: &mut String, figures: &[Figures; 3]) {
    let groups = ("page fault", "mmap", "random read");
    let _ = writeln!(out, "{:20}{:>18}{:>20}{:>20}", "", groups.0, groups.1, groups.2);
    let heads = ["p99", "p99.9", "p99", "p99.9", "p99.9", "max"];
    let heads: String = heads.iter().map(|head| format!("{head:>10}")).collect();
    let _ = writeln!(out, "{:20}{heads}", "");
    for (variant, more, tail) in tails(figures) {
        let cells = [
            (&tail.fault, 0.99),
            (&tail.fault, 0.999),
            (&tail.map, 0.99),
            (&tail.map, 0.999),
            (&tail.access, 0.999),
            (&tail.access, 1.0),
        ];
        let cells = cells.map(|(all, q)| format!("{:>10}", duration(all.quantile(q))));
        let _ = writeln!(out, "{:20}{}", format!("{variant}{more}"), cells.concat());
    }
}

fn push_freeing(out: &mut String, trial: &Trial, figures: &[Figures; 3]) {
    if figures.iter().all(|figures| figures.freeing.is_none()) {
        return;
    }
    let title = format!("frees {} %: before", trial.free_percent);
    let (after, later, split) = ("right after", "settled", "huge pages split");
    let _ = writeln!(out, "\n{:9}{title:>22}{after:>15}{later:>14}{split:>20}", "");
    for row in figures {
        let (name, [before, after, later, split]) = (row.variant, row.freed_cells());
        let _ = writeln!(out, "{name:9}{before:>22}{after:>15}{later:>14}{split:>20}");
    }
}

/// Appends a sentence, broken at blanks; later lines are indented under the first.
fn push_wrapped(out: &mut String, first: &str, sentence: &str) {
    let (indent, mut line) = ("  ", first.to_owned());
    for word in sentence.split_whitespace() {
        let used = line.chars().count() + word.chars().count();
        if used >= columns() && !line.trim().is_empty() {
            let _ = writeln!(out, "{}", line.trim_end());
            line = indent.to_owned();
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text::WIDTH;
    use crate::render::view::trial::model::VARIANTS;
    use crate::render::view::trial::samples;

    #[test]
    fn fits_eighty_columns_and_names_every_variant() {
        for trial in [samples::real(), samples::simulated()] {
            let text = text(&trial, &Verdict::of(&trial));
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
            for variant in VARIANTS {
                assert!(text.lines().any(|line| line.starts_with(variant)), "{text}");
            }
        }
    }

    #[test]
    fn shows_ratios_losses_and_unknowns() {
        let trial = samples::real();
        let text = text(&trial, &Verdict::of(&trial));
        // Where lines are broken is not the question here.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("1.25x the speed of never, 0.98x of always"), "{text}");
        assert!(text.contains("+0.2 % memory against never (always: +22.9 %)"), "{text}");
        assert!(text.contains("hugewise loses to always here"), "{text}");
        assert!(text.contains("100.0 [99.0..101.0]"), "{text}");
        assert!(!text.contains("SIMULATED"), "{text}");
        assert!(text.contains("hugewise 420 MiB 419 MiB 131 MiB 205"), "{text}");
    }

    #[test]
    fn a_simulation_says_so_first_and_knows_no_times() {
        let trial = samples::simulated();
        let text = text(&trial, &Verdict::of(&trial));
        assert!(text.starts_with("SIMULATED: no real memory was promoted, because"), "{text}");
        assert!(!text.contains("x the speed"), "{text}");
        let row = text.lines().find(|line| line.starts_with("hugewise")).unwrap_or_default();
        assert!(row.ends_with('-'), "{row}");
        assert!(text.contains("frees 70 %: before"), "{text}");
    }
}
