//! Made-up results for tests and golden files: the same on every machine, no random numbers.

use hugewise_base::stats::Histogram;
use hugewise_base::units::saturating_u64;
use hugewise_experiment::check::{Checked, check};
use hugewise_experiment::record::{Conditions, Measured, Outcome, Record, RunPlan, SCHEMA, Series};
use hugewise_experiment::summary::Summary;
use std::collections::BTreeMap;

/// An experiment with its results.
pub(crate) struct Sample {
    pub(crate) summary: Summary,
    pub(crate) records: Vec<Record>,
}

/// A share from -0.5 to 0.5 that looks like noise (the golden ratio's multiples are spread evenly).
fn noise(index: usize) -> f64 {
    (index as f64 * 0.618_033_988_75).fract() - 0.5
}

fn checked(text: &str) -> Checked {
    check(toml::from_str(text).expect("an experiment"), false).expect("no faults")
}

fn plan(text: &str) -> RunPlan {
    RunPlan {
        schema: SCHEMA,
        text: text.into(),
        quick: false,
        seed: 42,
        repetitions: None,
        without: BTreeMap::new(),
        environment: serde_json::json!({
            "hugewise": "0.1.0",
            "kernel": "6.12.0",
            "cpu": {"model": "Model <9000> & \"more\"", "count": 16},
            "memory": "31.2 GiB",
        }),
        began: Some("2026-01-02T03:04:05Z".into()),
        resumed: Vec::new(),
    }
}

fn record(variant: &str, repetition: u32, run: usize) -> Record {
    let settings = BTreeMap::from([("khugepaged/defrag".to_owned(), "1".to_owned())]);
    Record {
        schema: SCHEMA,
        repetition,
        variant: variant.into(),
        began: Some(format!("2026-01-02T03:{:02}:05Z", run % 60)),
        seconds: 21.5,
        outcome: Outcome::Done,
        measured: Measured::default(),
        conditions: Conditions {
            settled_s: Some(2.0),
            busy_percent: Some(1.5 + noise(run)),
            steal_percent: Some(0.0),
            settings,
            ..Conditions::default()
        },
    }
}

const FULL: &str = r#"
name = "shrink-after-delete"
question = "Who gives memory back when most of it is deleted?"
about = "Fills a table, deletes most of it, and waits."

[workload]
kind = "gups"

[stop]
repetitions = 7

[[metric]]
key = "deleted.cgroup_mib"
equal_within_percent = 3.0

[[metric]]
key = "ops_per_s"
equal_within_percent = 2.0

[[metric]]
key = "p999_us"

[[metric]]
key = "free_calls"
decides = false
unit = ""
better = "lower"

[[variant]]
name = "never"
about = "No huge pages."
settings = { enabled = "never" }

[[variant]]
name = "always"
about = "At every fault, as most distributions have it."
settings = { enabled = "always" }

[[variant]]
name = "ingens"
about = "hugewise in the background."
settings = { enabled = "madvise" }
manage = { mode = "ingens" }

[[variant]]
name = "guard"
about = "hugewise takes back what is wasted."
settings = { enabled = "always" }
manage = { mode = "guard" }

[[variant]]
name = "shrinker-409"
about = "The kernel's own shrinker."
settings = { enabled = "always", "khugepaged/max_ptes_none" = "409" }
"#;

/// Medians of the variants of [`FULL`]: memory after deletion, operations, latency, huge memory.
const FIGURES: [(&str, [f64; 4]); 5] = [
    ("never", [612.0, 8_120_000.0, 41.0, 0.0]),
    ("always", [1126.0, 9_830_000.0, 93.0, 1090.0]),
    ("ingens", [618.0, 9_640_000.0, 43.5, 602.0]),
    ("guard", [621.0, 9_790_000.0, 58.0, 640.0]),
    ("shrinker-409", [744.0, 9_750_000.0, 77.0, 810.0]),
];

fn full_run(run: usize, repetition: u32, variant: usize) -> Record {
    let (name, [memory, operations, latency, huge]) = FIGURES[variant];
    let mut one = record(name, repetition, run);
    let wide = 1.0 + noise(run) * 0.012;
    let values = [
        ("deleted.cgroup_mib", memory * wide),
        ("cgroup_mib", 1170.0 * wide),
        ("rss_mib", 1150.0 * wide),
        ("ops_per_s", operations * (1.0 + noise(run * 7) * 0.03)),
        ("p999_us", latency * (1.0 + noise(run * 3) * 0.35)),
        ("fill_s", 1.9 - huge / 4000.0 + noise(run * 5) * 0.05),
        ("huge_mib", huge.round()),
        ("free_calls", 1000.0 + run as f64),
    ];
    one.measured.values = values.map(|(key, value)| (key.to_owned(), value)).into();
    let at = |second: u32| {
        let time = f64::from(second) / 4.0;
        // Full until the deletion at 20 s, then given back as far as the variant does.
        let part = if time < 20.0 { 0.0 } else { 1.0 - (-(time - 20.0) / 6.0).exp() };
        let memory = 1170.0 * wide - (1170.0 - memory) * part;
        (time, memory + noise(run * 31 + second as usize) * 12.0)
    };
    let points = (0..240).map(at).collect();
    one.measured.series.push(Series { key: "cgroup_mib".into(), points });
    let mut all = Histogram::default();
    for index in 1..6000u32 {
        let share = f64::from(index) / 6000.0;
        // A body around 2 us, and a tail as long as the variant's latency says.
        let body = 1500.0 + 1100.0 * share + 40.0 * variant as f64;
        let tail = latency * 1000.0 * (0.001 / (1.0 - share)).powf(0.8);
        all.record(saturating_u64((body + tail).round()));
    }
    one.measured.histograms.insert("get".into(), all);
    one
}

