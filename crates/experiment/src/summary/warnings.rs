//! What makes the figures doubtful, and what is missing.

use super::figures::{Row, Runs};
use super::material::Material;
use crate::metric;
use crate::record::{Record, Resumed};
use crate::spec::Variant;
use hugewise_base::count::counted;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most different reasons that a warning names.
const REASONS_MAX: usize = 3;

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// Runs on a machine that was not quiet.
    Noisy,
    /// Runs that did not go through.
    Failed,
    /// Not all runs of the plan have been taken.
    Incomplete,
    /// The baseline was left out, or has no values of a deciding metric.
    Baseline,
    /// A deciding metric has values of some runs of a variant only: those that it is missing of
    /// may be just the bad ones.
    Partial,
    /// A metric has no values in some variant, or one that does not decide only of some runs.
    Missing,
    /// What runs noted beside their values.
    Noted,
    /// Too few repetitions to claim any difference.
    TooFew,
    /// Values that are no numbers.
    NotANumber,
    /// Runs before which the machine did not come to rest.
    NotSettled,
    /// Variants that were left out.
    LeftOut,
    /// Later starts changed the repetitions, or found another machine.
    Resumed,
    /// Less was run than the experiment asks for.
    Quick,
    /// Records of variants that the experiment does not have, or that were left out.
    Foreign,
    /// Metrics that decide nothing and that no run measured.
    Unmeasured,
}

impl Concern {
    /// Whether no reader may overlook it: the figures themselves may be wrong.
    pub const fn is_loud(self) -> bool {
        matches!(
            self,
            Self::Noisy | Self::Failed | Self::Incomplete | Self::Baseline | Self::Partial
        )
    }
}

/// Something that a reader has to know before believing a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What it is about.
    pub concern: Concern,
    /// A sentence or several.
    pub text: String,
}

/// The text without its figures, and the first of these.
fn form(text: &str) -> (String, f64) {
    let figure = |c: char| c.is_ascii_digit() || c == '.';
    let digits = text.find(|c: char| c.is_ascii_digit()).map_or("", |at| &text[at..]);
    let digits = digits.split(|c| !figure(c)).next().unwrap_or_default();
    (text.replace(figure, ""), digits.parse().unwrap_or(0.0))
}

/// The most frequent texts with how often each occurs. Those that differ in figures alone count as
/// one; the one with the largest stands for them.
fn tally<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut groups: BTreeMap<String, (usize, BTreeMap<&str, f64>)> = BTreeMap::new();
    for text in texts {
        let (form, figure) = form(text);
        let (count, alike) = groups.entry(form).or_default();
        *count += 1;
        alike.insert(text, figure);
    }
    let mut all: Vec<_> = groups.into_values().collect();
    all.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let more = all.len().saturating_sub(REASONS_MAX);
    let named = all.iter().take(REASONS_MAX).filter_map(|(count, alike)| {
        let (text, _) = alike.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(match (count, alike.len()) {
            (1, _) => (*text).to_owned(),
            (count, 1) => format!("{text} ({count} times)"),
            (count, _) => format!("{text} (the most of {count})"),
        })
    });
    let mut named: Vec<_> = named.collect();
    named.extend((more > 0).then(|| counted(more, "more reason", "more reasons")));
    named.join("; ")
}

/// `by variant: never 2, always 4`, so that one can see whether it hit one of them.
fn by_variant<'a>(material: &Material<'_>, hit: impl Iterator<Item = &'a Record>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in hit {
        *counts.entry(&record.variant).or_default() += 1;
    }
    let named = material.active.iter().map(|variant| {
        let count = counts.get(variant.name.as_str()).copied().unwrap_or(0);
        format!("{} {count}", variant.name)
    });
    named.collect::<Vec<_>>().join(", ")
}

fn noisy(material: &Material<'_>, runs: Runs) -> Option<String> {
    let hit = || material.done().filter(|record| !record.conditions.noisy.is_empty());
    let why = tally(hit().flat_map(|record| &record.conditions.noisy).map(String::as_str));
    (runs.noisy > 0).then(|| {
        format!(
            "{} of {} on a machine that was not quiet: {why}. By variant: {}. What others did may \
             stand in the figures; repeat the experiment on an idle machine.",
            runs.noisy,
            counted(runs.done, "run was", "runs were"),
            by_variant(material, hit())
        )
    })
}

fn failed(material: &Material<'_>, runs: Runs) -> Option<String> {
    let errors = material.counted().filter_map(|record| Some((record, record.outcome.problem()?)));
    let all: Vec<_> = errors.collect();
    let why = tally(all.iter().map(|(_, error)| *error));
    let by_variant = by_variant(material, all.iter().map(|(record, _)| *record));
    (!all.is_empty()).then(|| {
        let of = counted(runs.done + runs.failed, "run", "runs");
        format!(
            "{} of {of} failed, and their values do not count: {why}. By variant: {by_variant}.",
            all.len()
        )
    })
}

