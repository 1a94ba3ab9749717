//! Watches a simulated manager and collects every broken promise.

use super::{BASE, HUGE, Sim, SimRegion};
use crate::config::Config;
use crate::engine::{Manager, Sink, TICK, Wake, World};
use crate::policy::bloat::{self, Waste};
use crate::policy::eligible::Thresholds;
use crate::policy::{Action, Decision, Motive, Outcome};
use crate::reason::SkipReason;
use crate::record::Record;
use crate::snapshot::{Ask, Observation, ThpMode};
use crate::state::{Maker, Region};
use crate::units::{Addr, Bytes, Geometry, Ns, ProcId};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A simulated world that checks what is done to it.
#[derive(Debug)]
pub struct Checked {
    /// The machine.
    pub sim: Sim,
    /// What went wrong, in words.
    pub broken: Vec<String>,
    /// Actions seen.
    pub actions: u64,
    /// Promotions seen.
    pub promoted: u64,
    /// Splits seen.
    pub demoted: u64,
    config: Config,
    lock: BTreeMap<ProcId, Spent>,
    cpu: Spent,
    bytes: Spent,
    last_promoted: BTreeMap<(ProcId, u64, Addr), Ns>,
    /// When, and for how long it must stay small.
    last_demoted: BTreeMap<(ProcId, u64, Addr), (Ns, Ns)>,
    waste: Rc<Cell<Bytes>>,
}

/// A running sum against `rate x time + burst + the largest single cost`.
#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    since: Option<Ns>,
    sum: f64,
    largest: f64,
}

impl Spent {
    fn add(&mut self, now: Ns, cost: f64) {
        self.since.get_or_insert(now);
        self.sum += cost;
        self.largest = self.largest.max(cost);
    }

    /// What was spent beyond the allowance, if anything.
    fn excess(&self, now: Ns, per_s: f64, burst: f64) -> Option<f64> {
        let time = now.since(self.since?).as_s();
        let excess = self.sum - (per_s * time + burst + 2.0 * self.largest + 1.0);
        (excess > 0.0).then_some(excess)
    }
}

impl Checked {
    /// Watches `sim` under `config`.
    #[must_use]
    pub fn new(sim: Sim, config: Config) -> Self {
        Self {
            sim,
            config,
            broken: Vec::new(),
            actions: 0,
            promoted: 0,
            demoted: 0,
            lock: BTreeMap::new(),
            cpu: Spent::default(),
            bytes: Spent::default(),
            last_promoted: BTreeMap::new(),
            last_demoted: BTreeMap::new(),
            waste: Rc::default(),
        }
    }

    /// An auditor of this machine's manager.
    #[must_use]
    pub fn auditor(&self) -> Auditor {
        Auditor { truth: Rc::clone(&self.waste), ..Auditor::default() }
    }

    /// What promotions below the threshold waste, as the machine itself knows it.
    fn waste_now(&self) -> Bytes {
        let thresholds = Thresholds::new(&self.config.promote, Geometry::X86_64);
        let regions = self.sim.processes.values().flat_map(|process| &process.regions);
        let from = regions.filter_map(|region| region.promoted_from);
        let below = from.filter(|used| *used < thresholds.always);
        Geometry::X86_64.bytes(below.map(|used| u64::from(512 - used)).sum())
    }

    /// Nothing on an excluded or refusing target, no promotion under `never`.
    fn check_target(&mut self, decision: &Decision) {
        let Some(process) = self.sim.processes.get(&decision.target.pid) else {
            return;
        };
        let sample = &process.sample;
        let excluded = sample.exe.as_deref() == Some("/excluded/program");
        if excluded || sample.real_time || sample.thp_disabled == Some(true) {
            self.broken.push(format!("acted on the excluded process {}", decision.target));
        }
        // The switch is read once a tick (the live actuator reads it before each call).
        let since = self.sim.now.since(self.sim.thp_since);
        let promotes = decision.action == Action::Promote;
        if promotes && self.sim.thp == ThpMode::Never && since.0 > 2 * TICK.0 {
            self.broken.push("acted although the operator said never".into());
        }
    }

    /// Nothing huge already, and no flapping.
    fn check_promoted(&mut self, decision: &Decision, was: Option<(u64, SimRegion)>) {
        // A promotion of nothing: the sim itself would be wrong.
        let Some((generation, was)) = was else {
            self.broken.push(format!("promoted nothing of {}", decision.target));
            return;
        };
        let now = self.sim.now;
        if was.huge {
            self.broken.push(format!("promoted a huge region of {}", decision.target));
        }
        let key = (decision.target, generation * 1_000_000 + was.lives, decision.region);
        if let Some(before) = self.last_promoted.insert(key, now)
            && now.since(before) < crate::state::COOLDOWN
        {
            let pause = now.since(before).as_s();
            self.broken.push(format!("region of {} promoted again after {pause} s", key.0));
        }
        let given_back = self.last_demoted.get(&key).copied();
        if given_back.is_some_and(|(at, wait)| now.since(at) < wait) {
            self.broken.push(format!("region of {} promoted soon after its split", key.0));
        }
    }

