//! Trackers: ways to learn which memory a program accesses, one file each.
//!
//! A look has two halves ([`Step`]): the first makes the kernel forget what was accessed, the
//! second asks what was accessed since. None of them changes what memory holds. All of them act
//! on the program or on the machine, though, and hold locks of theirs: so each is bounded by what
//! it was allowed to cost, acts only on a program that was just seen to be the one that was meant,
//! and leaves nothing behind.

mod bounds;
mod candidates;
mod cold;
mod damon;
mod frames;
mod idle;
mod look;
mod offers;
mod referenced;
mod slot;

pub use offers::{Found, find, offers};
pub use slot::OWNER;

use crate::pages::{self, PageReader};
use crate::reason::reason_of_errno;
use crate::root::Root;
use crate::target::Target;
use crate::trail;
use hugewise_base::units::{Geometry, ProcId};
use hugewise_manager::access::{Access, AccessAsk, AccessReport, Offer, Step, Tracker};
use hugewise_manager::reason::SkipReason;
use look::{Cost, Look};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Looks that have begun, and what they need until their end.
#[derive(Debug)]
pub(crate) struct Trackers {
    // Dropped before the slot: DAMON is given back, and then there is nothing to note.
    begun: BTreeMap<ProcId, Begun>,
    slot: slot::Slot,
    /// Where looks at a few huge pages go on.
    cursors: BTreeMap<ProcId, u64>,
}

/// What a look needs at its end. Dropped, it leaves nothing behind.
#[derive(Debug)]
enum Begun {
    Referenced(referenced::Begun),
    Damon(slot::Taken),
    DamonFrames(frames::Begun),
    IdlePages(idle::Begun),
    ColdDelta(Vec<u64>),
}

impl Trackers {
    /// None has begun. What DAMON needs to be told of is noted in `state_dir`.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self { begun: BTreeMap::new(), slot: slot::Slot::new(state_dir), cursors: BTreeMap::new() }
    }

    /// Gives up looks at programs that nobody asks about any more.
    pub(crate) fn retain(&mut self, asked: &BTreeSet<&ProcId>) {
        self.begun.retain(|id, _| asked.contains(id));
        self.cursors.retain(|id, _| asked.contains(id));
    }

    /// Carries out one half of a look.
    pub(crate) fn look(
        &mut self,
        root: &Root,
        geometry: Geometry,
        pages: &mut PageReader,
        target: Result<&mut Target, SkipReason>,
        ask: &AccessAsk,
    ) -> AccessReport {
        let mut cost = Cost::new();
        let begun = self.begun.remove(&ask.target);
        let seen = target.and_then(|target| {
            let mut look = Look { root, geometry, pages, target, ask, cost: &mut cost };
            match ask.step {
                Step::Begin => {
                    // An earlier look that never ended.
                    drop(begun);
                    let begun = self.begin(&mut look)?;
                    self.begun.insert(ask.target, begun);
                    Ok(Vec::new())
                }
                Step::End => end(begun.ok_or(SkipReason::RetryLater)?, &mut look),
            }
        });
        let AccessAsk { target, by, step, .. } = *ask;
        let (seen, refused) = match seen {
            Ok(seen) => (seen, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        AccessReport { target, by, step, seen, refused, cost: cost.cpu(), lock: cost.lock }
    }

    fn begin(&mut self, look: &mut Look<'_>) -> Result<Begun, SkipReason> {
        let cursor = self.cursors.entry(look.ask.target).or_default();
        match look.ask.by {
            Tracker::Referenced => referenced::begin(look).map(Begun::Referenced),
            Tracker::Damon => damon::begin(look, &mut self.slot).map(Begun::Damon),
            Tracker::DamonFrames => {
                frames::begin(look, &mut self.slot, cursor).map(Begun::DamonFrames)
            }
            Tracker::IdlePages => idle::begin(look).map(Begun::IdlePages),
            Tracker::ColdDelta => cold::begin(look, cursor).map(Begun::ColdDelta),
        }
    }
}

/// What may be asked for. Who has DAMON now may let it go: that is found out each time.
pub(crate) fn may_be(offers: &[Offer]) -> Vec<Offer> {
    let may_be = |offer: &Offer| {
        let refused = offer.refused.filter(|why| *why != SkipReason::TrackerBusy);
        Offer { refused, ..*offer }
    };
    offers.iter().map(may_be).collect()
}

/// Gives back what an earlier process took and noted in `state_dir`.
pub(crate) fn give_back(root: &Root, state_dir: &Path) {
    // What cannot be given back is not taken either: `Slot::take` tries it again.
    let _ = trail::revert(root, state_dir, &[(OWNER, "")], false);
}

fn end(begun: Begun, look: &mut Look<'_>) -> Result<Vec<Access>, SkipReason> {
    let seen = match begun {
        Begun::Referenced(begun) => referenced::end(begun, look),
        Begun::Damon(taken) => damon::end(taken, look),
        Begun::DamonFrames(begun) => frames::end(begun, look),
        Begun::IdlePages(begun) => idle::end(begun, look),
        Begun::ColdDelta(chosen) => cold::end(&chosen, look),
    }?;
    // Afterwards: what was counted while the address space went away must not be believed.
    pages::check_alive(&look.target.pagemap).map_err(reason_of_errno)?;
    look.verify()?;
    Ok(seen)
}

#[cfg(test)]
mod tests;
