use super::*;
use crate::metric::Better;
use crate::spec::{Manage, Quick};

fn sample() -> Experiment {
    let text = r#"{
        "name": "sample",
        "question": "Does it matter?",
        "workload": { "kind": "gups", "mib": 64 },
        "variant": [
            { "name": "never", "huge_pages": "never" },
            { "name": "409", "huge_pages": "always",
              "settings": { "khugepaged/max_ptes_none": "409" },
              "workload": { "mib": 128 } }
        ],
        "metric": [{ "key": "ops_per_s", "equal_within_percent": 3 }],
        "quick": { "repetitions": 2, "workload": { "mib": 8 }, "without": ["409"] }
    }"#;
    serde_json::from_str(text).expect("well-formed")
}

fn faults(change: impl FnOnce(&mut Experiment)) -> String {
    let mut experiment = sample();
    change(&mut experiment);
    check(experiment, false).expect_err("has a fault").join("\n")
}

#[test]
fn a_variant_changes_parameters_and_settings() {
    let checked = check(sample(), false).expect("no fault");
    assert_eq!(checked.params[0].memory_mib(), Some(64));
    assert_eq!(checked.variant("409").and_then(|(_, params)| params.memory_mib()), Some(128));
    assert_eq!(checked.baseline, 0);
    assert!(checked.metrics[0].decides && !checked.metrics[1].decides);
    assert_eq!(checked.metrics.len(), checked.kind.metrics.len());
    assert_eq!(checked.machine_wide(), vec![]);
}

#[test]
fn what_changes_the_machine_is_known() {
    let changes = |experiment| check(experiment, false).expect("no fault").changes_machine();
    assert!(changes(sample()));
    let mut plain = sample();
    plain.variants[1].settings.clear();
    assert!(!changes(plain.clone()));
    let manage = Manage::default();
    plain.variants[1].manage = Some(Manage { keep_settings: true, ..manage.clone() });
    assert!(!changes(plain.clone()));
    plain.variants[1].manage = Some(manage);
    assert!(changes(plain));
}

#[test]
fn quick_is_less_of_the_same() {
    let checked = check(sample(), true).expect("no fault");
    assert_eq!(checked.experiment.stop.repetitions, 2);
    assert_eq!((checked.params.len(), checked.params[0].memory_mib()), (1, Some(8)));
    // Asked of a file that does not say of what, it would run everything.
    let experiment = Experiment { quick: Quick::default(), ..sample() };
    let said = check(experiment, true).expect_err("a fault");
    assert!(said[0].contains("no [quick]"), "{said:?}");
}

#[test]
fn all_faults_are_told_at_once() {
    let said = faults(|experiment| {
        experiment.workload.params.insert("gib".into(), Value::Count(1));
        experiment.variants[1].name = "a b".into();
        experiment.variants[0].settings.insert("vm.panic_on_oom".into(), "1".into());
        experiment.baseline = Some("nobody".into());
        experiment.stop.repetitions = 0;
        experiment.noise.busy_percent = f64::NAN;
        experiment.metrics[0].key = "speed".into();
        experiment.manage_s = 86_401;
        experiment.memory_limit_mib = Some(7);
        experiment.warm_mib = Some(u64::MAX);
        (experiment.settle.still_s, experiment.settle.max_s) = (31, 30);
    });
    for part in [
        "no parameter 'gib'",
        "the name 'a b'",
        "'vm.panic_on_oom' is no setting",
        "baseline = 'nobody'",
        "[stop] repetitions",
        "[noise] busy_percent",
        "no metric 'speed'",
        "manage_s must be from 0 to 86400",
        "memory_limit_mib must be from 8",
        "warm_mib must be from",
        "[settle] still_s must be at most max_s",
    ] {
        assert!(said.contains(part), "{part} in: {said}");
    }
}

#[test]
fn parts_are_of_kinds_that_can_play_them() {
    let part = |kind: &str| Workload { kind: kind.into(), params: BTreeMap::new() };
    let said = faults(|experiment| {
        experiment.beside = vec![part("redis"), part("stress-ng"), part("stress-vm")];
        experiment.fragment = Some(part("gups"));
        experiment.workload = part("stress-ng");
        experiment.variants[1].workload.clear();
    });
    let lines: Vec<_> = said.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("[[beside]]: 'redis' cannot")), "{said}");
    assert!(lines.iter().any(|line| line.starts_with("fragment: 'gups' breaks no")), "{said}");
    assert!(lines.iter().any(|line| line.starts_with("'stress-ng' is no workload")), "{said}");
    assert!(!said.contains("stress-vm"), "{said}");
}

#[test]
fn a_metric_of_the_file_needs_its_direction() {
    let mut experiment = sample();
    experiment.metrics[0].key = "speed".into();
    experiment.metrics[0].better = Some(Better::Higher);
    assert!(check(experiment, false).is_ok());
    let unknown = faults(|experiment| experiment.workload.kind = "gupz".into());
    assert!(unknown.contains("no workload 'gupz'; there are ") && unknown.contains("gups"));
}

#[test]
fn what_touches_everybody_is_known() {
    let mut experiment = sample();
    experiment.settings.insert("vm.swappiness".into(), "0".into());
    experiment.variants[0].settings.insert("enabled".into(), "always".into());
    let checked = check(experiment, false).expect("no fault");
    let wide = checked.machine_wide();
    let wide: Vec<_> = wide.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(wide, [("enabled", "always"), ("vm.swappiness", "0")]);
}
