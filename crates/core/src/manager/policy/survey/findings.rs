//! What the regions of one target come to, and how long that holds.
//!
//! Prices and CPU time change with every look at the machine: they are applied afterwards.

use super::eligible::{Class, classify};
use super::giveback::{PROMOTED_BY, SplitRule};
use crate::base::units::{Geometry, Ns, ProcId, saturating_u64};
use crate::manager::decision::{Action, Decision, Motive};
use crate::manager::limits::thresholds::Thresholds;
use crate::manager::policy::worth::accessed_pages;
use crate::manager::policy::{Reasons, View};
use crate::manager::reason::SkipReason;
use crate::manager::state::bloat::Waste;
use crate::manager::state::heat::Use;
use crate::manager::state::{Region, Target};
use std::sync::Arc;

/// All that findings depend on, besides the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conditions {
    version: u64,
    thresholds: Thresholds,
    geometry: Geometry,
    frames_hidden: bool,
    /// Its memory is short.
    pressed: bool,
    /// As of the start of time.
    rule: SplitRule,
    order: Order,
}

/// By what regions are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// How full they are.
    Populated,
    /// How much of them is accessed, where that is known.
    Accessed,
    /// Their addresses.
    Address,
}

/// An action that nothing about its region speaks against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) decision: Decision,
    /// The higher, the sooner, among decisions of one motive.
    pub(super) rank: u64,
    /// [`accessed_pages`] of its region.
    pub(super) accessed: f64,
    /// Something is known of its use.
    pub(super) tracked: bool,
}

impl Conditions {
    pub(super) fn of(target: &Target, view: &View<'_>, rule: SplitRule, order: Order) -> Self {
        Self {
            version: target.version(),
            thresholds: view.thresholds,
            geometry: view.geometry,
            frames_hidden: view.frames_hidden,
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
            accessed: 0.0,
            until: None,
        };
        let whole = conditions.thresholds.whole;
        let tracks = conditions.order == Order::Accessed && target.is_tracked();
        for (at, region) in target.regions.iter() {
            let waste = region.waste(conditions.geometry);
            if let Waste::Known(pages, _) = waste {
                findings.wasted_pages += u64::from(pages);
            }
            findings.pledged_pages += pledged_pages(&region, whole);
            let used = tracks.then(|| target.usage(at, conditions.geometry)).flatten();
            let accessed = accessed_pages(region.populated, used);
            findings.accessed += accessed;
            if target.refused.is_some() {
                continue;
            }
            findings.until = findings
                .until
                .into_iter()
                .chain(same_until(&region, conditions.rule.settle, now))
                .min();
            let decision = |action, motive, waste, min_populated| Decision {
                target: id,
                region: at,
                mapping: region.mapping,
                action,
                motive,
                populated: region.populated,
                waste,
                min_populated,
                warm: false,
                another: false,
                outlook: None,
            };
            let candidate = |decision: Decision| {
                let rank = conditions.order.rank(&decision, used);
                Candidate { decision, rank, accessed, tracked: used.is_some() }
            };
            match conditions.rule.at(now).judge(&region, waste, conditions.pressed) {
                None => {}
                Some(Err(reason)) => reasons.not_split(reason),
                Some(Ok((motive, waste))) => {
                    let split = decision(Action::Demote, motive, waste, 0);
                    findings.splits.push(candidate(split));
                }
            }
            let (thresholds, frames_hidden) = (conditions.thresholds, conditions.frames_hidden);
            let (motive, min_populated) = match classify(&region, thresholds, frames_hidden, now) {
                Class::Huge => continue,
                Class::Skip(reason) => {
                    reasons.not_promoted(reason);
                    continue;
                }
                Class::Always => (Motive::Utilization, thresholds.always),
                Class::Budget => (Motive::BloatBudget, region.populated),
            };
            let waste = whole.saturating_sub(region.populated);
            let promotion = decision(Action::Promote, motive, waste, min_populated);
            findings.promotions.push(candidate(promotion));
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

/// Steps of a rank to a page.
const FINE: f64 = 256.0;
/// Waste in a region that is never accessed counts so many times as much as in one of which nothing
/// is known: much, and yet not so much that a few pages of it go before a region full of waste.
const COLDEST: f64 = 8.0;

impl Order {
    fn rank(self, decision: &Decision, used: Option<Use>) -> u64 {
        let accessed = accessed_pages(decision.populated, used);
        let waste = f64::from(decision.waste);
        saturating_u64(match (self, decision.action, decision.motive) {
            (Self::Address, Action::Promote, _) => 0.0,
            (_, Action::Promote, Motive::BloatBudget) => FINE * FINE * accessed / waste.max(1.0),
            (_, Action::Promote, _) => FINE * accessed,
            // Worst waste for the least loss first. What is partially mapped is not huge any more.
            (_, Action::Demote, Motive::PartiallyMapped) => FINE * waste,
            (_, Action::Demote, _) => {
                let all = f64::from(decision.populated).max(1.0);
                FINE * waste * (all / accessed.max(all / COLDEST))
            }
        })
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
