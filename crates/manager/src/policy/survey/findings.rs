//! What the regions of one target come to, and how long that holds.
//!
//! Prices and CPU time change with every look at the machine: they are applied afterwards.

use super::candidate::{Candidate, Order};
use super::giveback::{Need, PROMOTED_BY, SplitRule};
use crate::decision::{Action, Decision, Motive};
use crate::gate::{self, Asked, RegionFacts, Sight};
use crate::limits::thresholds::Thresholds;
use crate::policy::worth::accessed_pages;
use crate::policy::{Reasons, View};
use crate::reason::SkipReason;
use crate::state::bloat::{Waste, WasteSource};
use crate::state::heat::Use;
use crate::state::unwritten::Sums;
use crate::state::{Region, Target};
use hugewise_base::units::{Addr, Geometry, Ns, ProcId};
use std::sync::Arc;

/// A region is cold of which a look shows at most this share accessed: a program that comes back to
/// it loses next to nothing.
const COLD: f64 = 0.05;

/// All that findings depend on, besides the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conditions {
    version: u64,
    thresholds: Thresholds,
    geometry: Geometry,
    sight: Sight,
    /// Its memory is short.
    pressed: bool,
    /// As of the start of time.
    rule: SplitRule,
    order: Order,
}

impl Conditions {
    pub(super) fn of(target: &Target, view: &View<'_>, rule: SplitRule, order: Order) -> Self {
        Self {
            version: target.version(),
            thresholds: view.thresholds,
            geometry: view.geometry,
            sight: view.sight,
            pressed: view.pressure.on(&target.sample.cgroup_key()).is_some(),
            rule: rule.at(Ns(0)),
            order,
        }
    }
}

/// Findings of an earlier time.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) conditions: Conditions,
    pub(super) findings: Findings,
}

impl Known {
    /// Whether they would be the same at `now`.
    pub(super) fn holds(&self, conditions: Conditions, now: Ns) -> bool {
        self.conditions == conditions && self.findings.until.is_none_or(|until| now < until)
    }
}

/// What one walk over a target's regions shows.
#[derive(Debug, Clone)]
pub(super) struct Findings {
    pub(super) promotions: Vec<Candidate>,
    pub(super) splits: Vec<Candidate>,
    pub(super) reasons: Arc<Reasons>,
    pub(super) wasted_pages: u64,
    pub(super) pledged_pages: u64,
    /// Of regions that are not huge.
    pub(super) small: Sums,
    /// [`accessed_pages`] of all regions.
    pub(super) accessed: f64,
    /// Until then nothing of it changes by time alone; `None`: never does.
    pub(super) until: Option<Ns>,
}

impl Findings {
    pub(super) fn of(id: ProcId, target: &Target, conditions: Conditions, now: Ns) -> Self {
        let not_promoted = target.excluded.clone();
        let mut reasons = Reasons { not_promoted, ..Reasons::default() };
        let mut findings = Self {
            promotions: Vec::new(),
            splits: Vec::new(),
            reasons: Arc::default(),
            wasted_pages: 0,
            pledged_pages: 0,
            small: Sums::default(),
            accessed: 0.0,
            until: None,
        };
        let whole = conditions.thresholds.whole;
        let tracks = conditions.order == Order::Accessed && target.is_tracked();
        for (at, region) in target.regions.iter() {
            let used = tracks.then(|| target.usage(at, conditions.geometry)).flatten();
            let accessed = accessed_pages(region.populated, whole, used);
            let waste = waste(&region, conditions);
            if let Waste::Known(pages, source) = waste
                && source != WasteSource::Dropped
            {
                findings.wasted_pages += u64::from(pages);
            }
            if !region.huge && !region.shared_memory {
                findings.small.add(&region);
            }
            findings.pledged_pages += pledged_pages(&region, whole);
            findings.accessed += accessed;
            if target.refused.is_some() {
                continue;
            }
            let until = same_until(&region, conditions.rule.settle, now);
            findings.until = findings.until.into_iter().chain(until).min();
            let one = One { id, at, region: &region, waste, accessed, used, conditions, now };
            match one.split() {
                None => {}
                Some(Err(reason)) => reasons.not_split(reason),
                Some(Ok(split)) => findings.splits.push(split),
            }
            match one.promotion() {
                None => {}
                Some(Err(reason)) => reasons.not_promoted(reason),
                Some(Ok(promotion)) => findings.promotions.push(promotion),
            }
        }
        if let Some(reason) = target.refused {
            // What was known of it before may no longer be true.
            let regions = target.regions.len() as u64;
            *reasons.not_promoted.entry(reason).or_default() += regions;
        }
        findings.reasons = Arc::new(reasons);
        findings
    }
}

