//! The summary's sentences.

use super::{Against, Compared, Row, Summary};
use crate::lab::compare::{Estimate, Judgement, decimals, two_digits_up};
use crate::lab::metric::{Better, Metric};
use crate::stats::Interval;

/// From this size on figures are written in millions.
const LARGE: f64 = 1e7;
/// Most metrics in the headline; the sentences below it have all.
const HEADLINE_METRICS: usize = 3;

/// What a metric is, as a noun: its meaning in the table, or the key itself.
pub(super) fn title(key: &str, known: Option<&Metric>) -> String {
    let Some(known) = known else { return key.to_owned() };
    // What follows the first comma or semicolon explains; a noun has to be short.
    let noun = known.help.split([',', ';']).next().unwrap_or(known.help).trim_end_matches('.');
    match key.strip_suffix(known.name).and_then(|phase| phase.strip_suffix('.')) {
        Some(phase) => format!("{noun} ({phase})"),
        None => noun.to_owned(),
    }
}

/// A figure with `digits` after the point; more where a small one would lose its second digit.
#[must_use]
pub fn number(value: f64, digits: usize) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".into();
    }
    if size >= LARGE {
        return format!("{:.2} M", value / 1e6);
    }
    let mut digits = digits.min(6);
    if value != 0.0 && value.fract() != 0.0 {
        while digits < 6 && size < 10f64.powi(1 - i32::try_from(digits).unwrap_or(0)) {
            digits += 1;
        }
    }
    format!("{value:.digits$}")
}

/// A figure with its unit.
#[must_use]
pub fn with_unit(value: f64, row: &Row) -> String {
    let number = number(value, row.digits);
    if row.unit.is_empty() { number } else { format!("{number} {}", row.unit) }
}

/// A ratio, `1.84 x`.
#[must_use]
pub fn ratio(estimate: &Estimate) -> String {
    let digits = decimals(estimate.value, estimate.interval, 1.0);
    format!("{:.digits$} x", estimate.value)
}

/// The interval of a ratio, `1.80 to 1.89`; `None` where it has none.
#[must_use]
pub fn interval(estimate: &Estimate) -> Option<String> {
    let digits = decimals(estimate.value, estimate.interval, 1.0);
    estimate.interval.map(|Interval { low, high }| format!("{low:.digits$} to {high:.digits$}"))
}

/// A difference with its sign and unit, `+3.2 MiB`.
#[must_use]
pub fn difference(estimate: &Estimate, row: &Row) -> String {
    let sign = if estimate.value > 0.0 { "+" } else { "" };
    format!("{sign}{}", with_unit(estimate.value, row))
}

/// A probability: `0.012`, `below 0.001`.
#[must_use]
pub fn probability(p: f64) -> String {
    if p < 0.001 { "below 0.001".into() } else { format!("{p:.3}") }
}

/// The good direction in words; empty where there is none.
#[must_use]
pub const fn direction(better: Better) -> &'static str {
    match better {
        Better::Lower => "less is better",
        Better::Higher => "more is better",
        Better::Neither => "",
    }
}

/// Several names: `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A row's variants that are compared with the baseline.
fn compared<'a>(
    summary: &'a Summary,
    row: &'a Row,
) -> impl Iterator<Item = (&'a Compared, &'a Against)> {
    let all = summary.variants.iter().zip(&row.cells);
    all.filter_map(|(variant, cell)| Some((variant, cell.against.as_ref()?)))
}

/// `1.84 x`, or the difference where there is no ratio.
fn size(against: &Against, row: &Row) -> String {
    match (&against.ratio, &against.shift) {
        (Some(estimate), _) => ratio(estimate),
        (None, Some(shift)) => difference(shift, row),
        (None, None) => "of unknown size".into(),
    }
}

/// What a deciding metric says, in half a sentence.
fn clause(summary: &Summary, row: &Row, baseline: &str) -> String {
    let named = |is: fn(&Judgement) -> bool, sizes: bool| -> String {
        let all = compared(summary, row);
        let hit = all.filter(|(_, against)| against.judgement.as_ref().is_some_and(is));
        let text = |(variant, against): (&Compared, &Against)| match sizes {
            true => format!("{} {}", variant.name, size(against, row)),
            false => variant.name.clone(),
        };
        listed(&hit.map(text).collect::<Vec<_>>())
    };
    let within = row.equal_within_percent.map_or(String::new(), |p| format!(" within {p} %"));
    let parts = [
        ("", named(|one| *one == Judgement::Better, true), ": better".to_owned()),
        ("", named(|one| *one == Judgement::Worse, true), ": worse".to_owned()),
        ("", named(|one| *one == Judgement::Different, true), String::new()),
        ("", named(|one| *one == Judgement::Same, false), format!(" the same{within}")),
        ("no difference seen for ", named(Judgement::is_unseen, false), String::new()),
        ("too few runs to judge ", named(Judgement::is_too_few, false), String::new()),
        ("nothing known of ", named(Judgement::is_unknown, false), String::new()),
    ];
    let parts = parts.into_iter().filter(|(_, names, _)| !names.is_empty());
    let parts: Vec<_> =
        parts.map(|(before, names, after)| [before, &names, &after].concat()).collect();
    match parts.is_empty() {
        true => format!("{}: nothing to compare with {baseline}", row.title),
        false => format!("{}, against {baseline}: {}", row.title, parts.join("; ")),
    }
}

