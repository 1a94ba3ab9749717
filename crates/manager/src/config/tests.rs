//! Tests of the configuration.

use super::*;

#[test]
fn the_defaults_are_in_range() {
    assert_eq!(Config::default().faults(), []);
}

#[test]
fn a_burst_is_held_back_by_the_lock_alone() {
    let config = Config::default();
    assert_eq!(config.clone().in_force(false), config, "a daemon keeps its budgets");
    let mut bursting = config.clone().in_force(true);
    assert_eq!(bursting.faults(), []);
    assert!(bursting.controller.cpu_percent > 99.0);
    let lock = config.controller.lock_share_percent;
    assert_eq!(bursting.controller.lock_share_percent, lock);
    assert_eq!(bursting.watermark, config.watermark);
    bursting.promote.burst = Burst::Never;
    bursting.controller.cpu_percent = 1.0;
    assert_eq!(bursting.clone().in_force(true), bursting);
}

fn faults(change: impl FnOnce(&mut Config)) -> Vec<String> {
    let mut config = Config::default();
    change(&mut config);
    config.faults().iter().map(ToString::to_string).collect()
}

#[test]
fn all_nonsense_is_named() {
    let said = faults(|config| {
        config.promote.utilization_percent = 140.0;
        config.controller.lock_share_percent = f64::NAN;
        config.select.max_targets = 0;
    });
    let wanted = [
        "'promote.utilization_percent' is 140, but must be between 1 and 100",
        "'controller.lock_share_percent' is NaN, but must be between 0.01 and 100",
        "'select.max_targets' is 0, but must be between 1 and 65536",
    ];
    assert_eq!(said, wanted);
}

#[test]
fn of_two_keys_that_contradict_each_other_both_are_told() {
    let said = faults(|config| {
        config.promote.min_utilization_percent = 95.0;
        config.scan.idle_interval_ms = 500;
    });
    let wanted = [
        "'promote.min_utilization_percent' (95) must not be above 'promote.utilization_percent' \
         (90)",
        "'scan.interval_ms' (1000) must not be above 'scan.idle_interval_ms' (500)",
    ];
    assert_eq!(said, wanted);
}

#[test]
fn rules_count_from_one_and_need_a_condition_that_can_hold() {
    let rule = Rule {
        action: RuleAction::Exclude,
        exe: Some("/bin/x".into()),
        cgroup: None,
        unit: None,
        user: None,
        share: 1.0,
    };
    let said = faults(|config| {
        let never = Rule { exe: Some("x".into()), share: 0.0, ..rule.clone() };
        config.rules = vec![rule.clone(), Rule { exe: None, ..rule }, never];
    });
    assert!(said[0].starts_with("rule 2: it has no condition: give at least one"), "{said:?}");
    assert_eq!(said[1], "rule 3: 'share' is 0, but must be between 0.001 and 1000");
    assert!(said[2].starts_with("rule 3: exe = \"x\" can never match"), "{said:?}");
    assert_eq!(said.len(), 3);
}
