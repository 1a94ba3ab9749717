//! When an experiment has been run often enough.

use super::check::Checked;
use super::record::Record;
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
}

/// How many repetitions to run with what is known now, or why none is begun any more.
///
/// Precision is looked at between whole repetitions only, and the test never: an experiment that
/// stops as soon as a difference shows would find one by chance too often.
///
/// # Errors
/// The reason, where it is enough.
pub fn enough(checked: &Checked, records: &[Record], minutes: u64) -> Result<u32, Enough> {
    let stop = &checked.experiment.stop;
    let names = checked.variants().iter().map(|variant| variant.name.as_str());
    let tried = names.filter(|name| !given_up(records, name));
    let counts: Vec<u32> = tried.map(|name| runs(records, name)).collect();
    let run = counts.iter().copied().max().unwrap_or(0);
    // A repetition that has begun is finished: half of one favours those that ran first.
    let whole = counts.iter().all(|count| *count == run);
    if whole && !records.is_empty() && stop.max_minutes.is_some_and(|most| minutes >= most) {
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
#[must_use]
pub fn given_up(records: &[Record], variant: &str) -> bool {
    let mut own: Vec<_> = records.iter().filter(|record| record.variant == variant).collect();
    own.sort_by_key(|record| record.repetition);
    own.iter().rev().take_while(|record| !record.is_done()).count() >= FAILURES_MAX
}

/// Whether each deciding metric's ratio is known as closely as wanted.
fn precise(_checked: &Checked, _records: &[Record], _percent: f64) -> bool {
    false
}
