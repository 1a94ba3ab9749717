//! The summary's sentences.

use super::answer::Summary;
use super::figures::{Against, Compared, Row};
use crate::compare::{Estimate, Judgement, decimals, two_digits_up};
use crate::metric::Better;
use hugewise_base::stats::Interval;

/// From this size on figures are written in millions.
const LARGE: f64 = 1e6;
/// From so many variants on their ratios are given as a range.
const MANY: usize = 3;

/// A figure with `digits` after the point; more where a small one would lose its second digit.
pub fn number(value: f64, digits: usize) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".into();
    }
    if size >= LARGE {
        let places = if size >= 1e8 { 1 } else { 3 };
        return format!("{:.places$} M", value / 1e6);
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
pub fn with_unit(value: f64, row: &Row) -> String {
    let number = number(value, row.digits);
    if row.unit.is_empty() { number } else { format!("{number} {}", row.unit) }
}

/// A ratio, `1.84 x`.
pub fn ratio(estimate: &Estimate) -> String {
    let digits = decimals(estimate.value, estimate.interval, 1.0);
    format!("{:.digits$} x", estimate.value)
}

/// The interval of a ratio, `1.80 to 1.89`; `None` where it has none.
pub fn interval(estimate: &Estimate) -> Option<String> {
    let digits = decimals(estimate.value, estimate.interval, 1.0);
    estimate.interval.map(|Interval { low, high }| format!("{low:.digits$} to {high:.digits$}"))
}

/// A difference with its sign and unit, `+3.2 MiB`.
pub fn difference(estimate: &Estimate, row: &Row) -> String {
    let sign = if estimate.value > 0.0 { "+" } else { "" };
    format!("{sign}{}", with_unit(estimate.value, row))
}

/// How a variant compares: `1.84 x` with the interval of the ratio, or the difference; empty where
/// neither is known.
pub fn comparison(against: &Against, row: &Row) -> (String, Option<String>) {
    match (&against.ratio, &against.shift) {
        (Some(estimate), _) => (ratio(estimate), interval(estimate)),
        (None, Some(shift)) => (difference(shift, row), None),
        (None, None) => (String::new(), None),
    }
}

/// A probability: `0.012`, `below 0.001`.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "below 0.001".into() } else { format!("{p:.3}") }
}

/// The good direction in words; empty where there is none.
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

/// The median of a variant with its unit.
fn median(summary: &Summary, row: &Row, name: &str) -> Option<String> {
    let index = summary.variants.iter().position(|one| one.name == name)?;
    let spread = row.cells.get(index)?.spread.as_ref()?;
    Some(with_unit(spread.median, row))
}

/// `1.84 x`, or the difference where there is no ratio, or the value where there is only one.
fn size(summary: &Summary, row: &Row, (variant, against): &(&Compared, &Against)) -> String {
    match comparison(against, row).0 {
        unknown if unknown.is_empty() => median(summary, row, &variant.name).unwrap_or_default(),
        known => known,
    }
}

/// Names with the sizes of their differences; of many variants the range of sizes.
fn sized(summary: &Summary, row: &Row, hit: &[(&Compared, &Against)]) -> String {
    let names: Vec<String> = hit.iter().map(|(variant, _)| variant.name.clone()).collect();
    let ratios: Option<Vec<_>> = hit.iter().map(|(_, against)| against.ratio).collect();
    let ends = ratios.filter(|all| all.len() >= MANY).and_then(|all| {
        let by_value = |a: &&Estimate, b: &&Estimate| a.value.total_cmp(&b.value);
        Some((ratio(all.iter().min_by(by_value)?), ratio(all.iter().max_by(by_value)?)))
    });
    match ends {
        Some((low, high)) if low == high => format!("{} {low}", listed(&names)),
        Some((low, high)) => {
            format!("{} {} to {high}", listed(&names), low.trim_end_matches(" x"))
        }
        None => {
            let each = hit.iter().map(|one| format!("{} {}", one.0.name, size(summary, row, one)));
            listed(&each.collect::<Vec<_>>())
        }
    }
}

/// Whether some run of a variant lies within those of the baseline, or the other way round.
fn overlaps(summary: &Summary, row: &Row, variant: &Compared) -> bool {
    let spread = |is: &dyn Fn(&Compared) -> bool| {
        let place = summary.variants.iter().position(is)?;
        row.cells.get(place)?.spread
    };
    let pair = spread(&|one| one.is_baseline).zip(spread(&|one| one.name == variant.name));
    pair.is_some_and(|(base, other)| other.max >= base.min && base.max >= other.min)
}

