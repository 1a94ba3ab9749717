//! How long ago a log said something, where the sources tell: what is over is no alarm.

use super::prelude::*;
use crate::recording::readers::kernel_log::{LOG, dated};

/// A log's clock and that of `uptime` differ by the time that the start takes.
const START_S: f64 = 60.0;

/// The latest date and time that a machine's sources have, in seconds since 1970.
fn now(cx: &Context<'_>) -> Option<f64> {
    let shown = cx.peak(Field::WallClock, &Subject::Machine).map(|seen| seen.value);
    let all = cx.host.series.values().flat_map(|all| all.values()).flatten();
    let dated = all.filter_map(|series| series.points.last()?.at).filter(|at| at.has_date());
    let latest = dated.max().map(|stamp| stamp.0 as f64);
    match (shown, latest) {
        (Some(shown), Some(latest)) => Some(shown.max(latest)),
        (shown, latest) => shown.or(latest),
    }
}

/// Seconds between the last line about something and the time of the sources.
pub(super) fn age_s(cx: &Context<'_>, subject: &Subject) -> Option<f64> {
    let last = |field| cx.peak(field, subject);
    // Some say it themselves; the latest is the youngest.
    let told = cx.lines(Field::ClusterEventAge, |about| about == subject);
    let told = told.iter().flat_map(|line| &line.points).map(|point| point.value / 1e3);
    if let Some(age) = told.reduce(f64::min) {
        return Some(age);
    }
    if let (Some(line), Some(up)) = (last(Field::LogUptime), cx.state(Field::Uptime)) {
        let age = (up.value - line.value) / 1e3;
        // A line of the future is of another start.
        return (age >= -START_S).then(|| age.max(0.0));
    }
    #[expect(clippy::cast_possible_truncation, reason = "seconds since 1970")]
    let whole = |seconds: f64| seconds as i64;
    let now = now(cx)?;
    let at = dated(whole(cx.latest(Field::LogClock, subject)?.value), Stamp(whole(now)))?;
    Some((now - at as f64).max(0.0))
}

/// Seconds between the last line about something and the log's last one, which is the least age
/// that it can have.
fn before_end_s(cx: &Context<'_>, subject: &Subject) -> Option<f64> {
    let end = Subject::Named(LOG.to_owned());
    let of = |field| Some((cx.latest(field, &end)?.value, cx.latest(field, subject)?.value));
    if let Some((end, at)) = of(Field::LogUptime) {
        return Some((end - at) / 1e3).filter(|age| *age >= 0.0);
    }
    // Those without a year are below zero, the latest the least.
    let (end, at) = of(Field::LogClock).filter(|(end, at)| end.signum() * at.signum() > 0.0)?;
    Some((end.abs() - at.abs()).max(0.0))
}

/// Whether it was so long ago that it is over; `None`: nobody says when.
pub(super) fn is_old(cx: &Context<'_>, subject: &Subject) -> Option<bool> {
    let limit = cx.limit(T::LogOld) * 3600.0;
    let known = age_s(cx, subject).map(|age| age > limit);
    known.or_else(|| before_end_s(cx, subject).filter(|age| *age > limit).map(|_| true))
}

/// An amount of time, in its usual unit.
fn spoken(seconds: f64) -> String {
    let (amount, unit) = match seconds {
        age if age < 120.0 => (age, "seconds"),
        age if age < 5400.0 => (age / 60.0, "minutes"),
        age if age < 172_800.0 => (age / 3600.0, "hours"),
        age => (age / 86_400.0, "days"),
    };
    format!("{amount:.0} {unit}")
}

/// Less time before the end of a log says nothing.
const BEFORE_END_S: f64 = 3600.0;

/// When it was, for a sentence, behind words that lead to it: nothing where nobody says.
pub(super) fn ago(cx: &Context<'_>, subject: &Subject, lead: &str) -> String {
    if let Some(age) = age_s(cx, subject) {
        return format!("{lead}{} ago", spoken(age));
    }
    let before = before_end_s(cx, subject).filter(|age| *age >= BEFORE_END_S);
    before.map_or_else(String::new, |age| format!("{lead}{} before the log's end", spoken(age)))
}
