//! Properties of policies, and of what they are told.

use hugewise_base::stats::together::jain;
use hugewise_base::units::{Bytes, Ns};
use hugewise_manager::access::Tracker;
use hugewise_manager::config::{Config, Mode, PolicyKind};
use hugewise_manager::decision::Action;
use hugewise_manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_manager::policy::{self, Plan, View};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::record::Record;
use hugewise_manager::select::Selection;
use hugewise_manager::sim::contest::{Decider, Knowledge, run};
use hugewise_manager::sim::scenario::{self, Scenario};
use hugewise_manager::sim::{Sim, SimProcess, SimRegion};
use hugewise_manager::snapshot::{ProcessSample, ThpMode};

fn config() -> Config {
    let mut config = Config::default();
    config.select.min_anon_bytes = Bytes::mib(4);
    config
}

/// What worth and utilization make of a manager's state.
fn plans(manager: &Manager, at: Ns) -> (Plan, Plan) {
    let plan = |kind| {
        let view = View::new(manager.config(), manager.state(), false, at);
        policy::of(kind).plan(manager.config(), &view, at)
    };
    (plan(PolicyKind::Worth), plan(PolicyKind::Utilization))
}

/// Compares what two policies make of the same state, after each tick.
#[derive(Default)]
struct Same {
    decisions: usize,
    different: Vec<String>,
}

impl Sink for Same {
    fn record(&mut self, _at: Ns, _record: &Record) {}

    fn tick_done(&mut self, at: Ns, manager: &Manager) {
        let (worth, utilization) = plans(manager, at);
        self.decisions += worth.queues.values().map(|queue| queue.len()).sum::<usize>();
        if worth != utilization {
            self.different.push(format!("at {at:?}: {worth:?} {utilization:?}"));
        }
    }
}

/// Where nothing is known of accesses the two are one, also in what they say of each region.
#[test]
fn without_a_tracker_worth_is_utilization() {
    let mut decisions = 0;
    for seed in 0..140 {
        let thp = if seed % 3 == 0 { ThpMode::Always } else { ThpMode::Madvise };
        let mut sim = Sim::on(seed, thp, Ns::s(30));
        sim.frees_zeros = seed % 5 > 0;
        let mut config = config();
        config.demote.sample = seed % 2 > 0;
        let now = sim.now();
        let mut manager = Manager::new(config, Mode::Guard, Selection::default(), now);
        let mut same = Same::default();
        while tick(&mut sim, &mut manager, &mut same) == TickEnd::Done {}
        assert_eq!(same.different.first(), None, "seed {seed}");
        decisions += same.decisions;
    }
    assert!(decisions > 3_000, "only {decisions} decisions");
}

/// A hot eighth at the end of 2 GiB: who knows what is accessed begins there.
#[test]
fn hot_memory_comes_first() {
    let worth = Decider::Ours(PolicyKind::Worth);
    let utilization = Decider::Ours(PolicyKind::Utilization);
    for seed in 0..8 {
        let course = run(Scenario::HotTail, worth, Knowledge::By(Tracker::IdlePages), seed);
        let blind = run(Scenario::HotTail, utilization, Knowledge::Nothing, seed);
        let quarter = course.gain_after(course.regions / 4);
        assert!(quarter >= 0.8, "seed {seed}: {quarter} of the gain by a quarter");
        // Until the first look is over they are one; in the end both have everything.
        for promoted in (course.regions / 8..course.regions * 3 / 4).step_by(16) {
            let (gain, blind) = (course.gain_after(promoted), blind.gain_after(promoted));
            assert!(gain >= 1.2 * blind, "seed {seed}, {promoted}: {gain} and {blind}");
        }
    }
}

