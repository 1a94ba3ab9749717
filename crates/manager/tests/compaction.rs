//! Compaction under the production loop: promotions go on where memory is fragmented, and nothing
//! is compacted that nobody waits for, or at anybody's cost.

use hugewise_base::errno;
use hugewise_base::units::{Bytes, Ns};
use hugewise_manager::access::Tracker;
use hugewise_manager::compaction::{Compact, CompactReport};
use hugewise_manager::config::{CompactMode, Config, Mode};
use hugewise_manager::decision::{Call, Decision, FailureClass, Outcome};
use hugewise_manager::engine::{Manager, Sink, TickEnd, Wake, World, tick};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::record::Record;
use hugewise_manager::replay::{Event, Recorder, Replay};
use hugewise_manager::select::Selection;
use hugewise_manager::sim::activity::{Activity, Checker};
use hugewise_manager::sim::checks::{self, Auditor, Checked};
use hugewise_manager::sim::{Sim, SimProcess, SimRegion};
use hugewise_manager::snapshot::{Ask, Observation, ProcessSample};
use hugewise_manager::status;

/// Regions of the program.
const REGIONS: u64 = 300;

fn config(mode: CompactMode, cpu_percent: f64) -> Config {
    let mut config = Config::default();
    (config.compact.mode, config.compact.cpu_percent) = (mode, cpu_percent);
    config
}

/// A quiet machine with one program, each of whose regions uses so many pages: ten blocks are free,
/// and memory for 2,000 in small pieces.
fn fragmented(used: u16, length: Ns) -> Sim {
    let region = SimRegion { used, ..SimRegion::default() };
    let process = SimProcess::new(
        ProcessSample::example(100, Bytes(0)),
        (0..REGIONS).map(|_| region).collect(),
    );
    let mut sim = Sim::new(7, length);
    (sim.events_per_s, sim.free_huge, sim.pieces.blocks) = (0, 10, 2_000);
    sim.processes = [(100, process)].into();
    sim
}

fn huge(sim: &Sim) -> usize {
    sim.processes[&100].regions.iter().filter(|region| region.huge).count()
}

/// What the journal says of compaction.
#[derive(Default)]
struct Journal {
    auditor: Auditor,
    runs: Vec<Record>,
}

impl Sink for Journal {
    fn record(&mut self, at: Ns, record: &Record) {
        self.auditor.record(at, record);
        if matches!(record, Record::Compaction(_)) {
            self.runs.push(record.clone());
        }
    }

    fn tick_done(&mut self, at: Ns, manager: &Manager) {
        self.auditor.tick_done(at, manager);
    }
}

/// A manager at work on a machine until that ends; `each` sees the machine before each tick.
fn manage(
    sim: Sim,
    config: Config,
    mut each: impl FnMut(&mut Checked, &Manager),
) -> (Checked, Manager, Journal) {
    let mut world = Checked::new(sim, config.clone());
    let now = world.now();
    let mut manager = Manager::new(config, Mode::Ingens, Selection::default(), now);
    let mut journal = Journal { auditor: world.auditor(), runs: Vec::new() };
    while tick(&mut world, &mut manager, &mut journal) == TickEnd::Done {
        each(&mut world, &manager);
    }
    assert_eq!(world.broken, [""; 0]);
    (world, manager, journal)
}

fn left_alone(sim: Sim, config: Config) -> (Checked, Manager, Journal) {
    manage(sim, config, |_, _| {})
}

#[test]
fn promotions_go_on_where_memory_is_fragmented() {
    let length = Ns::s(120);
    let (without, ..) = left_alone(fragmented(512, length), config(CompactMode::Off, 5.0));
    assert_eq!(huge(&without.sim), 10, "as many as blocks were free");
    let (with, manager, journal) =
        left_alone(fragmented(512, length), config(CompactMode::On, 5.0));
    let most = usize::try_from(REGIONS).expect("few") * 9 / 10;
    assert!(huge(&with.sim) >= most, "{} of {REGIONS} regions are huge", huge(&with.sim));
    let totals = &manager.state().totals().compaction;
    assert_eq!(totals.runs, journal.runs.len() as u64, "each run is in the journal");
    assert!(totals.won >= REGIONS - 20, "{totals:?}");
    // 350 blocks a second of CPU time.
    assert!(totals.cpu >= Ns::ms(700) && totals.cpu <= Ns::ms(1_200), "{totals:?}");
}

