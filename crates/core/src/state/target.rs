//! What is remembered of one managed process.

use super::region::{Hold, Looked, REFUSED, Region};
use super::{CALL_PRIOR, LOCK_BURST, Totals};
use crate::config::Config;
use crate::policy::bucket::Bucket;
use crate::policy::eligible::Thresholds;
use crate::policy::{Action, Decision, FailureClass, Outcome};
use crate::reason::{Limit, SkipReason};
use crate::snapshot::{LookReport, ProcessSample, RegionSample, ScanEnd, ScanReport};
use crate::units::{Addr, Bytes, Geometry, Ns};
use std::collections::BTreeMap;

/// What a target needs to know to judge what it sees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Eye {
    pub(super) geometry: Geometry,
    pub(super) thresholds: Thresholds,
    pub(super) now: Ns,
}

/// One managed process.
#[derive(Debug, Clone)]
pub struct Target {
    /// As last listed.
    pub sample: ProcessSample,
    /// Its weight.
    pub share: f64,
    /// Its regions, by address.
    pub regions: BTreeMap<Addr, Region>,
    /// Regions in mappings that are no candidates, by reason.
    pub excluded: BTreeMap<SkipReason, u64>,
    /// Scan cursor; `Addr(0)` between passes.
    pub cursor: Addr,
    /// End of the last complete pass.
    pub pass_done: Option<Ns>,
    /// Lock time it may still suffer.
    pub lock: Bucket,
    /// Expected duration of a call on it, moving average.
    pub call: Ns,
    /// Why nothing of it can be scanned.
    pub refused: Option<SkipReason>,
    /// Small regions by reason, after the last plan.
    pub skips: BTreeMap<SkipReason, u64>,
    /// Regions that hold waste, or may, and are not split, by reason, after the last plan.
    pub kept: BTreeMap<SkipReason, u64>,
    /// What holds its rate down, when something does.
    pub limit: Option<Limit>,
    /// What was done to it.
    pub totals: Totals,
    pub(super) scanned_faults: u64,
    pub(super) scanned_rss: Bytes,
    pub(super) pass: u32,
}

/// Lock time that a target's bucket gains per second, ns.
pub(super) fn lock_rate(config: &Config) -> f64 {
    config.controller.lock_share_percent * 1e7
}

impl Target {
    /// A process that was just selected.
    #[must_use]
    pub fn new(config: &Config, sample: ProcessSample, share: f64, now: Ns) -> Self {
        Self {
            share,
            regions: BTreeMap::new(),
            excluded: BTreeMap::new(),
            cursor: Addr(0),
            pass_done: None,
            lock: Bucket::new(lock_rate(config), LOCK_BURST.0 as f64, now),
            call: CALL_PRIOR,
            refused: None,
            skips: BTreeMap::new(),
            kept: BTreeMap::new(),
            limit: None,
            totals: Totals::default(),
            scanned_faults: 0,
            scanned_rss: Bytes(0),
            pass: 0,
            sample,
        }
    }

    /// Huge regions.
    #[must_use]
    pub fn huge(&self) -> u64 {
        self.regions.values().filter(|r| r.huge).count() as u64
    }

    /// Whether faults or resident size moved since the current knowledge was scanned.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.sample.faults != self.scanned_faults || self.sample.rss != self.scanned_rss
    }

    pub(super) fn scanned(&mut self, report: &ScanReport, eye: Eye) {
        if report.from == Addr(0) {
            self.pass = self.pass.wrapping_add(1);
            self.excluded.clone_from(&report.excluded);
            self.scanned_faults = self.sample.faults;
            self.scanned_rss = self.sample.rss;
        }
        self.refused = None;
        for sample in &report.regions {
            self.region_seen(sample, eye);
        }
        match report.end {
            ScanEnd::Partial(next) => self.cursor = next,
            ScanEnd::Complete => {
                self.regions.retain(|_, region| region.pass == self.pass);
                self.cursor = Addr(0);
                self.pass_done = Some(eye.now);
            }
            ScanEnd::Refused(reason) => {
                self.refused = Some(reason);
                if reason != SkipReason::Unreadable {
                    self.regions.clear();
                }
                self.cursor = Addr(0);
                self.pass_done = Some(eye.now);
            }
        }
    }

    fn region_seen(&mut self, sample: &RegionSample, eye: Eye) {
        let region = self.regions.entry(sample.at).or_default();
        let filled = region.seen(sample, eye.geometry, eye.now);
        region.pass = self.pass;
        if sample.populated >= eye.thresholds.always {
            // Well used again: what was taken back before is forgiven.
            region.demoted = if region.huge { region.demoted } else { 0 };
        }
        let too_empty = filled.is_some_and(|populated| populated < eye.thresholds.always);
        self.totals.filled += u64::from(too_empty);
    }

    /// Takes a close look. Returns whether page frames are hidden from the observer.
    pub(super) fn looked(&mut self, report: &LookReport, eye: Eye) -> bool {
        if let Some(sample) = &report.region {
            self.region_seen(sample, eye);
        }
        // Also where nothing could be seen: it is not asked again at once.
        if let Some(region) = self.regions.get_mut(&report.at) {
            region.looked = Some(Looked { at: eye.now, populated: region.populated });
            if report.refused.is_some() && region.samples == 1 {
                // The second sample cannot be had: the first one stands.
                region.samples = 2;
            }
        }
        report.region.is_some_and(|sample| !sample.huge && sample.held.is_none())
    }

    fn hold_all(&mut self, until: Ns, reason: SkipReason) {
        for region in self.regions.values_mut().filter(|r| !r.huge) {
            region.hold = Some(Hold { until, reason });
        }
    }

    fn hold_mapping(&mut self, mapping: Addr, hold: Hold) {
        for region in self.regions.values_mut().filter(|r| r.mapping == mapping && !r.huge) {
            region.hold = Some(hold);
        }
    }

    pub(super) fn applied(&mut self, decision: &Decision, outcome: &Outcome, eye: Eye) {
        let Eye { geometry, now, .. } = eye;
        self.totals.add(outcome);
        if let Some(call) = outcome.call() {
            self.lock.take(call.0 as f64, now);
            // Moving average over about eight calls: quick enough to follow the host's moods.
            self.call = Ns((self.call.0 * 7 + call.0) / 8);
        } else if matches!(outcome, Outcome::Withheld { .. }) {
            // So that a mode that does not act decides at the pace of one that does.
            self.lock.take(self.call.0 as f64, now);
        }
        let until = now + REFUSED;
        match outcome {
            // Said once by the program for all of it: no need to ask the kernel region by region.
            Outcome::Failed {
                reason: reason @ (SkipReason::AdvisedAgainst | SkipReason::ThpDisabledByProgram),
                ..
            } if decision.action == Action::Promote => {
                self.hold_mapping(decision.mapping, Hold { until, reason: *reason });
            }
            // Everything of this process would be refused alike.
            Outcome::Failed { class: FailureClass::Permission, reason, .. }
                if decision.action == Action::Promote =>
            {
                self.hold_all(until, *reason);
            }
            _ => {
                if let Some(region) = self.regions.get_mut(&decision.region) {
                    region.applied(decision, outcome, now, geometry);
                }
            }
        }
    }
}