/// The bloat budget waits for the first look, and goes to what is hot.
#[test]
fn the_bloat_budget_goes_where_memory_is_accessed() {
    let worth = Decider::Ours(PolicyKind::Worth);
    let (mut known, mut unknown) = (0.0, 0.0);
    for seed in 0..20 {
        let course = run(Scenario::Sparse, worth, Knowledge::By(Tracker::IdlePages), seed);
        let blind = run(Scenario::Sparse, worth, Knowledge::Nothing, seed);
        assert!(course.held <= 1.03 && blind.held <= 1.03, "seed {seed}");
        (known, unknown) = (known + course.gain(), unknown + blind.gain());
    }
    assert!(known > 2.0 * unknown, "{known} and {unknown}");
}

/// Free blocks for one program of four: the one that uses its memory gets them, whatever the
/// tracker, and four that use theirs alike share them.
#[test]
fn scarce_blocks_go_where_they_gain() {
    let worth = Decider::Ours(PolicyKind::Worth);
    let knowledge = [
        Knowledge::By(Tracker::IdlePages),
        Knowledge::By(Tracker::Damon),
        Knowledge::Longer(Tracker::Referenced),
    ];
    for known in knowledge {
        for seed in 0..10 {
            let course = run(Scenario::Scarce, worth, known, seed);
            assert!(course.gain() > 0.9, "seed {seed}, {known:?}: {}", course.gain());
        }
    }
    for seed in 0..10 {
        let mut sim = Scenario::Scarce.machine(seed);
        for process in sim.processes.values_mut() {
            process.regions =
                vec![
                    SimRegion { used: 512, accessed: 512, each: 500, ..SimRegion::default() };
                    128
                ];
            process.cores = Some(1.0);
        }
        sim.trackers = vec![Tracker::IdlePages];
        let manager = &mut manager(Config::default(), &mut sim);
        follow(&mut sim, manager, Ns::s(60));
        let huge: Vec<_> = sim.processes.keys().map(|pid| sim.huge_of(*pid)).collect();
        assert!(huge.iter().all(|huge| (16..=48).contains(huge)), "seed {seed}: {huge:?}");
    }
}

/// Whoever uses much makes blocks no dearer for another user.
#[test]
fn scarce_blocks_are_shared_among_users() {
    for seed in 0..5 {
        let mut sim = Scenario::Scarce.machine(seed);
        let busy = sim.processes.keys().next().copied();
        for (pid, process) in &mut sim.processes {
            let is_busy = Some(*pid) == busy;
            let region = SimRegion { used: 512, accessed: 512, each: 500, ..SimRegion::default() };
            process.regions = vec![region; 128];
            process.cores = Some(if is_busy { 16.0 } else { 1.0 });
            process.sample.uid = Some(if is_busy { 1000 } else { 2000 });
        }
        sim.trackers = vec![Tracker::IdlePages];
        let manager = &mut manager(Config::default(), &mut sim);
        follow(&mut sim, manager, Ns::s(60));
        let others = sim.processes.keys().filter(|pid| Some(**pid) != busy);
        let huge: Vec<_> = others.map(|pid| sim.huge_of(*pid)).collect();
        assert!(huge.iter().all(|huge| *huge >= 16), "seed {seed}: {huge:?} of 128 blocks");
    }
}

/// Equal programs, and blocks that come free now and then: from 50 huge pages each on all have the
/// same at any time, though a slow call now and then makes one of them wait for its lock.
#[test]
fn scarce_blocks_go_to_equal_programs_alike() {
    for seed in 0..30 {
        let mut sim = Sim::on(seed, ThpMode::Madvise, Ns::s(120));
        (sim.events_per_s, sim.free_huge) = (0, 0);
        sim.processes.clear();
        for pid in 100..103 + u32::try_from(seed % 3).expect("small") {
            let region = SimRegion { used: 512, ..SimRegion::default() };
            let cgroup = Some("/sim".to_owned());
            let sample = ProcessSample { cgroup, ..ProcessSample::example(pid, Bytes(0)) };
            sim.processes.insert(pid, SimProcess::new(sample, vec![region; 200]));
        }
        let pids: Vec<u32> = sim.processes.keys().copied().collect();
        let manager = &mut manager(Config::default(), &mut sim);
        let mut compared = 0;
        for second in 1..=100 {
            sim.free_huge += 15;
            follow(&mut sim, manager, Ns::s(second));
            let huge: Vec<f64> = pids.iter().map(|pid| sim.huge_of(*pid) as f64).collect();
            if huge.iter().all(|huge| *huge >= 50.0) && huge.iter().any(|huge| *huge < 200.0) {
                assert!(jain(&huge) >= Some(0.98), "seed {seed}, {second} s: {huge:?}");
                compared += 1;
            }
        }
        assert!(compared > 5, "seed {seed}: {compared} times at 50 huge pages each");
    }
}

