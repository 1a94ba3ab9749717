use super::*;
use crate::record::tests::record;
use hugewise_base::rng::Rng;

const STALLS: &str = "compaction.stalls_per_s";

fn ledger() -> Ledger {
    let text = r#"{ "name": "shop", "question": "q", "goal": { "metric": "p99_us" },
        "service": { "target": "http://127.0.0.1:8080/" },
        "hypothesis": [
            { "name": "thp", "because": "b", "gain_percent": 30,
              "moves": { "compaction.stalls_per_s": "-80%" }, "set": { "enabled": "never" } },
            { "name": "pool", "because": "b", "gain_percent": 30,
              "apply": ["x"], "undo": ["y"] }] }"#;
    serde_json::from_str(text).expect("well-formed")
}

/// Trials of both hypotheses: p99 as a multiple of what it is, stalls, and noise in percent.
fn trials(seed: u64, thp: (f64, f64), pool: f64, noise: u64) -> Vec<Record> {
    let mut rng = Rng::new(seed);
    let mut all = Vec::new();
    for repetition in 0..ledger().repetitions() {
        for (name, p99, stalls) in [(AS_IS, 1.0, 50.0), ("thp", thp.0, thp.1), ("pool", pool, 50.0)]
        {
            let mut noisy = || 1.0 + (rng.below(2 * noise + 1) as f64 - noise as f64) / 100.0;
            let mut one = record(repetition, name, "p99_us", 80_000.0 * p99 * noisy());
            one.measured.values.insert(STALLS.into(), stalls * noisy());
            all.push(one);
        }
    }
    all
}

fn verdicts(records: &[Record]) -> (Verdict, Verdict) {
    let all = Verdicts::of(&ledger(), records);
    let of = |name: &str| {
        let found = all.hypotheses.iter().find(|one| one.name == name).expect("tried");
        found.verdict.clone()
    };
    (of("thp"), of("pool"))
}

#[test]
fn the_cause_is_accepted_and_the_other_refuted() {
    let (thp, pool) = verdicts(&trials(1, (0.4, 0.0), 1.0, 10));
    assert_eq!(thp, Verdict::Accepted);
    assert_eq!(pool, Verdict::Refuted { by: vec!["p99_us".into()], helps: false });
    let all = Verdicts::of(&ledger(), &trials(1, (0.4, 0.0), 1.0, 10));
    assert_eq!(all.accepted().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["thp"]);
    assert_eq!((all.left, all.trials), (0, 6));
}

#[test]
fn a_gain_by_another_way_refutes_the_hypothesis_and_is_told() {
    // Stalls stay what they are, though the goal is reached.
    let (thp, _) = verdicts(&trials(2, (0.4, 50.0), 1.0, 5));
    assert_eq!(thp, Verdict::Refuted { by: vec![STALLS.into()], helps: true });
    let (_, pool) = verdicts(&trials(3, (1.0, 50.0), 0.9, 2));
    assert_eq!(pool, Verdict::Refuted { by: vec!["p99_us".into()], helps: true });
}

#[test]
fn what_never_happened_cannot_become_less() {
    let mut records = trials(4, (1.0, 0.0), 1.0, 5);
    for one in &mut records {
        one.measured.values.insert(STALLS.into(), 0.0);
    }
    let (thp, _) = verdicts(&records);
    assert!(matches!(&thp, Verdict::Refuted { by, .. } if by.contains(&STALLS.to_owned())));
}

#[test]
fn few_or_unlike_trials_tell_nothing() {
    let few: Vec<Record> = trials(5, (0.4, 0.0), 1.0, 5).into_iter().take(6).collect();
    let (thp, pool) = verdicts(&few);
    let is_open = |verdict: &Verdict, word: &str| match verdict {
        Verdict::Undecided { why } => why.contains(word),
        _ => false,
    };
    assert!(is_open(&thp, "so few trials"), "{thp:?}");
    assert!(is_open(&verdicts(&[]).0, "no value"), "{pool:?}");
    let (_, unlike) = verdicts(&trials(6, (1.0, 50.0), 0.8, 90));
    assert!(is_open(&unlike, "differs too much"), "{unlike:?}");
}

#[test]
fn what_the_guard_ends_twice_is_no_remedy() {
    let mut records = trials(7, (0.4, 0.0), 1.0, 5);
    let mut own: Vec<_> = records.iter_mut().filter(|one| one.variant == "thp").collect();
    for one in own.iter_mut().rev().take(2) {
        one.outcome = Outcome::Guarded { bound: "p99 is 3 s".into() };
    }
    let (thp, _) = verdicts(&records);
    assert_eq!(thp, Verdict::Harmful { bound: "p99 is 3 s".into() });
    // An interrupted ledger goes on with the others, and says so.
    let all = Verdicts::of(&ledger(), &records);
    assert_eq!(all.left, 0);
    records.retain(|one| one.repetition != 2 || one.variant == "thp");
    assert_eq!(Verdicts::of(&ledger(), &records).left, 2);
    let mut failing = trials(8, (0.4, 0.0), 1.0, 5);
    for one in failing.iter_mut().filter(|one| one.variant == "pool") {
        one.outcome = Outcome::Failed { error: "no such program".into() };
    }
    let (_, pool) = verdicts(&failing);
    assert!(matches!(pool, Verdict::Undecided { why } if why.contains("no such program")));
}

#[test]
fn what_the_guard_ended_once_is_not_accepted() {
    let mut records = trials(6, (0.4, 0.0), 1.0, 5);
    let one = records.iter_mut().filter(|one| one.variant == "thp").nth(1).expect("tried");
    one.outcome = Outcome::Guarded { bound: "p99 is 3 s".into() };
    let (thp, _) = verdicts(&records);
    assert!(matches!(&thp, Verdict::Undecided { why } if why.contains("guard ended 1")), "{thp:?}");
}

#[test]
fn without_any_effect_a_hypothesis_is_accepted_no_more_often_than_promised() {
    let (mut accepted, mut refuted) = (0, 0);
    for seed in 0..2000 {
        let (thp, pool) = verdicts(&trials(seed, (1.0, 50.0), 1.0, 30));
        for verdict in [thp, pool] {
            accepted += u32::from(verdict == Verdict::Accepted);
            refuted += u32::from(matches!(verdict, Verdict::Refuted { .. }));
        }
    }
    // 5 % of 2,000 ledgers would be 100; a quarter of it is what two sides and two claims leave.
    assert!(accepted <= 40, "{accepted} of 4000");
    assert!(refuted > 1500, "{refuted} of 4000");
}

#[test]
fn a_cause_of_the_stated_size_is_hardly_ever_refuted() {
    let mut refuted = 0;
    for seed in 0..2000 {
        let (thp, pool) = verdicts(&trials(seed, (0.7, 9.9), 0.7, 30));
        refuted += u32::from(matches!(thp, Verdict::Refuted { .. }));
        refuted += u32::from(matches!(pool, Verdict::Refuted { .. }));
    }
    assert!(refuted <= 100, "{refuted} of 4000");
}
