//! What is remembered of one managed process.

use super::heat::{Heat, IDLE, Use};
use super::looks::Looks;
use super::rate::Rate;
use super::region::{Before, Inspected, Maker, Region};
use super::regions::Regions;
use super::totals::Totals;
use crate::access::{AccessReport, Step};
use crate::config::{Config, Scan};
use crate::decision::{Action, Decision, FailureClass, Outcome};
use crate::hints::{self, Hint, Mapping};
use crate::limits::bucket::Bucket;
use crate::limits::budgets;
use crate::limits::shares::Owner;
use crate::limits::shrinking::Shrinking;
use crate::limits::suspension::Suspension;
use crate::limits::thresholds::Thresholds;
use crate::limits::waits::{REFUSED, Wait};
use crate::monitors::GuestMemory;
use crate::reason::SkipReason;
use crate::snapshot::{InspectReport, ObjectId, ProcessSample, RegionSample, ScanEnd, ScanReport};
use hugewise_base::units::{Addr, Bytes, Geometry, Ns};
use std::collections::{BTreeMap, BTreeSet};

/// A program has another size when its memory differs by this part, and by this much.
const RESIZED_PART: u64 = 32;
const RESIZED_LEAST: Bytes = Bytes::mib(2);
/// One that only has faults is scanned after so many intervals: of programs that replace their
/// memory all the time nothing else is to be learned, and scans of them leave no CPU time for
/// inspections (`promotions_hold_up_no_splits_of_a_full_cgroup` in `tests/neighbours.rs`).
const CHURN_INTERVALS: u64 = 5;
/// Regions of one mapping that the kernel refused, after which all of it counts as refused: an
/// eighth of what suspends its whole program.
const MAPPING_PATIENCE: usize = 4;

/// What a target needs to know to judge what it sees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    pub(super) geometry: Geometry,
    pub(super) thresholds: Thresholds,
    pub(super) now: Ns,
    /// Most regions below every threshold that are remembered of a target.
    pub(super) sparse_most: usize,
}

impl Context {
    fn is_sparse(&self, huge: bool, populated: u16) -> bool {
        !huge && populated < self.thresholds.budget
    }
}

/// One managed process.
#[derive(Debug, Clone)]
pub struct Target {
    /// As last listed.
    pub sample: ProcessSample,
    /// Its weight.
    pub share: f64,
    /// Its regions, by address.
    pub regions: Regions,
    /// Regions in mappings that are no candidates, by reason.
    pub excluded: BTreeMap<SkipReason, u64>,
    /// Scan cursor; `Addr(0)` between passes.
    pub cursor: Addr,
    /// End of the last complete pass.
    pub pass_done: Option<Ns>,
    /// Time for which promotions may still hold its mm lock for writing.
    pub lock: Bucket,
    /// Time for which splits may still hold it, for reading.
    pub split_lock: Bucket,
    /// Expected duration of a promotion's call on it, moving average.
    pub call: Ns,
    /// The same of a split's.
    pub split_call: Ns,
    /// Whether so many attempts came to nothing that all of it waits.
    pub suspension: Suspension,
    /// Whether it gives memory back just now.
    pub shrinking: Shrinking,
    /// Why nothing of it can be scanned.
    pub refused: Option<SkipReason>,
    /// Scans in a row that were refused.
    pub(super) refusals: u32,
    /// What was done to it.
    pub totals: Totals,
    /// How fast it becomes huge.
    pub rate: Rate,
    /// How its memory is used, as trackers saw it.
    pub heat: Heat,
    /// ... and as hints say.
    pub hinted: Heat,
    /// When that is looked at, and how.
    pub looks: Looks,
    /// CPU time that it uses, in cores; `None`: unknown.
    pub cpu_share: Option<f64>,
    /// [`Target::idle`] when its use was last looked at; 0 where nothing is known.
    pub(crate) idle_share: f64,
    /// Since when one of its promotions waits, and none was carried out; `None`: none does.
    pub(crate) waits_since: Option<Ns>,
    pub(super) listed: Ns,
    pub(super) scanned_faults: u64,
    pub(super) scanned_rss: Bytes,
    pub(super) pass: u8,
    /// Grows with each change of what is known of it.
    pub(super) version: u64,
    /// Regions below every threshold that are remembered.
    pub(super) sparse: usize,
    /// What an earlier manager made huge in it, not seen yet, with what was populated before.
    pub(super) earlier: BTreeMap<Addr, u16>,
}

