//! The rule that ends an experiment when its intervals are narrow keeps the promised error rate.

use hugewise_base::rng::Rng;
use hugewise_experiment::check::{Checked, check};
use hugewise_experiment::compare::Judgement;
use hugewise_experiment::enough::{Enough, enough};
use hugewise_experiment::record::{Conditions, Measured, Outcome, Record, RunPlan, SCHEMA};
use hugewise_experiment::summary::Summary;
use std::collections::BTreeMap;

/// Experiments without any difference.
const EXPERIMENTS: u64 = 400;
/// With a true rate of 5 % more than this many of [`EXPERIMENTS`] are called different with a
/// chance of less than 1e-3 (binomial, mean 20, standard deviation 4.4).
const MOST_WRONG: usize = 35;

fn checked() -> Checked {
    let text = r#"{
        "name": "n", "question": "q", "workload": { "kind": "gups" },
        "metric": [{ "key": "ops_per_s" }],
        "variant": [{ "name": "a" }, { "name": "b" }],
        "stop": { "repetitions": 5, "max_repetitions": 20, "interval_percent": 4 }
    }"#;
    let experiment = serde_json::from_str(text).expect("well-formed");
    check(experiment, false).expect("no fault")
}

fn plan() -> RunPlan {
    RunPlan {
        schema: SCHEMA,
        text: String::new(),
        quick: false,
        seed: 1,
        repetitions: None,
        without: BTreeMap::new(),
        environment: serde_json::Value::Null,
        began: None,
        resumed: Vec::new(),
    }
}

fn record(repetition: u32, variant: &str, value: f64) -> Record {
    let values = BTreeMap::from([("ops_per_s".to_owned(), value)]);
    Record {
        schema: SCHEMA,
        repetition,
        variant: variant.into(),
        began: None,
        seconds: 1.0,
        outcome: Outcome::Done,
        measured: Measured { values, ..Measured::default() },
        conditions: Conditions::default(),
    }
}

/// About normal around 100, 2 % wide: the sum of twelve uniform numbers.
fn noise(rng: &mut Rng) -> f64 {
    let uniform = |rng: &mut Rng| (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
    100.0 + 2.0 * ((0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0)
}

/// Runs until it is enough; the judgement, and how many repetitions it took.
fn run(checked: &Checked, rng: &mut Rng) -> (Judgement, u32) {
    let mut records = Vec::new();
    let mut repetition = 0;
    loop {
        match enough(checked, &records) {
            Ok(wanted) if wanted > repetition => {
                let values = (noise(rng), noise(rng));
                records.push(record(repetition, "a", values.0));
                records.push(record(repetition, "b", values.1));
                repetition += 1;
            }
            Ok(_) | Err(Enough::Precise) => break,
            Err(other) => panic!("{other:?}"),
        }
    }
    let summary = Summary::of(checked, &plan(), &records);
    let row = summary.deciding().next().expect("a deciding metric");
    let against = row.cells[1].against.as_ref().expect("a comparison");
    (against.judgement.expect("a judgement"), repetition)
}

#[test]
fn precision_ends_it_and_the_error_rate_is_kept() {
    let (checked, mut rng) = (checked(), Rng::new(20_261_122));
    let all: Vec<_> = (0..EXPERIMENTS).map(|_| run(&checked, &mut rng)).collect();
    let wrong = all.iter().filter(|(judgement, _)| {
        matches!(judgement, Judgement::Better | Judgement::Worse | Judgement::Different)
    });
    let wrong = wrong.count();
    let early = all.iter().filter(|(_, repetitions)| *repetitions < 20).count();
    println!("{wrong} of {EXPERIMENTS} wrong, {early} ended early");
    // A rule that never ends anything would keep the rate without being a rule.
    assert!(early > all.len() / 2, "{early}");
    assert!(wrong <= MOST_WRONG, "{wrong} of {EXPERIMENTS} without a difference were given one");
}
