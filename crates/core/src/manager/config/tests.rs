//! Tests of the configuration.

use super::*;

#[test]
fn the_defaults_are_in_range() {
    Config::default().check().expect("defaults are valid");
}

#[test]
fn a_burst_is_held_back_by_the_lock_alone() {
    let config = Config::default();
    assert_eq!(config.clone().in_force(false), config, "a daemon keeps its budgets");
    let mut bursting = config.clone().in_force(true);
    bursting.check().expect("in range");
    assert!(bursting.controller.cpu_percent > 99.0);
    let lock = config.controller.lock_share_percent;
    assert_eq!(bursting.controller.lock_share_percent, lock);
    assert_eq!(bursting.watermark, config.watermark);
    bursting.promote.burst = Burst::Never;
    bursting.controller.cpu_percent = 1.0;
    assert_eq!(bursting.clone().in_force(true), bursting);
}

#[test]
fn nonsense_is_named() {
    let mut config = Config::default();
    config.promote.utilization_percent = 140.0;
    let error = config.check().expect_err("out of range").to_string();
    assert!(error.contains("promote.utilization_percent"), "{error}");
    assert!(error.contains("140"), "{error}");
    config = Config::default();
    config.controller.lock_share_percent = f64::NAN;
    assert!(config.check().is_err());
}

#[test]
fn a_rule_without_a_condition_is_an_error() {
    let rule = Rule {
        action: RuleAction::Exclude,
        exe: None,
        cgroup: None,
        unit: None,
        user: None,
        share: 1.0,
    };
    let config = Config { rules: vec![rule], ..Config::default() };
    assert!(config.check().is_err());
}
