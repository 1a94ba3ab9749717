//! The loop: observe, decide, act, write down. Live, replayed and simulated alike.
//!
//! ```text
//! World::observe --> State --> View --> Policy --> Plan --> limits, pace --> World::act
//!                      ^                                                        |
//!                      +------------------- outcome ----------------------------+--> Sink
//! ```
//!
//! What the plan wants of the machine, [`compact`]ion, goes beside the queues to `World::compact`;
//! its outcome comes with a later observation.
//!
//! A policy only wants. What limits forbid is taken out of its queues before every action, and
//! [`pace`] says who is served next and when.

mod claims;
mod compact;
mod faults;
mod pace;
mod scan;
mod shortage;
mod skips;
mod track;

use crate::compaction::{Compact, CompactReport};
use crate::config::{Config, Mode, Warm};
use crate::decision::{Action, Decision, Outcome, Queues};
use crate::gate::{self, Asked, RegionFacts, Sight};
use crate::policy::{self, Plan, Policy, View, inspect};
use crate::reason::Limit;
use crate::record::{Record, skips_record, use_record};
use crate::select::{Selection, select_all};
use crate::snapshot::{Ask, ListAsk, Observation};
use crate::state::State;
use crate::state::made::Made;
use claims::Claims;
use hugewise_base::units::{Bytes, Geometry, Ns, ProcId};
use shortage::Told;
use skips::Written;
use std::collections::{BTreeMap, VecDeque};

/// Length of a tick (`docs/measurements.md#defaults-by-choice`).
pub const TICK: Ns = Ns::s(1);
/// Shortest tick, where something is to be done before the end of a usual one.
const SHORTEST_TICK: Ns = Ns::ms(100);
/// Length of a tick while overhead (listing, planning, writing down) is over its budget.
const LONGEST_TICK: Ns = Ns::s(4);
/// What a sample showed is believed for so long: a program may have freed and touched the same
/// pages since.
const FRESH: Ns = Ns::s(1);
/// A target's reasons are written down at most this often, and so is whether memory is short for a
/// cgroup.
const REASONS_INTERVAL: Ns = Ns::s(10);

/// Something that can be observed and acted on: the live machine, a recording, a simulation.
pub trait World {
    /// Shows what was asked for.
    fn observe(&mut self, ask: &Ask) -> Observation;
    /// Carries out one decision, after a re-check of its own.
    fn act(&mut self, decision: &Decision) -> Outcome;
    /// Begins or ends compaction, beside everything else; one run at a time. Its report comes with
    /// a later observation.
    fn compact(&mut self, order: &Compact);
    /// Nothing is asked any more: ends what is under way. With what became of a run that this cut
    /// off.
    fn end(&mut self) -> Option<CompactReport> {
        None
    }
    /// Time now, monotonic.
    fn now(&mut self) -> Ns;
    /// Lets time pass until `at`, or until somebody wants something.
    fn wait_until(&mut self, at: Ns) -> Wake;
    /// The same, between two ticks: the next one is wanted at `at`, and due at `end`. Only a
    /// recording knows of another time.
    fn wait_for_tick(&mut self, at: Ns, _end: Ns) -> Wake {
        self.wait_until(at)
    }
}

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The time came.
    Reached,
    /// Stop for good.
    Stop,
    /// Read the configuration again.
    Reload,
    /// Stop acting, keep observing.
    Pause,
    /// Act again.
    Resume,
    /// Somebody wants to see the state: [`Sink::shown`].
    Show,
}

/// Where the loop writes down what happened.
pub trait Sink {
    /// One record for the journal.
    fn record(&mut self, at: Ns, record: &Record);
    /// A tick is over.
    fn tick_done(&mut self, at: Ns, manager: &Manager);
    /// Somebody wants to see the state as it is now. Walking through it costs with its size, so
    /// it is done for who asks only.
    fn shown(&mut self, _at: Ns, _manager: &Manager) {}
}