fn incomplete(runs: Runs) -> Option<String> {
    (runs.taken < runs.planned).then(|| {
        let planned = counted(runs.planned, "planned run", "planned runs");
        format!(
            "Only {} of {planned} took place; start it again and it continues, unless \
             [stop] max_minutes has ended it.",
            runs.taken
        )
    })
}

fn unsettled(material: &Material<'_>) -> Option<String> {
    let hit = || material.done().filter(|record| record.conditions.settled_s.is_none());
    let limit = material.checked.experiment.settle.max_s;
    let count = hit().count();
    (count > 0).then(|| {
        format!(
            "Before {} memory did not come to rest within {limit} s. By variant: {}.",
            counted(count, "run", "runs"),
            by_variant(material, hit())
        )
    })
}

fn foreign(material: &Material<'_>) -> Option<String> {
    let known: BTreeSet<&str> = material.active.iter().map(|v| v.name.as_str()).collect();
    let others = material.records.iter().filter(|r| !known.contains(r.variant.as_str()));
    let names: Vec<&str> = others.map(|record| record.variant.as_str()).collect();
    (!names.is_empty()).then(|| {
        let count = counted(names.len(), "record belongs", "records belong");
        let names = tally(names.iter().copied());
        format!("{count} to no variant that is compared, and does not count: {names}.")
    })
}

fn no_numbers(material: &Material<'_>) -> Option<String> {
    let broken = |record: &Record| -> Vec<String> {
        let values = record.measured.values.iter();
        let broken = values.filter(|(_, value)| !value.is_finite());
        broken.map(|(key, _)| format!("{key} of {}", record.variant)).collect()
    };
    let all: Vec<String> = material.done().flat_map(broken).collect();
    let which = tally(all.iter().map(String::as_str));
    (!all.is_empty()).then(|| {
        let count = counted(all.len(), "value is no number", "values are no numbers");
        format!("{count} and not counted: {which}.")
    })
}

fn baseline(material: &Material<'_>, rows: &[Row]) -> Option<String> {
    let name = &material.checked.variants().get(material.checked.baseline)?.name;
    let Some(index) = material.baseline else {
        return Some(format!("The baseline {name} was left out: nothing is compared with it."));
    };
    let done = material.of(name).any(|(_, record)| record.is_done());
    let others = material.done().any(|record| record.variant != *name);
    if !done && others {
        return Some(format!("The baseline {name} has no run that went through."));
    }
    let lacks = |row: &&Row| row.decides && row.is_measured() && row.cells[index].spread.is_none();
    let lacking: Vec<_> = rows.iter().filter(lacks).map(|row| row.key.as_str()).collect();
    (!lacking.is_empty())
        .then(|| format!("The baseline {name} has no values of {}.", lacking.join(", ")))
}

/// Metrics without values in variants that have runs which went through.
fn missing(material: &Material<'_>, rows: &[Row]) -> Option<String> {
    let has_runs = |name: &str| material.done().any(|record| record.variant == name);
    let of_row = |row: &Row| {
        let cells = row.cells.iter().zip(&material.active);
        let empty = cells.filter(|(cell, _)| cell.spread.is_none());
        let names = empty.map(|(_, variant)| variant.name.as_str()).filter(|name| has_runs(name));
        let names: Vec<_> = names.collect();
        (!names.is_empty()).then(|| format!("{} was not measured in {}", row.key, names.join(", ")))
    };
    let measured = |row: &&Row| row.decides || (row.is_measured() && !metric::of_manager(&row.key));
    let asked = rows.iter().filter(measured);
    let mut all: Vec<_> = asked.filter_map(of_row).collect();
    all.extend(rows.iter().filter(|row| !row.decides).filter_map(|row| partly(material, row)));
    (!all.is_empty()).then(|| format!("{}.", all.join("; ")))
}

/// Variants of which some runs that went through have a value, and some have none.
fn partly(material: &Material<'_>, row: &Row) -> Option<String> {
    let of_variant = |variant: &&Variant| {
        let of_variant = |record: &&Record| record.variant == variant.name;
        let runs = || material.done().filter(of_variant);
        // A value that is no number is warned of by itself.
        let values = runs().filter(|one| one.measured.values.contains_key(&row.key));
        let (all, has) = (runs().count(), values.count());
        let runs = counted(all, "run", "runs");
        (0 < has && has < all).then(|| format!("{has} of {runs} of {}", variant.name))
    };
    let all: Vec<_> = material.active.iter().filter_map(of_variant).collect();
    (!all.is_empty()).then(|| format!("only {} have {}", all.join(", "), row.key))
}

