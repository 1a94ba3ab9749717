//! When an experiment has been run often enough.

use super::check::Checked;
use super::compare::{Comparison, Rule, compare};
use super::record::{Record, values};
use serde::{Deserialize, Serialize};

/// Failures in a row after which a variant is left alone.
const FAILURES_MAX: usize = 2;

/// Why nothing more is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enough {
    /// All repetitions that were asked for.
    Repetitions,
    /// The intervals are as narrow as was asked for.
    Precise,
    /// The time is over.
    Time,
    /// The time of this start is over.
    Start,
    /// The baseline failed so often that nothing could be compared.
    BaselineFailed,
}

impl Enough {
    /// Why nothing more is run, in words; `None` where all was run that was asked for.
    pub const fn text(self) -> Option<&'static str> {
        match self {
            Self::Repetitions | Self::Precise => None,
            Self::Time => Some("the time is over ([stop] max_minutes): no further repetition"),
            Self::Start => Some("the time of this start is over: the same command continues it"),
            Self::BaselineFailed => Some(
                "the baseline failed twice in a row: nothing could be compared with it, so nothing \
                 more is run; to begin anew move the results away or give another --output",
            ),
        }
    }
}

/// How many repetitions to run with what is known now, or why none is begun any more.
///
/// Precision is looked at between whole repetitions only, and the test never: an experiment that
/// stops as soon as a difference shows would find one by chance too often.
///
/// # Errors
/// The reason, where it is enough.
pub fn enough(checked: &Checked, records: &[Record]) -> Result<u32, Enough> {
    let stop = &checked.experiment.stop;
    if given_up(records, &checked.variants()[checked.baseline].name) {
        return Err(Enough::BaselineFailed);
    }
    let mut counts: Vec<u32> = Vec::new();
    for variant in checked.variants() {
        if !given_up(records, &variant.name) {
            counts.push(runs(records, &variant.name));
        }
    }
    let run = counts.iter().copied().max().unwrap_or(0);
    // A repetition that has begun is finished: half of one favours those that ran first.
    let whole = counts.iter().all(|count| *count == run);
    // Of all starts together: who starts again does not get the time once more.
    let minutes = records.iter().map(|record| record.seconds).sum::<f64>() / 60.0;
    if whole && !records.is_empty() && stop.max_minutes.is_some_and(|most| minutes >= most as f64) {
        return Err(Enough::Time);
    }
    let last = checked.experiment.repetitions_at_most();
    let Some(wanted) = stop.interval_percent.filter(|_| last > stop.repetitions) else {
        return Ok(stop.repetitions);
    };
    if run < stop.repetitions {
        return Ok(stop.repetitions);
    }
    if whole && precise(checked, records, wanted) {
        return Err(Enough::Precise);
    }
    Ok(if whole { (run + 1).min(last) } else { run })
}