impl Target {
    /// A process that was just selected.
    pub fn new(
        config: &Config,
        geometry: Geometry,
        sample: ProcessSample,
        share: f64,
        now: Ns,
    ) -> Self {
        let call = budgets::call_prior(geometry);
        Self {
            share,
            regions: Regions::default(),
            excluded: BTreeMap::new(),
            cursor: Addr(0),
            pass_done: None,
            lock: budgets::lock(config, geometry, now),
            split_lock: budgets::lock(config, geometry, now),
            call,
            split_call: call,
            suspension: Suspension::default(),
            shrinking: Shrinking::default(),
            refused: None,
            refusals: 0,
            totals: Totals::default(),
            rate: Rate::default(),
            heat: Heat::default(),
            hinted: Heat::default(),
            looks: Looks::new(now),
            cpu_share: None,
            idle_share: 0.0,
            waits_since: None,
            listed: now,
            scanned_faults: 0,
            scanned_rss: Bytes(0),
            pass: 0,
            // A program that is selected anew never has a version that it had before.
            version: now.0,
            sparse: 0,
            earlier: BTreeMap::new(),
            sample,
        }
    }

    /// When an action of this kind may be done without taking more of its lock than it may.
    pub fn lock_ready_at(&self, action: Action, now: Ns) -> Ns {
        let (bucket, call) = match action {
            Action::Promote => (&self.lock, self.call),
            Action::Demote => (&self.split_lock, self.split_call),
        };
        bucket.ready_at(call.0 as f64, now)
    }

    /// What it holds in the sense of the metric M: huge pages, and attempts in a row that came to
    /// nothing, for they took others' turns as well.
    pub fn held(&self) -> u64 {
        self.huge() + u64::from(self.suspension.fruitless())
    }

    /// Whether all of its memory has been seen, and could be.
    pub fn is_known(&self) -> bool {
        self.pass_done.is_some() && self.refused.is_none()
    }

    /// Whom its costs are charged to.
    pub fn owner(&self) -> Owner {
        let cgroup = self.sample.cgroup_key().into_owned();
        Owner { uid: self.sample.account(), cgroup, process: self.sample.id }
    }

    /// How the program uses one region: what was hinted counts more than what was seen. `None`:
    /// nothing is known.
    pub fn usage(&self, at: Addr, geometry: Geometry) -> Option<Use> {
        self.hinted.of(at, geometry).or_else(|| self.heat.of(at, geometry))
    }

    /// Whether anything is known of how it uses its memory.
    pub fn is_tracked(&self) -> bool {
        !self.heat.is_empty() || !self.hinted.is_empty()
    }

    /// Share of its huge pages that are idle, which is `f` of the metric M: as known, those of
    /// which nothing is known being as the others. `None`: nothing is known of any.
    pub fn idle(&self, geometry: Geometry) -> Option<f64> {
        if !self.is_tracked() {
            return None;
        }
        let huge = self.regions.iter().filter(|(_, region)| region.huge);
        let known = huge.filter_map(|(at, _)| self.usage(at, geometry));
        let (idle, all) = known.fold((0_u64, 0_u64), |(idle, all), used| {
            (idle + u64::from(used.temperature < IDLE), all + 1)
        });
        (all > 0).then(|| idle as f64 / all as f64)
    }

    /// Takes a newer sample of its process.
    pub(super) fn listed(
        self,
        config: &Config,
        share: f64,
        sample: ProcessSample,
        now: Ns,
    ) -> Self {
        let wall = now.since(self.listed);
        let used = sample.cpu.zip(self.sample.cpu).map(|(new, old)| new.since(old));
        let cpu_share = used.filter(|_| wall > Ns(0)).map(|used| used.as_s() / wall.as_s());
        let cpu_share = cpu_share.or(self.cpu_share);
        let small = self.small();
        let (mut heat, mut looks, mut shrinking) = (self.heat, self.looks, self.shrinking);
        shrinking.listed(self.sample.anon, sample.anon, Ns::ms(config.promote.watch_ms), now);
        looks.are_small(small);
        let version = self.version + u64::from(heat.forget(now));
        Self { share, sample, cpu_share, heat, looks, shrinking, version, listed: now, ..self }
    }

