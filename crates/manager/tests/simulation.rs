//! The production loop over thousands of simulated machines, each watched by checkers.

use hugewise_base::units::{Bytes, Ns};
use hugewise_manager::access::Tracker;
use hugewise_manager::compaction::Compact;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::decision::{Action, Decision, Motive, Outcome};
use hugewise_manager::engine::{Manager, TickEnd, Wake, World, tick};
use hugewise_manager::limits::fault_size::SizeReason;
use hugewise_manager::policy::{Plan, Policy, View};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::replay::{Comparison, Event, Recorder, Replay};
use hugewise_manager::select::Selection;
use hugewise_manager::sim::activity::{Activity, Checker};
use hugewise_manager::sim::checks::{Auditor, Checked, config};
use hugewise_manager::sim::{Folios, Sim, SimProcess, SimRegion};
use hugewise_manager::snapshot::{Ask, Observation, ProcessSample, ThpMode};

struct Run {
    promoted: u64,
    demoted: u64,
    actions: u64,
    ticks: u64,
    activity: Activity,
}

/// Fails where a checker met its case less often than its floor, which is one for a whole series:
/// it would have proved nothing.
#[track_caller]
fn assert_checked(activity: &Activity, floor: impl Fn(Checker) -> u64) {
    let idle = activity.idle(|checker| floor(checker) / crate::parts());
    assert!(idle.is_empty(), "checkers that had too little to check: {idle:#?}");
}

/// Ten seconds, the default, or one, at which the budget binds more often.
fn burst_s(seed: u64) -> f64 {
    if seed.is_multiple_of(2) { 1.0 } else { 10.0 }
}

fn run(seed: u64, change: impl Fn(&mut Sim, &mut Config)) -> Run {
    run_mode(seed, Mode::Ingens, change)
}

fn run_mode(seed: u64, mode: Mode, change: impl Fn(&mut Sim, &mut Config)) -> Run {
    let mut sim = Sim::new(seed, Ns::s(60));
    let mut config = config();
    change(&mut sim, &mut config);
    let mut world = Checked::new(sim, config.clone());
    let now = world.now();
    let mut manager = Manager::new(config, mode, Selection::default(), now);
    let mut auditor = world.auditor();
    while tick(&mut world, &mut manager, &mut auditor) == TickEnd::Done {}
    let broken: Vec<_> = world.broken.iter().chain(&auditor.broken).take(5).collect();
    assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
    let Checked { promoted, demoted, actions, mut activity, .. } = world;
    activity.add(&auditor.activity);
    Run { promoted, demoted, actions, ticks: auditor.ticks, activity }
}

#[test]
fn no_promise_is_broken_over_many_seeds() {
    let (mut promoted, mut demoted, mut actions, mut ticks) = (0, 0, 0, 0);
    let mut activity = Activity::default();
    for seed in 0..3_000 / crate::parts() {
        let run = run(seed, |_, config| config.controller.cpu_burst_s = burst_s(seed));
        demoted += run.demoted;
        promoted += run.promoted;
        actions += run.actions;
        ticks += run.ticks;
        activity.add(&run.activity);
    }
    // A check of nothing is no check: the seeds must have exercised the loop.
    assert!(ticks > 100_000 / crate::parts(), "only {ticks} ticks");
    assert!(promoted > 100_000 / crate::parts(), "only {promoted} promotions");
    assert!(demoted > 10_000 / crate::parts(), "only {demoted} splits");
    assert!(actions > promoted, "no action ever failed");
    assert_checked(&activity, |checker| match checker {
        // The default quota of bytes lies far above what the other limits let through: a tight
        // configuration tests it. Huge pages of others come with `always` and khugepaged, below.
        // Compaction is off.
        Checker::QuotaBytes | Checker::WasteHasReason | Checker::Compaction => 0,
        // Rare within a minute: waits are long, and the budget of CPU time seldom binds.
        Checker::PromotedAgain | Checker::PromotedAfterSplit => 100,
        Checker::OwnCpu => 20,
        _ => 1_000,
    });
}