/// Configuration, memory and policy of the loop.
#[derive(Debug)]
pub struct Manager {
    config: Config,
    mode: Mode,
    selection: Selection,
    state: State,
    policy: Box<dyn Policy>,
    /// The last plan; its queues were taken.
    plan: Plan,
    /// Targets of which nothing is worth an inspection.
    inspected: inspect::Done,
    /// The last observation showed what is worth another one at once: a program's whole memory
    /// for the first time, or as many inspections as are made in one.
    sees_more: bool,
    /// What holds targets down that wait for their turn.
    limits: BTreeMap<ProcId, Limit>,
    /// What was done last: promotions and splits take turns.
    last: Option<Action>,
    /// What became of a run of compaction, to be written down.
    compacted: Option<CompactReport>,
    /// What was last written down of each target.
    written: Written,
    /// ... and of short memory.
    told: Told,
}

/// Why a tick ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickEnd {
    /// Its time is over.
    Done,
    /// Stop for good.
    Stop,
    /// Read the configuration again, then go on.
    Reload,
}

impl Manager {
    /// A manager that knows nothing yet. The mode may differ from the configuration's: the command
    /// line overrides it.
    pub fn new(config: Config, mode: Mode, selection: Selection, now: Ns) -> Self {
        Self::with_policy(policy::of(config.policy.active), config, mode, selection, now)
    }

    /// The same, with another policy.
    pub fn with_policy(
        policy: Box<dyn Policy>,
        config: Config,
        mode: Mode,
        selection: Selection,
        now: Ns,
    ) -> Self {
        let state = State::new(&config, Geometry::X86_64, now);
        Self {
            config,
            mode,
            selection,
            state,
            policy,
            plan: Plan::default(),
            inspected: inspect::Done::default(),
            sees_more: false,
            limits: BTreeMap::new(),
            last: None,
            compacted: None,
            written: Written::default(),
            told: Told::default(),
        }
    }

    /// Takes what an earlier manager of this boot made huge.
    pub fn remember(&mut self, made: Vec<Made>) {
        self.state.remember(made);
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The mode in force.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What the command line selected.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// What is known.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The last plan, without its queues: those were served, or dropped when the tick ended.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What holds targets down that waited for their turn at the end of the last tick.
    pub fn limits(&self) -> &BTreeMap<ProcId, Limit> {
        &self.limits
    }

    /// Puts a reloaded configuration in force.
    pub fn reload(&mut self, config: Config, now: Ns) {
        self.state.configure(&config, now);
        if config.policy.active != self.config.policy.active {
            self.policy = policy::of(config.policy.active);
        }
        self.config = config;
    }

    /// True while a target is not known completely, has work waiting for its turn, or a failure
    /// is fresh enough at `now` to be tried again soon.
    pub fn busy(&self, now: Ns) -> bool {
        let planned = |id: &ProcId| self.plan.reasons.get(id).is_some_and(|reasons| reasons.busy());
        self.state.limits.paused
            || self.state.retries_soon(now)
            || self.state.unknown() > 0
            || self.state.programs.targets.keys().any(planned)
    }

    fn view(&self, now: Ns) -> View<'_> {
        View::new(&self.config, &self.state, self.plan.giving_back, now)
    }

    fn list_ask(&self) -> ListAsk {
        let shared_memory = self.config.promote.shared_memory;
        if let Some(named) = &self.selection.named {
            let only = Some(named.iter().map(|id| id.pid).collect());
            let least_shmem = shared_memory.then_some(self.state.geometry().huge);
            return ListAsk { only, least_shmem, ..ListAsk::default() };
        }
        let select = &self.config.select;
        // Half: who is known and shrinks a little stays.
        let least_anon = Bytes(select.min_anon_bytes.0 / 2);
        let least_shmem = shared_memory.then_some(least_anon);
        let most = select.max_targets.saturating_mul(4);
        ListAsk { only: None, least_anon, least_shmem, most }
    }

