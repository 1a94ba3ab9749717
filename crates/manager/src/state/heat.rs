//! How much of a program's memory is in use, smoothed over several looks.
//!
//! Kept by range, not by region: a tracker tells apart a few hundred ranges at the most, and a
//! region of 2 MiB is asked about by address.

use crate::access::Access;
use hugewise_base::units::{Addr, Bytes, Geometry, Ns};
use std::collections::VecDeque;

/// Weight of a new look in the moving averages: HawkEye's 4 of 10 (`mm/ohp.c`), and the 0.4 that
/// Ingens is said to use. In floating point: with Ingens' integers a base page that is accessed in
/// every interval never becomes hot (`docs/measurements.md#ingens`).
const NEW_WEIGHT: f64 = 0.4;
/// From this temperature on memory counts as hot: Ingens' 6 of 8 intervals.
pub const HOT: f64 = 0.75;
/// Below this one it counts as idle: at most 2 of 8 intervals.
pub const IDLE: f64 = 0.25;
/// What has not been seen for so long is unknown again.
const FORGOTTEN: Ns = Ns::s(600);
/// Most ranges that are kept of a program; DAMON has at most 1,000 by default.
const RANGES: usize = 4_096;

/// Neighbours that differ by no more are one.
const ALIKE: f64 = 0.01;

/// How memory is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Share of the looks in which it was accessed at all, the last ones counting most.
    pub temperature: f64,
    /// Share of its base pages that are accessed during a look, at least ...
    pub least: f64,
    /// ... and at most.
    pub most: f64,
}

impl Use {
    /// What is known of memory that nobody has looked at.
    pub const UNKNOWN: Self = Self { temperature: 0.5, least: 0.0, most: 1.0 };

    /// Share of its base pages that are accessed during a look: the middle of what is possible.
    pub fn coverage(&self) -> f64 {
        self.least.midpoint(self.most)
    }

    /// What is known after a look that showed `new`. What the look could not tell speaks against
    /// nothing that was known before: once a region is huge it has one accessed bit, and how much
    /// of it is accessed stays as it was seen last.
    fn smoothed(self, new: Self) -> Self {
        let within = |old: f64| mean(old, old.clamp(new.least, new.most));
        Self {
            temperature: mean(self.temperature, new.temperature),
            least: within(self.least),
            most: within(self.most),
        }
    }

    /// What is known once a look did not show it: less. Its temperature stays.
    fn widened(self) -> Self {
        let Self { least, most, .. } = Self::UNKNOWN;
        Self { least: mean(self.least, least), most: mean(self.most, most), ..self }
    }
}

fn mean(old: f64, new: f64) -> f64 {
    old + NEW_WEIGHT * (new - old)
}

/// One range and its use.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    from: u64,
    to: u64,
    used: Use,
    seen: Ns,
}

/// The use of one program's memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heat {
    /// Ascending, without overlaps.
    ranges: Vec<Range>,
}

impl Heat {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether the two say different things, whenever they were told.
    pub fn differs(&self, other: &Self) -> bool {
        let said = |heat: &Self| -> Vec<_> {
            heat.ranges.iter().map(|range| (range.from, range.to, range.used)).collect()
        };
        said(self) != said(other)
    }

    /// Bytes known to be hot, known to be idle, and in between or hardly known.
    pub fn bytes(&self) -> [Bytes; 3] {
        let mut sums = [Bytes(0); 3];
        for range in &self.ranges {
            let kind = match range.used.temperature {
                hot if hot >= HOT => 0,
                idle if idle < IDLE => 1,
                _ => 2,
            };
            sums[kind] += Bytes(range.to - range.from);
        }
        sums
    }

    /// Forgets what has not been seen for too long, also where nobody looks any more. Returns
    /// whether there was any.
    pub fn forget(&mut self, now: Ns) -> bool {
        let before = self.ranges.len();
        self.ranges.retain(|range| now.since(range.seen) < FORGOTTEN);
        self.ranges.len() < before
    }

    /// Takes what one look showed, ascending and without overlaps; what is neither is left out.
    pub fn looked(&mut self, seen: &[Access], geometry: Geometry, now: Ns) {
        let mut merged = Vec::with_capacity(self.ranges.len() + seen.len());
        let mut old = VecDeque::from(std::mem::take(&mut self.ranges));
        let mut end = 0;
        for access in seen {
            let (from, to) = (access.from.0, access.to.0);
            if from < end || to <= from {
                continue;
            }
            end = to;
            let new = Self::used(access, geometry);
            let mut at = from;
            while let Some(range) = old.pop_front() {
                if range.from >= to {
                    old.push_front(range);
                    break;
                }
                if range.from < from {
                    merged.push(unseen(Range { to: range.to.min(from), ..range }));
                }
                let (left, right) = (range.from.max(from), range.to.min(to));
                if left < right {
                    if at < left {
                        merged.push(Range { from: at, to: left, used: new, seen: now });
                    }
                    let used = range.used.smoothed(new);
                    merged.push(Range { from: left, to: right, used, seen: now });
                    at = right;
                }
                if range.to > to {
                    // What lies beyond is met by the next access, or at the end.
                    old.push_front(Range { from: to, ..range });
                    break;
                }
            }
            if at < to {
                merged.push(Range { from: at, to, used: new, seen: now });
            }
        }
        merged.extend(old.into_iter().map(unseen));
        self.ranges = joined(merged, now);
    }