/// What a deciding metric says.
fn verdict(summary: &Summary, row: &Row, baseline: &str) -> String {
    let hit = |is: fn(&Judgement) -> bool| -> Vec<(&Compared, &Against)> {
        let all = compared(summary, row);
        all.filter(|(_, against)| against.judgement.as_ref().is_some_and(is)).collect()
    };
    let sizes = |is: fn(&Judgement) -> bool| sized(summary, row, &hit(is));
    let names = |is: fn(&Judgement) -> bool| {
        listed(&hit(is).iter().map(|(one, _)| one.name.clone()).collect::<Vec<_>>())
    };
    let within = row.equal_within_percent.map_or(String::new(), |p| format!(" within {p} %"));
    let few = hit(Judgement::is_too_few);
    let mixed = few.iter().filter(|(variant, _)| overlaps(summary, row, variant));
    let mixed: Vec<String> = mixed.map(|(variant, _)| variant.name.clone()).collect();
    let parts = [
        ("", sizes(|one| *one == Judgement::Better), ", better".to_owned()),
        ("", sizes(|one| *one == Judgement::Worse), ", worse".to_owned()),
        ("", sizes(|one| *one == Judgement::Different), String::new()),
        ("", names(|one| *one == Judgement::Same), format!(" the same{within}")),
        ("no difference seen for ", names(Judgement::is_unseen), String::new()),
        ("", sized(summary, row, &few), " as measured, too few runs to judge".into()),
        ("runs overlap for ", listed(&mixed), String::new()),
        ("nothing known of ", names(Judgement::is_unknown), String::new()),
    ];
    let parts = parts.into_iter().filter(|(_, names, _)| !names.is_empty());
    let parts: Vec<_> =
        parts.map(|(before, names, after)| [before, &names, &after].concat()).collect();
    let title = &row.title;
    match parts.is_empty() {
        true => format!("{title}: nothing to compare with {baseline}."),
        false => format!("{title}, against {baseline}: {}.", parts.join("; ")),
    }
}

/// What a reader must know before the verdict itself.
fn preliminary(summary: &Summary) -> Option<String> {
    let runs = summary.runs;
    let mut parts = Vec::new();
    if runs.taken < runs.planned {
        parts.push(format!("only {} of {} runs so far", runs.taken, runs.planned));
    }
    // A single noisy run of many is a warning; from a quarter on it may be the whole result.
    if runs.noisy > 0 && runs.noisy * 4 >= runs.done {
        parts.push(format!("{} of {} runs on a noisy machine", runs.noisy, runs.done));
    }
    (!parts.is_empty()).then(|| format!("Preliminary: {}.", parts.join(", ")))
}

/// The answer, sentence by sentence.
pub(super) fn verdicts(summary: &Summary) -> Vec<String> {
    let runs = summary.runs;
    if runs.taken == 0 {
        return vec!["Nothing has been run yet.".into()];
    }
    if runs.done == 0 {
        return vec![format!("No run went through: all {} failed.", runs.failed)];
    }
    let mut all: Vec<String> = preliminary(summary).into_iter().collect();
    let deciding: Vec<_> = summary.deciding().collect();
    match &summary.baseline {
        None => all.push("No verdict: the baseline was left out.".into()),
        Some(_) if deciding.is_empty() => {
            all.push("No metric decides: the figures are for information.".into());
        }
        Some(baseline) if summary.variants.len() == 1 => {
            all.push(format!("Only {baseline} was run: there is nothing to compare it with."));
        }
        Some(baseline) => {
            all.extend(deciding.iter().map(|row| verdict(summary, row, baseline)));
        }
    }
    all
}

fn finding(summary: &Summary, row: &Row, variant: &Compared, against: &Against) -> Option<String> {
    let (baseline, sentence) = (summary.baseline.as_ref()?, against.sentence.as_ref()?);
    let p = against.p.map_or(String::new(), |p| format!(" (p {})", probability(p)));
    Some(format!(
        "{}: {} {} against {}: {sentence}{p}.",
        row.title,
        variant.name,
        median(summary, row, &variant.name)?,
        median(summary, row, baseline)?
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
        let all = compared(summary, row);
        let most = all.filter_map(|(_, against)| against.smallest_visible_percent);
        let most = two_digits_up(most.reduce(f64::max)?);
        let title = &row.title;
        Some(format!("{title}: a difference of {most} % is seen in four of five such experiments."))
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