#[test]
fn nothing_is_compacted_that_nobody_waits_for() {
    // Too sparse to be huge; and full, with blocks for all.
    let sparse = fragmented(100, Ns::s(60));
    let mut served = fragmented(512, Ns::s(60));
    served.free_huge = 1_000;
    for sim in [sparse, served] {
        let (world, manager, journal) = left_alone(sim, config(CompactMode::On, 50.0));
        assert_eq!((world.activity.of(Checker::Compaction), journal.runs.len()), (0, 0));
        assert_eq!(manager.state().totals().compaction.cpu, Ns(0));
    }
}

/// A tracker shows that the program does not use its memory.
#[test]
fn nothing_is_compacted_for_memory_that_is_not_worth_it() {
    let mut sim = fragmented(512, Ns::s(120));
    (sim.trackers, sim.free_huge) = (vec![Tracker::IdlePages], 0);
    let (world, manager, journal) = left_alone(sim, config(CompactMode::On, 50.0));
    assert_eq!((world.activity.of(Checker::Compaction), journal.runs.len()), (0, 0));
    let tracked = manager.state().targets().values().all(|target| target.is_tracked());
    assert!(tracked, "nobody looked at it");
}

#[test]
fn nothing_is_compacted_while_memory_is_short() {
    let mut sim = fragmented(512, Ns::s(60));
    sim.others = Bytes::mib((16 << 10) - 300);
    let (world, _, journal) = left_alone(sim, config(CompactMode::On, 50.0));
    assert_eq!((world.activity.of(Checker::Compaction), journal.runs.len()), (0, 0));
    assert_eq!(huge(&world.sim), 0);
}

/// Blocks come slowly, so a run lasts for seconds; then memory becomes short.
#[test]
fn pressure_ends_a_run_within_a_tick() {
    let mut sim = fragmented(512, Ns::s(60));
    sim.pieces.blocks_per_s = 36;
    let (mut short_at, mut over) = (None, false);
    let (_, manager, journal) = manage(sim, config(CompactMode::On, 50.0), |world, manager| {
        let now = world.now();
        if short_at.is_none() && world.sim.compacts() {
            world.sim.others = Bytes::mib((16 << 10) - 300);
            short_at = Some(now);
        } else if let Some(at) = short_at {
            // One tick to see it, which may take this long itself.
            assert!(!world.sim.compacts() || now.since(at) < Ns::s(2), "it goes on");
            over |= !manager.state().totals().compaction.reasons.is_empty();
        }
    });
    assert!(short_at.is_some() && over, "no run was under way");
    let stopped = manager.state().totals().compaction.reasons.get(&SkipReason::LowMemory).copied();
    assert!(stopped >= Some(1), "{:?}", manager.state().totals().compaction);
    let [Record::Compaction(report)] = journal.runs[..] else { panic!("{:?}", journal.runs) };
    assert_eq!(report.reason, Some(SkipReason::LowMemory));
    assert!(report.cpu < Ns::s(3), "{report:?}");
}

#[test]
fn slow_progress_and_memory_that_cannot_be_moved_are_left_alone() {
    let length = Ns::s(300);
    let mut slow = fragmented(512, length);
    slow.pieces.blocks_per_s = 5;
    let (_, manager, journal) = left_alone(slow, config(CompactMode::On, 5.0));
    // After 10, 20, 40 and then 60 seconds.
    assert!((4..=8).contains(&journal.runs.len()), "{} runs", journal.runs.len());
    let reasons = &manager.state().totals().compaction.reasons;
    assert!(reasons.get(&SkipReason::CompactionSlow) >= Some(&4), "{reasons:?}");
    let mut fixed = fragmented(512, length);
    fixed.pieces.unmovable_percent = 70.0;
    let (world, manager, _) = left_alone(fixed, config(CompactMode::On, 5.0));
    let totals = &manager.state().totals().compaction;
    assert_eq!((totals.runs, totals.cpu, huge(&world.sim)), (0, Ns(0), 10));
    assert!(totals.reasons.get(&SkipReason::UnmovableMemory) >= Some(&4), "{totals:?}");
}

#[test]
fn status_says_what_holds_it_back() {
    let (world, manager, _) = left_alone(fragmented(512, Ns::s(20)), config(CompactMode::Off, 5.0));
    let status = status::manager(&manager, false, world.sim.clone().now());
    assert_eq!(status.compaction.held_back, Some(SkipReason::CompactionOff));
    assert!(status.compaction.wanted_blocks >= REGIONS - 20, "{:?}", status.compaction);
    assert!(!status.compaction.running);
}

