//! What a family of comparisons says.

use super::Better;
use super::comparison::{Comparison, Estimate, Rule, visible_percent};
use hugewise_base::stats::mann_whitney::values_needed;
use hugewise_base::stats::shift::Pairs;
use hugewise_base::stats::{Interval, adjust};
use serde::Serialize;

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The baseline or the variant has no values.
    NoValues,
    /// A value is infinite or no number.
    NotFinite,
    /// The values are too many to be paired, or too large to be subtracted.
    TooLarge,
    /// The rule's alpha does not lie between 0 and 1.
    NoAlpha,
}

impl Reason {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoValues => "one side has no values",
            Self::NotFinite => "a value is infinite or no number",
            Self::TooLarge => "the values are too many, or too large to be compared",
            Self::NoAlpha => "alpha must lie between 0 and 1",
        }
    }
}

/// What follows from a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// Different, in the wanted direction.
    Better,
    /// Different, in the unwanted direction.
    Worse,
    /// Different, and no direction is wanted.
    Different,
    /// The interval lies within what does not matter.
    Same,
    /// No difference seen, which is not the same as none.
    NoDifferenceSeen {
        /// A difference of so many percent of the baseline would have been found in four of five
        /// such experiments; `None` where the baseline is 0.
        could_have_seen_percent: Option<f64>,
    },
    /// So few values cannot show any difference, however large.
    TooFew {
        /// How many values both sides need.
        needed: usize,
    },
    /// Nothing can be said.
    Unknown(Reason),
}

/// A comparison, judged as one of a family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged<K> {
    /// Whose it is.
    pub key: K,
    /// What was judged; its intervals are those of a comparison that stands alone.
    pub comparison: Comparison,
    /// By which rule.
    pub rule: Rule,
    /// p after Holm's correction for the family.
    pub p_adjusted: Option<f64>,
    /// The share of the rule's alpha that Holm's procedure left for this comparison: the level at
    /// which the decision fell.
    pub level: f64,
    /// The variant as a multiple of the baseline, with its interval of level `1 - level`. It
    /// excludes 1 exactly where a difference was seen.
    pub ratio: Option<Estimate>,
    /// The variant less the baseline, likewise: excludes 0 where a difference was seen.
    pub shift: Option<Estimate>,
    /// What follows.
    pub judgement: Judgement,
}

/// Judges comparisons that are read together: variants against a baseline, metrics of a variant.
/// With the same alpha for all, the chance that any of them is called better, worse or different
/// without being so is at most alpha.
///
/// Comparisons with nothing to compare do not count as members; those with too few values do.
pub fn judge<K>(family: Vec<(K, Comparison, Rule)>) -> Vec<Judged<K>> {
    let unknown = |member: &(K, Comparison, Rule)| reason(&member.1, &member.2);
    let reasons: Vec<Option<Reason>> = family.iter().map(unknown).collect();
    let members = family.iter().zip(&reasons).filter(|(_, reason)| reason.is_none());
    // Too few values for any test: as sure of no difference as can be.
    let p = |comparison: &Comparison| comparison.p.unwrap_or(1.0);
    let tested: Vec<(f64, f64)> = members.map(|((_, c, rule), _)| (p(c), rule.alpha)).collect();
    let mut steps = steps(&tested).into_iter();
    let judged = family.into_iter().zip(reasons);
    let judged = judged.map(|((key, comparison, rule), reason)| {
        let step = if reason.is_none() { steps.next() } else { None };
        let judgement = |shift| match (reason, &step) {
            (None, Some(step)) => decide(&comparison, &rule, step, shift, tested.len()),
            (reason, _) => Judgement::Unknown(reason.unwrap_or(Reason::NoValues)),
        };
        let level = step.as_ref().map_or(rule.alpha, |step| step.level);
        let (baseline, other) = (&comparison.values.0, &comparison.values.1);
        let estimate = |pairs: Option<Pairs>| pairs.map(|pairs| Estimate::of(&pairs, level));
        let shift = estimate(Pairs::differences(baseline, other));
        let ratio = estimate(Pairs::ratios(baseline, other));
        let judgement = judgement((ratio, shift));
        let p_adjusted = comparison.p.and(step.map(|step| step.adjusted));
        Judged { key, comparison, rule, p_adjusted, level, ratio, shift, judgement }
    });
    judged.collect()
}

