//! A ticket is one moment: commands that were run one after another are about the same trouble.
//!
//! Values are related to the times in question by their own times. A listing taken some seconds
//! before or after the one that shows the trouble would have no value in those times, and its
//! questions no answer. So a short listing that no time has in common with the source of the CPU
//! states, and lies near it, is taken to be of the same moment; evidence from it says how far away
//! it was taken.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::evidence::recording::{Clock, Field, Host, Point, Recording, Series, SourceId, Stamp};

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
    /// They move by so many seconds, to the first or last sample of a long source.
    By(i64),
}

/// How far from the CPU states the values of a source's field were taken: seconds, positive for
/// later.
pub(super) type Aside = BTreeMap<(SourceId, Field), i64>;

/// The recording with its short listings in the moment of the source that they lie beside, and
/// which those are. Unchanged, and not copied, where there is nothing to relate.
pub(super) fn related(recording: &Recording) -> (Cow<'_, Recording>, Aside) {
    let found: Vec<Found> = recording.hosts.iter().map(|host| shifts(recording, host)).collect();
    let aside: Aside =
        found.iter().flatten().map(|(key, (_, distance))| (*key, *distance)).collect();
    if aside.is_empty() {
        return (Cow::Borrowed(recording), aside);
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
    (Cow::Owned(moved), aside)
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
type Found = BTreeMap<(SourceId, Field), (Shift, i64)>;

/// The fields of sources that are moved, of one machine.
fn shifts(recording: &Recording, host: &Host) -> Found {
    let mut found = Found::new();
    let times = times(host);
    // The one that says most of the CPUs; of equals the first.
    let main = times.iter().rev().filter(|((_, field), _)| STATES.contains(field));
    let Some((_, reference)) = main.max_by_key(|(_, times)| times.values) else {
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
        found.insert(*key, (shift, distance));
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
pub(super) fn said(distance_s: i64) -> String {
    let (amount, way) =
        (distance_s.unsigned_abs(), if distance_s > 0 { "later" } else { "earlier" });
    match amount {
        0..=119 => format!(" ({amount} s {way})"),
        _ => format!(" ({} min {way})", (amount + 30) / 60),
    }
}