    /// Populated memory by mapping, ascending.
    pub(super) fn mappings(&self, geometry: Geometry) -> Vec<Mapping> {
        let mut all: Vec<Mapping> = Vec::new();
        for (at, region) in self.regions.iter() {
            let end = Addr(at.0.saturating_add(geometry.huge.0));
            match all.last_mut().filter(|last| last.start == region.mapping) {
                Some(last) => {
                    last.end = end;
                    last.populated += u64::from(region.populated);
                }
                None => all.push(Mapping {
                    start: region.mapping,
                    end,
                    populated: region.populated.into(),
                }),
            }
        }
        all
    }

    /// The guest's memory, where it runs a virtual machine; of others the largest mappings. `None`:
    /// most of what is resident was not seen, such as shared memory that is no candidate.
    pub fn guest_memory(&self, geometry: Geometry) -> Option<GuestMemory> {
        let of =
            |region: Region| (region.mapping, geometry.bytes(region.populated.into()), region.huge);
        let guest = GuestMemory::of(self.regions.values().map(of));
        (guest.populated.0 >= self.sample.rss.0 / 2).then_some(guest)
    }

    /// Takes what hints say.
    pub(super) fn hinted(&mut self, hints: &[&Hint], geometry: Geometry, now: Ns) {
        let said = hints::accesses(hints, &self.mappings(geometry), geometry);
        let mut hinted = Heat::default();
        hinted.looked(&said, geometry, now);
        if hinted.differs(&self.hinted) {
            self.hinted = hinted;
            self.version += 1;
        }
    }

    /// Huge regions.
    pub fn huge(&self) -> u64 {
        self.regions.huge() as u64
    }

    /// Regions that are not huge.
    fn small(&self) -> u64 {
        (self.regions.len() as u64).saturating_sub(self.huge())
    }

    /// Whether faults or resident size moved since the current knowledge was scanned.
    pub fn changed(&self) -> bool {
        self.sample.faults != self.scanned_faults || self.sample.rss != self.scanned_rss
    }

    /// Whether its resident size is another one than at the last scan, by a huge page at least.
    fn resized(&self) -> bool {
        let (now, scanned) = (self.sample.rss.0, self.scanned_rss.0);
        now.abs_diff(scanned) >= (scanned / RESIZED_PART).max(RESIZED_LEAST.0)
    }

    /// How long after a complete pass the next one is due: soon where the program grows or shrinks,
    /// later where only its faults say that something changed. What refused a scan may be over at
    /// once, and changes nothing that could be seen: it is tried again after twice as long each
    /// time.
    pub fn scan_pause(&self, config: &Scan) -> Ns {
        let (interval, idle) = (Ns::ms(config.interval_ms), Ns::ms(config.idle_interval_ms));
        let intervals = match self.refusals {
            0 if self.resized() => 1,
            0 if self.changed() => CHURN_INTERVALS,
            0 => return idle,
            n => 1 << (n - 1).min(20),
        };
        Ns(interval.0.saturating_mul(intervals)).min(idle.max(interval))
    }

    /// What was computed from the target at an earlier version may be wrong by now.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The pass that a scan report is part of.
    pub(super) fn pass_of(&self, report: &ScanReport) -> u8 {
        self.pass.wrapping_add(u8::from(report.from == Addr(0)))
    }