/// What a reader must know before the verdict itself.
fn preliminary(summary: &Summary) -> String {
    let runs = summary.runs;
    let mut parts = Vec::new();
    if runs.taken < runs.planned {
        parts.push(format!("preliminary ({} of {} runs)", runs.taken, runs.planned));
    }
    // A single noisy run of many is a warning; from a quarter on it may be the whole result.
    if runs.noisy * 4 >= runs.done.max(1) {
        parts.push(format!("on a noisy machine ({} of {} runs)", runs.noisy, runs.done));
    }
    let mut text = parts.join(", ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
        text.push_str(". ");
    }
    text
}

/// The answer in one sentence.
pub(super) fn headline(summary: &Summary) -> String {
    let runs = summary.runs;
    if runs.taken == 0 {
        return "Nothing has been run yet.".into();
    }
    if runs.done == 0 {
        return format!("No run went through: all {} failed.", runs.failed);
    }
    let before = preliminary(summary);
    let Some(baseline) = &summary.baseline else {
        return format!("{before}No verdict: the baseline was left out.");
    };
    let deciding: Vec<_> = summary.deciding().collect();
    if deciding.is_empty() {
        return format!("{before}No metric decides: the figures are for information.");
    }
    if summary.variants.len() == 1 {
        return format!("{before}Only {baseline} was run: there is nothing to compare it with.");
    }
    let clauses = deciding.iter().take(HEADLINE_METRICS);
    let clauses: Vec<_> = clauses.map(|row| clause(summary, row, baseline)).collect();
    format!("{before}{}.", clauses.join(". "))
}

fn finding(summary: &Summary, row: &Row, variant: &Compared, against: &Against) -> Option<String> {
    let (baseline, sentence) = (summary.baseline.as_ref()?, against.sentence.as_ref()?);
    let median = |name: &str| {
        let index = summary.variants.iter().position(|one| one.name == name)?;
        let spread = row.cells.get(index)?.spread.as_ref()?;
        Some(with_unit(spread.median, row))
    };
    let p = against.p.map_or(String::new(), |p| format!(" (p {})", probability(p)));
    Some(format!(
        "{}: {} {} against {}: {sentence}{p}.",
        row.title,
        variant.name,
        median(&variant.name)?,
        median(baseline)?
    ))
}

/// A sentence for every deciding metric and variant.
pub(super) fn found(summary: &Summary) -> Vec<String> {
    let of_row = |row| {
        let all = compared(summary, row);
        all.filter_map(move |(variant, against)| finding(summary, row, variant, against))
    };
    summary.deciding().flat_map(of_row).collect()
}

/// What the experiment could have seen.
pub(super) fn sensitivity(summary: &Summary) -> Vec<String> {
    let of_row = |row: &Row| {
        let visible = |(variant, against): (&Compared, &Against)| {
            let percent = against.smallest_visible_percent?;
            Some((format!("{} {} %", variant.name, two_digits_up(percent)), percent))
        };
        let all: Vec<_> = compared(summary, row).filter_map(visible).collect();
        let most = all.iter().map(|(_, percent)| *percent).reduce(f64::max)?;
        let each: Vec<_> = all.into_iter().map(|(text, _)| text).collect();
        let each = if each.len() > 1 { format!(": {}", each.join(", ")) } else { String::new() };
        let (title, most) = (&row.title, two_digits_up(most));
        Some(format!(
            "{title}: a difference of {most} % would be seen in four of five such experiments{each}."
        ))
    };
    summary.deciding().filter_map(of_row).collect()
}

impl Judgement {
    const fn is_unseen(&self) -> bool {
        matches!(self, Self::NoDifferenceSeen { .. })
    }

    const fn is_too_few(&self) -> bool {
        matches!(self, Self::TooFew { .. })
    }

    const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// A few words for a table.
    #[must_use]
    pub const fn short(&self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Different => "different",
            Self::Same => "the same",
            Self::NoDifferenceSeen { .. } => "none seen",
            Self::TooFew { .. } => "too few runs",
            Self::Unknown(_) => "unknown",
        }
    }
}
