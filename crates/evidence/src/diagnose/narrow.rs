//! A machine as it was around one stretch of time: what a question asks stretch by stretch must
//! not walk through the whole recording for each of them.

use std::collections::BTreeMap;

use super::interval::Interval;
use crate::recording::{Field, Host, Point, Series, Span, Subject};

/// One series, ready to be cut.
struct Part<'a> {
    series: &'a Series,
    /// Values without a time, which belong to every stretch: the lowest, the highest, the last.
    untimed: Vec<Point>,
    timed: &'a [Point],
}

impl<'a> Part<'a> {
    fn new(series: &'a Series) -> Self {
        // A finished recording has them first.
        let first = series.points.partition_point(|point| point.at.is_none());
        let (untimed, timed) = series.points.split_at(first);
        let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
        let told = [untimed.iter().min_by(by_value), untimed.iter().max_by(by_value)];
        let told = told.into_iter().chain([untimed.last()]).flatten().copied();
        Self { series, untimed: told.collect(), timed }
    }

    /// The values of the interval, and one before and one after it: the state that it began with.
    fn within(&self, interval: Interval) -> Series {
        let before = |from| self.timed.partition_point(|point| point.at < Some(from));
        let upto = |to| self.timed.partition_point(|point| point.at <= Some(to));
        let start = interval.from.map_or(0, before).saturating_sub(1);
        let end = interval.to.map_or(self.timed.len(), upto).saturating_add(1);
        let cut = self.timed.get(start..end.min(self.timed.len())).unwrap_or_default();
        let (first, last) = (cut.first().and_then(|p| p.at), cut.last().and_then(|p| p.at));
        let later = &self.series.later;
        let since = |at| later.partition_point(|(from, _)| Some(*from) <= at);
        let named = later.get(since(first)..since(last)).unwrap_or_default();
        Series {
            source: Series::source_at(self.series.source, later, first),
            later: named.to_vec(),
            points: self.untimed.iter().chain(cut).copied().collect(),
        }
    }
}

/// Some fields of a machine as a whole, ready to be cut.
pub(super) struct Narrow<'a> {
    host: &'a Host,
    parts: Vec<(Field, Vec<Part<'a>>)>,
}

impl<'a> Narrow<'a> {
    /// These fields of a machine.
    pub(super) fn new(host: &'a Host, fields: &[Field]) -> Self {
        let parts = fields.iter().filter_map(|field| {
            // Of a state the series with most values counts, of all its values.
            let state = !matches!(field.about().span, Span::Average | Span::Event);
            let best = host.series(*field, &Subject::Machine).filter(|_| state);
            let all = host.series.get(field)?.get(&Subject::Machine)?;
            let series = best.map_or(all.as_slice(), std::slice::from_ref);
            Some((*field, series.iter().map(Part::new).collect()))
        });
        Self { host, parts: parts.collect() }
    }

    /// The machine with these fields alone, around the interval. As long as the intervals are
    /// apart, all of them together take no longer than one walk through the recording.
    pub(super) fn to(&self, interval: Interval) -> Host {
        let cut = |parts: &Vec<Part<'_>>| parts.iter().map(|part| part.within(interval)).collect();
        let of_field = |(field, parts): &(Field, Vec<Part<'_>>)| {
            (*field, BTreeMap::from([(Subject::Machine, cut(parts))]))
        };
        let series = self.parts.iter().map(of_field).collect();
        Host { name: self.host.name.clone(), series, ..Host::default() }
    }
}