/// Five variants, seven repetitions, values over time, and latencies.
pub(crate) fn full() -> Sample {
    let checked = checked(FULL);
    let mut records = Vec::new();
    for repetition in 0..7u32 {
        for variant in hugewise_experiment::schedule::order(42, repetition, 5) {
            records.push(full_run(records.len(), repetition, variant));
        }
    }
    Sample { summary: Summary::of(&checked, &plan(FULL), &records), records }
}

const SMALL: &str = r#"
name = "two"
question = "Is B faster than A?"

[workload]
kind = "gups"

[stop]
repetitions = 5

[[metric]]
key = "wall_s"

[[variant]]
name = "a"

[[variant]]
name = "b"
huge_pages = "always"
"#;

/// Two variants with values and nothing else.
pub(crate) fn small() -> Sample {
    let checked = checked(SMALL);
    let run = |index: u32| {
        let (variant, wall) = if index.is_multiple_of(2) { ("a", 12.0) } else { ("b", 9.5) };
        let mut one = record(variant, index / 2, index as usize);
        let value = wall * (1.0 + noise(index as usize) * 0.02);
        one.measured.values.insert("wall_s".into(), value);
        one
    };
    let records: Vec<_> = (0..10).map(run).collect();
    Sample { summary: Summary::of(&checked, &plan(SMALL), &records), records }
}

/// The first of these on a busy machine, interrupted, with failures and a variant left out.
pub(crate) fn broken() -> Sample {
    let checked = checked(FULL);
    let mut plan = plan(FULL);
    plan.quick = true;
    plan.without.insert("shrinker-409".into(), "the kernel has no split of underused pages".into());
    let mut records: Vec<_> = full().records;
    records.retain(|record| record.variant != "shrinker-409");
    records.truncate(15);
    for (index, one) in records.iter_mut().enumerate() {
        if index % 3 == 0 {
            let percent = 20 + 5 * (index / 3);
            one.conditions.noisy.push(format!("others took {percent} % of the CPU time"));
            one.conditions.busy_percent = Some(percent as f64);
        }
        if index == 7 {
            one.outcome = Outcome::Failed { error: "killed by signal 9 <b>".into() };
        }
        if index % 5 == 4 {
            one.conditions.settled_s = None;
        }
        if one.variant == "guard" {
            one.measured.values.remove("p999_us");
        }
    }
    Sample { summary: Summary::of(&checked, &plan, &records), records }
}

/// What files may hold: markup and control characters wherever a text can stand.
pub(crate) fn hostile() -> Sample {
    const EVIL: &str = "</script><img src=x onerror=alert(1)>\u{1b}[31m|\"'&";
    let text = FULL.replace("free_calls", "<b>|x.svg/../../etc");
    let mut checked = checked(&text);
    checked.experiment.question = EVIL.into();
    checked.experiment.about = EVIL.into();
    let mut plan = plan(EVIL);
    plan.environment = serde_json::json!({ EVIL: { EVIL: [EVIL, 1] } });
    plan.began = Some(EVIL.into());
    let mut records = full().records;
    for one in &mut records {
        let value = one.measured.values.remove("free_calls").unwrap_or_default();
        one.measured.values.insert("<b>|x.svg/../../etc".into(), value);
        one.measured.values.insert(EVIL.into(), 1.0);
        one.measured.notes.push(EVIL.into());
        one.conditions.noisy.push(EVIL.into());
        one.conditions.settings.insert(EVIL.into(), EVIL.into());
        one.began = Some(EVIL.into());
        let get = one.measured.histograms.remove("get").unwrap_or_default();
        one.measured.histograms.insert(EVIL.into(), get);
        one.measured.series[0].key = EVIL.into();
    }
    records[3].outcome = Outcome::Failed { error: EVIL.into() };
    // A name that no check lets through, as if somebody had changed the file since.
    records[4].variant = EVIL.into();
    let mut summary = Summary::of(&checked, &plan, &records);
    summary.variants[1].name = EVIL.into();
    summary.variants[1].about = EVIL.into();
    summary.name = EVIL.into();
    Sample { summary, records }
}

/// The experiment of [`full`], for other records.
pub(crate) fn full_parts() -> (Checked, RunPlan) {
    (checked(FULL), plan(FULL))
}
