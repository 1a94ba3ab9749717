//! How many free blocks are wanted at once: as many as were within a short time in the last
//! minutes.
//!
//! Faults and promotions that find no block wait for the kernel to make one, or do without. So as
//! many are kept free as were wanted before, found or not.

use hugewise_base::units::Ns;
use std::collections::{BTreeMap, VecDeque};

/// What is wanted within this time is wanted at once: a run of compaction takes seconds until its
/// blocks are there (`docs/measurements.md#compaction`).
const AT_ONCE: Ns = Ns::s(10);
/// So many of these times are remembered: five minutes
/// (`docs/measurements.md#defaults-by-choice`).
const REMEMBERED: usize = 30;

/// Counters of `/proc/vmstat` that say how often a block was wanted: by a fault or a collapse, with
/// and without success (`include/linux/vm_event_item.h`, kernel 6.18).
const WANTED: [&str; 4] =
    ["thp_fault_alloc", "thp_fault_fallback", "thp_collapse_alloc", "thp_collapse_alloc_failed"];

/// Blocks that were wanted in each of the last times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Demand {
    /// All that were wanted since boot, when last seen.
    total: Option<u64>,
    /// The last one is under way.
    times: VecDeque<u64>,
    /// When it began.
    began: Ns,
}

impl Demand {
    /// Takes the counters of the machine.
    pub fn observe(&mut self, vmstat: &BTreeMap<String, u64>, now: Ns) {
        let known = WANTED.iter().filter_map(|name| vmstat.get(*name));
        let total = known
            .fold(None, |sum: Option<u64>, count| Some(sum.unwrap_or(0).saturating_add(*count)));
        let before = std::mem::replace(&mut self.total, total);
        let wanted = total.zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
        let passed = now.since(self.began).0 / AT_ONCE.0;
        if self.times.is_empty() || passed > 0 {
            for _ in 0..passed.clamp(1, REMEMBERED as u64) {
                self.times.push_back(0);
            }
            self.began = now;
        }
        while self.times.len() > REMEMBERED {
            self.times.pop_front();
        }
        if let Some(last) = self.times.back_mut() {
            *last = last.saturating_add(wanted);
        }
    }

    /// As many as were ever wanted at once, within what is remembered.
    pub fn most(&self) -> u64 {
        self.times.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vmstat(found: u64, missed: u64) -> BTreeMap<String, u64> {
        let names = ["thp_fault_alloc", "thp_fault_fallback"].map(str::to_owned);
        names.into_iter().zip([found, missed]).collect()
    }

    #[test]
    fn what_was_wanted_at_once_is_remembered_for_five_minutes() {
        let mut demand = Demand::default();
        demand.observe(&vmstat(5_000, 0), Ns::s(1));
        assert_eq!(demand.most(), 0, "since boot: nobody knows when");
        demand.observe(&vmstat(5_100, 20), Ns::s(2));
        demand.observe(&vmstat(5_100, 40), Ns::s(3));
        assert_eq!(demand.most(), 140);
        for second in 4..300 {
            let found = if second < 100 { 5_100 } else { 5_101 };
            demand.observe(&vmstat(found, 40), Ns::s(second));
        }
        assert_eq!(demand.most(), 140);
        demand.observe(&vmstat(5_101, 40), Ns::s(310));
        assert_eq!(demand.most(), 1);
        demand.observe(&vmstat(5_101, 40), Ns::s(10_000));
        assert_eq!(demand.most(), 0);
    }

    #[test]
    fn counters_that_fall_or_are_gone_ask_for_nothing() {
        let mut demand = Demand::default();
        for counters in [vmstat(9, 9), vmstat(1, 1), BTreeMap::new(), vmstat(500, 0)] {
            demand.observe(&counters, Ns::s(1));
        }
        assert_eq!(demand.most(), 0);
    }
}
