//! Slow times beside what the machine recorded: which findings of a diagnosis hold meanwhile, which
//! do not, and what moved.
//!
//! That two things happened at the same time is observed; that one made the other is not.

use std::collections::BTreeSet;

use serde::Serialize;

use super::account::Account;
use super::episode::Episode;
use super::slow::Pace;
use super::tally::LogClock;
use crate::diagnose::{Diagnosis, Finding, Interval, Severity};
use crate::recording::{
    Clock, Field, Host, Point, Recording, Series, Source, SourceId, Span, Stamp, Subject,
};
use hugewise_base::calendar::DAY_S;
use hugewise_base::stats::{adjust, binomial, mann_whitney, median, quantile};

/// The chance of calling anything moved that did not.
pub const ALPHA: f64 = 0.01;

/// Samples in slow windows, and in calm ones, from which on a value is compared.
const SAMPLES_MIN: usize = 4;

/// Most quantities that are compared: the correction for many would hide everything.
const SERIES_MAX: usize = 400;

/// Most that are reported.
const MOVED_MAX: usize = 12;

/// How far the median in slow windows lies from the calm one, in calm interquartile ranges.
const FAR: f64 = 1.0;

/// Why times of the logs and of the recordings cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unmatched {
    /// The recordings have no times.
    NoTimes,
    /// One has a zone that the other does not say.
    ZoneUnknown,
    /// They are of other times.
    Apart,
}

impl Unmatched {
    /// What it means, and what to do.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoTimes => "the recordings have no times that can be compared with the logs",
            Self::ZoneUnknown => {
                "the logs and the recordings are on different clocks, and the zone is not said: \
                 give the machine's zone, such as '--zone +01:00'"
            }
            Self::Apart => {
                "the logs and the recordings have no time in common: another day, or another zone \
                 ('--zone +01:00' says the machine's where the log does not)"
            }
        }
    }
}

/// A finding of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Meanwhile {
    /// The machine.
    pub host: Option<String>,
    /// Its cause.
    pub cause: &'static str,
    /// In a sentence.
    pub title: &'static str,
    /// How much it matters.
    pub severity: Severity,
}

/// What the machine did during an episode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// Findings that hold at some time of the episode, and not in all of the rest.
    pub during: Vec<Meanwhile>,
    /// Findings that hold at other times only.
    pub at_other_times: Vec<Meanwhile>,
    /// Whether the recordings cover the episode.
    pub covered: bool,
}

/// A quantity that differs between slow and calm windows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// The machine.
    pub host: Option<String>,
    /// Which quantity.
    pub field: Field,
    /// In words.
    pub name: &'static str,
    /// About what.
    pub subject: String,
    /// Its median in calm windows, in the field's unit.
    pub calm: f64,
    /// Its median in slow windows.
    pub slow: f64,
    /// Samples in calm windows.
    pub calm_samples: usize,
    /// Samples in slow windows.
    pub slow_samples: usize,
    /// The chance of samples as far apart without a difference (Mann-Whitney), corrected for all
    /// quantities that were compared (Holm). Samples that follow each other are alike, so the true
    /// chance is larger.
    pub p: f64,
}

/// Events that come more often in slow windows than in calm ones: slow commands of Redis, pauses of
/// Java, errors of a disk.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clustered {
    /// The machine.
    pub host: Option<String>,
    /// Which events.
    pub field: Field,
    /// In words.
    pub name: &'static str,
    /// About what.
    pub subject: String,
    /// In calm windows.
    pub calm: usize,
    /// In slow windows.
    pub slow: usize,
    /// The share of time that slow windows have, 0 to 1.
    pub slow_time: f64,
    /// The chance of this number in slow windows if they came at any time (binomial), corrected as
    /// [`Moved::p`] is. It takes for granted that they were recorded all the time.
    pub p: f64,
}

/// Slow times beside recordings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Joined {
    /// Why they cannot be compared; `None`: they can.
    pub unmatched: Option<Unmatched>,
    /// For each episode of the account.
    pub episodes: Vec<Beside>,
    /// Findings that are no matter of time, or hold all the time.
    pub always: Vec<Meanwhile>,
    /// What moved, the surest first.
    pub moved: Vec<Moved>,
    /// Events that came more often in slow windows.
    pub events: Vec<Clustered>,
    /// Quantities that were compared.
    pub compared: usize,
    /// What was taken for granted.
    pub notes: Vec<&'static str>,
}

