//! Made-up trials for tests of what is printed.

use super::model::{ALWAYS, HUGEWISE, NEVER, SCHEMA, Trial, VARIANTS};
use hugewise_base::stats::Histogram;
use hugewise_base::units::{Bytes, Geometry};
use hugewise_experiment::record::{Record, Series};
use hugewise_lab::environment::Environment;
use hugewise_workloads::demo::layout;

fn histogram(values: &[u64]) -> Histogram {
    let mut all = Histogram::default();
    values.iter().for_each(|value| all.record(*value));
    all
}

/// Gives a run another value.
pub(crate) fn set(record: &mut Record, key: &str, value: f64) {
    record.measured.values.insert(key.to_owned(), value);
}

fn tail(record: &mut Record, phase: &str, worst: u64) {
    for name in ["access", "fault", "map"] {
        let all = histogram(&[300, 700, 900, 2_000, worst]);
        record.measured.histograms.insert(format!("{phase}{name}"), all);
    }
}

fn freeing(record: &mut Record) {
    let (freed, settled) = match record.variant.as_str() {
        NEVER => (130.0, 130.0),
        ALWAYS => (515.0, 515.0),
        _ => (419.0, 131.0),
    };
    for (phase, mib) in [("freed", freed), ("settled", settled)] {
        set(record, &format!("{phase}.rss_mib"), 130.0);
        set(record, &format!("{phase}.cgroup_mib"), mib);
    }
    set(record, "settled.verified_words", 15e6);
    if record.variant == HUGEWISE {
        set(record, "settle_s", 9.5);
        set(record, "demoted", 205.0);
        set(record, "demoted.manager_cpu_s", 0.12);
    }
}

fn promotion(record: &mut Record) {
    set(record, "promoting_s", 10.5);
    set(record, "promoted", 205.0);
    set(record, "promoted.manager_cpu_s", 0.3);
    let calls = histogram(&[650_000, 700_000, 9_000_000]);
    record.measured.histograms.insert("promoted.call".into(), calls);
    tail(record, "promoting.", 900_000);
    for (part, full) in [("dense", 10.0), ("sparse", 0.0), ("idle", 10.0)] {
        let points = (0..=10).map(|n| (f64::from(n), f64::from(n) * full)).collect();
        record.measured.series.push(Series { key: format!("{part}.huge_percent"), points });
    }
}

fn run(repetition: u32, variant: &str) -> Record {
    let (access, mib, fill_s, worst, dense, sparse) = match variant {
        NEVER => (125.0, 416.0, 0.5, 9_000, 0.0, 0.0),
        ALWAYS => (98.0, 512.0, 0.2, 400_000, 100.0, 100.0),
        _ => (100.0, 417.0, 0.5, 9_500, 100.0, 0.0),
    };
    let mut record = Record::new(repetition, variant);
    let step = f64::from(repetition) - 1.0;
    for (key, value) in [
        ("access_ns", access * (1.0 + step / 100.0)),
        ("rss_mib", mib),
        ("cgroup_mib", mib + 3.0),
        ("fill_s", fill_s),
        ("dense.huge_percent", dense),
        ("sparse.huge_percent", sparse),
        ("idle.huge_percent", dense),
        ("verified_words", 50e6),
    ] {
        set(&mut record, key, value);
    }
    let touches = histogram(&[1_000, 1_500, 2_000, worst]);
    record.measured.histograms.insert("first_touch".into(), touches);
    tail(&mut record, "", 40_000);
    if variant == HUGEWISE {
        promotion(&mut record);
        record.measured.notes.push("nothing </script> left".into());
    }
    if repetition == 0 {
        freeing(&mut record);
    }
    record
}

fn trial(records: Vec<Record>, simulated: Option<String>, rounds: u32) -> Trial {
    let size = Bytes::mib(512);
    Trial {
        schema: SCHEMA,
        simulated,
        size,
        parts: layout(size, Geometry::X86_64.huge.0),
        rounds,
        free_percent: 70,
        environment: Environment {
            hugewise: "0.0.0".into(),
            cpu: Some("Model <b>&\"9000\"</b>".into()),
            virtual_machine: Some(true),
            settings: [("enabled".to_owned(), "always [madvise] never".to_owned())].into(),
            ..Environment::default()
        },
        records,
    }
}

/// Three rounds with figures that are easy to check.
pub(crate) fn real() -> Trial {
    let runs = (0..3).flat_map(|repetition| VARIANTS.map(|variant| run(repetition, variant)));
    trial(runs.collect(), None, 3)
}

/// A simulation: nothing that takes time was measured, and nothing that only a cgroup shows.
pub(crate) fn simulated() -> Trial {
    let real = real().records.into_iter().filter(|record| record.repetition == 0);
    let simulated = real.map(|real| {
        let mut record = Record::new(0, &real.variant);
        let timed = ["access_ns", "fill_s", "verified_words"];
        let unknown =
            |key: &str| key.ends_with("cgroup_mib") || timed.iter().any(|t| key.ends_with(t));
        record.measured.values = real.measured.values;
        record.measured.values.retain(|key, _| !unknown(key));
        record.measured.series = real.measured.series;
        record
    });
    trial(simulated.collect(), Some("this is a test <of> what is printed".into()), 1)
}