/// A machine with full programs of one region count each: pid, user, cgroup and regions.
fn programs(all: &[(u32, u32, &str, usize)]) -> Sim {
    let mut sim = Sim::on(1, ThpMode::Madvise, Ns::s(600));
    (sim.events_per_s, sim.free_huge) = (0, 0);
    sim.processes.clear();
    for (pid, uid, cgroup, regions) in all {
        let region = SimRegion { used: 512, ..SimRegion::default() };
        let (uid, cgroup) = (Some(*uid), Some((*cgroup).to_owned()));
        let sample = ProcessSample { uid, cgroup, ..ProcessSample::example(*pid, Bytes(0)) };
        sim.processes.insert(*pid, SimProcess::new(sample, vec![region; *regions]));
    }
    sim
}

/// Gives a machine some blocks each second.
fn blocks_come(sim: &mut Sim, manager: &mut Manager, each: u64, seconds: std::ops::Range<u64>) {
    for second in seconds {
        sim.free_huge += each;
        follow(sim, manager, Ns::s(second));
    }
}

/// However many programs a user starts, and into however many cgroups they are put: another user
/// gets as much, and so does another cgroup of the same user.
#[test]
fn many_programs_take_nothing_from_one() {
    let mut all = vec![(100, 7, "/lonely", 400)];
    let names: Vec<String> = (0..40).map(|n| format!("/many{n}")).collect();
    all.extend(names.iter().zip(200..).map(|(name, pid)| (pid, 8, name.as_str(), 50)));
    all.extend((300..330).map(|pid| (pid, 9, "/crowd", 50)));
    all.push((400, 9, "/small", 400));
    let mut sim = programs(&all);
    let manager = &mut manager(Config::default(), &mut sim);
    blocks_come(&mut sim, manager, 12, 10..100);
    let of = |pids: std::ops::Range<u32>| pids.map(|pid| sim.huge_of(pid)).sum::<usize>() as f64;
    let users = [of(100..101), of(200..240), of(300..401)];
    assert!(users.iter().sum::<f64>() > 900.0, "{users:?}");
    assert!(jain(&users) > Some(0.98), "{users:?}");
    let cgroups = [of(300..330), of(400..401)];
    assert!(jain(&cgroups) > Some(0.98), "{cgroups:?}");
}

/// New programs of the same cgroup always hold less, so they come first; an old one that holds
/// much still has its turns.
#[test]
fn whoever_holds_much_is_served_again() {
    let mut sim = programs(&[(100, 7, "/all", 900)]);
    sim.processes.values_mut().flat_map(|p| &mut p.regions).take(500).for_each(|r| r.huge = true);
    let manager = &mut manager(Config::default(), &mut sim);
    let before = sim.huge_of(100);
    for minute in 0..8_u32 {
        for pid in 200 + 10 * minute..204 + 10 * minute {
            sim.processes.retain(|old, _| *old == 100 || *old >= 200 + 10 * minute);
            let new = programs(&[(pid, 7, "/all", 400)]).processes;
            sim.processes.extend(new);
        }
        let from = u64::from(minute) * 60 + 1;
        blocks_come(&mut sim, manager, 4, from..from + 60);
    }
    let served = sim.huge_of(100) - before;
    assert!(served >= 4, "{served} turns in eight minutes");
}

