//! A ticket is one moment: commands that were run one after another are about the same trouble.
//!
//! Values are related to the times in question by their own times. A listing taken some seconds
//! before or after the one that shows the trouble would have no value in those times, and its
//! questions no answer. So a short listing that no time has in common with the source of the CPU
//! states, and lies near it, is taken to be of the same moment; evidence from it says how far away
//! it was taken.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::recording::{Clock, Field, Host, Point, Recording, Series, SourceId, Stamp};

/// How far away, and how long a listing may be: people run one command after the other within
/// minutes. Below the ten minutes between two samples of a `sar` that runs by itself, whose
/// neighbours are other moments.
const MOMENT_S: i64 = 300;

/// Fields of the source that the others are related to.
const STATES: [Field; 5] =
    [Field::CpuIdle, Field::CpuUser, Field::CpuSystem, Field::CpuKernel, Field::CpuIowait];

/// First and last time of a source's field, and its values at most.
#[derive(Clone, Copy, Debug)]
struct Times {
    first: Stamp,
    last: Stamp,
    values: usize,
}

impl Times {
    const fn seconds(self) -> i64 {
        self.last.0.saturating_sub(self.first.0)
    }

    const fn is_short(self) -> bool {
        self.seconds() <= MOMENT_S
    }

    /// Seconds from `self` to `other`: positive when other is later, `None` where they meet.
    const fn to(self, other: Self) -> Option<i64> {
        if other.first.0 > self.last.0 {
            Some(other.first.0.saturating_sub(self.last.0))
        } else if self.first.0 > other.last.0 {
            Some(other.last.0.saturating_sub(self.first.0))
        } else {
            None
        }
    }
}

/// What is done with the times of a source.
#[derive(Clone, Copy, Debug)]
enum Shift {
    /// They go: both sources are short, and all of the one belongs to all of the other.
    Drop,
    /// They move by a number of seconds, to the first or last sample of a long source.
    By(i64),
}

/// Sources whose fields were taken beside the CPU states.
pub(super) type Nearby = BTreeMap<(SourceId, Field), NearbySource>;

/// A listing beside the source of the CPU states.
#[derive(Clone, Debug)]
pub(super) struct NearbySource {
    /// How far away it is as a whole: seconds, positive for later.
    distance_s: i64,
    /// The source that it lies beside, in a word.
    label: &'static str,
    /// Whether it is of the same tool.
    same: bool,
    /// How far away each of its values was taken.
    values: Vec<(f64, i64)>,
}

impl NearbySource {
    /// How an evidence with this value says that it was taken aside.
    pub(super) fn said(&self, value: f64) -> String {
        let own = self.values.iter().filter(|(other, _)| *other == value).map(|(_, s)| *s);
        let nearest = own.min_by_key(|seconds| seconds.abs());
        let same = if self.same { "the CPU's use by " } else { "" };
        said(nearest.unwrap_or(self.distance_s), same, self.label)
    }
}

/// The recording with its short listings in the moment of the source that they lie beside, and
/// which those are. Unchanged, and not copied, where there is nothing to relate.
pub(super) fn related(recording: &Recording) -> (Cow<'_, Recording>, Nearby) {
    let found: Vec<Found> = recording.hosts.iter().map(|host| shifts(recording, host)).collect();
    let hosts = recording.hosts.iter().zip(&found);
    let nearby: Nearby = hosts.flat_map(|(host, found)| beside(recording, host, found)).collect();
    if nearby.is_empty() {
        return (Cow::Borrowed(recording), nearby);
    }
    let mut moved = recording.clone();
    for (host, found) in moved.hosts.iter_mut().zip(found) {
        for (field, all) in &mut host.series {
            for one in all.values_mut().flatten().filter(|series| series.later.is_empty()) {
                if let Some((shift, _)) = found.get(&(one.source, *field)) {
                    shifted(&mut one.points, *shift);
                }
            }
        }
    }
    (Cow::Owned(moved), nearby)
}