/// A large mapping that the kernel refuses lies before one that it does not: the second has its
/// turn at once.
#[test]
fn a_refused_mapping_keeps_no_other_waiting() {
    let region = |at: u64| SimRegion {
        used: 512,
        refusing: at < 200,
        mapping: if at < 200 { 0 } else { 200 },
        ..SimRegion::default()
    };
    for seed in 0..20 {
        let mut sim = Sim::on(seed, ThpMode::Madvise, Ns::s(10));
        (sim.events_per_s, sim.free_huge) = (0, 1_000);
        let sample = ProcessSample::example(100, Bytes(0));
        let process = SimProcess::new(sample, (0..240).map(region).collect());
        sim.processes = [(100, process)].into();
        let now = sim.now();
        let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), now);
        while tick(&mut sim, &mut manager, &mut Auditor::default()) == TickEnd::Done {}
        let huge = sim.processes[&100].regions.iter().filter(|region| region.huge).count();
        // One in thirty is refused now and then for reasons that pass.
        assert!(huge >= 36, "seed {seed}: {huge} of 40 regions that may be huge");
    }
}

/// Programs of one of two cgroups begin to wait for memory: within a second nothing of theirs is
/// promoted any more, waste comes back, and the other goes on.
#[test]
fn promotion_stops_within_a_second_where_programs_stall() {
    let region = |at: u64| SimRegion {
        used: if at < 10 { 300 } else { 512 },
        huge: at < 10,
        ..SimRegion::default()
    };
    for seed in 0..20 {
        let mut sim = Sim::on(seed, ThpMode::Madvise, Ns::s(60));
        (sim.events_per_s, sim.free_huge) = (0, 4_000);
        sim.processes = [(100, "/sim0"), (101, "/sim1")]
            .map(|(pid, cgroup)| {
                let cgroup = Some(cgroup.to_owned());
                let sample = ProcessSample { cgroup, ..ProcessSample::example(pid, Bytes(0)) };
                (pid, SimProcess::new(sample, (0..900).map(region).collect()))
            })
            .into();
        // Huge regions that are full, and those with waste.
        let huge = |sim: &Sim, pid: u32| {
            let count = |full: bool| {
                let regions = sim.processes[&pid].regions.iter();
                regions.filter(|region| region.huge && (region.used == 512) == full).count()
            };
            (count(true), count(false))
        };
        let now = sim.now();
        let mut config = config();
        // Waste that somebody else made is known from samples only.
        config.demote.sample = true;
        let mut manager = Manager::new(config, Mode::Ingens, Selection::default(), now);
        let mut auditor = Auditor::default();
        let mut until = |sim: &mut Sim, end: Ns| {
            while sim.now() < end && tick(sim, &mut manager, &mut auditor) == TickEnd::Done {}
        };
        until(&mut sim, Ns::s(10));
        assert!(
            huge(&sim, 100).0 > 0 && huge(&sim, 100).1 == 10,
            "seed {seed}: it promotes before"
        );
        sim.stalled_cgroups.insert("/sim0".to_owned());
        let stalled = sim.now();
        until(&mut sim, stalled + Ns::s(1));
        let (stopped, other) = (huge(&sim, 100).0, huge(&sim, 101).0);
        until(&mut sim, stalled + Ns::s(8));
        assert_eq!(huge(&sim, 100), (stopped, 0), "seed {seed}: no more, and no waste");
        assert!(huge(&sim, 101).0 > other, "seed {seed}: the other goes on");
    }
}

/// However few ticks were recorded: the last one counts as the others do.
#[test]
fn a_recording_replays_exactly() {
    let mut actions = 0;
    for seed in 0..200 {
        let ticks = 1 + seed % 20;
        let (mut events, mut sink) = (Vec::new(), Auditor::default());
        let sim = Sim::new(seed, Ns::s(60));
        let mut world =
            Recorder::new(sim, false, Mode::Ingens, |event: &_| events.push(Clone::clone(event)));
        let now = world.now();
        let mut manager = Manager::new(config(), Default::default(), Selection::default(), now);
        for _ in 0..ticks {
            tick(&mut world, &mut manager, &mut sink);
        }
        drop(world);
        let mut world = Replay::new(events);
        let now = world.now();
        let mut manager = Manager::new(config(), Default::default(), Selection::default(), now);
        while tick(&mut world, &mut manager, &mut sink) == TickEnd::Done {}
        let Comparison { same, new, missing } = world.comparison();
        assert_eq!((new, missing), (0, 0), "seed {seed}, {ticks} ticks, {same} the same");
        actions += same;
    }
    assert!(actions > 1_000, "only {actions} actions");
}

/// A world in which somebody pauses the manager for some seconds.
struct Pausing {
    sim: Sim,
    wakes: Vec<(Ns, Wake)>,
}

impl World for Pausing {
    fn observe(&mut self, ask: &Ask) -> Observation {
        self.sim.observe(ask)
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        self.sim.act(decision)
    }