    fn observe(&mut self, world: &mut impl World) {
        let now = world.now();
        let processes = now >= self.state.programs.next_list;
        let mut targets: Vec<_> = self.state.programs.targets.keys().copied().collect();
        let list = if processes { self.list_ask() } else { ListAsk::default() };
        let ask = Ask { machine: true, processes, list, targets, ..Ask::default() };
        let seen = world.observe(&ask);
        self.state.own_cpu(seen.own_cpu, seen.warm_cpu, seen.at);
        self.state.warm_unused(seen.warm_unused.unwrap_or(0));
        if let Some(machine) = seen.machine {
            self.state.machine(&self.config, machine, seen.at);
        }
        if let Some(report) = seen.compaction {
            self.compacted(report, seen.at);
        }
        if let Some(processes) = seen.processes {
            let cost = seen.list_cost.unwrap_or_default();
            let lists = &mut self.state.limits.budgets.lists;
            lists.take(cost.0 as f64, seen.at);
            let interval = Ns::ms(self.config.scan.list_interval_ms);
            self.state.programs.next_list = lists.ready_at(0.0, seen.at).max(seen.at + interval);
            let processes = select_all(&self.config, &self.selection, processes);
            self.state.list(&self.config, processes, seen.at);
        }
        let scans = scan::asks(&self.config, &self.state, seen.at);
        let planned: u64 = scans.iter().map(|scan| scan.budget.0).sum();
        let left = self.state.limits.budgets.for_inspections(planned as f64, seen.at);
        let view = View::new(&self.config, &self.state, self.plan.giving_back, seen.at);
        let longest = match self.plan.waiting() {
            0 => inspect::LONGEST,
            _ => inspect::LONGEST_WHILE_BUSY,
        };
        let budget = left.min(longest.0 as f64);
        let done = &mut self.inspected;
        let inspections = inspect::asks(&self.config, &view, done, budget, seen.at);
        // Another one would not have fitted in, and there is CPU time for more.
        let spent = inspect::expected_cost(&inspections);
        let more = left > budget && spent + inspect::SAMPLE > longest;
        self.sees_more = false;
        // After the list, so that nobody's cgroup is unknown when it is first acted on.
        let cgroups = self.state.cgroups_wanted(seen.at);
        let accesses = track::asks(&self.config, &self.state, seen.at);
        if scans.is_empty() && inspections.is_empty() && cgroups.is_empty() && accesses.is_empty() {
            return;
        }
        targets = self.state.programs.targets.keys().copied().collect();
        let asked = !cgroups.is_empty();
        let ask = Ask { targets, cgroups, scans, inspections, accesses, ..Ask::default() };
        let seen = world.observe(&ask);
        if asked {
            self.state.cgroup_memory(&self.config, seen.cgroups, seen.at);
        }
        let unknown = self.state.unknown();
        for report in &seen.scans {
            self.state.scanned(report, seen.at);
        }
        self.state.take_hints(&self.config, &seen.scans, seen.at);
        for report in &seen.inspections {
            self.state.inspected(report, seen.at);
        }
        for report in &seen.accesses {
            self.state.accessed(&self.config, report, seen.at);
        }
        let first = self.state.unknown() < unknown;
        self.sees_more = first || more;
    }

    /// Brings the plan's reasons up to date, for who looks at them: since the last plan regions
    /// became huge, and would be counted twice.
    pub fn refresh(&mut self, now: Ns) {
        let (more, until) = (self.plan.more, self.plan.until);
        self.make_plan(now);
        (self.plan.more, self.plan.until) = (more, until);
    }

    /// Makes a plan and returns its queues.
    fn make_plan(&mut self, now: Ns) -> Queues {
        self.plan = self.policy.plan(&self.config, &self.view(now), now);
        std::mem::take(&mut self.plan.queues)
    }

    /// The plan at `now`, and the one that a policy makes which remembers nothing: a difference is
    /// a fault. `None` where the policy never remembers.
    pub fn plan_twice(&self, now: Ns) -> Option<[Plan; 2]> {
        let (view, afresh) = (self.view(now), self.policy.afresh()?);
        let remembered = self.policy.plan(&self.config, &view, now);
        Some([remembered, afresh.plan(&self.config, &view, now)])
    }