/// What is known of its waste, and, where nothing is, what its program has dropped since it was
/// last split and the kernel may hold.
fn waste(region: &Region, conditions: Conditions) -> Waste {
    let waste = region.waste(conditions.geometry);
    let small = !region.huge && !region.shared_memory;
    let may_hold = conditions.sight.pieces && small && region.dropped > 0;
    match waste {
        Waste::Impossible if may_hold => Waste::Known(region.dropped, WasteSource::Dropped),
        waste => waste,
    }
}

/// One region, and all that decides about it.
struct One<'a> {
    id: ProcId,
    at: Addr,
    region: &'a Region,
    waste: Waste,
    /// [`accessed_pages`] of it.
    accessed: f64,
    /// What a tracker knows of it.
    used: Option<Use>,
    conditions: Conditions,
    now: Ns,
}

impl One<'_> {
    /// Its split, or why there is none; `None`: nothing is wasted in it.
    fn split(&self) -> Option<Result<Candidate, SkipReason>> {
        let rule = self.conditions.rule.at(self.now);
        let need = self.need();
        let judged = rule.judge(self.region, self.waste, need)?;
        let split = |(motive, waste)| {
            let urgent = need != Need::None;
            Candidate { urgent, ..self.candidate(Action::Demote, motive, waste, 0) }
        };
        Some(judged.map(split))
    }

    /// How much its memory is needed elsewhere.
    fn need(&self) -> Need {
        match (self.conditions.pressed, self.used) {
            (false, _) => Need::None,
            (true, Some(used)) if used.most <= COLD => Need::ByAllAndCold,
            (true, _) => Need::ByAll,
        }
    }

    /// Its promotion, or why there is none; `None`: it is huge.
    fn promotion(&self) -> Option<Result<Candidate, SkipReason>> {
        let Conditions { thresholds, sight, .. } = self.conditions;
        let facts = RegionFacts::of(self.region, thresholds, sight, self.now);
        match gate::region(&facts, Asked::All) {
            Some(SkipReason::AlreadyHuge) => return None,
            Some(reason) => return Some(Err(reason)),
            None => {}
        }
        // What text lacks is read from its file, and the kernel takes it back when it likes.
        let grows = !self.region.shared_memory;
        let (motive, min_populated) = match facts.is_full() || !grows {
            true => (Motive::Utilization, thresholds.always.min(facts.written)),
            false => (Motive::BloatBudget, facts.written),
        };
        let waste = if grows { thresholds.whole.saturating_sub(facts.written) } else { 0 };
        Some(Ok(self.candidate(Action::Promote, motive, waste, min_populated)))
    }

    fn candidate(
        &self,
        action: Action,
        motive: Motive,
        waste: u16,
        min_populated: u16,
    ) -> Candidate {
        let decision = Decision {
            target: self.id,
            region: self.at,
            mapping: self.region.mapping,
            action,
            motive,
            populated: self.region.populated,
            waste,
            min_populated,
            warm: false,
            sample: false,
            shared_memory: self.region.shared_memory,
            another: false,
            unhurried: false,
            outlook: None,
        };
        let rank = self.conditions.order.rank(&decision, self.accessed);
        let (accessed, tracked) = (self.accessed, self.used.is_some());
        Candidate { decision, rank, accessed, tracked, urgent: false }
    }
}

/// Until when time alone changes nothing about a region: waits end, and what is partially mapped
/// has settled.
fn same_until(region: &Region, settle: Ns, now: Ns) -> Option<Ns> {
    let waits = [region.waits.no_promote_until, region.waits.no_split_until];
    let ends = waits.into_iter().flatten().map(|wait| wait.until);
    let settled = region.partially_mapped_since.map(|since| [since + settle, since + PROMOTED_BY]);
    let all = ends.chain(settled.into_iter().flatten());
    all.filter(|at| *at > now).min()
}

/// Pages that a withheld promotion of this region would have wasted.
fn pledged_pages(region: &Region, whole: u16) -> u64 {
    let withheld = region
        .waits
        .no_promote_until
        .is_some_and(|wait| !region.huge && wait.reason == SkipReason::WithheldByMode);
    if withheld { whole.saturating_sub(region.populated).into() } else { 0 }
}
