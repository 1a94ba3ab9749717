//! Which rate is tried next.

use super::judge::{Bounds, is_served};
use super::step::Step;

/// The highest served rate and the lowest other one are that near to each other at the end: 10 %.
/// A judgement: a load of ten seconds tells no less apart.
const NEAR: f64 = 1.1;
/// So many served rates tell how the use of a resource grows.
const SERVED_MIN: usize = 4;
/// Rates below the highest served one, where there are too few.
const BELOW: [f64; 3] = [0.7, 0.5, 0.3];
/// A rate that was all but served is tried once more: something else may have disturbed it.
const ALL_BUT: f64 = 0.95;
/// A rate that is answered, if late, is not the most that can be: so much more is tried.
const BEYOND: f64 = 1.3;
/// Most rates of a search, those tried twice counted twice. Ours: half an hour of long steps.
const STEPS_MAX: usize = 40;

/// Where a search begins, and what it never exceeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// The first rate.
    pub from_per_s: f64,
    /// The highest rate that may be tried.
    pub most_per_s: f64,
    /// What a served rate must keep.
    pub bounds: Bounds,
}

impl Search {
    /// The next rate to try; `None` at the end. First each is twice the one before, then in the
    /// middle of what is served and what is not, at last far enough beyond.
    pub fn next(&self, tried: &[Step]) -> Option<f64> {
        let Some(first) = tried.first() else { return Some(self.from_per_s) };
        if tried.len() >= STEPS_MAX {
            return None;
        }
        let served = |rate: f64| {
            let mut of_rate = tried.iter().filter(|step| step.rate_per_s == rate);
            of_rate.any(|step| is_served(step, first, self.bounds))
        };
        let rates = || tried.iter().map(|step| step.rate_per_s);
        let high = rates().filter(|rate| !served(*rate)).min_by(f64::total_cmp);
        let Some(high) = high else {
            let last = rates().fold(0.0, f64::max);
            return (last < self.most_per_s).then(|| (2.0 * last).min(self.most_per_s));
        };
        if again(tried, high) {
            return Some(high);
        }
        let below = || rates().filter(|rate| *rate < high);
        let low = below().max_by(f64::total_cmp)?;
        if high / low > NEAR {
            return Some(rounded((high * low).sqrt()));
        }
        let mut known: Vec<f64> = below().collect();
        known.sort_by(f64::total_cmp);
        known.dedup();
        let new = |rate: &f64| known.iter().all(|known| rate.max(*known) / rate.min(*known) > NEAR);
        let mut more = BELOW.iter().map(|share| rounded(low * share)).filter(|rate| *rate >= 1.0);
        let more = if known.len() < SERVED_MIN { more.find(new) } else { None };
        more.or_else(|| self.beyond(tried))
    }

    /// A rate beyond all that is answered: how much is answered then is the most there is.
    fn beyond(&self, tried: &[Step]) -> Option<f64> {
        let top = tried.iter().max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?;
        let answered = top.achieved_per_s >= ALL_BUT * top.offered_per_s;
        let more = rounded(BEYOND * top.rate_per_s);
        (answered && more <= self.most_per_s).then_some(more)
    }
}

/// Whether a rate was nearly served, and once only.
fn again(tried: &[Step], rate: f64) -> bool {
    let mut of_rate = tried.iter().filter(|step| step.rate_per_s == rate);
    match (of_rate.next(), of_rate.next()) {
        (Some(only), None) => only.achieved_per_s >= ALL_BUT * only.offered_per_s,
        _ => false,
    }
}

/// Three digits: nobody wants to read more.
fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.max(1.0).log10().floor() - 2.0).max(0.001);
    (rate / unit).round() * unit
}
