//! Watches a simulated manager and collects every broken promise.

use super::activity::{Activity, Checker};
use super::{BASE, EXCLUDED, HUGE, PAGES, Sim, SimProcess, SimRegion};
use crate::compaction::Compact;
use crate::config::{CompactMode, Config, Rule, RuleAction};
use crate::decision::{Action, Decision, Motive, Outcome};
use crate::engine::{Manager, Sink, TICK, Wake, World};
use crate::limits::budgets::{lock_burst, lock_cost};
use crate::limits::thresholds::Thresholds;
use crate::limits::waits::{COOLDOWN, GIVEN_BACK_BASE};
use crate::reason::{Limit, SkipReason};
use crate::record::Record;
use crate::snapshot::{Ask, Observation, ThpMode};
use crate::state::bloat::Waste;
use crate::state::{Maker, Region};
use hugewise_base::units::{Addr, Bytes, Geometry, Ns, ProcId};
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
    /// What the checkers had to check.
    pub activity: Activity,
    config: Config,
    /// Per address space: promotions hold its lock for writing, splits for reading. What the
    /// program may have felt, and all of it.
    lock: BTreeMap<(ProcId, u64, Action), [Spent; 2]>,
    cpu: Spent,
    compaction: Spent,
    bytes: Spent,
    last_promoted: BTreeMap<(ProcId, u64, Addr), Ns>,
    /// When, and for how long it must stay small.
    last_demoted: BTreeMap<(ProcId, u64, Addr), (Ns, Ns)>,
    waste: Rc<Cell<Wasted>>,
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

/// Memory that regions waste which were promoted.
#[derive(Debug, Clone, Copy, Default)]
struct Wasted {
    all: Bytes,
    /// ... below the threshold.
    below: Bytes,
}

impl Checked {
    /// Watches `sim` under `config`.
    pub fn new(sim: Sim, config: Config) -> Self {
        Self {
            sim,
            config,
            broken: Vec::new(),
            actions: 0,
            promoted: 0,
            demoted: 0,
            activity: Activity::default(),
            lock: BTreeMap::new(),
            cpu: Spent::default(),
            compaction: Spent::default(),
            bytes: Spent::default(),
            last_promoted: BTreeMap::new(),
            last_demoted: BTreeMap::new(),
            waste: Rc::default(),
        }
    }

    /// An auditor of this machine's manager.
    pub fn auditor(&self) -> Auditor {
        Auditor { truth: Rc::clone(&self.waste), ..Auditor::default() }
    }

    /// What promotions waste, as the machine itself knows it.
    fn waste_now(&self) -> Wasted {
        let thresholds = Thresholds::new(&self.config.promote, Geometry::X86_64);
        let mut wasted = Wasted::default();
        for region in self.sim.processes.values().flat_map(|process| &process.regions) {
            let Some(from) = region.promoted_from else { continue };
            let waste = Geometry::X86_64.bytes((PAGES - region.used).into());
            wasted.all += waste;
            if from < thresholds.always {
                wasted.below += waste;
            }
        }
        wasted
    }

    /// Pages that faults handed out to managed programs and nobody wrote, and that could be taken
    /// back: after a fork nobody may.
    pub fn unwritten(&self, manager: &Manager) -> Bytes {
        let targets = manager.state().targets();
        let processes = self.sim.processes.values();
        let managed = processes.filter(|process| targets.contains_key(&process.sample.id));
        let regions = managed.flat_map(|process| &process.regions);
        let own = regions.filter(|region| !region.shared);
        Geometry::X86_64.bytes(own.map(|region| u64::from(region.unwritten)).sum())
    }

