use super::*;
use crate::render::text::width;
use hugewise_experiment::ledger::Claim;
use hugewise_experiment::record::Outcome;

fn ledger() -> Ledger {
    let text = r#"{ "name": "shop", "question": "Why is it slow?", "goal": { "metric": "p99_us" },
        "service": { "target": "http://127.0.0.1:8080/" },
        "hypothesis": [
            { "name": "thp", "because": "faults compact memory", "gain_percent": 30,
              "moves": { "compaction.stalls_per_s": "-80%" }, "set": { "enabled": "never" } },
            { "name": "pool", "because": "four workers are too few for forty users \u001b[31m",
              "gain_percent": 30, "apply": ["set-pool", "16"], "undo": ["set-pool", "4"] },
            { "name": "quota", "because": "a cap", "gain_percent": 30,
              "set": { "cgroup/batch/cpu.max": "max 100000" } }] }"#;
    serde_json::from_str(text).expect("well-formed")
}

fn trials() -> Vec<Record> {
    let mut all = Vec::new();
    for repetition in 0..ledger().repetitions() {
        for (name, p99) in [(AS_IS, 81_000.0), ("thp", 80_000.0), ("pool", 31_000.0)] {
            let mut one = Record::new(repetition, name);
            let noise = f64::from(repetition) * 100.0;
            one.measured.values.insert("p99_us".into(), p99 + noise);
            one.measured.values.insert("compaction.stalls_per_s".into(), 0.0);
            all.push(one);
        }
        let mut one = Record::new(repetition, "quota");
        one.outcome = Outcome::Guarded { bound: "9 % of the requests failed".into() };
        all.push(one);
    }
    all
}

#[test]
fn a_report_says_the_cause_and_why_the_others_are_none() {
    let verdicts = Verdicts::of(&ledger(), &trials());
    let said = text(&verdicts, Paint::plain());
    for line in [
        "confirmed: four workers are too few for forty users",
        "ACCEPTED  pool: four workers are too few",
        "81.2 ms -> 31.2 ms, -62 % [-62 % to -61 %]; stated -30 %: as",
        "REFUTED   thp: faults compact memory",
        "it never happened; stated -80 %",
        "HARMFUL   quota: a cap",
        "The guard ended its trials: 9 % of the requests failed.",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert!(said.find("ACCEPTED") < said.find("REFUTED"), "{said}");
    assert!(said.lines().all(|line| width(line) <= 80), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    let page = page(&verdicts, &trials()).expect("plain data");
    assert!(page.contains("<h2>ACCEPTED: pool</h2>") && !page.contains('\u{1b}'), "{page}");
}

#[test]
fn a_plan_says_what_it_will_change() {
    let ledger = ledger();
    let checked = ledger.experiment().expect("no fault");
    let said = planned(&ledger, &checked, 480.0);
    for line in [
        "3 hypotheses, each tried",
        "  sets    enabled = never",
        "  runs    set-pool 16",
        "  undone  by set-pool 4",
        "  states  p99_us falls by 30 % at least",
        "enabled = never affects every program",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert!(said.lines().all(|line| width(line) <= 80), "{said}");
}

#[test]
fn movements_are_told_in_words() {
    let claim = Claim { key: "x".into(), percent: 20.0 };
    let open = Effect {
        claim,
        as_is: Some(0.5),
        changed: Some(12.34),
        moved_percent: None,
        interval_percent: None,
        told: ClaimResult::Open,
    };
    let said = effect(&open);
    assert_eq!(said, "x: 0.50 -> 12.3, how far is unknown; stated +20 %: open");
}