    fn compact(&mut self, order: &Compact) {
        self.sim.compact(order);
    }

    fn now(&mut self) -> Ns {
        self.sim.now()
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        match self.wakes.last().copied().filter(|(when, _)| *when <= at) {
            Some((when, wake)) => {
                self.wakes.pop();
                let reached = self.sim.wait_until(when);
                if reached == Wake::Stop { reached } else { wake }
            }
            None => self.sim.wait_until(at),
        }
    }
}

#[test]
fn a_pause_replays_exactly() {
    let mut actions = 0;
    for seed in 0..50 {
        let (mut events, mut sink) = (Vec::new(), Auditor::default());
        let wakes = vec![(Ns::ms(14_300), Wake::Resume), (Ns::ms(4_700), Wake::Pause)];
        let world = Pausing { sim: Sim::new(seed, Ns::s(30)), wakes };
        let mut world =
            Recorder::new(world, false, Mode::Ingens, |event: &_| events.push(Clone::clone(event)));
        let now = world.now();
        let mut manager = Manager::new(config(), Default::default(), Selection::default(), now);
        while tick(&mut world, &mut manager, &mut sink) == TickEnd::Done {}
        drop(world);
        let paused = |event: &&Event| matches!(event, Event::Paused { .. });
        assert_eq!(events.iter().filter(paused).count(), 2, "seed {seed}");
        let mut world = Replay::new(events);
        let now = world.now();
        let mut manager = Manager::new(config(), Default::default(), Selection::default(), now);
        while tick(&mut world, &mut manager, &mut sink) == TickEnd::Done {}
        let Comparison { same, new, missing } = world.comparison();
        assert_eq!((new, missing), (0, 0), "seed {seed}, {same} the same");
        actions += same;
    }
    assert!(actions > 500, "only {actions} actions");
}

#[test]
fn nothing_is_done_when_the_operator_said_never() {
    let (mut activity, mut otherwise) = (Activity::default(), 0);
    for seed in 0..50 {
        let never = run(seed, |sim, _| sim.thp = ThpMode::Never);
        assert_eq!(never.promoted, 0);
        activity.add(&never.activity);
        // The control: the same machine, where the operator did not.
        otherwise += run(seed, |_, _| {}).promoted;
    }
    assert_checked(&activity, |checker| u64::from(checker == Checker::OperatorNever) * 1_000);
    assert!(otherwise > 1_000, "only {otherwise} promotions without 'never'");
}

/// Long enough for waits to end: what was split is promoted again, and split again.
#[test]
fn promises_hold_for_a_quarter_of_an_hour() {
    let (mut promoted, mut demoted) = (0, 0);
    for seed in 0..40 {
        let run = run_mode(seed, Mode::Guard, |sim, config| {
            let thp = if seed % 2 > 0 { ThpMode::Always } else { ThpMode::Madvise };
            *sim = Sim::on(seed, thp, Ns::s(900));
            sim.max_ptes_none = (seed % 4 > 1).then_some(409);
            sim.events_per_s = 20;
            config.demote.sample = seed % 3 > 0;
        });
        promoted += run.promoted;
        demoted += run.demoted;
    }
    assert!(promoted > 10_000 && demoted > 5_000, "{promoted} promotions, {demoted} splits");
}

/// Whatever state a machine is left in: once nothing happens any more, the manager comes to rest.
#[test]
fn a_quiet_machine_leaves_nothing_to_do() {
    for seed in 0..60 {
        let mut sim = Sim::on(seed, ThpMode::Always, Ns::s(3600));
        sim.frees_zeros = seed % 4 > 0;
        sim.shows_frames = seed % 3 > 0;
        if seed % 2 > 0 {
            sim.use_memory(seed);
            sim.trackers = vec![Tracker::Damon, Tracker::Referenced];
        }
        let mut config = config();
        config.demote.sample = seed % 2 > 0;
        let now = sim.now();
        let mut manager = Manager::new(config, Mode::Guard, Selection::default(), now);
        let mut sink = Auditor::default();
        sim.max_ptes_none = Some(409);
        for second in 0..1000 {
            if second == 100 {
                sim.events_per_s = 0;
                (sim.others, sim.free_huge) = (Bytes::mib(8 << 10), 4000);
                sim.full_cgroups.clear();
                sim.thp = ThpMode::Always;
            }
            tick(&mut sim, &mut manager, &mut sink);
            if second > 100 && !manager.busy(sim.now()) {
                break;
            }
        }
        assert!(!manager.busy(sim.now()), "seed {seed}: {:#?}", skips(&manager));
    }
}