    /// Something was wasted, it was known, and a huge page that is known to be well used stays.
    fn check_demoted(&mut self, decision: &Decision, was: Option<(u64, SimRegion)>) {
        let Some((generation, was)) = was else {
            self.broken.push(format!("split nothing of {}", decision.target));
            return;
        };
        if !was.huge && !was.block {
            self.broken.push(format!("split a region of {} that holds no block", decision.target));
        }
        let key = (decision.target, generation * 1_000_000 + was.lives, decision.region);
        let bought = self.last_promoted.get(&key).copied().zip(was.promoted_from);
        if let Some((at, used)) = bought.filter(|(_, used)| *used >= 461) {
            let at = at.as_s();
            self.broken.push(format!("split what was promoted at {at} s with {used} pages"));
        }
        let wait = match decision.motive {
            Motive::PartiallyMapped => crate::state::COOLDOWN,
            _ => crate::state::GIVEN_BACK_BASE,
        };
        self.last_demoted.insert(key, (self.sim.now, wait));
    }

    fn check_quota(&mut self, decision: &Decision, outcome: &Outcome) {
        let now = self.sim.now;
        let lock = self.lock.entry(decision.target).or_default();
        lock.add(now, outcome.call().unwrap_or_default().0 as f64);
        self.cpu.add(now, outcome.cpu().0 as f64);
        if matches!(outcome, Outcome::Promoted { .. } | Outcome::Demoted { .. }) {
            self.bytes.add(now, HUGE as f64);
        }
        let controller = &self.config.controller;
        let lock_rate = controller.lock_share_percent * 1e7;
        let burst = crate::state::LOCK_BURST.0 as f64;
        let cpu_rate = controller.cpu_percent * 1e7;
        let bytes_rate = self.config.quota.bytes_per_s.0 as f64;
        let over = [
            ("lock share", lock.excess(now, lock_rate, burst)),
            ("own CPU", self.cpu.excess(now, cpu_rate, cpu_rate)),
            ("bytes", self.bytes.excess(now, bytes_rate, bytes_rate / 4.0)),
        ];
        for (what, excess) in over {
            if let Some(excess) = excess {
                self.broken.push(format!("{what} quota exceeded by {excess}"));
            }
        }
    }
}

impl World for Checked {
    fn observe(&mut self, ask: &Ask) -> Observation {
        let seen = self.sim.observe(ask);
        self.waste.set(self.waste_now());
        seen
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        self.actions += 1;
        self.check_target(decision);
        let index = usize::try_from((decision.region.0 - BASE) / HUGE).unwrap_or(usize::MAX);
        let process = self.sim.processes.get(&decision.target.pid);
        let was = process.and_then(|p| Some((p.generation, *p.regions.get(index)?)));
        let outcome = self.sim.act(decision);
        match outcome {
            Outcome::Promoted { .. } => {
                self.promoted += 1;
                self.check_promoted(decision, was);
            }
            Outcome::Demoted { .. } => {
                self.demoted += 1;
                self.check_demoted(decision, was);
            }
            _ => {}
        }
        self.waste.set(self.waste_now());
        self.check_quota(decision, &outcome);
        outcome
    }

    fn now(&mut self) -> Ns {
        self.sim.now()
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        self.sim.wait_until(at)
    }
}

/// A sink that checks the manager's memory after every tick.
#[derive(Debug, Default)]
pub struct Auditor {
    /// What went wrong, in words.
    pub broken: Vec<String>,
    /// Ticks seen.
    pub ticks: u64,
    truth: Rc<Cell<Bytes>>,
    waste: Bytes,
    demoted: BTreeMap<ProcId, u64>,
    found: BTreeMap<ProcId, u64>,
}

impl Auditor {
    fn huge_regions_with_waste_have_a_reason(&mut self, manager: &Manager) {
        let state = &manager.state;
        for (id, target) in state.targets.iter().filter(|(_, t)| t.refused.is_none()) {
            let wastes = |region: &&Region| {
                // Promoted in this tick: it was small when it was planned.
                let planned = region.before.is_none_or(|before| before.by == Maker::Somebody);
                let waste = bloat::of(region, state.geometry);
                region.huge && planned && !matches!(waste, Waste::Impossible | Waste::Known(0, _))
            };
            let wasting = target.regions.values().filter(wastes).count() as u64;
            let named: u64 = target.kept.values().sum();
            // Found huge by the actuator in this tick: it was small when it was planned.
            let found = target.totals.skipped.get(&SkipReason::AlreadyHuge).copied().unwrap_or(0);
            let before = self.found.insert(*id, found).unwrap_or(0);
            if named + found.checked_sub(before).unwrap_or(found) < wasting {
                self.broken.push(format!("{id}: {wasting} waste, {named} with a reason"));
            }
        }
    }
}

impl Sink for Auditor {
    fn record(&mut self, _at: Ns, _record: &Record) {}

    /// Every small region of a scanned target has a reason; and waste by promotions below the
    /// threshold never grows beyond the budget (it may stand above it when the footprint shrank).
    fn tick_done(&mut self, _at: Ns, manager: &Manager) {
        self.ticks += 1;
        let state = &manager.state;
        for (id, target) in &state.targets {
            let small = target.regions.len() as u64 - target.huge();
            let named: u64 = target.skips.values().sum();
            // Regions promoted in this tick were counted as scheduled when it was planned.
            // ... and those split in this tick not at all.
            let demoted = target.totals.demoted;
            // A new program in an old process counts from zero again.
            let before = self.demoted.insert(*id, demoted).unwrap_or(0);
            let split = demoted.checked_sub(before).unwrap_or(demoted);
            if named + split < small {
                self.broken.push(format!("{id}: {small} small regions, {named} with a reason"));
            }
        }
        self.huge_regions_with_waste_have_a_reason(manager);
        let waste = self.truth.get();
        let bound = state.bloat_budget.unwrap_or_default();
        if waste > bound && waste > self.waste {
            self.broken.push(format!("bloat {waste} above {bound}"));
        }
        self.waste = waste;
    }
}
