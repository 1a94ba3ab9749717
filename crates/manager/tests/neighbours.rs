//! Whatever other users do with their own processes: a victim is found, promoted and given back
//! under pressure within a bound, and the manager stays within its own.

use hugewise_base::units::Ns;
use hugewise_manager::access::Tracker;
use hugewise_manager::compaction::Compact;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::decision::{Action, Decision, Outcome};
use hugewise_manager::engine::{Manager, Sink, TickEnd, Wake, World, tick};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::record::Record;
use hugewise_manager::select::Selection;
use hugewise_manager::sim::neighbours::{Neighbour, VICTIM, WASTER};
use hugewise_manager::sim::{Sim, SimProcess, SimRegion};
use hugewise_manager::snapshot::{Ask, Observation, ScanEnd};

/// Listens to nothing.
struct Nobody;

impl Sink for Nobody {
    fn record(&mut self, _at: Ns, _record: &Record) {}
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// The pid of a program of a hostile user that is always next by M.
const FIRST: u32 = 6_999;

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
    config.select.min_anon_bytes = hugewise_base::units::Bytes::mib(4);
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

/// How long it takes until nothing is left to do for a victim of these regions that was seen late,
/// beside so many programs of another user in a full cgroup of his own, which drop most of their
/// huge pages and make new ones, over and over; and how often those were split.
fn done_beside_a_full_cgroup(regions: &[SimRegion], many: u32, seed: u64) -> (Ns, usize) {
    let mut sim = Sim::among(&[], seed, LENGTH);
    sim.mishaps = false;
    sim.full_cgroups.insert("/simx".to_owned());
    let mut victim = sim.processes.remove(&VICTIM).expect("a victim");
    let small = SimRegion { used: 512, ..SimRegion::default() };
    let huge = SimRegion { huge: true, ..small };
    for pid in 7_000..7_000 + many {
        let mut process = victim.clone();
        (process.sample.id.pid, process.sample.uid) = (pid, Some(6_666));
        (process.sample.cgroup, process.regions) = (Some("/simx".to_owned()), vec![huge; 100]);
        sim.processes.insert(pid, process);
    }
    // ... and one that is always next by M: it holds nothing for long.
    if many > 0 {
        let mut first = victim.clone();
        (first.sample.id.pid, first.sample.uid) = (FIRST, Some(6_666));
        first.sample.cgroup = Some("/simy".to_owned());
        sim.processes.insert(FIRST, first);
    }
    victim.regions = regions.to_vec();
    let (began, mut seen, mut victim) = (sim.now(), None, Some(victim));
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), began);
    let mut splits = 0;
    while tick(&mut sim, &mut manager, &mut Nobody) == TickEnd::Done {
        if sim.now().since(began) >= SHORT
            && let Some(victim) = victim.take()
        {
            sim.processes.insert(VICTIM, victim);
        }
        let known = manager
            .state()
            .targets()
            .values()
            .any(|target| target.sample.id.pid == VICTIM && target.pass_done.is_some());
        seen = seen.or(known.then(|| sim.now()));
        let waits = |region: &&SimRegion| region.block || (region.used == 512 && !region.huge);
        let left = sim.processes.get(&VICTIM).map(|v| v.regions.iter().filter(waits).count());
        if left.is_some_and(|left| left <= regions.len() / 10) {
            break;
        }
        if let Some(first) = sim.processes.get_mut(&FIRST) {
            let_go(first, small);
            sim.free_huge = 4_000;
        }
        let hostile = |p: &&mut SimProcess| p.sample.cgroup.as_deref() == Some("/simx");
        for process in sim.processes.values_mut().filter(hostile) {
            for region in &mut process.regions {
                splits += usize::from(!region.huge && !region.block);
                *region = match region.huge {
                    true => SimRegion { used: 100, block: true, ..SimRegion::default() },
                    false if region.block => *region,
                    false => huge,
                };
            }
        }
    }
    (sim.now().since(seen.unwrap_or(began)), splits)
}

/// The medians of seven runs.
fn median(run: impl Fn(u64) -> (Ns, usize)) -> (f64, usize) {
    let (mut times, mut counts): (Vec<_>, Vec<_>) = (1..=7).map(run).unzip();
    times.sort_unstable();
    counts.sort_unstable();
    (times[3].as_s(), counts[3])
}

/// So many that the manager's CPU budget is the limit, and not their locks.
const MANY: u32 = 80;

