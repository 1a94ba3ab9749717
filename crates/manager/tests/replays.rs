//! Recordings of an earlier build decide as they did then: every decision in its order, with its
//! motive, outcome and time, and after each tick why everything else was left alone.
//!
//! `replays/README.md` says where the recordings come from, and which of them today's limits decide
//! differently: those are compared with what the build decided that changed the limits.

#![forbid(unsafe_code)]

use hugewise_base::units::Ns;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_manager::record::Record;
use hugewise_manager::replay::{Comparison, Event, Recorder, Replay};
use hugewise_manager::select::Selection;
use hugewise_manager::sim::Sim;
use hugewise_manager::snapshot::ThpMode;
use hugewise_manager::status;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One recording.
struct Recorded {
    name: &'static str,
    mode: Mode,
    /// Decisions in it.
    count: usize,
    config: &'static str,
    events: &'static [u8],
    /// What was decided over it, line by line as in [`Decided`].
    decided: &'static [u8],
    by: By,
}

/// Which build decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The one that recorded it, 710db49.
    Recorder,
    /// The one in which neighbours can starve nobody: limits are shared out by user, attempts that
    /// come to nothing count, splits have a lock budget of their own.
    Neighbours,
}

macro_rules! recordings {
    ($($name:literal $mode:ident $count:literal $by:ident,)*) => {
        &[$(Recorded {
            name: $name,
            mode: Mode::$mode,
            count: $count,
            config: include_str!(concat!("replays/", $name, ".toml")),
            events: include_bytes!(concat!("replays/", $name, ".recording.zst")),
            decided: include_bytes!(concat!("replays/", $name, ".decisions.zst")),
            by: By::$by,
        },)*]
    };
}

const RECORDINGS: &[Recorded] = recordings! {
    "budget" Ingens 7 Recorder,
    "dense" Ingens 32 Recorder,
    "dry-run" Ingens 32 Recorder,
    "fork" Ingens 48 Neighbours,
    "guard" Guard 40 Recorder,
    "observe" Observe 24 Recorder,
    "partially-mapped" Ingens 40 Recorder,
    "pause" Ingens 27 Neighbours,
    "pressure" Ingens 24 Recorder,
    "quota" Ingens 11 Recorder,
    "samples" Ingens 39 Recorder,
    "shares" Ingens 29 Neighbours,
    "tight" Ingens 32 Neighbours,
    "writers" Ingens 4 Recorder,
    "sim-guard-21" Guard 207 Neighbours,
    "sim-guard-22" Guard 138 Neighbours,
    "sim-guard-23" Guard 473 Neighbours,
    "sim-guard-24" Guard 177 Neighbours,
    "sim-ingens-11" Ingens 379 Neighbours,
    "sim-ingens-12" Ingens 253 Neighbours,
    "sim-ingens-13" Ingens 180 Neighbours,
    "sim-ingens-14" Ingens 464 Neighbours,
    "sim-long-51" Guard 2940 Neighbours,
    "sim-loose-41" Ingens 3911 Neighbours,
    "sim-loose-42" Ingens 3786 Neighbours,
    "sim-tight-31" Ingens 107 Neighbours,
};

/// What the recordings show together, each as often as this at least.
const SHOWN: &[(&str, &[&str], usize)] = &[
    ("action", &["promote", "demote"], 1000),
    (
        "motive",
        &["utilization", "bloat_budget", "partially_mapped", "over_bloat_budget", "pressure"],
        450,
    ),
    ("result", &["promoted", "demoted", "skipped", "withheld", "failed"], 50),
    ("class", &["allocation", "cgroup", "transient", "refused"], 9),
    ("limit", &["lock_share", "own_cpu", "quota_bytes"], 3),
    ("gate", &["operator_never", "low_memory", "allocation_backoff"], 1),
];

/// Reasons for which regions stay small, or keep their waste, somewhere in the recordings.
const REASONS: &[&str] = &[
    "below_threshold",
    "over_bloat_budget",
    "cooldown",
    "given_back",
    "not_looked_at",
    "partially_mapped",
    "shared_pages",
    "refused_by_kernel",
    "shrunk",
    "no_free_huge_page",
    "retry_later",
    "advised_against",
    "cgroup_backoff",
    "cgroup_low_memory",
    "withheld_by_mode",
    "within_bloat_budget",
    "settling",
    "unknown_use",
    "not_split",
    "keeps_zero_pages",
    "no_longer_huge",
];

fn unpacked(packed: &[u8]) -> String {
    let text = zstd::stream::decode_all(packed).expect("compressed by zstd");
    String::from_utf8(text).expect("text")
}