fn skips(manager: &Manager) -> Vec<String> {
    manager.plan().reasons.iter().map(|(id, reasons)| format!("{id}: {reasons:?}")).collect()
}

/// Guard on a machine where faults give huge pages and khugepaged fills what it can.
#[test]
fn promises_hold_beside_always_and_a_busy_khugepaged() {
    let (mut demoted, mut activity) = (0, Activity::default());
    for seed in 0..600 / crate::parts() {
        let run = run_mode(seed, Mode::Guard, |sim, config| {
            *sim = Sim::on(seed, ThpMode::Always, Ns::s(60));
            sim.max_ptes_none = Some(409);
            sim.shows_frames = seed % 3 > 0;
            sim.frees_zeros = seed % 5 > 0;
            config.demote.sample = seed % 2 > 0;
        });
        demoted += run.demoted;
        activity.add(&run.activity);
    }
    assert!(demoted > 10_000 / crate::parts(), "only {demoted} splits");
    assert_checked(&activity, |checker| u64::from(checker == Checker::WasteHasReason) * 1_000);
}

#[test]
fn promises_hold_under_a_tight_and_a_loose_configuration() {
    let mut activity = Activity::default();
    for seed in 0..300 / crate::parts() {
        let tight = run(seed, |_, config| {
            config.controller.lock_share_percent = 0.2;
            config.controller.cpu_percent = 0.5;
            config.controller.cpu_burst_s = burst_s(seed);
            config.promote.bloat_budget_percent = 0.0;
            config.promote.budget_covers_full = false;
        });
        activity.add(&tight.activity);
        let bytes = run(seed, |_, config| {
            config.controller.lock_share_percent = 100.0;
            config.controller.cpu_percent = 100.0;
            config.quota.bytes_per_s = Bytes::mib(4);
        });
        activity.add(&bytes.activity);
        run(seed, |sim, config| {
            config.controller.lock_share_percent = 100.0;
            config.controller.cpu_percent = 100.0;
            config.promote.bloat_budget_percent = 50.0;
            config.promote.min_utilization_percent = 1.0;
            sim.events_per_s = 500;
        });
    }
    let limits = [Checker::LockShare, Checker::OwnCpu, Checker::QuotaBytes];
    assert_checked(&activity, |checker| u64::from(limits.contains(&checker)) * 1_000);
}

/// Faults hand out what the manager chooses, to programs that write all of it and to those that do
/// not.
#[test]
fn what_faults_hand_out_wastes_no_more_than_the_budget() {
    let (mut changes, mut kept, mut lowered, mut gave_back) = (0, 0, 0, 0);
    for seed in 0..200 / crate::parts() {
        let sparse_percent = [0, 10, 90][usize::try_from(seed % 3).expect("small")];
        let mut sim = Sim::new(seed, Ns::s(180));
        sim.folios = Some(Folios::of(None, sparse_percent));
        // Where splits bring nothing back, only a smaller size helps.
        sim.frees_zeros = seed % 6 != 5;
        let comes_back = sim.frees_zeros;
        // Without pressure, which would end it all.
        let mut config = config();
        config.watermark.mem_available_low_percent = 0.0;
        config.watermark.mem_available_high_percent = 0.0;
        config.watermark.mem_available_stalled_percent = 0.0;
        let mut world = Checked::new(sim, config.clone());
        let now = world.now();
        let mut manager = Manager::new(config, Mode::Ingens, Selection::default(), now);
        let mut auditor = world.auditor();
        let (mut above, mut wasteful) = (0, false);
        while tick(&mut world, &mut manager, &mut auditor) == TickEnd::Done {
            let (size, _) = manager.state().fault_size().wanted();
            world.sim.folios = Some(Folios::of(size, sparse_percent));
            let bound = manager.plan().bloat_bound.unwrap_or_default().max(Bytes::mib(16));
            let unwritten = world.unwritten(&manager);
            wasteful |= manager.state().fault_size().wanted().1 == SizeReason::Waste;
            above = if unwritten > bound && comes_back { above + 1 } else { 0 };
            assert!(above < 60, "seed {seed}: {unwritten} above {bound} for a minute");
        }
        let broken: Vec<_> = world.broken.iter().chain(&auditor.broken).take(5).collect();
        assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
        let steps = manager.state().fault_size().changes();
        assert!(steps <= 12, "seed {seed}: {steps} changes in three minutes");
        changes += steps;
        kept += u64::from(!wasteful && sparse_percent == 0);
        lowered += u64::from(wasteful && sparse_percent == 90);
        let freed = manager.state().totals().freed_pages;
        gave_back += u64::from(freed > 0 && sparse_percent > 0);
    }
    let [most, some] = [40, 10].map(|floor| floor / crate::parts());
    assert!(kept > most && gave_back > most, "{changes} changes, {kept} kept, {gave_back} gave");
    assert!(lowered > some, "{lowered} lowered");
}

