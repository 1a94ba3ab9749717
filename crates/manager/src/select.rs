//! Which processes are managed, whatever the policy.

use crate::bounds::Conditions;
use crate::config::{Config, RuleAction};
use crate::hints::Hint;
use crate::reason::SkipReason;
use crate::snapshot::ProcessSample;
use hugewise_base::units::ProcId;
use std::collections::BTreeSet;

/// What the command line asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these processes; `None`: every process that the configuration lets through. Named with
    /// their start times, so that whoever reuses a pid is not meant.
    pub named: Option<BTreeSet<ProcId>>,
}

/// Why a process is left alone, or its share (weight against others) if it is a target.
///
/// Order of precedence: what can never be managed, the command line, the first matching rule,
/// default exclusions, size. A pid named on the command line skips default exclusions and size;
/// a rule that excludes it still holds.
///
/// # Errors
/// The reason why it is not a target.
pub fn select(
    config: &Config,
    selection: &Selection,
    process: &ProcessSample,
) -> Result<f64, SkipReason> {
    if process.kernel_thread {
        return Err(SkipReason::KernelThread);
    }
    if process.is_self {
        return Err(SkipReason::Itself);
    }
    if process.id.pid == 1 {
        return Err(SkipReason::InitProcess);
    }
    let named = match &selection.named {
        Some(named) if !named.contains(&process.id) => return Err(SkipReason::NotSelected),
        Some(_) => true,
        None => false,
    };
    let rule = config.rules.iter().find(|rule| hold(rule.conditions(), process));
    match rule.map(|rule| rule.action) {
        Some(RuleAction::Exclude) => return Err(SkipReason::ExcludedByRule),
        None if !named && config.select.default == RuleAction::Exclude => {
            return Err(SkipReason::NotSelected);
        }
        None if !named && process.real_time => return Err(SkipReason::RealTime),
        None if !named && process.isolated => return Err(SkipReason::IsolatedCpu),
        None | Some(RuleAction::Manage) => {}
    }
    if process.thp_disabled == Some(true) {
        return Err(SkipReason::ThpDisabledByProgram);
    }
    // Of a process below 1 MiB owner and executable are not even read: no rule could be applied,
    // and not one region would be worth it.
    let unknown = process.uid.is_none() && !config.rules.is_empty();
    if unknown || (!named && process.largest() < config.select.min_anon_bytes) {
        return Err(SkipReason::TooSmall);
    }
    let weight = f64::from(process.cpu_weight_percent.unwrap_or(100)) / 100.0;
    Ok(weight * rule.map_or(1.0, |rule| rule.share))
}

/// A listed process and what was decided about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// The process.
    pub sample: ProcessSample,
    /// Its share, or why it is left alone.
    pub share: Result<f64, SkipReason>,
}

/// [`select`] for a whole list.
pub fn select_all(
    config: &Config,
    selection: &Selection,
    processes: Vec<ProcessSample>,
) -> Vec<Selected> {
    let one = |sample| Selected { share: select(config, selection, &sample), sample };
    processes.into_iter().map(one).collect()
}

/// Whether a process fulfils all of these conditions.
pub(crate) fn hold(conditions: Conditions<'_>, process: &ProcessSample) -> bool {
    let user_matches = |wanted: &str| match wanted.strip_prefix('#') {
        Some(uid) => uid.parse().is_ok_and(|uid: u32| process.uid == Some(uid)),
        None => text_matches(wanted, process.user.as_deref()),
    };
    conditions.exe.is_none_or(|w| text_matches(w, process.exe.as_deref()))
        && conditions.cgroup.is_none_or(|w| below(w, process.cgroup.as_deref()))
        && conditions.unit.is_none_or(|w| text_matches(w, process.unit.as_deref()))
        && conditions.user.is_none_or(user_matches)
}

/// The hints that are meant for a process, in their order.
pub fn hints<'a>(config: &'a Config, process: &ProcessSample) -> Vec<&'a Hint> {
    config.hints.iter().filter(|hint| hold(hint.conditions(), process)).collect()
}

/// Equal, or equal up to a final `*` in `wanted`. Unknown never matches.
fn text_matches(wanted: &str, found: Option<&str>) -> bool {
    match (wanted.strip_suffix('*'), found) {
        (_, None) => false,
        (Some(prefix), Some(found)) => found.starts_with(prefix),
        (None, Some(found)) => found == wanted,
    }
}

fn below(wanted: &str, found: Option<&str>) -> bool {
    let parent = wanted.trim_end_matches('/');
    text_matches(wanted, found)
        || found.is_some_and(|f| f.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Rule;
    use hugewise_base::units::Bytes;

    fn rule(action: RuleAction) -> Rule {
        Rule { action, exe: None, cgroup: None, unit: None, user: None, share: 2.0 }
    }

    fn pids(pids: &[u32]) -> Selection {
        let id = |pid: &u32| ProcessSample::example(*pid, Bytes(0)).id;
        Selection { named: Some(pids.iter().map(id).collect()) }
    }

    #[test]
    fn the_first_matching_rule_decides() {
        let exclude = Rule { exe: Some("/usr/bin/sim*".into()), ..rule(RuleAction::Exclude) };
        let manage = Rule { user: Some("#7".into()), ..rule(RuleAction::Manage) };
        let mut config = Config { rules: vec![exclude, manage], ..Config::default() };
        let mut process = ProcessSample::example(7, Bytes::mib(100));
        process.exe = Some("/usr/bin/simulated".into());
        process.uid = Some(7);
        let none = Selection::default();
        assert_eq!(select(&config, &none, &process), Err(SkipReason::ExcludedByRule));
        config.rules.swap(0, 1);
        assert_eq!(select(&config, &none, &process), Ok(2.0));
    }

    #[test]
    fn a_named_pid_skips_size_and_defaults_but_not_refusals() {
        let config = Config::default();
        let mut process = ProcessSample::example(7, Bytes::mib(1));
        process.real_time = true;
        assert_eq!(select(&config, &Selection::default(), &process), Err(SkipReason::RealTime));
        assert_eq!(select(&config, &pids(&[7]), &process), Ok(1.0));
        assert_eq!(select(&config, &pids(&[8]), &process), Err(SkipReason::NotSelected));
        let reused = ProcId { start_ticks: process.id.start_ticks + 1, ..process.id };
        let other = ProcessSample { id: reused, ..process.clone() };
        assert_eq!(select(&config, &pids(&[7]), &other), Err(SkipReason::NotSelected));
        process.thp_disabled = Some(true);
        let refusal = Err(SkipReason::ThpDisabledByProgram);
        assert_eq!(select(&config, &pids(&[7]), &process), refusal);
    }

    #[test]
    fn a_cgroup_rule_covers_what_is_below_it_and_not_its_namesakes() {
        assert!(below("/system.slice", Some("/system.slice/redis.service")));
        assert!(below("/system.slice", Some("/system.slice")));
        assert!(!below("/system.slice", Some("/system.slice2/redis.service")));
        assert!(!below("/system.slice", None));
    }
}
