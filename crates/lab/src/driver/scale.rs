//! What the manager's loop takes by itself on a large machine: the production loop over a simulated
//! one.

use crate::run::Run;
use anyhow::{Context, ensure};
use hugewise_base::stats::median;
use hugewise_base::units::Ns;
use hugewise_experiment::kinds::Scale;
use hugewise_linux::root::Root;
use hugewise_manager::compaction::Compact;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::decision::{Decision, Outcome};
use hugewise_manager::engine::{Manager, Sink, TickEnd, Wake, World, tick};
use hugewise_manager::record::Record;
use hugewise_manager::select::Selection;
use hugewise_manager::sim::Sim;
use hugewise_manager::snapshot::{Ask, Observation};
use std::time::{Duration, Instant};

const MIB: f64 = (1 << 20) as f64;
/// Regions of 2 MiB in a GiB.
const PER_GIB: u64 = 512;
/// Simulated time within which everything is known.
const KNOWN_BY: Ns = Ns::s(3600);

/// Simulated time within which everything is inspected: 256 regions a turn of 1 s.
const INSPECTED_BY: Ns = Ns::s(600);

/// Runs it once.
pub(super) fn drive(params: &Scale, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("simulating")?;
    let processes = u32::try_from(params.processes).context("too many processes")?;
    let regions = usize::try_from(params.gib * PER_GIB / params.processes)?;
    ensure!(regions > 0, "less than a region for each process");
    let mut sim =
        Timed { sim: Sim::quiet(processes, regions, Ns(u64::MAX)), inside: Duration::ZERO };
    let mut config = Config::default();
    config.select.max_targets = processes as usize;
    // What is to be known is known soon: the budget of scans is not what is measured.
    config.scan.cpu_percent = 100.0;
    config.controller.cpu_percent = 100.0;
    let before = resident().context("own memory is unknown")?;
    let (began, selection) = (sim.sim.now(), Selection::default());
    let mut manager = Manager::new(config, Mode::Ingens, selection, began);
    let mut first_pass = Duration::ZERO;
    while !knows_all(&manager, params.processes) {
        run.beat()?;
        first_pass += sim.tick(&mut manager);
        ensure!(sim.sim.now() < KNOWN_BY, "not everything was known in time");
    }
    // What is used too little is inspected once, some of it in each turn.
    let begin = sim.sim.now();
    while sim.sim.now().since(begin) < INSPECTED_BY {
        run.beat()?;
        sim.tick(&mut manager);
    }
    let after = resident().context("own memory is unknown")?;
    let ticks = (0..params.ticks).map(|_| sim.tick(&mut manager).as_secs_f64() * 1e3);
    let ticks: Vec<_> = ticks.collect();
    run.known("quiet.tick_ms", median(&ticks));
    run.known("quiet.worst_tick_ms", ticks.iter().copied().reduce(f64::max));
    run.value("state_mib", after.saturating_sub(before) as f64 / MIB);
    run.value("first_pass_s", first_pass.as_secs_f64());
    Ok(())
}

fn knows_all(manager: &Manager, processes: u64) -> bool {
    let targets = manager.state().targets();
    targets.len() as u64 == processes && targets.values().all(|target| target.pass_done.is_some())
}

/// Resident memory of this process, bytes.
fn resident() -> Option<u64> {
    let own = hugewise_linux::process::stat(&Root::live(), std::process::id())?;
    Some(own.rss_pages * rustix::param::page_size() as u64)
}

/// A simulated machine, and the time that simulating it took.
struct Timed {
    sim: Sim,
    inside: Duration,
}

impl Timed {
    fn inside<T>(&mut self, of: impl FnOnce(&mut Sim) -> T) -> T {
        let began = Instant::now();
        let answer = of(&mut self.sim);
        self.inside += began.elapsed();
        answer
    }

    /// The manager's own time of one turn.
    fn tick(&mut self, manager: &mut Manager) -> Duration {
        self.inside = Duration::ZERO;
        let began = Instant::now();
        let end = tick(self, manager, &mut Nobody);
        debug_assert_eq!(end, TickEnd::Done);
        began.elapsed().saturating_sub(self.inside)
    }
}

impl World for Timed {
    fn observe(&mut self, ask: &Ask) -> Observation {
        self.inside(|sim| sim.observe(ask))
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        self.inside(|sim| sim.act(decision))
    }

    fn compact(&mut self, order: &Compact) {
        self.inside(|sim| sim.compact(order));
    }

    fn now(&mut self) -> Ns {
        self.sim.now()
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        self.inside(|sim| sim.wait_until(at))
    }
}

/// Writes nothing down.
struct Nobody;

impl Sink for Nobody {
    fn record(&mut self, _at: Ns, _record: &Record) {}
    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}