    /// When the next tick begins where it comes early: at once when more is to be seen, or full
    /// queues were not all and nothing is left of them (`drained`); when a wait ends, that after a
    /// failed allocation among them, or something has settled.
    fn next_tick(&self, drained: bool, begin: Ns, now: Ns) -> Ns {
        let at_once = self.sees_more || (self.plan.more && drained);
        let changed = self.plan.until.map_or(Ns(u64::MAX), |at| at.max(begin + SHORTEST_TICK));
        // A failure's wait may end before the tick does.
        let again = self.state.limits.backoffs.allocation(now);
        let again = again.map_or(changed, |at| at.max(begin + SHORTEST_TICK));
        let due = if at_once { now } else { changed.min(again) };
        due.max(self.state.limits.budgets.overhead.ready_at(0.0, now))
    }

    /// Whether this decision's destination is warmed first: what the last call taught counts. A
    /// block that has to be made is, too: what that takes would look like a long call.
    fn warms(&self, decision: &Decision) -> bool {
        let wanted = self.state.limits.warm.wanted(self.config.promote.warm);
        let made = self.config.promote.warm != Warm::Never && self.state.makes_blocks();
        decision.action == Action::Promote && (wanted || made)
    }

    /// Whether a sample shows first how many of its pages were written: where larger folios may lie
    /// in it, and nobody has looked just now.
    fn samples(&self, decision: &Decision, now: Ns) -> bool {
        let target = self.state.programs.targets.get(&decision.target);
        let region = target.and_then(|target| target.regions.get(decision.region));
        decision.action == Action::Promote
            && Sight::of(&self.config, &self.state).samples_small
            && region.is_some_and(|region| {
                let seen = region.inspected.filter(|seen| now.since(seen.at) < FRESH);
                let as_seen = seen.is_some_and(|seen| seen.populated == region.populated);
                region.zeros.is_none() || !as_seen
            })
    }

    fn journal_reasons(&mut self, at: Ns, sink: &mut impl Sink) {
        let targets = &self.state.programs.targets;
        let reasons_of = |id| self.plan.reasons_of(id);
        for (id, reasons) in self.written.due(targets, reasons_of, REASONS_INTERVAL, at) {
            let Some(target) = targets.get(&id) else { continue };
            let limit = self.limits.get(&id).copied();
            sink.record(at, &skips_record(target, &reasons, limit, self.state.machine.geometry));
        }
        for record in self.written.left_out(at) {
            sink.record(at, &record);
        }
    }

    /// Takes out of the queues what limits forbid now, whatever a policy wants.
    fn bar(&self, queues: &mut Queues, now: Ns) {
        let view = self.view(now);
        let demotes = self.config.demote.enabled;
        queues.retain(|id, queue| {
            let Some(target) = self.state.programs.targets.get(id) else { return false };
            let program = view.program(target, now);
            if self.state.limits.paused || gate::program(&program, Asked::Binding).is_some() {
                return false;
            }
            let cgroup = gate::cgroup(&program, Asked::Binding);
            let promotes = view.machine_gate.is_none() && cgroup.is_none();
            if !promotes || !demotes {
                queue.retain(|decision| match decision.action {
                    Action::Promote => promotes,
                    Action::Demote => demotes,
                });
            }
            !queue.is_empty()
        });
    }

    /// Takes the next decision about this target, or where promotions came to nothing lately one
    /// of another part of its memory.
    fn next_decision(&self, queues: &mut Queues, id: ProcId) -> Option<Decision> {
        let queue = queues.get_mut(&id)?;
        let promotes = |decision: &Decision| decision.action == Action::Promote;
        let promotions = queue.iter().take_while(|decision| promotes(decision)).count();
        let suspension = &self.state.programs.targets.get(&id)?.suspension;
        queue.remove(suspension.next_of(promotions))
    }

    /// Whether another user than that of `id` waits for anything.
    fn others_wait(&self, queues: &Queues, id: ProcId) -> bool {
        let targets = &self.state.programs.targets;
        let user = |id| targets.get(id).and_then(|target| target.sample.account());
        let own = user(&id);
        queues.iter().any(|(other, queue)| !queue.is_empty() && user(other) != own)
    }

