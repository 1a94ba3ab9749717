//! Whatever other users do with their own processes: a victim is found, promoted and given back
//! under pressure within a bound, and the manager stays within its own.

#![forbid(unsafe_code)]

use hugewise_core::base::units::Ns;
use hugewise_core::manager::access::Tracker;
use hugewise_core::manager::config::{Config, Mode};
use hugewise_core::manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_core::manager::record::Record;
use hugewise_core::manager::select::Selection;
use hugewise_core::manager::sim::neighbours::{Neighbour, VICTIM, WASTER};
use hugewise_core::manager::sim::{Sim, SimRegion};

/// Listens to nothing.
struct Nobody;

impl Sink for Nobody {
    fn record(&mut self, _at: Ns, _record: &Record) {}
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// What a run came to.
#[derive(Debug)]
struct Run {
    /// When the victim was first scanned, and when nine tenths of it were huge.
    scanned: Option<Ns>,
    huge: Option<Ns>,
    /// After which time all waste of the other was back, once memory was short.
    given_back: Option<Ns>,
    /// CPU time of the manager, in percent of a core.
    cpu_percent: f64,
    /// Regions remembered, over all targets, at most.
    regions: usize,
    targets: usize,
}

const LENGTH: Ns = Ns::s(90);
/// From then on memory is short.
const SHORT: Ns = Ns::s(30);

fn config() -> Config {
    let mut config = Config::default();
    config.demote.sample = true;
    config.select.min_anon_bytes = hugewise_core::base::units::Bytes::mib(4);
    config
}

/// The victim uses all of its memory, as its neighbours do of theirs; `tracker` sees it.
fn run(neighbours: &[Neighbour], tracker: Option<Tracker>, seed: u64) -> Run {
    let mut sim = Sim::among(neighbours, seed, LENGTH);
    sim.trackers = tracker.into_iter().collect();
    for (pid, process) in &mut sim.processes {
        for region in process.regions.iter_mut().filter(|_| *pid != WASTER) {
            region.accessed = region.used;
        }
    }
    let began = sim.now();
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), began);
    let mut run = Run {
        scanned: None,
        huge: None,
        given_back: None,
        cpu_percent: 0.0,
        regions: 0,
        targets: 0,
    };
    while tick(&mut sim, &mut manager, &mut Nobody) == TickEnd::Done {
        let now = sim.now().since(began);
        let targets = manager.state().targets();
        let victim = targets.values().find(|target| target.sample.id.pid == VICTIM);
        if victim.is_some_and(|victim| victim.pass_done.is_some()) {
            run.scanned = run.scanned.or(Some(now));
        }
        if sim.huge_of(VICTIM) >= 90 {
            run.huge = run.huge.or(Some(now));
        }
        if now >= SHORT {
            sim.memory_falls_short();
            let back = sim.huge_of(WASTER) == 0;
            run.given_back = run.given_back.or(back.then(|| now.since(SHORT)));
        }
        run.regions = run.regions.max(targets.values().map(|target| target.regions.len()).sum());
        run.targets = run.targets.max(targets.len());
    }
    let elapsed = sim.now().since(began).as_s();
    run.cpu_percent = 100.0 * sim.manager_cpu().as_s() / elapsed;
    run
}

fn assert_served(name: &str, run: &Run, alone: &Run) {
    let limit = 2.0 * alone.huge.expect("a victim without neighbours becomes huge").as_s();
    let huge = run.huge.map(Ns::as_s);
    assert!(huge.is_some_and(|huge| huge <= limit), "{name}: {run:?}, alone {alone:?}");
    let scanned = run.scanned.map(Ns::as_s);
    assert!(scanned.is_some_and(|scanned| scanned <= 15.0), "{name}: {run:?}");
    let back = run.given_back.map(Ns::as_s);
    assert!(back.is_some_and(|back| back <= 15.0), "{name}: {run:?}, alone {alone:?}");
    // controller.cpu_percent and the overhead's 1 %, of which track.cpu_percent is one half.
    assert!(run.cpu_percent <= 6.0, "{name}: {run:?}");
    assert!(run.targets <= 256, "{name}: {run:?}");
    // What is dense costs its owner memory; what is sparse does not, and is bounded.
    assert!(run.regions <= 32_768 + 256 * 250 + 100, "{name}: {run:?}");
}

#[test]
fn no_neighbour_starves_a_victim() {
    let alone = run(&[], None, 1);
    for neighbour in Neighbour::ALL {
        assert_served(&format!("{neighbour:?}"), &run(&[neighbour], None, 1), &alone);
    }
    let all = run(&Neighbour::ALL, None, 1);
    assert_served("all at once", &all, &alone);
    println!("alone {alone:?}, beside all {all:?}");
}