    /// Compaction begins where it is switched on, one run at a time, and takes no more CPU time
    /// than it may.
    fn check_compaction(&mut self, order: &Compact) {
        let Compact::Start(ask) = order else { return };
        self.activity.met(Checker::Compaction, 1);
        if self.config.compact.mode == CompactMode::Off {
            self.broken.push("compaction is switched off".to_owned());
        }
        if self.sim.compacts() {
            self.broken.push("two compactions at once".to_owned());
        }
        // As if it took all of its time: nobody knows yet.
        self.compaction.add(self.sim.now, 0.0);
        let rate = self.config.compact.cpu_percent * 1e7;
        let spent = self.sim.compaction_cpu().0 as f64 + ask.time.0 as f64;
        let beyond = Spent { sum: spent, ..self.compaction };
        if let Some(excess) = beyond.excess(self.sim.now, rate, 10.0 * rate) {
            self.broken.push(format!("compaction's CPU time exceeded by {excess}"));
        }
    }

    /// Pressure ends a run within a tick, of which the longest that there is takes four seconds.
    fn check_pressure(&mut self) {
        let short = self.sim.short_since();
        let lasting = short.is_some_and(|since| self.sim.now.since(since).0 > 5 * TICK.0);
        if self.sim.compacts() && lasting {
            self.broken.push("compaction goes on while memory is short".to_owned());
        }
    }

    /// Whether the operator's `never` has stood for long enough that the manager knows it: the
    /// switch is read once a tick (the live actuator reads it before each call).
    fn never(&self) -> bool {
        self.sim.thp == ThpMode::Never && self.sim.now.since(self.sim.thp_since).0 > 2 * TICK.0
    }

    /// Notes what the checkers of refusals could see in this tick: memory that would be promoted,
    /// were it not for `never`.
    fn note_refusals(&mut self) {
        let wanted = |process: &SimProcess| !is_excluded(process) && is_promotable(process);
        if self.never() && self.sim.processes.values().any(wanted) {
            self.activity.met(Checker::OperatorNever, 1);
        }
    }