fn reason(comparison: &Comparison, rule: &Rule) -> Option<Reason> {
    let (baseline, other) = (&comparison.values.0, &comparison.values.1);
    let few = baseline.len().min(other.len()) < 2;
    if !(rule.alpha > 0.0 && rule.alpha < 1.0) {
        Some(Reason::NoAlpha)
    } else if baseline.is_empty() || other.is_empty() {
        Some(Reason::NoValues)
    } else if baseline.iter().chain(other).any(|value| !value.is_finite()) {
        Some(Reason::NotFinite)
    } else if !few && comparison.p.is_none() {
        Some(Reason::TooLarge)
    } else {
        None
    }
}

/// Where a comparison stands in Holm's procedure.
struct Step {
    differs: bool,
    level: f64,
    adjusted: f64,
}

/// Holm's procedure over p and alpha of each comparison.
///
/// The smallest p is held against alpha / m, the next one against alpha / (m - 1), and so on until
/// one fails, and with it all larger ones. So a comparison that differs was decided at the level of
/// its own step, and one that does not at the level of the step that failed: its p, being larger,
/// lies above that too. Intervals of these levels agree with the decisions.
fn steps(tested: &[(f64, f64)]) -> Vec<Step> {
    let mut order: Vec<usize> = (0..tested.len()).collect();
    order.sort_by(|a, b| tested[*a].0.total_cmp(&tested[*b].0));
    let p: Vec<f64> = tested.iter().map(|(p, _)| *p).collect();
    let adjusted = adjust::holm(&p).unwrap_or_else(|| vec![1.0; p.len()]);
    let mut steps: Vec<(usize, Step)> = Vec::with_capacity(tested.len());
    for (place, &index) in order.iter().enumerate() {
        let alpha = tested[index].1;
        let level = |step: usize| alpha / (tested.len() - step) as f64;
        let fails = |step: &usize| p[order[*step]] > level(*step);
        let failed = (0..=place).find(fails);
        let level = level(failed.unwrap_or(place));
        steps.push((index, Step { differs: failed.is_none(), level, adjusted: adjusted[index] }));
    }
    steps.sort_by_key(|(index, _)| *index);
    steps.into_iter().map(|(_, step)| step).collect()
}

fn decide(
    comparison: &Comparison,
    rule: &Rule,
    step: &Step,
    (ratio, shift): (Option<Estimate>, Option<Estimate>),
    members: usize,
) -> Judgement {
    let needed = || {
        let needed = values_needed(rule.alpha / members as f64);
        needed.map_or(Judgement::Unknown(Reason::NoAlpha), |needed| Judgement::TooFew { needed })
    };
    let Some(interval) = shift.and_then(|shift| shift.interval) else { return needed() };
    let middle = comparison.baseline.median.unwrap_or_default();
    if rule.equal_within_percent.is_some_and(|within| same(within, ratio, interval, middle)) {
        return Judgement::Same;
    }
    if step.differs {
        return match (rule.better, interval.low > 0.0) {
            (Better::Neither, _) => Judgement::Different,
            (Better::Lower, false) | (Better::Higher, true) => Judgement::Better,
            (Better::Lower, true) | (Better::Higher, false) => Judgement::Worse,
        };
    }
    let (baseline, other) = (&comparison.values.0, &comparison.values.1);
    let could_have_seen_percent = visible_percent(baseline, other, step.level);
    Judgement::NoDifferenceSeen { could_have_seen_percent }
}

/// Whether all of an interval lies within `percent` of no difference: of the ratio where there is
/// one, else of the shift as a share of the baseline's median.
fn same(percent: f64, ratio: Option<Estimate>, shift: Interval, middle: f64) -> bool {
    let (interval, neutral, unit) = match ratio.and_then(|ratio| ratio.interval) {
        Some(ratio) => (ratio, 1.0, 1.0),
        None => (shift, 0.0, middle.abs()),
    };
    let within = percent / 100.0 * unit;
    neutral - within <= interval.low && interval.high <= neutral + within
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
