//! One variant against the baseline by one metric.

use crate::metric::Better;
use hugewise_base::stats::shift::Pairs;
use hugewise_base::stats::spread::pooled_deviation;
use hugewise_base::stats::visible::{POWER, shift_in_deviations};
use hugewise_base::stats::{Interval, median};
use serde::{Deserialize, Serialize};

/// How a metric is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The accepted chance of seeing any difference in a family of comparisons without one.
    pub alpha: f64,
    /// Differences up to so many percent of the baseline do not matter; `None` where nobody said.
    pub equal_within_percent: Option<f64>,
    /// Which direction is wanted.
    pub better: Better,
}

impl Default for Rule {
    /// Alpha 0.05, the convention of most fields.
    fn default() -> Self {
        Self { alpha: 0.05, equal_within_percent: None, better: Better::default() }
    }
}

/// One sample on its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// How many values, finite or not.
    pub n: usize,
    /// Their median; `None` unless all are finite.
    pub median: Option<f64>,
}

impl Side {
    fn of(values: &[f64]) -> Self {
        let finite = values.iter().all(|value| value.is_finite());
        Self { n: values.len(), median: finite.then(|| median(values)).flatten() }
    }
}

/// An estimate and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate of Hodges and Lehmann.
    pub value: f64,
    /// Where the true value lies; `None` where so few values allow no such interval.
    pub interval: Option<Interval>,
}

impl Estimate {
    pub(super) fn of(pairs: &Pairs, alpha: f64) -> Self {
        Self { value: pairs.estimate(), interval: pairs.interval(alpha) }
    }
}

/// One variant against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The baseline's values.
    pub baseline: Side,
    /// The variant's values.
    pub other: Side,
    /// The variant as a multiple of the baseline, at the rule's alpha. `None` unless all values are
    /// above 0.
    pub ratio: Option<Estimate>,
    /// The variant less the baseline, in the metric's unit, at the rule's alpha.
    pub shift: Option<Estimate>,
    /// The chance of values at least as far apart, were there no difference: the rank test that
    /// both intervals invert. Decides.
    pub p: Option<f64>,
    /// The smallest difference, in percent of the baseline, that would have been found at the
    /// rule's alpha in four of five such experiments. `None` where none would, or where the
    /// baseline is 0.
    pub smallest_visible_percent: Option<f64>,
    /// Baseline and variant, for intervals of other levels. Raw results are written elsewhere.
    #[serde(skip)]
    pub(super) values: (Vec<f64>, Vec<f64>),
}

/// Compares a variant's values with the baseline's, each value a run.
pub fn compare(baseline: &[f64], other: &[f64], rule: &Rule) -> Comparison {
    let shift = Pairs::differences(baseline, other);
    let ratio = Pairs::ratios(baseline, other);
    Comparison {
        baseline: Side::of(baseline),
        other: Side::of(other),
        ratio: ratio.map(|pairs| Estimate::of(&pairs, rule.alpha)),
        p: shift.as_ref().map(Pairs::p),
        shift: shift.map(|pairs| Estimate::of(&pairs, rule.alpha)),
        smallest_visible_percent: visible_percent(baseline, other, rule.alpha),
        values: (baseline.to_vec(), other.to_vec()),
    }
}

/// The smallest difference in percent of the baseline that these sizes and this spread show.
pub(crate) fn visible_percent(baseline: &[f64], other: &[f64], alpha: f64) -> Option<f64> {
    let shift = shift_in_deviations(baseline.len(), other.len(), alpha, POWER)?;
    let percent = if baseline.iter().chain(other).all(|value| *value > 0.0) {
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        100.0 * (shift * pooled_deviation(&logs(baseline), &logs(other))?).exp_m1()
    } else {
        100.0 * shift * pooled_deviation(baseline, other)? / median(baseline)?.abs()
    };
    percent.is_finite().then_some(percent)
}