/// When a finding holds, in milliseconds on the logs' clock; `None`: always, or no matter of time.
type Times = Option<Vec<(i64, i64)>>;

/// From a recording's clock to the logs'.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    clock: LogClock,
    /// The day of recordings without a date.
    day: i64,
}

impl Mapping {
    fn new(account: &Account) -> Option<Self> {
        let (first, _) = account.windows.first()?;
        let clock = account.clock;
        Some(Self { clock, day: clock.stamp(first.start_ms).day() })
    }

    /// What to add to stamps of this clock, for seconds on the logs' clock.
    const fn shift_s(self, clock: Clock) -> Option<i64> {
        match (clock, self.clock.utc, self.clock.zone_s) {
            (Clock::Uptime, ..) => None,
            (Clock::Utc, true, _) | (Clock::Local, false, _) => Some(0),
            (Clock::Local, true, Some(zone_s)) => Some(-zone_s),
            (Clock::Local, true, None) | (Clock::Utc, false, _) => None,
        }
    }

    /// A stamp in milliseconds on the logs' clock.
    fn ms(self, stamp: Stamp, clock: Clock) -> Option<i64> {
        let dated = match stamp.has_date() {
            true => stamp.0,
            false => stamp.0.checked_add(self.day.checked_mul(DAY_S)?)?,
        };
        dated.checked_add(self.shift_s(clock)?)?.checked_mul(1000)
    }

    /// An interval, open where it has no end.
    fn span_ms(self, interval: &Interval, clock: Clock) -> Option<(i64, i64)> {
        let from = interval.from.map_or(Some(i64::MIN), |from| self.ms(from, clock))?;
        let to = interval.to.map_or(Some(i64::MAX), |to| self.ms(to, clock))?;
        Some((from, to))
    }
}

/// Puts the answer of logs beside a diagnosis of recordings.
pub fn join(account: &Account, recording: &Recording, diagnosis: &Diagnosis) -> Joined {
    let mut joined = Joined::default();
    let Some(mapping) = Mapping::new(account) else { return joined };
    let covered = covered_ms(recording, mapping);
    let (from, to) = log_span(account);
    let meets = |span: &(i64, i64)| span.0 < to && from < span.1;
    joined.unmatched = match &covered {
        Covered::NoTimes => Some(Unmatched::NoTimes),
        Covered::ZoneUnknown => Some(Unmatched::ZoneUnknown),
        Covered::Spans(spans) => (!spans.iter().any(meets)).then_some(Unmatched::Apart),
    };
    joined.notes = notes(recording);
    let Covered::Spans(spans) = covered else { return joined };
    if joined.unmatched.is_some() {
        return joined;
    }
    let timed: Vec<(Meanwhile, Times)> = diagnosis
        .findings
        .iter()
        .map(|finding| (meanwhile(finding), when(finding, recording, mapping)))
        .collect();
    joined.always = distinct(timed.iter().filter(|(_, when)| when.is_none()).map(|(it, _)| it));
    joined.episodes =
        account.episodes.iter().map(|episode| beside(episode, &timed, &spans)).collect();
    compare_all(account, recording, mapping, &mut joined);
    joined
}

fn log_span(account: &Account) -> (i64, i64) {
    let first = account.windows.first().map_or(0, |(window, _)| window.start_ms);
    let last = account.windows.last().map_or(0, |(window, _)| window.end_ms);
    (first, last)
}

enum Covered {
    NoTimes,
    ZoneUnknown,
    Spans(Vec<(i64, i64)>),
}

/// The times that each series covers.
fn covered_ms(recording: &Recording, mapping: Mapping) -> Covered {
    let mut spans = Vec::new();
    let mut unknown = false;
    for series in recording.hosts.iter().flat_map(all_series) {
        let first = series.points.iter().find_map(|point| point.at);
        let last = series.points.iter().rev().find_map(|point| point.at);
        let Some((first, last)) = first.zip(last) else { continue };
        let clock = clock_of(recording, series.source);
        match mapping.ms(first, clock).zip(mapping.ms(last, clock)) {
            // One sample is of the time around it.
            Some((from, to)) => spans.push((from, to.saturating_add(1000))),
            None => unknown |= clock != Clock::Uptime,
        }
    }
    match (spans.is_empty(), unknown) {
        (false, _) => Covered::Spans(spans),
        (true, true) => Covered::ZoneUnknown,
        (true, false) => Covered::NoTimes,
    }
}

