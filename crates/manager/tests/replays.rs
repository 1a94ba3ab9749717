//! Decisions stay as they are. Live recordings of an earlier build decide as they did then: every
//! decision in its order, with its motive, outcome and time, and after each tick why everything
//! else was left alone. Simulated runs are compared by a digest of the same lines.
//!
//! `replays/README.md` says where the recordings come from, and which of them today's limits decide
//! differently: those are compared with what the build decided that changed the limits.

mod simulated;

use hugewise_base::units::Ns;
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_manager::record::Record;
use hugewise_manager::replay::{Comparison, Event, Replay};
use hugewise_manager::select::Selection;
use hugewise_manager::status;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One live recording.
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
    /// The one that asks elsewhere after attempts that came to nothing.
    Spread,
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
    "fork" Ingens 48 Spread,
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
};

/// What live recordings and simulated runs show together, each as often as this at least.
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

/// Reasons for which regions stay small, or keep their waste, in one of them at least.
const REASONS: &[&str] = &[
    "below_threshold",
    "over_bloat_budget",
    "cooldown",
    "given_back",
    "not_inspected",
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

/// A value a line, in today's words: `not_inspected` had another name when these were recorded.
fn lines(packed: &[u8]) -> Vec<Value> {
    let text = unpacked(packed).replace("\"not_looked_at\"", "\"not_inspected\"");
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

    /// Decides anew.
    fn replay(&self) -> (Vec<Value>, Comparison) {
        let events = self.events();
        let asked = events.iter().flat_map(|event| match event {
            Event::Observed { ask, .. } => ask.targets.as_slice(),
            Event::Began { .. } | Event::Paused { .. } | Event::Acted { .. } => &[],
        });
        // As `hugewise manage replay` does.
        let selection = Selection { named: Some(asked.copied().collect()) };
        decide(events, self.config(), self.mode, selection)
    }
}

/// What a manager decides over a recording.
fn decide(
    events: Vec<Event>,
    config: Config,
    mode: Mode,
    selection: Selection,
) -> (Vec<Value>, Comparison) {
    let mut world = Replay::new(events);
    let now = world.now();
    let mut manager = Manager::new(config, mode, selection, now);
    let mut decided = Decided(Vec::new());
    while tick(&mut world, &mut manager, &mut decided) == TickEnd::Done {}
    (decided.0, world.comparison())
}

fn decisions(lines: &[Value]) -> impl Iterator<Item = &Value> {
    lines.iter().filter(|line| line["record"] == "action")
}

#[test]
fn old_recordings_give_the_same_decisions() {
    for recorded in RECORDINGS {
        let (name, count) = (recorded.name, recorded.count);
        let expected = lines(recorded.decided);
        let (mut decided, comparison) = recorded.replay();
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
        if recorded.by == By::Recorder {
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
    let live: Vec<Value> = RECORDINGS.iter().flat_map(|recorded| lines(recorded.decided)).collect();
    let mut all: Vec<&Value> = simulated::decided().collect();
    all.extend(&live);
    let targets = all.iter().filter_map(|line| line["targets"].as_array()).flatten();
    let targets: Vec<&Value> = targets.collect();
    for (key, values, floor) in SHOWN {
        for value in *values {
            let lines = all.iter().chain(&targets);
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