    /// Nothing on an excluded or refusing target, no promotion under `never`.
    fn check_target(&mut self, decision: &Decision) {
        let refusing = |process: &SimProcess| is_excluded(process) && is_promotable(process);
        if self.sim.processes.values().any(refusing) {
            self.activity.met(Checker::Excluded, 1);
        }
        let Some(process) = self.sim.processes.get(&decision.target.pid) else {
            return;
        };
        if is_excluded(process) {
            self.broken.push(format!("acted on the excluded process {}", decision.target));
        }
        if decision.action == Action::Promote && self.never() {
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
        self.activity.met(Checker::Promoted, 1);
        if was.huge {
            self.broken.push(format!("promoted a huge region of {}", decision.target));
        }
        let key = (decision.target, generation * 1_000_000 + was.lives, decision.region);
        let before = self.last_promoted.insert(key, now);
        self.activity.met(Checker::PromotedAgain, before.is_some().into());
        if let Some(before) = before
            && now.since(before) < COOLDOWN
        {
            let pause = now.since(before).as_s();
            self.broken.push(format!("region of {} promoted again after {pause} s", key.0));
        }
        let given_back = self.last_demoted.get(&key).copied();
        self.activity.met(Checker::PromotedAfterSplit, given_back.is_some().into());
        if given_back.is_some_and(|(at, wait)| now.since(at) < wait) {
            self.broken.push(format!("region of {} promoted soon after its split", key.0));
        }
    }

    /// Something was wasted, it was known, and a huge page that is known to be well used stays, but
    /// for one that is hardly accessed (a twentieth of its pages) while memory is short.
    fn check_demoted(&mut self, decision: &Decision, was: Option<(u64, SimRegion)>) {
        let Some((generation, was)) = was else {
            self.broken.push(format!("split nothing of {}", decision.target));
            return;
        };
        self.activity.met(Checker::Split, 1);
        if !was.huge && !was.block && was.unwritten == 0 {
            self.broken.push(format!("split a region of {} that holds no block", decision.target));
        }
        let key = (decision.target, generation * 1_000_000 + was.lives, decision.region);
        let bought = self.last_promoted.get(&key).copied().zip(was.promoted_from);
        self.activity.met(Checker::SplitOfPromoted, bought.is_some().into());
        let cold = decision.motive == Motive::Pressure && was.accessed <= PAGES / 20 + 1;
        if let Some((at, used)) = bought.filter(|(_, used)| *used >= 461 && !cold) {
            let at = at.as_s();
            self.broken.push(format!("split what was promoted at {at} s with {used} pages"));
        }
        let wait = match decision.motive {
            motive if !motive.loses_a_huge_page() => COOLDOWN,
            _ => GIVEN_BACK_BASE,
        };
        self.last_demoted.insert(key, (self.sim.now, wait));
    }

    fn check_quota(&mut self, decision: &Decision, generation: u64, outcome: &Outcome) {
        let now = self.sim.now;
        let key = (decision.target, generation, decision.action);
        let [felt, all] = self.lock.entry(key).or_default();
        let call = outcome.locking().unwrap_or_default();
        felt.add(now, lock_cost(call).0 as f64);
        all.add(now, call.took.0 as f64);
        self.cpu.add(now, outcome.cpu().0 as f64);
        if matches!(outcome, Outcome::Promoted { .. } | Outcome::Demoted { .. }) {
            self.bytes.add(now, HUGE as f64);
        }
        let controller = &self.config.controller;
        let lock_rate = controller.lock_share_percent * 1e7;
        let burst = lock_burst(Geometry::X86_64).0 as f64;
        let cpu_rate = controller.cpu_percent * 1e7;
        let bytes_rate = self.config.quota.bytes_per_s.0 as f64;
        let over = [
            ("lock share", felt.excess(now, lock_rate, burst)),
            ("lock share of a sleeper", all.excess(now, 8.0 * lock_rate, 8.0 * burst)),
            ("own CPU", self.cpu.excess(now, cpu_rate, cpu_rate * controller.cpu_burst_s)),
            ("bytes", self.bytes.excess(now, bytes_rate, bytes_rate / 4.0)),
        ];
        for (what, excess) in over {
            if let Some(excess) = excess {
                self.broken.push(format!("{what} quota exceeded by {excess}"));
            }
        }
    }
}

/// A configuration for simulated machines: one of their programs is left alone by a rule, and small
/// ones are targets, too.
pub fn config() -> Config {
    let excluded = Rule {
        action: RuleAction::Exclude,
        exe: Some(EXCLUDED.into()),
        cgroup: None,
        unit: None,
        user: None,
        share: 1.0,
    };
    let mut config = Config { rules: vec![excluded], ..Config::default() };
    config.select.min_anon_bytes = Bytes::mib(4);
    config
}

/// What that configuration and the program itself exclude.
fn is_excluded(process: &SimProcess) -> bool {
    let sample = &process.sample;
    let excluded = sample.exe.as_deref() == Some(EXCLUDED);
    excluded || sample.real_time || sample.thp_disabled == Some(true)
}

/// Whether it has memory that nobody would leave small without a refusal.
fn is_promotable(process: &SimProcess) -> bool {
    let dense = |region: &SimRegion| region.used == 512 && !region.refusing && !region.shared;
    process.regions.iter().any(|region| dense(region) && !region.huge)
}

impl World for Checked {
    fn observe(&mut self, ask: &Ask) -> Observation {
        let seen = self.sim.observe(ask);
        self.waste.set(self.waste_now());
        self.check_pressure();
        if ask.machine {
            self.note_refusals();
        }
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
        let generation = was.map_or(0, |(generation, _)| generation);
        self.check_quota(decision, generation, &outcome);
        outcome
    }

    fn compact(&mut self, order: &Compact) {
        self.check_compaction(order);
        self.sim.compact(order);
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
    /// What the checkers had to check.
    pub activity: Activity,
    truth: Rc<Cell<Wasted>>,
    waste: Wasted,
    /// Regions that were split in this tick.
    demoted: BTreeMap<ProcId, u64>,
    /// Those that the actuator found huge: they were small when they were planned.
    found: BTreeMap<ProcId, u64>,
}

impl Auditor {
    /// Notes which limits were felt in this tick.
    fn note_limits(&mut self, manager: &Manager) {
        for (limit, checker) in [
            (Limit::LockShare, Checker::LockShare),
            (Limit::OwnCpu, Checker::OwnCpu),
            (Limit::QuotaBytes, Checker::QuotaBytes),
        ] {
            let felt = manager.limits().values().any(|felt| *felt == limit);
            self.activity.met(checker, felt.into());
        }
        let mut reasons = manager.plan().reasons.values();
        let spent = reasons.any(|r| r.not_promoted.contains_key(&SkipReason::OverBloatBudget));
        self.activity.met(Checker::BloatBudgetSpent, spent.into());
    }

