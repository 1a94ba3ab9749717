//! One policy, one way to know how memory is used, one scenario, one seed: what comes of it.

use super::Sim;
use super::baseline::{Kernel, Running};
use super::hawkeye::HawkEye;
use super::scenario::{self, Scenario};
use crate::access::Tracker;
use crate::config::{Config, Mode, PolicyKind};
use crate::engine::{Manager, Sink, World, tick};
use crate::policy;
use crate::record::Record;
use crate::select::Selection;
use hugewise_base::units::Ns;

/// Who decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decider {
    /// A kernel by itself.
    Kernel(Kernel),
    /// HawkEye's policy in our engine.
    HawkEye,
    /// One of ours.
    Ours(PolicyKind),
    /// Worth, where the operator lets it waste a tenth, and also on what is nearly empty.
    Generous,
}

/// What [`Decider::Generous`] may waste, and how full a region must be at least, in percent.
const GENEROUS_PERCENT: f64 = 10.0;

/// `track.longest_lock_us` of [`Knowledge::Longer`].
pub const LONGER_LOCK_US: u64 = 100_000;

/// What it knows of the use of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// Nothing.
    Nothing,
    /// What a tracker shows.
    By(Tracker),
    /// The same where a look may hold a program's lock for [`LONGER_LOCK_US`].
    Longer(Tracker),
    /// What somebody wrote down.
    Hints,
}

/// How far things are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Since the programs started, or changed, s.
    pub at_s: f64,
    /// Regions made huge since then.
    pub promoted: u64,
    /// Share of the attainable gain that the programs have ([`Sim::attained`]).
    pub gain: f64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// From the beginning to the end.
    pub points: Vec<Point>,
    /// Regions of all programs.
    pub regions: u64,
    /// Memory held in the end against what is used ([`Sim::held`]).
    pub held: f64,
    /// CPU time of the manager, or of khugepaged.
    pub cpu: Ns,
}

/// How long a course is followed.
pub const HORIZON: Ns = Ns::s(120);

impl Course {
    fn new(sim: &Sim) -> Self {
        let regions = sim.processes.values().map(|process| process.regions.len() as u64).sum();
        Self { points: Vec::new(), regions, held: 1.0, cpu: Ns(0) }
    }

    /// One more point; the gain is computed anew only where it may have changed.
    fn note(&mut self, sim: &Sim, at_s: f64, promoted: u64) {
        let same = self.points.last().filter(|last| last.promoted == promoted);
        let gain = same.map_or_else(|| sim.attained(), |last| last.gain);
        self.points.push(Point { at_s, promoted, gain });
    }

    /// When so much of the gain was reached, s; `None`: not within [`HORIZON`].
    pub fn seconds_until(&self, gain: f64) -> Option<f64> {
        self.points.iter().find(|point| point.gain >= gain).map(|point| point.at_s)
    }

    /// The gain after so many promotions; in the end where there were fewer.
    pub fn gain_after(&self, promoted: u64) -> f64 {
        let after = self.points.partition_point(|point| point.promoted < promoted);
        let Some(next) = self.points.get(after) else { return self.gain() };
        let Some(before) = self.points.get(after.wrapping_sub(1)) else { return next.gain };
        let way = (promoted - before.promoted) as f64 / (next.promoted - before.promoted) as f64;
        before.gain + (next.gain - before.gain) * way
    }

    /// Share of all regions that was promoted when so much of the gain was reached.
    pub fn footprint_at(&self, gain: f64) -> Option<f64> {
        let reached = self.points.iter().position(|point| point.gain >= gain)?;
        let next = self.points.get(reached)?;
        let promoted = match self.points.get(reached.wrapping_sub(1)) {
            None => next.promoted as f64,
            Some(before) => {
                let way = (gain - before.gain) / (next.gain - before.gain);
                before.promoted as f64 + way * (next.promoted - before.promoted) as f64
            }
        };
        Some(promoted / self.regions.max(1) as f64)
    }

    /// The gain in the end.
    pub fn gain(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.gain)
    }

    /// Regions promoted in all.
    pub fn promoted(&self) -> u64 {
        self.points.last().map_or(0, |last| last.promoted)
    }
}

/// Follows a scenario under a decider.
pub fn run(scenario: Scenario, decider: Decider, knowledge: Knowledge, seed: u64) -> Course {
    match decider {
        Decider::Kernel(kernel) => under_kernel(scenario, kernel, seed),
        _ => under_engine(scenario, decider, knowledge, seed),
    }
}