    /// Whether nothing that happened to its region since a decision was planned speaks against it.
    fn is_still_open(&self, decision: &Decision, now: Ns) -> bool {
        let state = &self.state;
        let target = state.programs.targets.get(&decision.target);
        let Some(region) = target.and_then(|target| target.regions.get(decision.region)) else {
            return false;
        };
        match decision.action {
            Action::Promote => {
                let sight = Sight::of(&self.config, state);
                let facts = RegionFacts::of(&region, state.limits.thresholds, sight, now);
                gate::region(&facts, Asked::Binding).is_none()
            }
            Action::Demote => {
                let short = state.limits.pressure.on_machine().is_some();
                region.huge == decision.motive.loses_a_huge_page()
                    && region.waits.against_split(now, short).is_none()
            }
        }
    }
}

/// Whether a promotion is next for anybody.
fn promotes(queues: &Queues) -> bool {
    let mut next = queues.values().filter_map(VecDeque::front);
    next.any(|decision| decision.action == Action::Promote)
}

/// One turn of the loop.
pub fn tick(world: &mut impl World, manager: &mut Manager, sink: &mut impl Sink) -> TickEnd {
    let begin = world.now();
    manager.observe(world);
    let now = world.now();
    // Everything that a tick costs beside scans and actions is charged with the next observation:
    // while that is over its budget, ticks are longer.
    let end = (begin + TICK).max(manager.state.limits.budgets.overhead.ready_at(0.0, now));
    // Whoever makes looking take long must not keep everybody from being served.
    let end = end.min(begin + LONGEST_TICK).max(now + SHORTEST_TICK);
    if let Some(report) = manager.compacted.take() {
        sink.record(now, &Record::Compaction(report));
    }
    for record in manager.told.changes(&manager.state.limits.pressure, REASONS_INTERVAL, now) {
        sink.record(now, &record);
    }
    for record in manager.state.programs.targets.values().filter_map(|t| use_record(t, begin)) {
        sink.record(now, &record);
    }
    let mut queues = manager.make_plan(now);
    if manager.view(now).machine_gate.is_none() {
        manager.state.note_waiting(&queues, now);
    }
    manager.choose_faults(now);
    manager.compact(world, now);
    manager.journal_reasons(now, sink);
    let mut claims = Claims::new(&manager.state, now);
    let mut served = false;
    loop {
        let now = world.now();
        manager.bar(&mut queues, now);
        let (limits, last) = (&mut manager.limits, manager.last);
        let turn = pace::next(&manager.state, &claims, &queues, limits, last, now, end);
        let Some(turn) = turn else {
            break;
        };
        match wait(world, manager, sink, |world| world.wait_until(turn.at)) {
            TickEnd::Done => {}
            other => return other,
        }
        let now = world.now();
        manager.bar(&mut queues, now);
        let Some(mut decision) = manager.next_decision(&mut queues, turn.target) else {
            continue;
        };
        if !manager.is_still_open(&decision, now) {
            continue;
        }
        decision.warm = manager.warms(&decision);
        decision.sample = manager.samples(&decision, now);
        decision.another = manager.plan.more || promotes(&queues);
        decision.unhurried = !manager.others_wait(&queues, decision.target);
        manager.last = Some(decision.action);
        served = true;
        let outcome = world.act(&decision);
        let now = world.now();
        manager.state.applied(&decision, &outcome, now);
        claims.renew(&manager.state, decision.target, now);
        sink.record(now, &Record::action(&decision, &outcome));
    }
    let now = world.now();
    sink.tick_done(now, manager);
    let drained = served && queues.values().all(VecDeque::is_empty);
    let next = manager.next_tick(drained, begin, now).min(end);
    wait(world, manager, sink, |world| world.wait_for_tick(next, end))
}

/// Waits, and does on the way what others ask for.
fn wait<W: World>(
    world: &mut W,
    manager: &mut Manager,
    sink: &mut impl Sink,
    wait: impl Fn(&mut W) -> Wake,
) -> TickEnd {
    loop {
        match wait(world) {
            Wake::Reached => return TickEnd::Done,
            Wake::Stop => return TickEnd::Stop,
            Wake::Reload => return TickEnd::Reload,
            Wake::Pause => manager.state.limits.paused = true,
            Wake::Resume => manager.state.limits.paused = false,
            Wake::Show => {
                let now = world.now();
                manager.refresh(now);
                sink.shown(now, manager);
            }
        }
    }
}
