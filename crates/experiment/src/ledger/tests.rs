use super::*;
use crate::check::Checked;

fn ledger(more: &str) -> Ledger {
    let text = format!(
        r#"{{ "name": "shop", "question": "Why is it slow?", "goal": {{ "metric": "p99_us" }},
             "service": {{ "target": "http://127.0.0.1:8080/" }}, {more} }}"#
    );
    serde_json::from_str(&text).expect("well-formed")
}

const THP: &str = r#"{ "name": "thp", "because": "faults compact memory", "gain_percent": 30,
    "moves": { "compaction.stalls_per_s": "-80%" }, "set": { "enabled": "madvise" } }"#;
const POOL: &str = r#"{ "name": "pool", "because": "four workers", "gain_percent": 50,
    "apply": ["pool", "16"], "undo": ["pool", "4"] }"#;

fn both() -> Ledger {
    ledger(&format!(r#""hypothesis": [{THP}, {POOL}]"#))
}

#[test]
fn each_hypothesis_is_a_variant_beside_the_service_as_it_is() {
    let checked: Checked = both().experiment().expect("no fault");
    let names: Vec<_> = checked.variants().iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, [AS_IS, "thp", "pool"]);
    assert_eq!(checked.variants()[1].settings["enabled"], "madvise");
    let change = checked.variants()[2].change.as_ref().expect("commands");
    assert_eq!(change.undo, ["pool", "4"]);
    assert!(checked.changes_machine());
    let service = service(&checked.params[0]).expect("its kind");
    assert_eq!((service.settle_ms, service.guard_p99_ms), (2000, 0));
    let load = checked.experiment.load.as_ref().expect("it has a target");
    assert_eq!(load.operations.set_percent, 0);
}

#[test]
fn claims_begin_with_the_goal_and_share_the_error_rate() {
    let both = both();
    let claims = both.claims(&both.hypotheses[0]);
    let told: Vec<_> = claims.iter().map(|one| (one.key.as_str(), one.percent)).collect();
    assert_eq!(told, [("p99_us", -30.0), ("compaction.stalls_per_s", -80.0)]);
    assert!((both.level() - 0.05 / 4.0).abs() < 1e-12);
    // Two of five against five is 2 / 252, below 0.0125; one more is to spare.
    assert_eq!(both.repetitions(), 6);
    let goal = r#""goal": { "metric": "achieved_per_s" }"#;
    let text = serde_json::to_string(&both).expect("plain").replace("p99_us", "achieved_per_s");
    let more: Ledger = serde_json::from_str(&text).expect(goal);
    assert_eq!(more.claims(&more.hypotheses[1])[0].percent, 50.0);
}

#[test]
fn every_fault_is_named() {
    let bad = r#""hypothesis": [
        { "name": "a", "because": " ", "gain_percent": 0, "set": { "vm.panic_on_oom": "1" } },
        { "name": "a", "because": "b", "gain_percent": 10, "apply": ["x"] },
        { "name": "c", "because": "b", "gain_percent": 10, "moves": { "cpu.sistem": "-5%" } }]"#;
    let said = ledger(bad).experiment().expect_err("faults").join("\n");
    for wanted in [
        "names of their own",
        "'because' says what the cause may be",
        "gain_percent must be above 0",
        "'vm.panic_on_oom' is no setting that can be changed",
        "'apply' and 'undo' come together",
        "nothing measures 'cpu.sistem'; there are cpu.user_percent",
        "it changes nothing",
    ] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
    let none = ledger(r#""hypothesis": []"#).experiment().expect_err("none");
    assert!(none[0].contains("1 to 16 can be tried"), "{none:?}");
    let text = serde_json::to_string(&both()).expect("plain").replace("http://127.0.0.1:8080/", "");
    let deaf: Ledger = serde_json::from_str(&text).expect("well-formed");
    let said = deaf.experiment().expect_err("nobody is asked").join("\n");
    assert!(said.contains("'p99_us' is of requests"), "{said}");
}

#[test]
fn a_change_has_a_sign() {
    let read = |text: &str| Percent::try_from(text.to_owned());
    assert_eq!(read("-50%"), Ok(Percent(-50.0)));
    assert_eq!(read("+12.5 %"), Ok(Percent(12.5)));
    for wrong in ["50%", "-50", "", "-100%", "+nan%", "-0%", "+inf%", "-\u{1b}%"] {
        let error = read(wrong).expect_err(wrong);
        assert!(error.contains("is no change") && !error.contains('\u{1b}'), "{error}");
    }
    assert_eq!(String::from(Percent(-50.0)), "-50%");
}