fn partial(material: &Material<'_>, rows: &[Row]) -> Option<String> {
    let deciding = rows.iter().filter(|row| row.decides);
    let all: Vec<_> = deciding.filter_map(|row| partly(material, row)).collect();
    (!all.is_empty()).then(|| {
        let all = all.join("; ");
        format!("A deciding metric is missing of some runs, which may be just the bad ones: {all}.")
    })
}

fn noted(material: &Material<'_>) -> Option<String> {
    let notes = || material.done().flat_map(|record| &record.measured.notes).map(String::as_str);
    let all = tally(notes().map(|note| note.trim_end_matches('.')));
    (!all.is_empty()).then(|| format!("Noted by runs: {all}."))
}

/// What the file asks for and no run measured. The other metrics of a kind belong to scenarios and
/// variants that this experiment may not have.
fn unmeasured(material: &Material<'_>, rows: &[Row], runs: Runs) -> Option<String> {
    let wanted = &material.checked.experiment.metrics;
    let asked = rows.iter().filter(|row| wanted.iter().any(|metric| metric.key == row.key));
    let empty = asked.filter(|row| !row.decides && !row.is_measured());
    let keys: Vec<_> = empty.map(|row| row.key.as_str()).collect();
    (runs.done > 0 && !keys.is_empty()).then(|| format!("No run measured {}.", keys.join(", ")))
}

fn too_few(material: &Material<'_>, rows: &[Row]) -> Option<String> {
    let needed = |row: &Row| {
        let needed = row.cells.iter().filter_map(|cell| cell.against.as_ref()?.needed());
        needed.max()
    };
    let most = rows.iter().filter_map(needed).max()?;
    let cells = rows.iter().flat_map(|row| &row.cells);
    let short =
        cells.filter(|cell| cell.against.as_ref().is_some_and(|one| one.needed().is_some()));
    let have = short.map(|cell| cell.values.len()).min().unwrap_or(0);
    let rate = material.checked.experiment.stop.error_rate * 100.0;
    Some(format!(
        "{} of a variant {} too few: whatever the values, no difference could be claimed with \
         an error rate of {rate:.0} %. At least {most} are needed.",
        counted(have, "value", "values"),
        if have == 1 { "is" } else { "are" }
    ))
}

fn left_out(material: &Material<'_>) -> Option<String> {
    let without = &material.plan.without;
    let all: Vec<_> = without.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    (!all.is_empty()).then(|| format!("Left out: {}.", all.join(", ")))
}

/// Later starts that make the figures doubtful.
fn resumed(material: &Material<'_>) -> Option<String> {
    let of_start = |start: &Resumed| {
        let repetitions = start.repetitions.map(|repetitions| {
            format!(
                "The repetitions became {repetitions} when {} known already: who adds runs because \
                 of what was seen finds a difference by chance more often.",
                counted(start.runs, "run was", "runs were")
            )
        });
        let changed = start.environment_changed.join("; ");
        let changed = (!changed.is_empty()).then(|| {
            let runs = counted(start.runs, "run", "runs");
            format!("After {runs} it went on in another environment: {changed}.")
        });
        repetitions.into_iter().chain(changed).collect::<Vec<_>>()
    };
    let all: Vec<String> = material.plan.resumed.iter().flat_map(of_start).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// All warnings, the loud ones first.
pub(super) fn all(material: &Material<'_>, rows: &[Row], runs: Runs) -> Vec<Warning> {
    let quick = "This is the quick form of the experiment, for a first look: it runs less than the \
                 file asks for.";
    let all = [
        (Concern::Noisy, noisy(material, runs)),
        (Concern::Failed, failed(material, runs)),
        (Concern::Incomplete, incomplete(runs)),
        (Concern::Baseline, baseline(material, rows)),
        (Concern::Partial, partial(material, rows)),
        (Concern::Missing, missing(material, rows)),
        (Concern::TooFew, too_few(material, rows)),
        (Concern::NotANumber, no_numbers(material)),
        (Concern::NotSettled, unsettled(material)),
        (Concern::Noted, noted(material)),
        (Concern::LeftOut, left_out(material)),
        (Concern::Resumed, resumed(material)),
        (Concern::Quick, material.plan.quick.then(|| quick.into())),
        (Concern::Foreign, foreign(material)),
        (Concern::Unmeasured, unmeasured(material, rows, runs)),
    ];
    let known =
        all.into_iter().filter_map(|(concern, text)| Some(Warning { concern, text: text? }));
    known.collect()
}
