//! What the regions of one target come to, and how long that holds.

use super::eligible::{Class, classify};
use super::giveback::{PROMOTED_BY, SplitRule};
use crate::base::units::{Geometry, Ns, ProcId};
use crate::manager::decision::{Action, Decision, Motive};
use crate::manager::limits::thresholds::Thresholds;
use crate::manager::policy::{Reasons, View};
use crate::manager::reason::SkipReason;
use crate::manager::state::bloat::Waste;
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
}

impl Conditions {
    pub(super) fn of(target: &Target, view: &View<'_>, rule: SplitRule) -> Self {
        Self {
            version: target.version(),
            thresholds: view.thresholds,
            geometry: view.geometry,
            frames_hidden: view.frames_hidden,
            pressed: view.pressure.on(&target.sample.cgroup_key()).is_some(),
            rule: rule.at(Ns(0)),
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
    pub(super) promotions: Vec<Decision>,
    pub(super) splits: Vec<Decision>,
    pub(super) reasons: Arc<Reasons>,
    pub(super) wasted_pages: u64,
    pub(super) pledged_pages: u64,
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
            until: None,
        };
        let whole = conditions.thresholds.whole;
        for (at, region) in target.regions.iter() {
            let waste = region.waste(conditions.geometry);
            if let Waste::Known(pages, _) = waste {
                findings.wasted_pages += u64::from(pages);
            }
            findings.pledged_pages += pledged_pages(&region, whole);
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
            };
            match conditions.rule.at(now).judge(&region, waste, conditions.pressed) {
                None => {}
                Some(Err(reason)) => reasons.not_split(reason),
                Some(Ok((motive, waste))) => {
                    findings.splits.push(decision(Action::Demote, motive, waste, 0));
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
            findings.promotions.push(decision(Action::Promote, motive, waste, min_populated));
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