/// A value a line.
fn lines(packed: &[u8]) -> Vec<Value> {
    let text = unpacked(packed);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What a replay decided, and after each tick what it left alone and why.
struct Decided(Vec<Value>);

impl Sink for Decided {
    fn record(&mut self, at: Ns, record: &Record) {
        let mut line = serde_json::to_value(record).expect("a record is JSON");
        // When these were recorded the actuator's count stood under the decision's key, too, and
        // hid it.
        if let Some(then) = line.as_object_mut().and_then(|line| line.remove("populated_then")) {
            line["populated"] = then;
        }
        line["at"] = json!(at);
        self.0.push(line);
    }

    fn tick_done(&mut self, at: Ns, manager: &Manager) {
        let status = status::manager(manager, false, at);
        let status = serde_json::to_value(status).expect("a status is JSON");
        let part = |from: &Value, keys: &[&str]| -> Value {
            keys.iter().map(|key| ((*key).to_owned(), from[*key].clone())).collect()
        };
        let each = |list: &str, keys: &[&str]| -> Value {
            let entries = status[list].as_array().expect("a list");
            entries.iter().map(|entry| part(entry, keys)).collect()
        };
        let mut line =
            part(&status, &["gate", "paused", "pressure", "giving_back", "bloat_budget"]);
        line["at"] = json!(at);
        line["record"] = json!("tick");
        line["targets"] = each("targets", &["pid", "refused", "skips", "kept", "limit"]);
        line["left_alone"] = each("left_alone", &["pid", "reason"]);
        self.0.push(line);
    }
}

impl Recorded {
    fn config(&self) -> Config {
        toml::from_str(self.config).expect("a configuration")
    }

    fn events(&self) -> Vec<Event> {
        let text = unpacked(self.events);
        text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
    }

    /// What the simulator shows a manager of today; `None`: it was recorded live.
    fn simulate_again(&self) -> Option<Vec<Event>> {
        let (kind, seed) = self.name.strip_prefix("sim-")?.rsplit_once('-')?;
        let seed: u64 = seed.parse().expect("a seed");
        let length = Ns::s(match kind {
            "loose" => 180,
            "long" => 700,
            _ => 60,
        });
        let guard = self.mode == Mode::Guard;
        let thp = if guard { ThpMode::Always } else { ThpMode::Madvise };
        let mut sim = Sim::on(seed, thp, length);
        sim.max_ptes_none = guard.then_some(409);
        if kind == "guard" {
            sim.shows_frames = !seed.is_multiple_of(3);
            sim.frees_zeros = !seed.is_multiple_of(4);
        }
        match kind {
            "loose" => sim.events_per_s = 500,
            "long" => sim.events_per_s = 20,
            _ => {}
        }
        let mut events = Vec::new();
        let mut world =
            Recorder::new(sim, false, Mode::Ingens, |event: &Event| events.push(event.clone()));
        let now = world.now();
        let mut manager = Manager::new(self.config(), self.mode, Selection::default(), now);
        while tick(&mut world, &mut manager, &mut Decided(Vec::new())) == TickEnd::Done {}
        drop(world);
        Some(events)
    }

    /// Decides anew.
    fn replay(&self) -> (Vec<Value>, Comparison) {
        self.decide(self.events())
    }

    fn decide(&self, events: Vec<Event>) -> (Vec<Value>, Comparison) {
        let asked = events.iter().flat_map(|event| match event {
            Event::Observed { ask, .. } => ask.targets.as_slice(),
            Event::Began { .. } | Event::Paused { .. } | Event::Acted { .. } => &[],
        });
        // As `hugewise manage replay` does; the simulated managers were given no pids.
        let simulated = self.name.starts_with("sim-");
        let named = (!simulated).then(|| asked.copied().collect());
        let mut world = Replay::new(events);
        let now = world.now();
        let mut manager = Manager::new(self.config(), self.mode, Selection { named }, now);
        let mut decided = Decided(Vec::new());
        while tick(&mut world, &mut manager, &mut decided) == TickEnd::Done {}
        (decided.0, world.comparison())
    }
}

fn decisions(lines: &[Value]) -> impl Iterator<Item = &Value> {
    lines.iter().filter(|line| line["record"] == "action")
}

/// Set to write down what is decided now over the recordings that are not decided as they were.
const UPDATE: &str = "HUGEWISE_UPDATE_GOLDEN";

#[expect(clippy::disallowed_methods, reason = "renews recordings of this folder on demand")]
fn write(name: &str, lines: impl Iterator<Item = String>) {
    let text: String = lines.map(|line| line + "\n").collect();
    let packed = zstd::stream::encode_all(text.as_bytes(), 19).expect("compressed");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replays");
    std::fs::write(format!("{folder}/{name}.zst"), packed).expect("written");
}

#[expect(clippy::disallowed_methods, reason = "asked for by whoever runs the test")]
fn is_update() -> bool {
    std::env::var_os(UPDATE).is_some()
}

/// Writes down what is decided now; what was simulated is simulated again.
fn update(recorded: &Recorded) {
    let name = recorded.name;
    let again = recorded.simulate_again();
    let events = again.unwrap_or_else(|| recorded.events());
    let lines = events.iter().map(|event| serde_json::to_string(event).expect("JSON"));
    if name.starts_with("sim-") {
        write(&format!("{name}.recording"), lines);
    }
    let (decided, comparison) = recorded.decide(events);
    println!("{name}: {} decisions, {comparison:?}", decisions(&decided).count());
    write(&format!("{name}.decisions"), decided.iter().map(ToString::to_string));
}

#[test]
fn old_recordings_give_the_same_decisions() {
    for recorded in RECORDINGS {
        let (name, count) = (recorded.name, recorded.count);
        let expected = lines(recorded.decided);
        let (mut decided, comparison) = recorded.replay();
        if recorded.by != By::Recorder && is_update() {
            update(recorded);
            continue;
        }
        if recorded.by == By::Recorder {
            // The managers that recorded these did not write it down.
            decided.retain(|line| line["record"] != "pressure");
        }
        for (number, (was, is)) in expected.iter().zip(&decided).enumerate() {
            assert!(was == is, "{name}, line {}:\nwas {was}\nis  {is}", number + 1);
        }
        assert_eq!(expected.len(), decided.len(), "{name}: lines before and now");
        assert_eq!(decisions(&decided).count(), count, "{name}: decisions");
        // Of a live recording nobody knows what would have become of a decision that is new.
        if recorded.by == By::Recorder || name.starts_with("sim-") {
            let as_recorded = Comparison { same: count as u64, new: 0, missing: 0 };
            assert_eq!(comparison, as_recorded, "{name}");
        }
    }
}

/// What was decided then is what the recorded manager did: the recording itself says so, too.
#[test]
fn the_expected_decisions_are_those_that_were_recorded() {
    for recorded in RECORDINGS.iter().filter(|recorded| recorded.by == By::Recorder) {
        let name = recorded.name;
        let events = lines(recorded.events);
        let acted = events.iter().filter(|event| event["event"] == "acted");
        let expected = lines(recorded.decided);
        let mut expected = decisions(&expected);
        for event in acted {
            let decision = &event["decision"];
            let Some(line) = expected.next() else { panic!("{name}: {event} is missing") };
            let pairs = [
                (&line["at"], &event["at"]),
                (&line["target"], &decision["target"]),
                (&line["action"], &decision["action"]),
                (&line["motive"], &decision["motive"]),
                (&line["waste_pages"], &decision["waste"]),
                (&line["result"], &event["outcome"]["result"]),
                (&line["reason"], &event["outcome"]["reason"]),
            ];
            assert!(pairs.iter().all(|(a, b)| a == b), "{name}: {line} is not {event}");
        }
        assert!(expected.next().is_none(), "{name}: more is expected than was recorded");
    }
}

/// Recordings of nothing would replay exactly whatever the policy does.
#[test]
fn together_they_show_everything_that_a_policy_decides() {
    let all: Vec<Value> = RECORDINGS.iter().flat_map(|recorded| lines(recorded.decided)).collect();
    let targets = all.iter().filter_map(|line| line["targets"].as_array()).flatten();
    let targets: Vec<&Value> = targets.collect();
    for (key, values, floor) in SHOWN {
        for value in *values {
            let lines = all.iter().chain(targets.iter().copied());
            let count = lines.filter(|line| line[*key] == *value).count();
            assert!(count >= *floor, "{key} {value}: {count} times, {floor} expected");
        }
    }
    let reasons = targets.iter().flat_map(|target| [&target["skips"], &target["kept"]]);
    let reasons = reasons.filter_map(Value::as_object).flat_map(|map| map.keys());
    let reasons: BTreeSet<&str> = reasons.map(String::as_str).collect();
    let absent: Vec<_> = REASONS.iter().filter(|reason| !reasons.contains(*reason)).collect();
    assert!(absent.is_empty(), "reasons that no recording shows: {absent:?}");
}