    fn used(access: &Access, geometry: Geometry) -> Use {
        let pages = ((access.to.0 - access.from.0) as f64 / geometry.base.0 as f64).max(1.0);
        let share = |accessed: u64| (accessed as f64 / pages).min(1.0);
        let most = share(access.most_pages);
        let least = share(access.least_pages).min(most);
        let temperature = if least > 0.0 { Self::accessed_regions(access, geometry) } else { most };
        Use { temperature, least, most }
    }

    /// Share of a range's regions that were accessed at all, given that some were: the middle of
    /// what is possible. One region was; of a large mapping perhaps one part.
    fn accessed_regions(access: &Access, geometry: Geometry) -> f64 {
        let regions = (access.to.0 - access.from.0) as f64 / geometry.huge.0.max(1) as f64;
        let pages = geometry.pages_per_huge().max(1);
        let share = |accessed: u64| (accessed as f64 / regions.max(1.0)).min(1.0);
        let least = access.least_pages.min(access.most_pages).div_ceil(pages.into());
        share(least).midpoint(share(access.most_pages))
    }

    /// The use of one region; `None`: nothing is known of any part of it.
    pub fn of(&self, at: Addr, geometry: Geometry) -> Option<Use> {
        let (from, to) = (at.0, at.0.saturating_add(geometry.huge.0));
        let first = self.ranges.partition_point(|range| range.to <= from);
        let within = self.ranges.iter().skip(first).take_while(|range| range.from < to);
        let (mut known, mut sum) = (0.0, Use { temperature: 0.0, least: 0.0, most: 0.0 });
        for range in within {
            let part = (range.to.min(to) - range.from.max(from)) as f64 / geometry.huge.0 as f64;
            known += part;
            // One hot part makes all of it hot: a huge page has one temperature.
            sum.temperature = sum.temperature.max(range.used.temperature);
            sum.least += part * range.used.least;
            sum.most += part * range.used.most;
        }
        let missing = (1.0 - known).max(0.0);
        let (least, most) = (sum.least.min(1.0), (sum.most + missing).min(1.0));
        (known > 0.0).then(|| Use { least: least.min(most), most, ..sum })
    }
}

fn unseen(range: Range) -> Range {
    Range { used: range.used.widened(), ..range }
}

/// Forgets what is too old, and joins neighbours that are alike: all of them while there are too
/// many.
fn joined(ranges: Vec<Range>, now: Ns) -> Vec<Range> {
    // Where there are too many, what was accessed matters more than in how many looks.
    let close = |a: &Use, b: &Use, by: f64| {
        (by > ALIKE || (a.temperature - b.temperature).abs() <= by)
            && (a.least - b.least).abs() <= by
            && (a.most - b.most).abs() <= by
    };
    let mut all: Vec<_> =
        ranges.into_iter().filter(|range| now.since(range.seen) < FORGOTTEN).collect();
    let mut by = ALIKE;
    loop {
        all.dedup_by(|range, before| {
            let alike = before.to == range.from && close(&before.used, &range.used, by);
            if alike {
                *before = both(before, range);
            }
            alike
        });
        if all.len() <= RANGES {
            return all;
        }
        if by > 1.0 {
            return latest(all);
        }
        by *= 2.0;
    }
}

/// Two neighbours as one: as much of them is accessed as of both.
fn both(left: &Range, right: &Range) -> Range {
    let (a, b) = ((left.to - left.from) as f64, (right.to - right.from) as f64);
    let mean = |left: f64, right: f64| left + (right - left) * (b / (a + b));
    let used = Use {
        temperature: left.used.temperature.max(right.used.temperature),
        least: mean(left.used.least, right.used.least),
        most: mean(left.used.most, right.used.most),
    };
    Range { from: left.from, to: right.to, used, seen: left.seen.max(right.seen) }
}

/// As many as are kept: of ranges that have no neighbours those that were seen last.
fn latest(mut all: Vec<Range>) -> Vec<Range> {
    all.sort_by_key(|range| (std::cmp::Reverse(range.seen), range.from));
    all.truncate(RANGES);
    all.sort_by_key(|range| range.from);
    all
}

#[cfg(test)]
mod tests;