/// Lively machines of all kinds; the checkers know how much CPU time a run may take.
#[test]
fn no_promise_is_broken_over_many_seeds() {
    let (mut activity, mut promoted, mut stopped) = (Activity::default(), 0, 0);
    for seed in 0..440_u64 / crate::parts() {
        let mut sim = Sim::new(seed, Ns::s(120));
        // Others free blocks now and then: not so often that nobody ever waits.
        sim.events_per_s = 4;
        let of = |all: [u64; 3], n: u64| all[usize::try_from(n % 3).expect("small")];
        (sim.pieces.blocks, sim.free_huge) = (of([0, 30, 3_000], seed), 0);
        sim.pieces.blocks_per_s = of([10, 60, 350], seed / 3);
        let tenths = of([5, 50, 1_000], seed / 9) as f64;
        let compact = config(CompactMode::On, tenths / 10.0).compact;
        let config = Config { compact, ..checks::config() };
        let (world, manager, journal) = left_alone(sim, config);
        assert_eq!(journal.auditor.broken, [""; 0], "seed {seed}");
        activity.add(&world.activity);
        promoted += world.promoted;
        stopped += manager.state().totals().compaction.reasons.len();
    }
    let floors = [200, 5_000, 300].map(|floor| floor / crate::parts());
    let runs = activity.of(Checker::Compaction);
    assert!(runs >= floors[0] && promoted > floors[1], "{promoted} promoted: {activity:?}");
    assert!(stopped as u64 > floors[2], "{stopped} reasons");
}

/// A machine on which the first promotions find no block, after the kernel looked for one for long.
struct Searching {
    sim: Sim,
    failures: u32,
}

impl World for Searching {
    fn observe(&mut self, ask: &Ask) -> Observation {
        self.sim.observe(ask)
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        if self.failures == 0 {
            return self.sim.act(decision);
        }
        self.failures -= 1;
        let took = Ns::ms(300);
        let until = self.sim.now() + took;
        self.sim.wait_until(until);
        Outcome::Failed {
            class: FailureClass::Allocation,
            reason: FailureClass::Allocation.reason(),
            errno: Some(errno::ENOMEM),
            warm: None,
            call: Call { took, asleep: false },
            cpu: Ns::ms(3),
        }
    }

    fn compact(&mut self, order: &Compact) {
        self.sim.compact(order);
    }

    fn now(&mut self) -> Ns {
        self.sim.now()
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        self.sim.wait_until(at)
    }
}

/// The kernel looks before it takes the lock, so that the program's lock share is not used up: at
/// 0.25 % three such calls would be six minutes of it.
#[test]
fn a_long_search_for_a_block_is_no_time_of_the_lock() {
    let mut sim = fragmented(512, Ns::s(60));
    sim.free_huge = 1_000;
    let mut world = Searching { sim, failures: 3 };
    let mut config = config(CompactMode::Off, 5.0);
    config.controller.lock_share_percent = 0.25;
    let mut manager = Manager::new(config, Mode::Ingens, Selection::default(), Ns(0));
    let mut journal = Journal::default();
    while tick(&mut world, &mut manager, &mut journal) == TickEnd::Done {}
    assert_eq!(world.failures, 0);
    assert!(huge(&world.sim) >= 100, "{} regions are huge", huge(&world.sim));
}

/// JSON rounds them.
fn without_fractions(runs: &[Record]) -> Vec<Record> {
    let one = |run: &Record| match run {
        Record::Compaction(report) => {
            let (fmfi_before, fmfi_after) = (None, None);
            Record::Compaction(CompactReport { fmfi_before, fmfi_after, ..*report })
        }
        other => other.clone(),
    };
    runs.iter().map(one).collect()
}

#[test]
fn a_recorded_run_replays_exactly() {
    let mut events = Vec::new();
    let config = config(CompactMode::On, 5.0);
    let sim = fragmented(512, Ns::s(60));
    let mut world =
        Recorder::new(sim, false, Mode::Ingens, |event: &Event| events.push(event.clone()));
    let now = world.now();
    let mut manager = Manager::new(config.clone(), Mode::Ingens, Selection::default(), now);
    let mut then = Journal::default();
    while tick(&mut world, &mut manager, &mut then) == TickEnd::Done {}
    drop(world);
    assert!(then.runs.len() > 1, "{} runs", then.runs.len());
    // As the file has them.
    let lines = events.iter().map(|event| serde_json::to_string(event).expect("plain data"));
    let again = lines.map(|line| serde_json::from_str::<Event>(&line).expect("an event"));
    let mut replay = Replay::new(again.collect::<Vec<_>>());
    let now = replay.now();
    let mut manager = Manager::new(config, Mode::Ingens, Selection::default(), now);
    let mut now = Journal::default();
    while tick(&mut replay, &mut manager, &mut now) == TickEnd::Done {}
    let comparison = replay.comparison();
    assert_eq!((comparison.new, comparison.missing), (0, 0), "{comparison:?}");
    assert!(comparison.same > 100, "{comparison:?}");
    assert_eq!(without_fractions(&now.runs), without_fractions(&then.runs));
}