/// The same for the waste of a victim in a full cgroup, beside so many programs of its own user
/// that ask for promotions without end.
fn given_back_beside_promotions(many: u32, seed: u64) -> (Ns, usize) {
    let mut sim = Sim::among(&[], seed, LENGTH);
    sim.mishaps = false;
    sim.full_cgroups.insert("/simv".to_owned());
    let mut victim = sim.processes.remove(&VICTIM).expect("a victim");
    let small = SimRegion { used: 512, ..SimRegion::default() };
    for pid in 7_000..7_000 + many {
        let mut process = victim.clone();
        process.sample.id.pid = pid;
        (process.sample.cgroup, process.regions) = (Some(format!("/pod{pid}")), vec![small; 50]);
        sim.processes.insert(pid, process);
    }
    victim.sample.cgroup = Some("/simv".to_owned());
    victim.regions = vec![SimRegion { used: 300, huge: true, ..small }; 100];
    sim.processes.insert(VICTIM, victim);
    let began = sim.now();
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), began);
    let mut given = 0;
    while tick(&mut sim, &mut manager, &mut Nobody) == TickEnd::Done && sim.huge_of(VICTIM) > 10 {
        for process in
            sim.processes.values_mut().filter(|p| (7_000..8_000).contains(&p.sample.id.pid))
        {
            given += let_go(process, small);
        }
        sim.free_huge = 4_000;
    }
    (sim.now().since(began), given)
}

/// The program frees its huge pages, and maps as much elsewhere: what lost its huge page a moment
/// ago stays small for a while. Returns how many they were.
fn let_go(process: &mut SimProcess, small: SimRegion) -> usize {
    let huge = process.regions.iter_mut().filter(|region| region.huge);
    let let_go = huge.map(|region| *region = SimRegion::default()).count();
    process.regions.extend(vec![small; let_go]);
    process.sample.faults += 512 * let_go as u64;
    let_go
}

#[test]
fn promotions_hold_up_no_splits_of_a_full_cgroup() {
    let (alone, _) = median(|seed| given_back_beside_promotions(0, seed));
    let (beside, given) = median(|seed| given_back_beside_promotions(MANY, seed));
    println!("given back after {alone:.1} s alone, {beside:.1} s beside {given} promotions");
    assert!(given > 100, "{given} promotions are no crowd");
    assert!(beside <= 3.0 * alone, "{alone} s alone, {beside} s beside {MANY} programs");
}

#[test]
fn splits_of_a_full_cgroup_take_turns_with_promotions() {
    let small = [SimRegion { used: 512, ..SimRegion::default() }; 100];
    let (alone, _) = median(|seed| done_beside_a_full_cgroup(&small, 0, seed));
    let (beside, splits) = median(|seed| done_beside_a_full_cgroup(&small, MANY, seed));
    println!("huge after {alone:.1} s alone, {beside:.1} s beside {splits} splits");
    assert!(splits > 1000, "{splits} splits are no attack");
    assert!(beside <= 1.5 * alone, "{alone} s alone, {beside} s beside {MANY} programs");
}

#[test]
fn splits_of_one_user_take_turns_with_those_of_another() {
    let block = [SimRegion { used: 300, block: true, ..SimRegion::default() }; 100];
    let (alone, _) = median(|seed| done_beside_a_full_cgroup(&block, 0, seed));
    let (beside, splits) = median(|seed| done_beside_a_full_cgroup(&block, MANY, seed));
    println!("given back after {alone:.1} s alone, {beside:.1} s beside {splits} splits");
    assert!(splits > 1000, "{splits} splits are no attack");
    assert!(beside <= 2.0 * alone, "{alone} s alone, {beside} s beside {MANY} programs");
}

/// How long it takes until all of a victim is huge that holds many huge pages already, beside so
/// many programs of another user that let every huge page go and ask for others; and how many they
/// were given.
fn huge_beside_many_that_let_go(many: u32, seed: u64) -> (Ns, usize) {
    let mut sim = Sim::among(&[], seed, LENGTH);
    sim.mishaps = false;
    let mut victim = sim.processes.remove(&VICTIM).expect("a victim");
    let small = SimRegion { used: 512, ..SimRegion::default() };
    for pid in 7_000..7_000 + many {
        let mut process = victim.clone();
        (process.sample.id.pid, process.sample.uid) = (pid, Some(6_666));
        process.sample.cgroup = Some(format!("/letting/go{pid}"));
        process.regions = vec![small; 50];
        sim.processes.insert(pid, process);
    }
    victim.regions.extend(vec![SimRegion { huge: true, ..small }; 400]);
    sim.processes.insert(VICTIM, victim);
    let began = sim.now();
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), began);
    let mut given = 0;
    while tick(&mut sim, &mut manager, &mut Nobody) == TickEnd::Done && sim.huge_of(VICTIM) < 500 {
        for process in sim.processes.values_mut().filter(|p| p.sample.uid == Some(6_666)) {
            given += let_go(process, small);
        }
        sim.free_huge = 4_000;
    }
    (sim.now().since(began), given)
}