/// What was found of one machine, with the distance of each value.
fn beside(recording: &Recording, host: &Host, found: &Found) -> Nearby {
    let mut nearby = Nearby::new();
    for ((source, field), (_, reference)) in found {
        let series = host.series.get(field).into_iter().flat_map(BTreeMap::values).flatten();
        let own =
            series.filter(|series| series.source == *source).flat_map(|series| &series.points);
        let distance = |point: &Point| {
            let at = Times { first: point.at?, last: point.at?, ..reference.times };
            Some((point.value, reference.times.to(at).unwrap_or(0)))
        };
        let values = own.filter_map(distance).collect();
        let kind = |id: SourceId| recording.source(id).map(|source| source.kind);
        let same = kind(*source) == kind(reference.source);
        let label = kind(reference.source).map_or("", |kind| kind.label());
        let (distance_s, key) = (reference.distance_s, (*source, *field));
        nearby.insert(key, NearbySource { distance_s, label, same, values });
    }
    nearby
}

/// What something lies beside, and how far away.
#[derive(Clone, Copy, Debug)]
struct Reference {
    times: Times,
    source: SourceId,
    distance_s: i64,
}

fn shifted(points: &mut [Point], shift: Shift) {
    for point in points {
        point.at = match shift {
            Shift::Drop => None,
            Shift::By(seconds) => point.at.map(|at| Stamp(at.0.saturating_add(seconds))),
        };
    }
}

/// What is moved, and how far away it was.
type Found = BTreeMap<(SourceId, Field), (Shift, Reference)>;

/// The fields of sources that are moved, of one machine.
fn shifts(recording: &Recording, host: &Host) -> Found {
    let mut found = Found::new();
    let times = times(host);
    // The one that says most of the CPUs; of equals the first.
    let main = times.iter().rev().filter(|((_, field), _)| STATES.contains(field));
    let Some(((source, _), reference)) = main.max_by_key(|(_, times)| times.values) else {
        return found;
    };
    // Seconds since a start are on no clock.
    let clock = |id: SourceId| recording.source(id).map(|source| source.clock);
    let movable = |((id, _), own): &(&(SourceId, Field), &Times)| {
        own.is_short() && clock(*id) != Some(Clock::Uptime)
    };
    for (key, own) in times.iter().filter(movable) {
        let Some(distance) = reference.to(*own).filter(|s| s.abs() <= MOMENT_S) else { continue };
        let shift = match (reference.is_short(), distance > 0) {
            (true, _) => Shift::Drop,
            (false, true) => Shift::By(reference.last.0.saturating_sub(own.last.0)),
            (false, false) => Shift::By(reference.first.0.saturating_sub(own.last.0)),
        };
        let (times, source) = (*reference, *source);
        found.insert(*key, (shift, Reference { times, source, distance_s: distance }));
    }
    found
}

/// The times of each field of each source. One paste of `sar` has its tables one after another.
fn times(host: &Host) -> BTreeMap<(SourceId, Field), Times> {
    let mut all: BTreeMap<(SourceId, Field), Times> = BTreeMap::new();
    for (field, subjects) in &host.series {
        for series in subjects.values().flatten() {
            let Some((first, last)) = ends(series) else { continue };
            let values = series.points.len();
            let entry = all.entry((series.source, *field)).or_insert(Times { first, last, values });
            entry.first = entry.first.min(first);
            entry.last = entry.last.max(last);
            entry.values = entry.values.max(values);
        }
    }
    all
}

/// Its first and last time; values without one come first.
fn ends(series: &Series) -> Option<(Stamp, Stamp)> {
    let first = series.points.iter().find_map(|point| point.at)?;
    Some((first, series.points.last()?.at?))
}

/// How an evidence says that it was taken aside.
fn said(distance_s: i64, same: &str, label: &str) -> String {
    let (amount, way) =
        (distance_s.unsigned_abs(), if distance_s > 0 { "after" } else { "before" });
    match amount {
        0 => String::new(),
        1..=119 => format!(" ({amount} s {way} {same}{label})"),
        _ => format!(" ({} min {way} {same}{label})", (amount + 30) / 60),
    }
}
