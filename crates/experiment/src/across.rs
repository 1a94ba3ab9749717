//! Two runs of one experiment side by side: each variant before against itself after.

use super::check::Checked;
use super::record::{Record, RunPlan};
use super::summary::Summary;
use serde_json::Value;
use std::collections::BTreeMap;

/// Names of the two sides.
const SIDES: [&str; 2] = ["before", "after"];

/// One run of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What was to be run.
    pub checked: &'a Checked,
    /// What it was when it began.
    pub plan: &'a RunPlan,
    /// The runs, in the order of time.
    pub records: &'a [Record],
}

/// A variant of both, with what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Across {
    /// Its name.
    pub variant: String,
    /// Its summary, with the variants `before` and `after`.
    pub summary: Summary,
}

/// What became of each variant that both have. The error rate holds for all of them together.
pub fn across(before: Side<'_>, after: Side<'_>) -> Vec<Across> {
    let (old, new) = (before.checked, after.checked);
    let common = new.variants().iter().filter(|variant| old.variant(&variant.name).is_some());
    let names: Vec<&str> = common.map(|variant| variant.name.as_str()).collect();
    let one = |name: &&str| {
        let (mut checked, sides) = (new.clone(), [before, after]);
        checked.experiment.stop.error_rate /= names.len() as f64;
        checked.baseline = 0;
        checked.experiment.baseline = None;
        let own = sides.iter().zip(SIDES).filter_map(|(side, label)| {
            let (variant, params) = side.checked.variant(name)?;
            let mut variant = variant.clone();
            variant.name = label.into();
            Some((variant, params.clone()))
        });
        (checked.experiment.variants, checked.params) = own.unzip();
        let records = sides.iter().zip(SIDES).flat_map(|(side, label)| {
            let own = side.records.iter().filter(|record| record.variant == **name);
            own.map(move |record| Record { variant: label.into(), ..record.clone() })
        });
        let records: Vec<_> = records.collect();
        let mut plan = after.plan.clone();
        plan.without.clear();
        let summary = Summary::of(&checked, &plan, &records);
        Across { variant: (*name).to_owned(), summary }
    };
    names.iter().map(one).collect()
}

/// What differs between the machines of two plans, or one machine then and later: key, before,
/// after.
pub fn environments(before: &Value, after: &Value) -> Vec<(String, String, String)> {
    let (old, new) = (flat(before), flat(after));
    // These differ in any two runs.
    let passing = ["time", "mem_available"];
    let keys = new.keys().filter(|key| !passing.contains(&key.as_str()));
    let text = |value: Option<&Value>| match value {
        None => "unknown".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let pairs = keys.map(|key| (key.clone(), text(old.get(key)), text(new.get(key))));
    pairs.filter(|(_, before, after)| before != after).collect()
}

/// All values; those of an inner table by `TABLE.KEY`, so that one of them does not stand for all.
fn flat(value: &Value) -> BTreeMap<String, Value> {
    let all = value.as_object().into_iter().flatten();
    let pairs = all.flat_map(|(key, value)| match value.as_object() {
        None => vec![(key.clone(), value.clone())],
        Some(inner) => {
            inner.iter().map(|(name, value)| (format!("{key}.{name}"), value.clone())).collect()
        }
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::compare::Judgement;
    use crate::record::SCHEMA;
    use crate::record::tests::record;
    use serde_json::json;

    fn checked(names: &[&str]) -> Checked {
        let variants: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        let text = json!({
            "name": "n", "question": "q", "workload": { "kind": "gups" },
            "metric": [{ "key": "ops_per_s" }], "variant": variants,
        });
        let experiment = serde_json::from_value(text).expect("well-formed");
        check(experiment, false).expect("no fault")
    }

    fn plan(kernel: &str) -> RunPlan {
        RunPlan {
            schema: SCHEMA,
            text: String::new(),
            quick: false,
            seed: 1,
            repetitions: None,
            without: BTreeMap::new(),
            environment: json!({ "kernel": kernel, "time": kernel, "cpus": 2 }),
            began: None,
            resumed: Vec::new(),
        }
    }

    fn runs(level: f64) -> Vec<Record> {
        let one = |n: u32| record(n, "a", "ops_per_s", level + f64::from(n) / 100.0);
        let two = |n: u32| record(n, "b", "ops_per_s", 50.0 + f64::from(n) / 100.0);
        (0..5).flat_map(|n| [one(n), two(n)]).collect()
    }

    #[test]
    fn a_variant_is_compared_with_itself_and_only_where_both_have_it() {
        let (old, new) = (checked(&["a", "b"]), checked(&["b", "a", "c"]));
        let (plan, before, after) = (plan("6.1"), runs(10.0), runs(20.0));
        let all = across(
            Side { checked: &old, plan: &plan, records: &before },
            Side { checked: &new, plan: &plan, records: &after },
        );
        let names: Vec<_> = all.iter().map(|one| one.variant.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let judgement = |index: usize| {
            let row = all[index].summary.deciding().next().expect("a metric");
            row.cells[1].against.as_ref().and_then(|against| against.judgement)
        };
        assert!(matches!(judgement(0), Some(Judgement::NoDifferenceSeen { .. })));
        assert_eq!(judgement(1), Some(Judgement::Better));
    }

    #[test]
    fn what_differs_of_the_machine_is_told() {
        let differing = environments(&plan("6.1").environment, &plan("6.12").environment);
        assert_eq!(differing, [("kernel".into(), "6.1".into(), "6.12".into())]);
        let machine = |none: &str| json!({ "settings": { "none": none, "defrag": "never" } });
        let differing = environments(&machine("511"), &machine("51"));
        assert_eq!(differing, [("settings.none".into(), "511".into(), "51".into())]);
    }
}