fn all_series(host: &Host) -> impl Iterator<Item = &Series> {
    host.series.values().flat_map(|subjects| subjects.values().flatten())
}

fn clock_of(recording: &Recording, id: SourceId) -> Clock {
    recording.source(id).map_or(Clock::Local, |source: &Source| source.clock)
}

fn notes(recording: &Recording) -> Vec<&'static str> {
    let undated = |series: &Series| {
        series.points.iter().find_map(|point| point.at).is_some_and(|at| !at.has_date())
    };
    let any = recording.hosts.iter().flat_map(all_series).any(undated);
    any.then_some("recordings without a date are taken to be of the day on which the log begins")
        .into_iter()
        .collect()
}

fn meanwhile(finding: &Finding) -> Meanwhile {
    Meanwhile {
        host: finding.host.clone(),
        cause: finding.cause.about().key,
        title: finding.title,
        severity: finding.severity,
    }
}

fn distinct<'a>(all: impl Iterator<Item = &'a Meanwhile>) -> Vec<Meanwhile> {
    let mut seen = BTreeSet::new();
    all.filter(|it| seen.insert((*it).clone())).cloned().collect()
}

/// When a finding holds, on the logs' clock; `None`: always, or no matter of time.
fn when(finding: &Finding, recording: &Recording, mapping: Mapping) -> Times {
    if finding.intervals.is_empty() || finding.intervals.contains(&Interval::ALWAYS) {
        return None;
    }
    let evidence = finding.chain.iter().rev().flat_map(|step| &step.evidence);
    let source = evidence.filter_map(|evidence| evidence.source).next();
    let clock = source.map_or(Clock::Local, |source| clock_of(recording, source));
    finding.intervals.iter().map(|interval| mapping.span_ms(interval, clock)).collect()
}

fn beside(episode: &Episode, findings: &[(Meanwhile, Times)], covered: &[(i64, i64)]) -> Beside {
    let (from, to) = episode.span_ms;
    let meets = |span: &(i64, i64)| span.0 < to && from < span.1;
    let of = |wanted: bool| {
        let timed = findings.iter().filter_map(|(it, when)| Some((it, when.as_ref()?)));
        distinct(timed.filter(|(_, when)| when.iter().any(meets) == wanted).map(|(it, _)| it))
    };
    let during = of(true);
    let mut at_other_times = of(false);
    at_other_times.retain(|it| !during.contains(it));
    Beside { during, at_other_times, covered: covered.iter().any(meets) }
}

/// Whether a quantity can tell slow from calm: a rate or a state of a part of the machine that
/// lives as long as it does.
fn is_compared(field: Field, subject: &Subject) -> bool {
    let lasting = matches!(
        subject,
        Subject::Machine
            | Subject::Disk(_)
            | Subject::Interface(_)
            | Subject::Service(_)
            | Subject::Part { .. }
            | Subject::Cgroup(_)
            | Subject::Process { .. }
    );
    lasting && matches!(field.about().span, Span::Average | Span::Instant)
}

/// The values of a series in slow and in calm windows.
fn by_pace(
    account: &Account,
    points: &[Point],
    at: impl Fn(Stamp) -> Option<i64>,
) -> [Vec<f64>; 2] {
    let mut values = [Vec::new(), Vec::new()];
    for point in points {
        let Some(ms) = point.at.and_then(&at) else { continue };
        // A sample stands for the time before it.
        let behind = account.windows.partition_point(|(window, _)| window.end_ms < ms);
        let window = account.windows.get(behind).filter(|(window, _)| window.start_ms < ms);
        match window.map(|(_, pace)| *pace) {
            Some(Pace::Slow) => values[0].push(point.value),
            Some(Pace::Calm) => values[1].push(point.value),
            _ => {}
        }
    }
    values
}

