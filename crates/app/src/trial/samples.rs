//! Made-up trials for tests of what is printed.

use super::protocol::{Parts, Variant, layout};
use super::{
    Freeing, GivenBack, Memory, Promotion, Row, SCHEMA, Sample, Tail, Timing, Trial,
    simulated as simulation,
};
use crate::environment::Environment;
use hugewise_core::stats::Histogram;
use hugewise_core::units::{Bytes, Geometry};

fn histogram(values: &[u64]) -> Histogram {
    let mut all = Histogram::default();
    values.iter().for_each(|value| all.record(*value));
    all
}

fn tail(worst: u64) -> Tail {
    let all = histogram(&[300, 700, 900, 2_000, worst]);
    Tail { access: all.clone(), fault: all.clone(), map: all }
}

fn parts(dense: f64, sparse: f64) -> Parts<f64> {
    Parts { dense, sparse, idle: dense }
}

fn freeing(variant: Variant, before: &Memory) -> Freeing {
    let mib = |mib| Memory { cgroup: Some(Bytes::mib(mib)), ..before.clone() };
    let (after, later) = match variant {
        Variant::Never => (130, 130),
        Variant::Always => (515, 515),
        Variant::Hugewise => (419, 131),
    };
    let given = GivenBack { seconds: 9.5, settled: true, demoted: 205, cpu_s: Some(0.12) };
    Freeing {
        percent: 70,
        before: before.clone(),
        after: mib(after),
        later: mib(later),
        given_back: (variant == Variant::Hugewise).then_some(given),
        verified_words: Some(15_000_000),
    }
}

fn row(round: u32, variant: Variant) -> Row {
    let (access, mib, fill_s, worst, huge) = match variant {
        Variant::Never => (125.0, 416.0, 0.5, 9_000, parts(0.0, 0.0)),
        Variant::Always => (98.0, 512.0, 0.2, 400_000, parts(100.0, 100.0)),
        Variant::Hugewise => (100.0, 417.0, 0.5, 9_500, parts(100.0, 0.0)),
    };
    let step = f64::from(round) - 2.0;
    let rss = Bytes::mib(1).percent(mib * 100.0);
    let memory = Memory { rss, cgroup: Some(rss + Bytes::mib(3)), huge_percent: huge };
    let timing = Timing {
        fill_s,
        first_touch: histogram(&[1_000, 1_500, 2_000, worst]),
        access_ns: vec![access * (1.0 + step / 100.0); 3],
        quiet: tail(40_000),
        verified_words: 50_000_000,
    };
    let promotion = (variant == Variant::Hugewise).then(|| Promotion {
        seconds: 10.5,
        promoted: 205,
        end: Some("nothing </script> left".into()),
        limit: None,
        cpu_s: Some(0.3),
        calls: histogram(&[650_000, 700_000, 9_000_000]),
        samples: (0..=10)
            .map(|n| Sample { at_s: f64::from(n), huge_percent: parts(f64::from(n) * 10.0, 0.0) })
            .collect(),
        tail: Some(tail(900_000)),
    });
    let freeing = (round == 3).then(|| freeing(variant, &memory));
    Row { round, variant, memory, timing: Some(timing), promotion, freeing }
}

fn trial(rows: Vec<Row>, simulated: Option<String>, rounds: u32) -> Trial {
    let size = Bytes::mib(512);
    Trial {
        schema: SCHEMA,
        simulated,
        size,
        parts: layout(size, Geometry::X86_64.huge.0),
        rounds,
        environment: Environment {
            hugewise: "0.0.0".into(),
            cpu: Some("Model <b>&\"9000\"</b>".into()),
            virtual_machine: Some(true),
            settings: [("enabled".to_owned(), "always [madvise] never".to_owned())].into(),
            ..Environment::default()
        },
        rows,
    }
}

/// Three rounds with figures that are easy to check.
pub(crate) fn real() -> Trial {
    let rows = (1..=3).flat_map(|round| Variant::ALL.map(|variant| row(round, variant)));
    trial(rows.collect(), None, 3)
}

/// A small simulation.
pub(crate) fn simulated() -> Trial {
    let parts = layout(Bytes::mib(64), Geometry::X86_64.huge.0);
    let reason = "this is a test <of> what is printed";
    trial(simulation::run(&parts), Some(reason.into()), 1)
}
