//! What the trials of a ledger say of its hypotheses: accepted, refuted, or not to be told.
//!
//! A claim is "this moves by at least so much". The interval of how far it really moved decides:
//! a claim that lies outside of it is wrong; one inside of it holds where the interval also
//! excludes that nothing moved; else the trials cannot tell. Intervals are those of `docs/adr/0012`
//! at a level that all claims of all hypotheses share, so that one of them excludes the truth with
//! no more than the ledger's error rate.

use super::enough::given_up;
use super::ledger::{AS_IS, Claim, Hypothesis, Ledger};
use super::record::{Outcome, Record, values};
use hugewise_base::stats::{Interval, median, shift::Pairs};
use serde::Serialize;

/// Version of the JSON form of [`Verdicts`].
pub const SCHEMA: u32 = 1;

/// What follows for a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimResult {
    /// It moved as stated.
    Holds,
    /// It moved in the stated direction, and not as far.
    Less,
    /// It did not move so, or there was nothing to move.
    Fails,
    /// The trials cannot tell.
    Open,
}

/// A claim, and what the trials found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// What was stated.
    pub claim: Claim,
    /// Its median with the service as it is; `None` without a value.
    pub as_is: Option<f64>,
    /// Its median with the change.
    pub changed: Option<f64>,
    /// How far it moved, percent of what it is; `None` where that cannot be said.
    pub moved_percent: Option<f64>,
    /// Between which bounds the true movement lies, percent.
    pub interval_percent: Option<Interval>,
    /// What follows.
    pub told: ClaimResult,
}

/// What follows for a hypothesis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// Everything that it states came true.
    Accepted,
    /// Something that it states is not so.
    Refuted {
        /// Of which metrics or counters.
        by: Vec<String>,
        /// Whether the goal became better all the same, only less than stated.
        helps: bool,
    },
    /// The guard had to end its trials: as a remedy it is none.
    Harmful {
        /// What the guard said.
        bound: String,
    },
    /// The trials do not decide it.
    #[serde(rename = "not_told")]
    Undecided {
        /// Why.
        why: String,
    },
}

/// A hypothesis, put to the test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// The cause, as the ledger says it.
    pub because: String,
    /// What follows.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The goal first.
    pub effects: Vec<Effect>,
    /// Trials that count.
    pub trials: usize,
    /// Trials that the guard ended.
    pub guarded: usize,
    /// Trials that failed.
    pub failed: usize,
}

/// What came of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdicts {
    /// Version of this form.
    pub schema: u32,
    /// Name of the ledger.
    pub name: String,
    /// What was asked.
    pub question: String,
    /// The metric or counter that is to become better.
    pub goal: String,
    /// Its median with the service as it is.
    pub as_is: Option<f64>,
    /// Trials of the service as it is that count.
    pub trials: usize,
    /// Chance that any verdict is wrong.
    pub error_rate: f64,
    /// Trials that are still to come.
    pub left: usize,
    /// The accepted ones first, those that gain most before others; then in the ledger's order.
    pub hypotheses: Vec<Tried>,
}

impl Verdicts {
    /// Those that were accepted, the greatest gain first.
    pub fn accepted(&self) -> impl Iterator<Item = &Tried> {
        self.hypotheses.iter().filter(|tried| tried.verdict == Verdict::Accepted)
    }

    /// Judges what there is.
    pub fn of(ledger: &Ledger, records: &[Record]) -> Self {
        let count = |name: &str| counted(records, name).0;
        let tried = |one: &Hypothesis| judge(ledger, one, records);
        let mut hypotheses: Vec<Tried> = ledger.hypotheses.iter().map(tried).collect();
        let gain = |tried: &Tried| match tried.verdict {
            Verdict::Accepted => tried.effects.first().and_then(|one| one.moved_percent),
            _ => None,
        };
        // Stable: those that are not accepted stay in the ledger's order.
        hypotheses.sort_by(|a, b| {
            let size = |tried| gain(tried).map_or(-1.0, f64::abs);
            size(b).total_cmp(&size(a))
        });
        let own = values(records, &ledger.goal.metric);
        Self {
            schema: SCHEMA,
            name: ledger.name.clone(),
            question: ledger.question.clone(),
            goal: ledger.goal.metric.clone(),
            as_is: own.get(AS_IS).and_then(|values| median(values)),
            trials: count(AS_IS),
            error_rate: ledger.trials.error_rate,
            left: left(ledger, records),
            hypotheses,
        }
    }
}

/// Trials still to come: none of a hypothesis that was given up, and none at all where the service
/// as it is was.
fn left(ledger: &Ledger, records: &[Record]) -> usize {
    if given_up(records, AS_IS) {
        return 0;
    }
    let each = usize::try_from(ledger.repetitions()).unwrap_or(usize::MAX);
    let names = ledger.hypotheses.iter().map(|one| one.name.as_str()).chain([AS_IS]);
    let of = |name: &str| {
        let (done, guarded, failed) = counted(records, name);
        each.saturating_sub(done + guarded + failed)
    };
    names.filter(|name| !given_up(records, name)).map(of).sum()
}

/// Trials that count, that the guard ended, and that failed.
fn counted(records: &[Record], name: &str) -> (usize, usize, usize) {
    let own = records.iter().filter(|record| record.variant == name);
    own.fold((0, 0, 0), |(done, guarded, failed), record| match record.outcome {
        Outcome::Done => (done + 1, guarded, failed),
        Outcome::Guarded { .. } => (done, guarded + 1, failed),
        Outcome::Failed { .. } => (done, guarded, failed + 1),
    })
}