/// What differs between slow and calm windows, corrected for all that were compared.
fn compare_all(account: &Account, recording: &Recording, mapping: Mapping, joined: &mut Joined) {
    let all = recording.hosts.iter().flat_map(|host| {
        let fields = host.series.iter();
        let each = fields.flat_map(|(field, all)| all.keys().map(|subject| (*field, subject)));
        each.map(move |(field, subject)| (host, field, subject))
    });
    let (events, values): (Vec<_>, Vec<_>) =
        all.partition(|(_, field, _)| field.about().span == Span::Event);
    let values = values.into_iter().filter(|(_, field, subject)| is_compared(*field, subject));
    let moved = values.filter_map(|(host, field, subject)| {
        let series = host.series(field, subject)?;
        let (slow, calm, p) = compare(account, recording, mapping, series)?;
        let one = Moved {
            host: host.name.clone(),
            field,
            name: field.about().name,
            subject: subject.to_string(),
            calm: median(&calm)?,
            slow: median(&slow)?,
            calm_samples: calm.len(),
            slow_samples: slow.len(),
            p,
        };
        Some((one, distance(&slow, &calm)))
    });
    let mut moved: Vec<(Moved, f64)> = moved.take(SERIES_MAX).collect();
    let slow_time = slow_time(account);
    let events = events.into_iter().filter_map(|(host, field, subject)| {
        let series = host.series(field, subject)?;
        let clock = clock_of(recording, series.source);
        let [slow, calm] = by_pace(account, &series.points, |stamp| mapping.ms(stamp, clock));
        let (slow, calm) = (slow.len(), calm.len());
        let p = binomial::upper_tail(slow, slow + calm, slow_time).filter(|_| slow + calm > 0)?;
        let (host, name) = (host.name.clone(), field.about().name);
        let subject = subject.to_string();
        Some(Clustered { host, field, name, subject, calm, slow, slow_time, p })
    });
    let mut events: Vec<Clustered> = events.take(SERIES_MAX).collect();
    let chances = moved.iter().map(|(moved, _)| moved.p).chain(events.iter().map(|it| it.p));
    let adjusted = adjust::holm(&chances.collect::<Vec<f64>>()).unwrap_or_default();
    joined.compared = adjusted.len();
    let own = moved.iter_mut().map(|(moved, _)| &mut moved.p);
    own.chain(events.iter_mut().map(|it| &mut it.p)).zip(adjusted).for_each(|(p, to)| *p = to);
    moved.retain(|(moved, far)| moved.p <= ALPHA && *far > FAR);
    moved.sort_by(|(a, _), (b, _)| a.p.total_cmp(&b.p));
    moved.truncate(MOVED_MAX);
    events.retain(|it| it.p <= ALPHA);
    events.sort_by(|a, b| a.p.total_cmp(&b.p));
    events.truncate(MOVED_MAX);
    joined.moved = moved.into_iter().map(|(moved, _)| moved).collect();
    joined.events = events;
}

/// The share of time that slow windows have.
fn slow_time(account: &Account) -> f64 {
    let of = |wanted: Pace| -> f64 {
        let all = account.windows.iter().filter(|(_, pace)| *pace == wanted);
        all.map(|(window, _)| window.length_s()).sum()
    };
    let (slow, calm) = (of(Pace::Slow), of(Pace::Calm));
    if slow + calm > 0.0 { slow / (slow + calm) } else { 0.0 }
}

fn compare(
    account: &Account,
    recording: &Recording,
    mapping: Mapping,
    series: &Series,
) -> Option<(Vec<f64>, Vec<f64>, f64)> {
    let clock = clock_of(recording, series.source);
    let [slow, calm] = by_pace(account, &series.points, |stamp| mapping.ms(stamp, clock));
    if slow.len() < SAMPLES_MIN || calm.len() < SAMPLES_MIN {
        return None;
    }
    // Values that are all equal did not move.
    let p = mann_whitney::test(&slow, &calm).map_or(1.0, |test| test.p);
    Some((slow, calm, p))
}

/// How far apart the medians are, in calm interquartile ranges.
fn distance(slow: &[f64], calm: &[f64]) -> f64 {
    let of = |values: &[f64], q: f64| quantile(values, q).unwrap_or(0.0);
    let spread = of(calm, 0.75) - of(calm, 0.25);
    let apart = (of(slow, 0.5) - of(calm, 0.5)).abs();
    if apart == 0.0 { 0.0 } else { apart / spread.max(f64::MIN_POSITIVE) }
}
