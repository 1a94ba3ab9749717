//! Simulated runs. A seed gives the same run on every machine, so the repository holds no
//! recordings of them: only the number of their decisions, and a digest of all that was decided.
//!
//! `HUGEWISE_UPDATE_GOLDEN=1 cargo test -p hugewise-manager --test replays` rewrites that table.

use super::{Decided, decide, decisions};
use hugewise_base::units::Ns;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::engine::{Manager, TickEnd, World, tick};
use hugewise_manager::replay::{Comparison, Event, Recorder};
use hugewise_manager::select::Selection;
use hugewise_manager::sim::Sim;
use hugewise_manager::snapshot::ThpMode;
use serde_json::Value;
use std::sync::LazyLock;

/// Below its head a run a line: kind, seed, number of decisions, digest.
const TABLE: &str = include_str!("simulated.tsv");

/// What every simulated manager is configured with.
const CONFIG: &str = r#"
[select]
min_anon_bytes = 4194304
[demote]
settle_ms = 2000
[[rule]]
action = "exclude"
exe = "/excluded/*"
"#;

/// A run, and its line of the table.
struct Run {
    kind: &'static str,
    seed: u64,
    line: &'static str,
    events: Vec<Event>,
    decided: Vec<Value>,
}

/// Simulated once for all tests.
static RUNS: LazyLock<Vec<Run>> =
    LazyLock::new(|| TABLE.lines().skip(1).map(Run::simulate).collect());

/// Everything that was decided in all runs.
pub(crate) fn decided() -> impl Iterator<Item = &'static Value> {
    RUNS.iter().flat_map(|run| &run.decided)
}

/// FNV-1a of 128 bits over the lines: the same on every machine and in every version of Rust.
fn digest(lines: &[Value]) -> u128 {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    })
}

fn mode(kind: &str) -> Mode {
    if matches!(kind, "guard" | "long") { Mode::Guard } else { Mode::Ingens }
}

fn config(kind: &str, seed: u64) -> Config {
    let mut config: Config = toml::from_str(CONFIG).expect("a configuration");
    match kind {
        "guard" | "long" => config.demote.sample = !seed.is_multiple_of(2),
        "loose" => {
            config.controller.lock_share_percent = 100.0;
            config.controller.cpu_percent = 100.0;
            config.promote.bloat_budget_percent = 50.0;
            config.promote.min_utilization_percent = 1.0;
        }
        "tight" => {
            config.controller.lock_share_percent = 0.2;
            config.controller.cpu_percent = 0.5;
            config.promote.bloat_budget_percent = 0.0;
        }
        _ => {}
    }
    config
}

/// The machine of a run.
fn sim(kind: &str, seed: u64) -> Sim {
    let length = Ns::s(match kind {
        "loose" => 180,
        "long" => 700,
        _ => 60,
    });
    let guard = mode(kind) == Mode::Guard;
    let thp = if guard { ThpMode::Always } else { ThpMode::Madvise };
    let mut sim = Sim::on(seed, thp, length);
    sim.max_ptes_none = guard.then_some(409);
    match kind {
        "guard" => {
            sim.shows_frames = !seed.is_multiple_of(3);
            sim.frees_zeros = !seed.is_multiple_of(4);
        }
        "loose" => sim.events_per_s = 500,
        "long" => sim.events_per_s = 20,
        _ => {}
    }
    sim
}

impl Run {
    /// The run of a line of the table.
    fn simulate(line: &'static str) -> Self {
        let mut fields = line.split('\t');
        let (kind, seed) = (fields.next().expect("a kind"), fields.next().expect("a seed"));
        let seed = seed.parse().expect("a number");
        let mut events = Vec::new();
        let note = |event: &Event| events.push(event.clone());
        let mut world = Recorder::new(sim(kind, seed), false, mode(kind), note);
        let now = world.now();
        let mut manager = Manager::new(config(kind, seed), mode(kind), Selection::default(), now);
        let mut decided = Decided(Vec::new());
        while tick(&mut world, &mut manager, &mut decided) == TickEnd::Done {}
        drop(world);
        Self { kind, seed, line, events, decided: decided.0 }
    }

    fn count(&self) -> usize {
        decisions(&self.decided).count()
    }

    /// Its line of the table as it is now.
    fn line_now(&self) -> String {
        let Self { kind, seed, decided, .. } = self;
        format!("{kind}\t{seed}\t{}\t{:032x}", self.count(), digest(decided))
    }
}

/// Set to rewrite the table.
#[expect(clippy::disallowed_methods, reason = "asked for by the developer who runs the test")]
fn is_update() -> bool {
    std::env::var_os("HUGEWISE_UPDATE_GOLDEN").is_some()
}

#[expect(clippy::disallowed_methods, reason = "rewrites the table, and shows what was decided")]
fn write(path: &str, lines: impl Iterator<Item = String>) {
    let text: String = lines.map(|line| line + "\n").collect();
    std::fs::write(path, text).expect("written");
}

/// Writes all that was decided in a run where it can be compared with that of another build.
fn show(run: &Run) -> String {
    let Run { kind, seed, decided, .. } = run;
    let path = format!("{}/sim-{kind}-{seed}.decisions", env!("CARGO_TARGET_TMPDIR"));
    write(&path, decided.iter().map(ToString::to_string));
    path
}

#[test]
fn simulated_runs_give_the_same_decisions() {
    if is_update() {
        RUNS.iter().for_each(|run| println!("{}", show(run)));
        let head = TABLE.lines().take(1).map(str::to_owned);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replays/simulated.tsv");
        write(path, head.chain(RUNS.iter().map(Run::line_now)));
        return;
    }
    assert_eq!(RUNS.len(), 14, "runs of the table");
    let changed: Vec<String> = RUNS
        .iter()
        .filter(|run| run.line != run.line_now())
        .map(|run| format!("was {}\nis  {}\nall of it: {}", run.line, run.line_now(), show(run)))
        .collect();
    assert!(changed.is_empty(), "decisions changed:\n{}", changed.join("\n"));
}

/// What was decided in a simulation is decided again over its recording, read from a file.
#[test]
fn a_recorded_simulation_replays_to_the_same_decisions() {
    for run in RUNS.iter() {
        let (name, count) = (format!("{} {}", run.kind, run.seed), run.count());
        let file = run.events.iter().map(|event| serde_json::to_string(event).expect("JSON"));
        let read = file.map(|line| serde_json::from_str(&line).expect("an event"));
        let config = config(run.kind, run.seed);
        let (again, comparison) =
            decide(read.collect(), config, mode(run.kind), Selection::default());
        for (number, (was, is)) in run.decided.iter().zip(&again).enumerate() {
            assert!(was == is, "{name}, line {}:\nwas {was}\nis  {is}", number + 1);
        }
        assert_eq!(run.decided.len(), again.len(), "{name}: lines simulated and replayed");
        let as_recorded = Comparison { same: count as u64, new: 0, missing: 0 };
        assert_eq!(comparison, as_recorded, "{name}");
    }
}
