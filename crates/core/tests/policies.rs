//! What policies choose, over thousands of simulated machines.

#![forbid(unsafe_code)]

use hugewise_core::base::units::{Bytes, Ns};
use hugewise_core::manager::access::Tracker;
use hugewise_core::manager::config::{Config, Mode, PolicyKind};
use hugewise_core::manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_core::manager::policy::{self, Plan, View};
use hugewise_core::manager::record::Record;
use hugewise_core::manager::select::Selection;
use hugewise_core::manager::sim::Sim;
use hugewise_core::manager::sim::contest::{Decider, Knowledge, run};
use hugewise_core::manager::sim::scenario::Scenario;
use hugewise_core::manager::snapshot::ThpMode;

fn config() -> Config {
    let mut config = Config::default();
    config.select.min_anon_bytes = Bytes::mib(4);
    config
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
        let plan = |kind| -> Plan {
            let view = View::new(manager.config(), manager.state(), false, at);
            policy::of(kind).plan(manager.config(), &view, at)
        };
        let (worth, utilization) = (plan(PolicyKind::Worth), plan(PolicyKind::Utilization));
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
    for seed in 0..200 {
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
    assert!(decisions > 5_000, "only {decisions} decisions");
}

/// A hot eighth at the end of 2 GiB: who knows what is accessed begins there.
#[test]
fn hot_memory_comes_first() {
    let worth = Decider::Ours(PolicyKind::Worth);
    let utilization = Decider::Ours(PolicyKind::Utilization);
    for seed in 0..8 {
        let course = run(Scenario::HotTail, worth, Knowledge::By(Tracker::Samples), seed);
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