fn manager(config: Config, sim: &mut Sim) -> Manager {
    Manager::new(config, Mode::Ingens, Selection::default(), sim.now())
}

/// What the manager wrote down.
#[derive(Default)]
struct Journal(Vec<Record>);

impl Sink for Journal {
    fn record(&mut self, _at: Ns, record: &Record) {
        self.0.push(record.clone());
    }

    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// Runs a manager until `end`.
fn follow(sim: &mut Sim, manager: &mut Manager, end: Ns) -> Vec<Record> {
    let mut journal = Journal::default();
    while sim.now() < end && tick(sim, manager, &mut journal) == TickEnd::Done {}
    journal.0
}

fn actions(journal: &[Record]) -> Vec<&Record> {
    journal.iter().filter(|record| matches!(record, Record::Action { .. })).collect()
}

#[test]
fn a_tracker_that_is_refused_gives_way_to_the_next_by_name() {
    let wanted = [Tracker::Damon, Tracker::IdlePages, Tracker::Referenced];
    let refused = [
        (Tracker::Damon, SkipReason::TrackerBusy),
        (Tracker::IdlePages, SkipReason::NoMechanism),
        (Tracker::Referenced, SkipReason::NoPermission),
    ];
    for seed in 0..10 {
        for refusing in 0..=3 {
            let mut sim = Scenario::Uniform.machine(seed);
            sim.trackers = wanted.to_vec();
            sim.refusals = refused[..refusing].iter().copied().collect();
            let manager = &mut manager(Config::default(), &mut sim);
            let journal = follow(&mut sim, manager, Ns::s(40));
            let by = journal.iter().filter_map(|record| match record {
                Record::Use { by, .. } => Some(*by),
                _ => None,
            });
            let by: Vec<_> = by.collect();
            let next = wanted.get(refusing);
            assert!(by.iter().all(|by| Some(by) == next), "seed {seed}: {by:?}, not {next:?}");
            assert_eq!(by.is_empty(), next.is_none(), "seed {seed}, {refusing} refuse");
            let target = manager.state().targets().values().next().expect("one program");
            let unfit: Vec<_> = target.looks.unfit(sim.now()).collect();
            let mut named = refused[..refusing].to_vec();
            named.sort_unstable();
            assert_eq!(unfit, named, "seed {seed}");
            let (worth, utilization) = plans(manager, sim.now());
            assert!(next.is_some() || worth == utilization, "seed {seed}");
        }
    }
}

/// A tracker that worked and is refused from then on: what it showed counts for a while, and then
/// the fullest come first again.
#[test]
fn what_a_lost_tracker_showed_is_forgotten() {
    let mut sim = Scenario::HotTail.machine(1);
    sim.trackers = vec![Tracker::IdlePages];
    let mut config = Config::default();
    // Slowly, so that there is something left to choose from.
    config.controller.lock_share_percent = 0.05;
    let manager = &mut manager(config, &mut sim);
    let tracked = |manager: &Manager| manager.state().targets().values().all(|t| t.is_tracked());
    follow(&mut sim, manager, Ns::s(20));
    assert!(tracked(manager));
    sim.refusals = [(Tracker::IdlePages, SkipReason::TrackerBusy)].into();
    follow(&mut sim, manager, Ns::s(300));
    assert!(tracked(manager));
    follow(&mut sim, manager, Ns::s(700));
    assert!(!tracked(manager));
    let (worth, utilization) = plans(manager, sim.now());
    assert!(worth == utilization && !worth.queues.is_empty());
}

/// What is hinted to be hot lies last, and scans get there late: nothing goes before it.
#[test]
fn hints_wait_for_the_first_whole_scan() {
    let mut sim = Scenario::HotTail.machine(1);
    let hints = scenario::hints(&sim);
    let mut config = Config { hints, ..Config::default() };
    config.scan.cpu_percent = 0.1;
    let manager = &mut manager(config, &mut sim);
    let mut waited = 0;
    let mut journal = Journal::default();
    while actions(&journal.0).is_empty() {
        assert!(sim.now() < Ns::s(120), "nothing is promoted");
        tick(&mut sim, manager, &mut journal);
        let seen: u64 = manager.state().targets().values().map(|t| t.regions.len() as u64).sum();
        let barred = manager
            .plan()
            .reasons
            .values()
            .any(|r| r.not_promoted.contains_key(&SkipReason::NotInspected));
        waited += u64::from(seen > 0 && barred);
    }
    assert!(waited > 1, "it was seen in one go");
    let Record::Action { outlook, .. } = actions(&journal.0)[0] else { unreachable!() };
    assert!(outlook.is_some_and(|outlook| outlook.gain_ns_per_s > 0), "{outlook:?}");
}

/// Whoever takes the hints out of the configuration is heard.
#[test]
fn hints_go_with_a_reload() {
    let mut sim = Scenario::HotTail.machine(1);
    let hints = scenario::hints(&sim);
    let config = Config { hints, ..Config::default() };
    let manager = &mut manager(config, &mut sim);
    follow(&mut sim, manager, Ns::s(4));
    let tracked = |manager: &Manager| manager.state().targets().values().all(|t| t.is_tracked());
    assert!(tracked(manager));
    manager.reload(Config::default(), sim.now());
    assert!(!tracked(manager));
}

/// Many programs at once: together they keep to the budget of tracking.
/// Nine tenths of each region are in use, which is too much to be split for its waste alone.
#[test]
fn what_nobody_accesses_gives_its_waste_back_when_memory_is_short() {
    let well_used = SimRegion { used: 475, huge: true, each: 9, ..SimRegion::default() };
    let hot = SimRegion { accessed: 475, ..well_used };
    let regions = [vec![well_used; 40], vec![hot; 40]].concat();
    let mut sim = Sim::with_regions(regions, Ns::s(1_000));
    (sim.trackers, sim.frees_zeros) = (vec![Tracker::IdlePages], true);
    let mut config = config();
    config.demote.sample = true;
    let mut manager = manager(config, &mut sim);
    let huge = |sim: &Sim| {
        let regions = &sim.processes[&100].regions;
        [0..40, 40..80].map(|range| regions[range].iter().filter(|region| region.huge).count())
    };
    let end = sim.now() + Ns::s(200);
    follow(&mut sim, &mut manager, end);
    assert_eq!(huge(&sim), [40, 40], "while memory suffices nobody loses anything");
    sim.memory_falls_short();
    let end = sim.now() + Ns::s(60);
    follow(&mut sim, &mut manager, end);
    let [cold, hot] = huge(&sim);
    assert!(cold < 5 && hot == 40, "{cold} cold and {hot} hot ones are left");
}

#[test]
fn looks_at_many_programs_share_one_budget() {
    let mut sim = Sim::quiet(60, 200, Ns::s(200));
    for region in sim.processes.values_mut().flat_map(|process| &mut process.regions) {
        (region.huge, region.used) = (false, 100);
    }
    sim.trackers = vec![Tracker::Referenced];
    let config = || {
        let mut config = config();
        config.track.longest_lock_us = 10_000;
        config
    };
    let manager = &mut manager(config(), &mut sim);
    let before = sim.manager_cpu();
    let journal = follow(&mut sim, manager, Ns::s(61));
    let looks = journal.iter().filter(|record| matches!(record, Record::Use { .. })).count();
    assert!(looks > 10, "{looks} looks");
    // 6.4 ms for each half, 5 ms a second and 50 ms at once; scans come on top.
    assert!(looks < 60 * 5 / 12 + 12, "{looks} looks, {:?}", sim.manager_cpu().since(before));
    assert!(journal.iter().all(|r| !matches!(r, Record::Action { action: Action::Promote, .. })));
}