fn judge(ledger: &Ledger, hypothesis: &Hypothesis, records: &[Record]) -> Tried {
    let level = ledger.level();
    let claims = ledger.claims(hypothesis).into_iter();
    let effects: Vec<Effect> =
        claims.map(|claim| effect(claim, &hypothesis.name, records, level)).collect();
    let (trials, guarded, failed) = counted(records, &hypothesis.name);
    let verdict = verdict(hypothesis, records, &effects);
    let (name, because) = (hypothesis.name.clone(), hypothesis.because.clone());
    Tried { name, because, verdict, effects, trials, guarded, failed }
}

fn verdict(hypothesis: &Hypothesis, records: &[Record], effects: &[Effect]) -> Verdict {
    let own = records.iter().filter(|record| record.variant == hypothesis.name);
    let problems: Vec<&Outcome> =
        own.map(|record| &record.outcome).filter(|outcome| **outcome != Outcome::Done).collect();
    if given_up(records, &hypothesis.name) {
        match problems.last() {
            Some(Outcome::Guarded { bound }) => return Verdict::Harmful { bound: bound.clone() },
            Some(Outcome::Failed { error }) => {
                return Verdict::Undecided { why: format!("its trials failed: {error}") };
            }
            Some(Outcome::Done) | None => {}
        }
    }
    let is_wrong = |effect: &&Effect| matches!(effect.told, ClaimResult::Fails | ClaimResult::Less);
    let by: Vec<String> =
        effects.iter().filter(is_wrong).map(|effect| effect.claim.key.clone()).collect();
    if !by.is_empty() {
        let goal = effects.first().map(|effect| effect.told);
        return Verdict::Refuted {
            by,
            helps: matches!(goal, Some(ClaimResult::Less | ClaimResult::Holds)),
        };
    }
    let open = effects.iter().find(|effect| effect.told == ClaimResult::Open);
    let ended = problems.iter().filter(|one| matches!(one, Outcome::Guarded { .. })).count();
    match open {
        // What was worst for users is not among the values.
        None if ended > 0 => {
            Verdict::Undecided { why: format!("the guard ended {ended} of its trials") }
        }
        None => Verdict::Accepted,
        Some(effect) => Verdict::Undecided { why: why_open(effect) },
    }
}

fn why_open(effect: &Effect) -> String {
    let key = &effect.claim.key;
    match (effect.as_is.zip(effect.changed), effect.moved_percent, effect.interval_percent) {
        (None, ..) => format!("there is no value of {key}"),
        (_, None, _) => format!("{key} is 0 too often to say how far it moved"),
        (_, _, None) => format!("so few trials cannot tell how far {key} moved"),
        (_, _, Some(_)) => {
            format!("{key} differs too much from trial to trial: more trials could tell")
        }
    }
}

fn effect(claim: Claim, name: &str, records: &[Record], level: f64) -> Effect {
    let all = values(records, &claim.key);
    let none = Vec::new();
    let of = |name: &str| all.get(name).unwrap_or(&none).as_slice();
    let (as_is, changed) = (of(AS_IS), of(name));
    let (moved_percent, interval_percent) = moved(as_is, changed, level);
    let told = told(claim.percent, interval_percent);
    let (as_is, changed) = (median(as_is), median(changed));
    Effect { claim, as_is, changed, moved_percent, interval_percent, told }
}

/// How far values moved, percent of what they were, and between which bounds. A counter that stood
/// at 0 and still does has not moved at all.
fn moved(as_is: &[f64], changed: &[f64], level: f64) -> (Option<f64>, Option<Interval>) {
    let all_zero = |values: &[f64]| values.len() > 1 && values.iter().all(|value| *value == 0.0);
    if all_zero(as_is) && all_zero(changed) {
        return (Some(0.0), Interval::new(0.0, 0.0));
    }
    if let Some(pairs) = Pairs::ratios(as_is, changed) {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let interval = pairs.interval(level);
        let interval = interval.and_then(|at| Interval::new(percent(at.low), percent(at.high)));
        return (Some(percent(pairs.estimate())), interval);
    }
    // Some are 0, so that there are no ratios: differences, measured by the middle of what was.
    let middle = median(as_is).filter(|middle| *middle > 0.0);
    let Some((pairs, middle)) = Pairs::differences(as_is, changed).zip(middle) else {
        return (None, None);
    };
    let percent = |shift: f64| 100.0 * shift / middle;
    let interval = pairs.interval(level);
    let interval = interval.and_then(|at| Interval::new(percent(at.low), percent(at.high)));
    (Some(percent(pairs.estimate())), interval)
}

fn told(stated: f64, interval: Option<Interval>) -> ClaimResult {
    let Some(at) = interval else { return ClaimResult::Open };
    // As if everything was to fall: what is to rise is turned round.
    let (low, high, stated) =
        if stated < 0.0 { (at.low, at.high, stated) } else { (-at.high, -at.low, -stated) };
    match (low > stated, high < 0.0) {
        (true, true) => ClaimResult::Less,
        (true, false) => ClaimResult::Fails,
        (false, true) => ClaimResult::Holds,
        (false, false) => ClaimResult::Open,
    }
}

#[cfg(test)]
mod tests;