    /// A policy remembers what targets came to: a plan must not depend on that.
    fn a_remembered_plan_is_a_fresh_one(&mut self, manager: &Manager, now: Ns) {
        let Some([remembered, fresh]) = manager.plan_twice(now) else { return };
        self.activity.met(Checker::RememberedPlan, fresh.reasons.len() as u64);
        if remembered != fresh {
            let differing =
                fresh.reasons.iter().find(|(id, reasons)| remembered.reasons_of(**id) != **reasons);
            self.broken.push(format!("a remembered plan differs at {now:?}: {differing:?}"));
        }
    }

    fn huge_regions_with_waste_have_a_reason(&mut self, manager: &Manager) {
        let state = manager.state();
        for (id, target) in state.programs.targets.iter().filter(|(_, t)| t.refused.is_none()) {
            let wastes = |region: &Region| {
                // Promoted in this tick: it was small when it was planned.
                let planned = region.before.is_none_or(|before| before.by == Maker::Somebody);
                let waste = region.waste(state.machine.geometry);
                region.huge && planned && !matches!(waste, Waste::Impossible | Waste::Known(0, _))
            };
            let wasting = target.regions.values().filter(wastes).count() as u64;
            self.activity.met(Checker::WasteHasReason, wasting);
            let named: u64 = manager.plan().reasons_of(*id).not_split.values().sum();
            if named + self.found.get(id).unwrap_or(&0) < wasting {
                self.broken.push(format!("{id}: {wasting} waste, {named} with a reason"));
            }
        }
    }
}

impl Sink for Auditor {
    fn record(&mut self, _at: Ns, record: &Record) {
        let Record::Action { target, outcome, .. } = record else { return };
        let counts = match outcome {
            Outcome::Demoted { .. } => &mut self.demoted,
            Outcome::Skipped { reason: SkipReason::AlreadyHuge, .. } => &mut self.found,
            _ => return,
        };
        *counts.entry(*target).or_default() += 1;
    }

    /// Every small region of a scanned target has a reason; and waste by promotions, below the
    /// threshold and in all, never grows beyond the budget (it may stand above it when the
    /// footprint shrank).
    fn tick_done(&mut self, at: Ns, manager: &Manager) {
        self.ticks += 1;
        self.a_remembered_plan_is_a_fresh_one(manager, at);
        let state = manager.state();
        for (id, target) in &state.programs.targets {
            let small = target.regions.len() as u64 - target.huge();
            self.activity.met(Checker::SmallHasReason, small);
            let named: u64 = manager.plan().reasons_of(*id).not_promoted.values().sum();
            // Regions promoted in this tick were counted as scheduled when it was planned.
            // ... and those split in this tick not at all.
            if named + self.demoted.get(id).unwrap_or(&0) < small {
                self.broken.push(format!("{id}: {small} small regions, {named} with a reason"));
            }
        }
        self.huge_regions_with_waste_have_a_reason(manager);
        self.note_limits(manager);
        let waste = self.truth.get();
        self.activity.met(Checker::BloatBudget, (waste.below > Bytes(0)).into());
        let budget = manager.plan().bloat_budget.unwrap_or_default();
        if waste.below > budget && waste.below > self.waste.below {
            self.broken.push(format!("bloat {} above {budget}", waste.below));
        }
        // One region may be as empty as the threshold allows by the time that it is promoted.
        let bound = manager.plan().bloat_bound.unwrap_or_default() + Bytes(HUGE);
        let covered = manager.config().promote.budget_covers_full;
        if covered && waste.all > bound && waste.all > self.waste.all {
            self.broken.push(format!("bloat {} in all above {bound}", waste.all));
        }
        self.waste = waste;
        self.demoted.clear();
        self.found.clear();
    }
}
