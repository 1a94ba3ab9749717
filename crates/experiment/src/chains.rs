//! Chains of calls that runs were met in, by the kernel's functions: what differs between variants
//! is drawn from them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Begins the note of a run that has none, before the reason.
pub const NONE: &str = "no chains of calls: ";

/// Most chains of a run, those that were met most often: some 300 bytes each.
const CHAINS_MAX: usize = 400;

/// What the CPUs ran in a run, or in all of a variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Chains {
    /// How long they were watched.
    pub seconds: f64,
    /// How often each chain was met: the program, then functions from the outermost to the
    /// innermost, parted by semicolons. Those of the kernel end in `_[k]`.
    pub samples: BTreeMap<String, u64>,
    /// Samples of chains that found no room.
    pub left_out: u64,
}

impl Chains {
    /// The chains of a run that were met most often, of all with how often each was met.
    pub fn of(seconds: f64, folded: &BTreeMap<String, f64>, left_out: f64) -> Self {
        let folded = folded.iter();
        let mut all: Vec<(&String, u64)> = folded.map(|(at, n)| (at, whole(*n))).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let rest: u64 = all.iter().skip(CHAINS_MAX).map(|(_, count)| count).sum();
        let kept = all.into_iter().take(CHAINS_MAX);
        let samples = kept.map(|(chain, count)| (chain.clone(), count)).collect();
        Self { seconds, samples, left_out: whole(left_out).saturating_add(rest) }
    }

    /// Several runs, added up; `None` where nothing was seen.
    pub fn pooled<'a>(runs: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut pooled = Self::default();
        for run in runs.into_iter().filter(|run| run.seconds > 0.0) {
            pooled.seconds += run.seconds;
            pooled.left_out = pooled.left_out.saturating_add(run.left_out);
            for (chain, count) in &run.samples {
                let sum = pooled.samples.entry(chain.clone()).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        (pooled.seconds > 0.0 && !pooled.samples.is_empty()).then_some(pooled)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(count: f64) -> u64 {
    count.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: f64, chains: &[(&str, f64)]) -> Chains {
        let folded = chains.iter().map(|(chain, n)| ((*chain).to_owned(), *n)).collect();
        Chains::of(seconds, &folded, 2.0)
    }

    #[test]
    fn runs_are_added_up() {
        let runs = [of(2.0, &[("p;f", 3.0), ("p", 1.0)]), of(4.0, &[("p;f", 5.0)])];
        let pooled = Chains::pooled(&runs).expect("chains");
        assert_eq!((pooled.seconds, pooled.left_out), (6.0, 4));
        assert_eq!((pooled.samples["p;f"], pooled.samples["p"]), (8, 1));
        assert_eq!(Chains::pooled(&[]), None);
        assert_eq!(Chains::pooled(&[of(0.0, &[("p", 1.0)])]), None);
    }

    #[test]
    fn a_run_has_the_chains_that_were_met_most() {
        let names: Vec<String> = (0..500).map(|n| format!("p;f{n}")).collect();
        let counts = (0..500).map(f64::from);
        let all: Vec<_> = names.iter().map(String::as_str).zip(counts).collect();
        let chains = of(1.0, &all);
        assert_eq!(chains.samples.len(), CHAINS_MAX);
        assert_eq!(chains.left_out, 2 + (0..100).sum::<u64>());
        assert!(chains.samples.contains_key("p;f499") && !chains.samples.contains_key("p;f99"));
    }
}