    /// Takes a scan report. `elsewhere`: shared memory that is made huge through other programs.
    pub(super) fn scanned(
        &mut self,
        report: &ScanReport,
        elsewhere: &BTreeSet<ObjectId>,
        context: Context,
    ) {
        self.version += 1;
        self.pass = self.pass_of(report);
        if report.from == Addr(0) {
            self.excluded.clear();
            self.scanned_faults = self.sample.faults;
            self.scanned_rss = self.sample.rss;
            let sparse = |region: &Region| context.is_sparse(region.huge, region.populated);
            self.sparse = self.regions.values().filter(sparse).count();
        }
        for (reason, regions) in &report.excluded {
            *self.excluded.entry(*reason).or_default() += regions;
        }
        self.refused = None;
        for sample in &report.regions {
            if sample.object.is_some_and(|object| elsewhere.contains(&object)) {
                *self.excluded.entry(SkipReason::SharedElsewhere).or_default() += 1;
            } else {
                self.region_seen(sample, context);
            }
        }
        match report.end {
            ScanEnd::Partial(next) => self.cursor = next,
            ScanEnd::Complete => {
                self.refusals = 0;
                self.regions.retain_pass(self.pass);
                self.earlier.clear();
                self.cursor = Addr(0);
                self.pass_done = Some(context.now);
            }
            ScanEnd::Refused(reason) => {
                self.refused = Some(reason);
                self.refusals = self.refusals.saturating_add(1);
                if reason != SkipReason::Unreadable {
                    self.regions.clear();
                }
                self.cursor = Addr(0);
                self.pass_done = Some(context.now);
            }
        }
    }

    /// Whoever touches one page of each region of a large mapping has many regions for little
    /// memory, and none that anything could be done with: beyond a bound they are only counted.
    fn is_one_too_many(&mut self, sample: &RegionSample, context: Context) -> bool {
        let sparse = context.is_sparse(sample.huge, sample.populated);
        if !sparse || self.regions.get(sample.at).is_some() {
            return false;
        }
        let full = self.sparse >= context.sparse_most;
        if full {
            *self.excluded.entry(SkipReason::NotRemembered).or_default() += 1;
        } else {
            self.sparse += 1;
        }
        full
    }

    fn region_seen(&mut self, sample: &RegionSample, context: Context) {
        if self.is_one_too_many(sample, context) {
            return;
        }
        let mut region = self.regions.get(sample.at).unwrap_or_default();
        if region.huge && !sample.huge && region.is_on_budget(context.thresholds) {
            region.waits.wasted();
        }
        let filled = region.seen(sample, context.geometry, context.now);
        let earlier = self.earlier.remove(&sample.at).filter(|_| sample.huge);
        if let Some(populated) = earlier {
            region.before = Some(Before { populated, by: Maker::Us });
        }
        region.pass = self.pass;
        if sample.populated >= context.thresholds.always {
            // Well used again: that waste was taken back before counts no more.
            region.waits.given_back = if region.huge { region.waits.given_back } else { 0 };
        }
        self.regions.put(sample.at, &region);
        let too_empty = filled.is_some_and(|populated| populated < context.thresholds.always);
        self.totals.filled += u64::from(too_empty);
    }

    /// Takes an inspection. Returns whether page frames are hidden from the observer.
    pub(super) fn inspected(&mut self, report: &InspectReport, context: Context) -> bool {
        self.version += 1;
        if let Some(sample) = &report.region {
            self.region_seen(sample, context);
        }
        // Also where nothing could be seen: it is not asked again at once.
        self.regions.change(report.at, |region| {
            region.inspected = Some(Inspected { at: context.now, populated: region.populated });
            if report.refused.is_some() && region.samples == 1 {
                // The second sample cannot be had: the first one stands.
                region.samples = 2;
            }
        });
        report.region.is_some_and(|sample| !sample.huge && sample.held.is_none())
    }

    /// Takes one half of a look at how its memory is used; the next one comes after `interval`.
    pub(super) fn accessed(
        &mut self,
        report: &AccessReport,
        interval: Ns,
        geometry: Geometry,
        now: Ns,
    ) {
        self.lock.take(report.lock.0 as f64, now);
        self.looks.took(report.cost);
        match (report.refused, report.step) {
            (Some(reason), _) => self.looks.failed(report.by, reason, self.small(), now),
            (None, Step::Begin) => self.looks.began(report.by, now),
            (None, Step::End) => {
                self.version += 1;
                self.heat.looked(&report.seen, geometry, now);
                self.idle_share = self.idle(geometry).unwrap_or(0.0);
                self.looks.ended(report.by, now + interval, now);
            }
        }
    }