/// Who lets go what he was given holds nothing, and is served first for that: not for ever.
#[test]
fn whoever_lets_huge_pages_go_is_not_always_served_first() {
    let (alone, _) = median(|seed| huge_beside_many_that_let_go(0, seed));
    let (beside, given) = median(|seed| huge_beside_many_that_let_go(10, seed));
    println!("alone {alone:.1} s, beside others {beside:.1} s, who let {given} go");
    assert!(given > 100, "{given} promotions are no attack");
    assert!(beside <= 2.0 * alone, "{alone} s alone, {beside} s beside");
}

/// How long it takes until all of a victim is huge that starts after so many programs of another
/// user have asked for more than there is CPU time for, for longer than it is saved up; and how
/// many regions of theirs became huge.
fn huge_of_a_newcomer_beside(many: u32, seed: u64) -> (Ns, usize) {
    let mut sim = Sim::among(&[], seed, LENGTH);
    sim.mishaps = false;
    let small = SimRegion { used: 512, ..SimRegion::default() };
    let victim = sim.processes.remove(&VICTIM).expect("a victim");
    for pid in 7_000..7_000 + many {
        let mut process = victim.clone();
        (process.sample.id.pid, process.sample.uid) = (pid, Some(6_666));
        sim.processes.insert(pid, process);
    }
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), sim.now());
    let (mut given, mut newcomer, mut began) = (0, Some(victim), sim.now() + SHORT);
    while tick(&mut sim, &mut manager, &mut Nobody) == TickEnd::Done {
        for process in sim.processes.values_mut().filter(|p| p.sample.uid == Some(6_666)) {
            given += let_go(process, small);
        }
        sim.free_huge = 4_000;
        let now = sim.now();
        if now >= began
            && let Some(victim) = newcomer.take()
        {
            began = now;
            sim.processes.insert(VICTIM, victim);
        }
        if newcomer.is_none() && sim.huge_of(VICTIM) == 100 {
            break;
        }
    }
    (sim.now().since(began), given)
}

/// Who always asks for more uses up all CPU time but what is kept for others.
#[test]
fn a_newcomer_finds_cpu_time_beside_those_who_always_ask() {
    let (alone, _) = median(|seed| huge_of_a_newcomer_beside(0, seed));
    let (beside, given) = median(|seed| huge_of_a_newcomer_beside(10, seed));
    println!("huge after {alone:.1} s alone, {beside:.1} s beside {given} promotions");
    assert!(given > 1000, "{given} promotions are no attack");
    assert!(beside <= 2.0 * alone, "{alone} s alone, {beside} s beside");
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

/// Attempts to promote memory of hostile programs.
#[derive(Debug, Default)]
struct Attempts(usize);

impl Sink for Attempts {
    fn record(&mut self, _at: Ns, record: &Record) {
        if let Record::Action { target, action: Action::Promote, .. } = record {
            self.0 += usize::from(![VICTIM, WASTER].contains(&target.pid));
        }
    }
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

#[test]
fn whoever_cannot_be_served_is_asked_less_and_less() {
    for neighbour in [Neighbour::Mixed, Neighbour::FullNode, Neighbour::NodeInPieces] {
        let mut sim = Sim::among(&[neighbour], 1, LENGTH);
        let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), sim.now());
        let mut attempts = Attempts::default();
        while tick(&mut sim, &mut manager, &mut attempts) == TickEnd::Done {}
        // Of each of 20 programs 32 in a row, then one after each suspension.
        assert!((100..800).contains(&attempts.0), "{neighbour:?}: {} attempts", attempts.0);
    }
}

/// A machine on which every look takes so long, and scans of the victim are refused until then.
struct Hindered {
    sim: Sim,
    look: Ns,
    refuses_until: Ns,
    /// When scans were refused.
    refused: Vec<Ns>,
}

impl Hindered {
    fn new(look: Ns, refuses_until: Ns) -> Self {
        Self { sim: Sim::among(&[], 1, LENGTH), look, refuses_until, refused: Vec::new() }
    }
}

impl World for Hindered {
    fn observe(&mut self, ask: &Ask) -> Observation {
        let mut seen = self.sim.observe(ask);
        let now = self.sim.now();
        let hinders = now < self.refuses_until;
        for scan in seen.scans.iter_mut().filter(|scan| hinders && scan.target.pid == VICTIM) {
            (scan.end, scan.regions) = (ScanEnd::Refused(SkipReason::NotAnswering), Vec::new());
            self.refused.push(now);
        }
        self.sim.wait_until(now + self.look);
        seen
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
        self.sim.wait_until(at)
    }
}