/// Whoever runs more programs takes nobody's looks, and what is known of theirs takes nobody's
/// turn.
#[test]
fn no_neighbour_starves_a_tracked_victim() {
    for tracker in [Tracker::Damon, Tracker::IdlePages, Tracker::Referenced] {
        let alone = run(&[], Some(tracker), 1);
        let all = run(&Neighbour::ALL, Some(tracker), 1);
        assert_served(&format!("{tracker:?}, all at once"), &all, &alone);
    }
}

/// How long it takes until nine tenths of a victim that starts late are huge, beside so many
/// programs of another user in a full cgroup of his own, which make huge again whatever was split
/// there; and how often that was.
fn huge_beside_a_full_cgroup(many: u32) -> (Ns, usize) {
    let mut sim = Sim::among(&[], 1, LENGTH);
    sim.full_cgroups.insert("/simx".to_owned());
    let victim = sim.processes.remove(&VICTIM).expect("a victim");
    let wasted = SimRegion { used: 256, huge: true, ..SimRegion::default() };
    for pid in 7_000..7_000 + many {
        let mut process = victim.clone();
        (process.sample.id.pid, process.sample.uid) = (pid, Some(6_666));
        (process.sample.cgroup, process.regions) = (Some("/simx".to_owned()), vec![wasted; 100]);
        sim.processes.insert(pid, process);
    }
    let (began, mut starts, mut victim) = (sim.now(), Ns(0), Some(victim));
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), began);
    let mut splits = 0;
    while tick(&mut sim, &mut manager, &mut Nobody) == TickEnd::Done {
        if sim.now().since(began) >= SHORT
            && let Some(victim) = victim.take()
        {
            starts = sim.now();
            sim.processes.insert(VICTIM, victim);
        }
        if victim.is_none() && sim.huge_of(VICTIM) >= 90 {
            break;
        }
        for process in sim.processes.values_mut().filter(|p| p.sample.uid == Some(6_666)) {
            splits += process.regions.iter().filter(|region| !region.huge).count();
            process.regions.iter_mut().for_each(|region| *region = wasted);
        }
    }
    (sim.now().since(starts), splits)
}

#[test]
fn splits_of_a_full_cgroup_take_turns_with_promotions() {
    let (alone, _) = huge_beside_a_full_cgroup(0);
    // So many that the manager's CPU budget is the limit, and not their locks.
    let (beside, splits) = huge_beside_a_full_cgroup(20);
    println!(
        "huge after {:.1} s alone, {:.1} s beside {splits} splits",
        alone.as_s(),
        beside.as_s()
    );
    assert!(splits > 500, "{splits} splits are no attack");
    assert!(beside.as_s() <= 2.0 * alone.as_s() + 1.0, "{alone:?} alone, {beside:?} beside");
}

/// Looks at the victim, and at programs of another user that end as soon as they were looked at,
/// `many` at a time.
fn looks_beside(many: u32) -> (u32, u32) {
    let mut sim = Sim::among(&[], 1, LENGTH);
    sim.trackers = vec![Tracker::Damon];
    let victim = sim.processes[&VICTIM].clone();
    let start = |sim: &mut Sim, pid: u32| {
        let mut process = victim.clone();
        (process.sample.id.pid, process.sample.uid) = (pid, Some(4242));
        sim.processes.insert(pid, process);
    };
    let first = 5_000;
    (first..first + many).for_each(|pid| start(&mut sim, pid));
    let (mut next, mut config) = (first + many, config());
    config.track.interval_ms = 5_000;
    let mut manager = Manager::new(config, Mode::Ingens, Selection::default(), sim.now());
    let (mut looks, mut last, mut ended) = (0, None, 0);
    while tick(&mut sim, &mut manager, &mut Nobody) == TickEnd::Done {
        for target in manager.state().targets().values() {
            let (pid, looked) = (target.sample.id.pid, target.looks.last());
            if pid == VICTIM && looked != last {
                (looks, last) = (looks + 1, looked);
            }
            let hostile = (first..next).contains(&pid) && looked.is_some();
            if hostile && sim.processes.remove(&pid).is_some() {
                start(&mut sim, next);
                (next, ended) = (next + 1, ended + 1);
            }
        }
    }
    (looks, ended)
}

/// Programs of another user end after their look, and others take their place: the victim has its
/// turns all the same.
#[test]
fn whoever_ends_after_a_look_takes_no_turn() {
    let (alone, _) = looks_beside(0);
    let (beside, ended) = looks_beside(20);
    println!("{alone} looks alone, {beside} beside {ended} others");
    assert!(alone > 3 && ended > 10, "{alone} alone, {ended} of others");
    assert!(beside + 1 >= alone, "{beside} of {alone} looks, beside {ended} others");
}