fn under_kernel(scenario: Scenario, kernel: Kernel, seed: u64) -> Course {
    let mut sim = scenario.machine(seed);
    let (mut running, mut course) = (Running::new(kernel), Course::new(&sim));
    course.note(&sim, 0.0, 0);
    // A note for each 64th of the memory.
    let every = course.regions.div_ceil(64).max(1);
    let places = sim.processes.iter().flat_map(|(pid, process)| {
        (0..process.regions.len()).map(|index| (*pid, index)).collect::<Vec<_>>()
    });
    for (number, (pid, index)) in (1..).zip(places.collect::<Vec<_>>()) {
        let Sim { processes, free_huge, .. } = &mut sim;
        if let Some(region) = processes.get_mut(&pid).and_then(|p| p.regions.get_mut(index)) {
            running.fill(region, free_huge);
        }
        if number % every == 0 || number == course.regions {
            course.note(&sim, 0.0, running.promoted);
        }
    }
    let mut second = 0;
    if let Some(after) = scenario.changes_after() {
        while second < after.0 / Ns::s(1).0 {
            second += 1;
            running.second(&mut sim, second);
        }
        scenario.change(&mut sim, seed, |region, used| running.drop_pages(region, used));
        (running.promoted, running.cpu) = (0, Ns(0));
        course.points.clear();
        course.note(&sim, 0.0, 0);
    }
    for passed in 1..=HORIZON.0 / Ns::s(1).0 {
        running.second(&mut sim, second + passed);
        course.note(&sim, passed as f64, running.promoted);
    }
    Course { held: sim.held(), cpu: running.cpu, ..course }
}

/// A sink that writes nothing down.
#[derive(Debug, Clone, Copy)]
struct Nowhere;

impl Sink for Nowhere {
    fn record(&mut self, _at: Ns, _record: &Record) {}
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

fn under_engine(scenario: Scenario, decider: Decider, knowledge: Knowledge, seed: u64) -> Course {
    let mut sim = scenario.machine(seed);
    let mut config = Config::default();
    match knowledge {
        Knowledge::Nothing => {}
        Knowledge::By(tracker) => sim.trackers = vec![tracker],
        Knowledge::Longer(tracker) => {
            sim.trackers = vec![tracker];
            config.track.longest_lock_us = LONGER_LOCK_US;
        }
        Knowledge::Hints => {
            let mut changed = sim.clone();
            scenario.change(&mut changed, seed, |region, used| region.used = used);
            config.hints = scenario::hints(&changed);
        }
    }
    let policy: Box<dyn policy::Policy> = match decider {
        Decider::Ours(kind) => {
            config.policy.active = kind;
            policy::of(kind)
        }
        Decider::Generous => {
            config.promote.bloat_budget_percent = GENEROUS_PERCENT;
            config.promote.min_utilization_percent = GENEROUS_PERCENT;
            policy::of(PolicyKind::Worth)
        }
        Decider::HawkEye | Decider::Kernel(_) => Box::new(HawkEye),
    };
    let (start, mode, all) = (sim.now(), Mode::Ingens, Selection::default());
    let mut manager = Manager::with_policy(policy, config, mode, all, start);
    if let Some(after) = scenario.changes_after() {
        while sim.now() < start + after {
            tick(&mut sim, &mut manager, &mut Nowhere);
        }
        scenario.change(&mut sim, seed, |region, used| {
            region.block = region.huge && used > 0;
            (region.huge, region.used, region.promoted_from) = (false, used, None);
        });
    }
    let (start, before, cpu) = (sim.now(), manager.state().totals().promoted, sim.manager_cpu());
    let mut course = Course::new(&sim);
    course.note(&sim, 0.0, 0);
    while sim.now() < start + HORIZON {
        tick(&mut sim, &mut manager, &mut Nowhere);
        let promoted = manager.state().totals().promoted - before;
        let passed = sim.now().since(start);
        course.note(&sim, passed.as_s(), promoted);
    }
    Course { held: sim.held(), cpu: sim.manager_cpu().since(cpu), ..course }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_s: f64, promoted: u64, gain: f64) -> Point {
        Point { at_s, promoted, gain }
    }

    #[test]
    fn what_lies_between_two_points_is_on_the_way() {
        let points = vec![point(0.0, 0, 0.0), point(1.0, 10, 0.5), point(2.0, 30, 0.9)];
        let course = Course { points, regions: 100, held: 1.0, cpu: Ns(0) };
        assert!((course.gain_after(5) - 0.25).abs() < 1e-9);
        assert!((course.gain_after(20) - 0.7).abs() < 1e-9);
        assert!((course.gain_after(99) - 0.9).abs() < 1e-9, "that is all");
        assert_eq!(course.footprint_at(0.7).map(|share| (share * 1e9).round()), Some(2e8));
        assert_eq!(course.footprint_at(0.95), None);
        assert_eq!(course.seconds_until(0.5), Some(1.0));
        assert_eq!((course.promoted(), course.seconds_until(0.91)), (30, None));
    }

    #[test]
    fn one_seed_gives_one_course() {
        let run = || {
            let knowledge = Knowledge::By(Tracker::Damon);
            run(Scenario::Scarce, Decider::Ours(PolicyKind::Worth), knowledge, 3)
        };
        assert_eq!(run(), run());
    }
}
