//! The turns of an experiment: what is done is on disk before the next begins, what is on disk is
//! not done again.

use crate::environment::utc;
use crate::guard::Guarded;
use crate::stage::Machine;
use crate::store::Store;
use hugewise_base::exit;
use hugewise_experiment::check::Checked;
use hugewise_experiment::enough::{Enough, enough, given_up};
use hugewise_experiment::record::{Conditions, Measured, Outcome, Record, RunPlan, SCHEMA};
use hugewise_experiment::schedule::{self, Turn};
use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

/// What bounds a start of an experiment, and how it calls its runs.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// What is said before each run; may be empty.
    pub of: String,
    /// No run is begun that would probably not be over by then.
    pub until: Option<Instant>,
}

impl Start {
    /// Whether another run, as long as those so far were on average, would be over too late.
    fn is_over(&self, records: &[Record]) -> bool {
        let mean =
            records.iter().map(|record| record.seconds).sum::<f64>() / records.len().max(1) as f64;
        let next = Instant::now() + Duration::from_secs_f64(mean);
        self.until.is_some_and(|until| next >= until)
    }
}

/// How an experiment ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// All runs, also those of earlier starts.
    pub records: Vec<Record>,
    /// Why nothing more was run.
    pub why: Enough,
}

/// Runs what is left of an experiment.
///
/// # Errors
/// After Ctrl-C, when the machine refuses or the disk does; runs that fail are records.
pub fn run(
    checked: &Checked,
    plan: &RunPlan,
    store: &Store,
    machine: &mut dyn Machine,
    start: &Start,
) -> anyhow::Result<Ended> {
    let mut records = store.records()?;
    loop {
        let repetitions = match enough(checked, &records) {
            Ok(repetitions) => repetitions,
            Err(why) => return Ok(Ended { records, why }),
        };
        let done = turns(checked, &records);
        let Some(turn) = schedule::next(plan.seed, repetitions, checked.variants().len(), &done)
        else {
            return Ok(Ended { records, why: Enough::Repetitions });
        };
        machine.beat()?;
        if start.is_over(&records) {
            return Ok(Ended { records, why: Enough::Start });
        }
        let all = usize::try_from(repetitions).unwrap_or(usize::MAX) * checked.variants().len();
        let (name, number) = (&checked.variants()[turn.variant].name, records.len() + 1);
        let label = format!("{}run {number} of {}, {name}", start.of, all.max(number));
        let record = one(checked, plan, machine, turn, &format!("{label}{}", left(&records, all)))?;
        store.add(&record)?;
        let (said, is_bad) = summary(&record);
        records.push(record);
        machine.tell(&format!("{label}: {said}{}", left(&records, all)), is_bad);
    }
}

/// How a run went, in a few words, and whether that is bad.
fn summary(record: &Record) -> (String, bool) {
    let seconds = duration(record.seconds);
    match &record.outcome {
        Outcome::Failed { error } => (format!("failed after {seconds}: {error}"), true),
        Outcome::Guarded { bound } => (format!("ended by the guard: {bound}"), true),
        Outcome::Done if record.conditions.noisy.is_empty() => {
            (format!("done in {seconds}"), false)
        }
        Outcome::Done => (format!("done in {seconds}, noisy"), false),
    }
}

fn one(
    checked: &Checked,
    plan: &RunPlan,
    machine: &mut dyn Machine,
    turn: Turn,
    label: &str,
) -> anyhow::Result<Record> {
    let (began, time) = (utc(SystemTime::now()), Instant::now());
    let mut conditions = Conditions::default();
    let measured = machine.prepare(turn.variant, label).and_then(|found| {
        conditions = found;
        // All variants of a repetition do the same work.
        let seed = plan.seed.wrapping_add(u64::from(turn.repetition));
        machine.run(turn, seed, label, &mut conditions)
    });
    // Whatever happened: the next run must not find this one's settings.
    machine.tidy()?;
    // An interrupted run is none, and what a machine refuses is no result.
    machine.beat()?;
    let (measured, outcome) = match measured {
        Ok(measured) => (measured, Outcome::Done),
        Err(error) if exit::of(error.as_ref()) == exit::REFUSED => return Err(error),
        Err(error) => (Measured::default(), failed(&error)),
    };
    Ok(Record {
        schema: SCHEMA,
        repetition: turn.repetition,
        variant: checked.variants()[turn.variant].name.clone(),
        began,
        seconds: time.elapsed().as_secs_f64(),
        outcome,
        measured,
        conditions,
    })
}

fn failed(error: &anyhow::Error) -> Outcome {
    match error.downcast_ref::<Guarded>() {
        Some(guarded) => Outcome::Guarded { bound: guarded.bound.clone() },
        None => Outcome::Failed { error: format!("{error:#}") },
    }
}

/// What need not be run: what has been, and what failed too often.
fn turns(checked: &Checked, records: &[Record]) -> BTreeSet<Turn> {
    let mut done = BTreeSet::new();
    for (variant, spec) in checked.variants().iter().enumerate() {
        let own = records.iter().filter(|record| record.variant == spec.name);
        let turn = |repetition| Turn { repetition, variant };
        done.extend(own.map(|record| turn(record.repetition)));
        if given_up(records, &spec.name) {
            done.extend((0..checked.experiment.repetitions_at_most()).map(turn));
        }
    }
    done
}

/// ` (about 12 min left)`, by the runs so far; nothing before the first and after the last.
fn left(records: &[Record], all: usize) -> String {
    let left = all.saturating_sub(records.len());
    if records.is_empty() || left == 0 {
        return String::new();
    }
    let mean = records.iter().map(|record| record.seconds).sum::<f64>() / records.len() as f64;
    format!(" (about {} left)", duration(mean * left as f64))
}

/// `40 s`, `12 min`, `3.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests;