    pub(super) fn applied(&mut self, decision: &Decision, outcome: &Outcome, context: Context) {
        let Context { geometry, now, .. } = context;
        self.version += 1;
        self.totals.add(outcome);
        self.charge_lock(decision.action, outcome, now);
        if decision.action == Action::Promote {
            match outcome {
                Outcome::Promoted { .. } => {
                    self.suspension.succeeded();
                    self.rate.add(now);
                }
                Outcome::Skipped { reason, .. } | Outcome::Failed { reason, .. }
                    if reason.lies_in_program() =>
                {
                    self.suspension.failed(*reason, now);
                }
                _ => {}
            }
        }
        let promoted = decision.action == Action::Promote;
        match outcome {
            // Said once by the program for all of it: no need to ask the kernel region by region.
            Outcome::Failed {
                reason: reason @ (SkipReason::AdvisedAgainst | SkipReason::ThpDisabledByProgram),
                ..
            } if promoted => self.refuse(Some(decision.mapping), *reason, now),
            // Everything of this process would be refused alike.
            Outcome::Failed { class: FailureClass::Permission, reason, .. } if promoted => {
                self.refuse(None, *reason, now);
            }
            _ => {
                let applied =
                    |region: &mut Region| region.applied(decision, outcome, now, geometry);
                self.regions.change(decision.region, applied);
                if matches!(outcome, Outcome::Failed { class: FailureClass::Refused, .. }) {
                    self.judge_mapping(decision);
                }
            }
        }
    }

    /// A collapse holds the lock for writing, a split for reading
    /// (`docs/measurements.md#splitting-a-huge-page`): each has a budget and an average of its own.
    fn charge_lock(&mut self, action: Action, outcome: &Outcome, now: Ns) {
        let (bucket, expected) = match action {
            Action::Promote => (&mut self.lock, &mut self.call),
            Action::Demote => (&mut self.split_lock, &mut self.split_call),
        };
        if let Some(call) = outcome.locking() {
            bucket.take(budgets::lock_cost(call).0 as f64, now);
            // Moving average over about eight calls: quick enough to follow what the host does.
            *expected = Ns((expected.0 * 7 + call.took.0) / 8);
        } else if matches!(outcome, Outcome::Withheld { .. }) {
            // So that a mode that does not act decides at the pace of one that does.
            bucket.take(expected.0 as f64, now);
        }
    }

    /// The kernel refuses whole mappings, most of the time. Of one in which it refused more than it
    /// took the rest waits as well: asked region by region it would use up the program's attempts,
    /// and what lies behind it would never have its turn.
    fn judge_mapping(&mut self, decision: &Decision) {
        let (mut refused, mut ours, mut wait) = (0, 0, None::<Wait>);
        for region in self.regions.values().filter(|region| region.mapping == decision.mapping) {
            ours += usize::from(region.before.is_some_and(|before| before.by == Maker::Us));
            if region.waits.refusals > 0 {
                refused += 1;
                wait =
                    wait.into_iter().chain(region.waits.no_promote_until).max_by_key(|w| w.until);
            }
        }
        let Some(wait) = wait.filter(|_| refused >= MAPPING_PATIENCE && refused > ours) else {
            return;
        };
        let sooner = |region: &Region| {
            let until = region.waits.no_promote_until.map(|wait| wait.until);
            !region.huge && region.mapping == decision.mapping && until < Some(wait.until)
        };
        self.regions.change_all(sooner, |region| region.waits.no_promote_until = Some(wait));
    }

    /// Forgets which pages of regions that are not huge hold only zeros.
    pub(super) fn forget_unwritten(&mut self) {
        let sampled = |region: &Region| !region.huge && region.zeros.is_some();
        self.regions.change_all(sampled, |region| (region.zeros, region.samples) = (None, 0));
        self.version += 1;
    }

    /// Nothing of this mapping, or of all of them, is promoted for long.
    fn refuse(&mut self, mapping: Option<Addr>, reason: SkipReason, now: Ns) {
        let wait = Wait { until: now + REFUSED, reason };
        let meant = |region: &Region| {
            !region.huge && mapping.is_none_or(|mapping| region.mapping == mapping)
        };
        self.regions.change_all(meant, |region| region.waits.no_promote_until = Some(wait));
    }
}