fn runs(records: &[Record], variant: &str) -> u32 {
    let count = records.iter().filter(|record| record.variant == variant).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether a variant failed so often in a row that it is not tried again.
pub fn given_up(records: &[Record], variant: &str) -> bool {
    let mut own: Vec<_> = records.iter().filter(|record| record.variant == variant).collect();
    own.sort_by_key(|record| record.repetition);
    own.iter().rev().take_while(|record| !record.is_done()).count() >= FAILURES_MAX
}

/// Whether each deciding metric's ratio is known as closely as `percent` says.
fn precise(checked: &Checked, records: &[Record], percent: f64) -> bool {
    let rule = Rule { alpha: checked.experiment.level(), ..Rule::default() };
    let baseline = checked.variants()[checked.baseline].name.as_str();
    for metric in &checked.metrics {
        if !metric.decides {
            continue;
        }
        let values = values(records, &metric.key);
        let Some(own) = values.get(baseline) else { return false };
        for (name, other) in &values {
            // The test needs a seed of its own; only the interval is used here.
            if *name != baseline && !is_narrow(&compare(own, other, &rule), percent) {
                return false;
            }
        }
    }
    true
}

/// Whether the interval of the ratio is at most so wide, in percent of its lower end.
fn is_narrow(comparison: &Comparison, percent: f64) -> bool {
    let interval = comparison.ratio.as_ref().and_then(|ratio| ratio.interval);
    interval.is_some_and(|i| i.low > 0.0 && 100.0 * (i.high / i.low - 1.0) <= percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::record::tests::record;
    use crate::spec::Experiment;

    fn checked(stop: &str) -> Checked {
        let text = format!(
            r#"{{ "name": "n", "question": "q", "workload": {{ "kind": "gups" }},
                 "metric": [{{ "key": "ops_per_s" }}], "stop": {stop},
                 "variant": [{{ "name": "a" }}, {{ "name": "b" }}] }}"#
        );
        let experiment: Experiment = serde_json::from_str(&text).expect("well-formed");
        check(experiment, false).expect("no fault")
    }

    /// So many repetitions; values scatter by so many percent.
    fn runs(repetitions: u32, percent: f64) -> Vec<Record> {
        let one = |n: u32| {
            let off = f64::from(n % 5) * percent / 500.0;
            let value = |level: f64| level * (1.0 + off);
            [record(n, "a", "ops_per_s", value(10.0)), record(n, "b", "ops_per_s", value(20.0))]
        };
        (0..repetitions).flat_map(one).collect()
    }

    #[test]
    fn it_goes_on_until_the_interval_is_narrow_and_no_further() {
        let stop = r#"{ "repetitions": 5, "max_repetitions": 20, "interval_percent": 4 }"#;
        let checked = checked(stop);
        assert_eq!(enough(&checked, &[]), Ok(5));
        assert_eq!(enough(&checked, &runs(5, 1.0)), Err(Enough::Precise));
        assert_eq!(enough(&checked, &runs(5, 30.0)), Ok(6));
        assert_eq!(enough(&checked, &runs(20, 30.0)), Ok(20));
        // Half a repetition is finished first.
        assert_eq!(enough(&checked, &runs(6, 1.0)[..11]), Ok(6));
    }

    /// The same runs, of which all together took so many minutes.
    fn within(mut records: Vec<Record>, minutes: f64) -> Vec<Record> {
        let each = 60.0 * minutes / records.len() as f64;
        records.iter_mut().for_each(|record| record.seconds = each);
        records
    }

    fn fail(records: &mut [Record], variant: &str) {
        let failed = crate::record::Outcome::Failed { error: "no".into() };
        let own = records.iter_mut().filter(|record| record.variant == variant);
        own.for_each(|record| record.outcome = failed.clone());
    }

    #[test]
    fn time_ends_it_between_repetitions() {
        let checked = checked(r#"{ "repetitions": 9, "max_minutes": 10 }"#);
        assert_eq!(enough(&checked, &within(runs(3, 1.0), 9.9)), Ok(9));
        assert_eq!(enough(&checked, &within(runs(3, 1.0), 10.1)), Err(Enough::Time));
        assert_eq!(enough(&checked, &within(runs(3, 1.0)[..5].to_vec(), 10.1)), Ok(9));
        assert_eq!(enough(&checked, &[]), Ok(9));
    }

    #[test]
    fn a_variant_that_only_fails_does_not_keep_the_others_waiting() {
        let checked = checked(r#"{ "repetitions": 9, "max_minutes": 10 }"#);
        let mut records = within(runs(3, 1.0), 13.0);
        fail(&mut records, "b");
        assert!(given_up(&records, "b") && !given_up(&records, "a"));
        records.truncate(5);
        assert_eq!(enough(&checked, &records), Err(Enough::Time));
    }

    #[test]
    fn without_a_baseline_nothing_more_is_run() {
        let checked = checked(r#"{ "repetitions": 9 }"#);
        let mut records = runs(2, 1.0);
        fail(&mut records[..2], "a");
        assert_eq!(enough(&checked, &records), Ok(9));
        fail(&mut records, "a");
        assert_eq!(enough(&checked, &records), Err(Enough::BaselineFailed));
        assert!(Enough::BaselineFailed.text().is_some() && Enough::Precise.text().is_none());
    }
}