/// A look that takes longer than the longest tick leaves time to serve somebody all the same.
#[test]
fn whoever_makes_looking_slow_does_not_end_all_service() {
    let mut slow = Hindered::new(Ns::s(3), Ns(0));
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), slow.now());
    while tick(&mut slow, &mut manager, &mut Nobody) == TickEnd::Done {}
    let huge = slow.sim.huge_of(VICTIM);
    assert!(huge >= 50, "{huge} of 100 are huge");
}

/// A scan that was refused, because the program did not answer in time once, is tried again soon,
/// although nothing of the program changes; one that always is refused, as seldom as any other.
#[test]
fn a_refused_scan_is_tried_again_soon() {
    let mut once = Hindered::new(Ns(0), Ns::s(3));
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), once.now());
    while once.now() < Ns::s(8) {
        tick(&mut once, &mut manager, &mut Nobody);
    }
    assert!(once.sim.huge_of(VICTIM) > 0, "refused at {:?}", once.refused);
    let mut always = Hindered::new(Ns(0), LENGTH);
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), always.now());
    while tick(&mut always, &mut manager, &mut Nobody) == TickEnd::Done {}
    // After 1, 2, 4, 8, 16 s, and then once in 30.
    assert!((5..=9).contains(&always.refused.len()), "refused at {:?}", always.refused);
}

/// What a journal would have of reasons: lines and bytes of hostile programs, lines of the others,
/// and lines that were left out, with those that say so.
#[derive(Debug, Default)]
struct Lines {
    hostile: u64,
    bytes: u64,
    others: u64,
    left_out: u64,
    reports: u64,
}

impl Sink for Lines {
    fn record(&mut self, _at: Ns, record: &Record) {
        match record {
            Record::Skips { target, .. } if [VICTIM, WASTER].contains(&target.pid) => {
                self.others += 1;
            }
            Record::Skips { .. } => {
                // Its time comes before it: 36 bytes, and a line end.
                let line = serde_json::to_string(record).expect("plain data");
                (self.hostile, self.bytes) =
                    (self.hostile + 1, self.bytes + line.len() as u64 + 37);
            }
            Record::SkipsLeftOut { uid, lines, .. } => {
                assert_eq!(*uid, Some(6_666));
                (self.left_out, self.reports) = (self.left_out + lines, self.reports + 1);
            }
            _ => {}
        }
    }
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// 250 programs of one user that change all of their memory every second, and each of which ends
/// after some seconds and begins anew.
#[test]
fn whoever_changes_reasons_all_the_time_fills_no_journal() {
    const SECONDS: u32 = 300;
    let (first, programs) = (7_000, 250);
    let mut sim = Sim::among(&[], 1, Ns::s(SECONDS.into()));
    let victim = sim.processes[&VICTIM].clone();
    for pid in first..first + programs {
        let mut process = victim.clone();
        (process.sample.id.pid, process.sample.uid) = (pid, Some(6_666));
        process.sample.cgroup = Some("/hostile".to_owned());
        process.regions.truncate(16);
        sim.processes.insert(pid, process);
    }
    let mut manager = Manager::new(config(), Mode::Ingens, Selection::default(), sim.now());
    let (mut lines, mut turn) = (Lines::default(), 0_u32);
    while tick(&mut sim, &mut manager, &mut lines) == TickEnd::Done {
        turn += 1;
        for (pid, process) in sim.processes.range_mut(first..first + programs) {
            process.sample.id.start_ticks += u64::from((turn + pid).is_multiple_of(12));
            for (number, region) in (0..).zip(&mut process.regions) {
                let used = (turn * 131 + pid * 37 + number * 53) % 512;
                *region = SimRegion { used: u16::try_from(used).expect("a page"), ..*region };
            }
        }
    }
    let all = lines.hostile + lines.left_out;
    let each = lines.bytes / lines.hostile.max(1);
    // A journal and the one before it, by default.
    let hours = |per_s: f64| f64::from(128 << 20) / per_s / 3600.0;
    let before = (all * each) as f64 / f64::from(SECONDS);
    println!(
        "{lines:?}, {each} bytes each; without a limit {before:.0} bytes/s, full after {:.1} h; \
         with it {:.0} h",
        hours(before),
        hours(each as f64)
    );
    assert!(all > 4 * lines.hostile, "no attack: {lines:?}");
    assert!(lines.hostile <= 1024 + u64::from(SECONDS) + 1, "{lines:?}");
    assert!((2..=u64::from(SECONDS) / 60).contains(&lines.reports), "{lines:?}");
    assert!(lines.others >= 4, "the victims' lines are there: {lines:?}");
}
