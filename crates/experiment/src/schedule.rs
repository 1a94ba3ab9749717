//! Which run comes next: every variant once in each repetition, in an order that chance makes.
//!
//! Neighbours in time share what the machine does, so variants are compared within repetitions;
//! the random order keeps a trend of the machine, and whoever runs first, from favouring one of
//! them. The order follows from the seed alone: an experiment that was interrupted goes on as it
//! would have.

use hugewise_base::rng::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One run: a variant in a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Turn {
    /// Repetition, from 0.
    pub repetition: u32,
    /// Index of the variant in the file.
    pub variant: usize,
}

/// The order of the variants in a repetition.
pub fn order(seed: u64, repetition: u32, variants: usize) -> Vec<usize> {
    let mut rng = Rng::new(seed ^ (u64::from(repetition) + 1).wrapping_mul(0xd6e8_feb8_6659_fd93));
    let mut order: Vec<_> = (0..variants).collect();
    for at in (1..variants).rev() {
        let other = usize::try_from(rng.below(at as u64 + 1)).unwrap_or(at);
        order.swap(at, other);
    }
    order
}

/// The first turn of `repetitions` that is not `done`; `None` when all are.
pub fn next(seed: u64, repetitions: u32, variants: usize, done: &BTreeSet<Turn>) -> Option<Turn> {
    let turns = (0..repetitions).flat_map(|repetition| {
        let order = order(seed, repetition, variants).into_iter();
        order.map(move |variant| Turn { repetition, variant })
    });
    turns.into_iter().find(|turn| !done.contains(turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_runs_once_in_each_repetition_and_no_place_is_its_own() {
        let mut places = [[0u32; 4]; 4];
        for repetition in 0..4000 {
            let order = order(7, repetition, 4);
            let all: BTreeSet<_> = order.iter().copied().collect();
            assert_eq!(all.len(), 4);
            for (place, variant) in order.into_iter().enumerate() {
                places[variant][place] += 1;
            }
        }
        // A quarter of 4000 each; 150 are more than five standard deviations (27.4).
        assert!(places.iter().flatten().all(|n| n.abs_diff(1000) < 150), "{places:?}");
    }

    #[test]
    fn an_interrupted_experiment_goes_on_where_it_was() {
        let (mut done, mut all) = (BTreeSet::new(), Vec::new());
        while let Some(turn) = next(1, 3, 5, &done) {
            done.insert(turn);
            all.push(turn);
        }
        assert_eq!(all.len(), 15);
        let half: BTreeSet<_> = all[..7].iter().copied().collect();
        assert_eq!(next(1, 3, 5, &half), Some(all[7]));
        // A run that is lost is made up for first.
        let mut hole = done;
        hole.remove(&all[3]);
        assert_eq!(next(1, 3, 5, &hole), Some(all[3]));
    }
}
