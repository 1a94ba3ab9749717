//! What simulated trackers show of simulated programs.

use super::{BASE, HUGE, PAGES, Sim};
use crate::base::units::{Addr, Ns};
use crate::manager::access::{Access, AccessAsk, AccessReport, Offer, Step};
use crate::manager::reason::SkipReason;

impl Sim {
    pub(super) fn offers(&self) -> Vec<Offer> {
        let offer = |tracker: &_| Offer { tracker: *tracker, refused: None };
        self.trackers.iter().map(offer).collect()
    }

    /// One half of a look: what is accessed is known for each region that is small, and of a huge
    /// one whether it is accessed at all.
    pub(super) fn access(&self, ask: &AccessAsk) -> AccessReport {
        let cost = Ns::us(50);
        let process = self.processes.get(&ask.target.pid);
        let Some(process) = process.filter(|process| process.sample.id == ask.target) else {
            return AccessReport::refused(ask, SkipReason::Gone, cost);
        };
        if process.execed {
            return AccessReport::refused(ask, SkipReason::AddressSpaceChanged, cost);
        }
        let access = |(index, region): (usize, &super::SimRegion)| {
            let from = BASE + index as u64 * HUGE;
            let accessed = u64::from(region.accessed.min(region.used));
            let (least_pages, most_pages) = match region.huge {
                true if accessed > 0 => (1, PAGES.into()),
                _ => (accessed, accessed),
            };
            Access { from: Addr(from), to: Addr(from + HUGE), least_pages, most_pages }
        };
        let seen = match ask.step {
            Step::Begin => Vec::new(),
            Step::End => process.regions.iter().enumerate().map(access).collect(),
        };
        let AccessAsk { target, by, step, .. } = *ask;
        AccessReport { target, by, step, seen, refused: None, cost, lock: Ns(0) }
    }
}