/// What trackers show decides which regions are chosen, and breaks no promise.
#[test]
fn promises_hold_while_the_use_of_memory_is_known() {
    let by = [Tracker::IdlePages, Tracker::Damon, Tracker::Referenced];
    let (mut promoted, mut demoted, mut activity) = (0, 0, Activity::default());
    for seed in 0..400 / crate::parts() {
        let mode = if seed % 3 == 0 { Mode::Guard } else { Mode::Ingens };
        let run = run_mode(seed, mode, |sim, config| {
            if mode == Mode::Guard {
                *sim = Sim::on(seed, ThpMode::Always, Ns::s(60));
                sim.max_ptes_none = Some(409);
            }
            sim.use_memory(seed);
            sim.trackers = by.iter().copied().cycle().skip((seed % 3) as usize).take(2).collect();
            sim.refusals = match seed % 5 {
                0 => [(Tracker::IdlePages, SkipReason::TrackerBusy)].into(),
                _ => Default::default(),
            };
            config.track.interval_ms = 4_000;
            config.demote.sample = seed % 2 > 0;
        });
        promoted += run.promoted;
        demoted += run.demoted;
        activity.add(&run.activity);
    }
    let (least_promoted, least_demoted) = (5_000 / crate::parts(), 2_000 / crate::parts());
    assert!(promoted > least_promoted && demoted > least_demoted, "{promoted}, {demoted}");
    assert_checked(&activity, |checker| match checker {
        Checker::SmallHasReason | Checker::BloatBudget | Checker::WasteHasReason => 1_000,
        Checker::LockShare | Checker::BloatBudgetSpent => 100,
        _ => 0,
    });
}

/// Wants one action for every region of every target, whatever else there is to know.
#[derive(Debug)]
struct Reckless(Action);

impl Policy for Reckless {
    fn plan(&self, _: &Config, view: &View<'_>, _: Ns) -> Plan {
        let mut plan = Plan::default();
        for (id, target) in view.targets {
            let wanted = target.regions.iter().map(|(at, region)| Decision {
                target: *id,
                region: at,
                mapping: region.mapping,
                action: self.0,
                motive: Motive::Pressure,
                populated: region.populated,
                waste: 0,
                min_populated: 0,
                warm: true,
                sample: false,
                another: false,
                unhurried: false,
                shared_memory: false,
                outlook: None,
            });
            plan.queues.insert(*id, wanted.collect());
        }
        plan
    }
}

/// Budgets, back-off, waits and refusals are the engine's: no policy gets past them.
#[test]
fn limits_hold_whatever_a_policy_wants() {
    let run = |seed, action, change: &dyn Fn(&mut Sim, &mut Config)| {
        let (mut sim, mut config) = (Sim::new(seed, Ns::s(60)), config());
        change(&mut sim, &mut config);
        let mut world = Checked::new(sim, config.clone());
        let (now, mode, all) = (world.now(), Mode::Ingens, Selection::default());
        let mut manager = Manager::with_policy(Box::new(Reckless(action)), config, mode, all, now);
        while tick(&mut world, &mut manager, &mut Auditor::default()) == TickEnd::Done {}
        let broken: Vec<_> = world.broken.iter().take(5).collect();
        assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
        (world.promoted, world.demoted)
    };
    let (mut promoted, mut split) = (0, 0);
    for seed in 0..100 {
        promoted += run(seed, Action::Promote, &|_, _| {}).0;
        let huge = |sim: &mut Sim, _: &mut Config| *sim = Sim::on(seed, ThpMode::Always, Ns::s(60));
        split += run(seed, Action::Demote, &huge).1;
        let never = |sim: &mut Sim, _: &mut Config| sim.thp = ThpMode::Never;
        assert_eq!(run(seed, Action::Promote, &never).0, 0);
        let off = |sim: &mut Sim, config: &mut Config| {
            huge(sim, config);
            config.demote.enabled = false;
        };
        assert_eq!(run(seed, Action::Demote, &off).1, 0);
    }
    assert!(promoted > 1_000 && split > 1_000, "{promoted} promotions, {split} splits");
}
