//! The end of collecting: what belongs together is joined, what says nothing is left out.

use super::{Clock, Field, Problem, Recording, Series, Source, Stamp};

/// Recordings of older versions, converted by `sadf -c`, have a column for available memory and
/// 0 in all of it: that is unknown, not nothing.
pub(super) fn drop_absent_available(out: &mut Recording) {
    let mut dropped = Vec::new();
    for host in &mut out.hosts {
        let Some(all) = host.series.get_mut(&Field::MemAvailable) else { continue };
        for series in all.values_mut() {
            series.retain(|series| {
                let known = series.points.iter().any(|point| point.value > 0.0);
                let source = out.sources.get(series.source.0 as usize);
                let sar = source.filter(|source| source.kind.is_sar());
                dropped.extend(sar.filter(|_| !known).map(|source| source.input.clone()));
                known || sar.is_none()
            });
        }
        all.retain(|_, series| !series.is_empty());
    }
    for input in dropped {
        let text = "kbavail is 0 throughout, as 'sadf -c' makes it of older recordings: \
                    available memory is taken to be unknown";
        out.problems.push(Problem { input, line: None, text: text.to_owned() });
    }
}

/// Gives listings without a date the day of the others of their machine, where those have one day
/// only and meet them in time: `sar -w | grep -v Linux` beside a whole `sar -u`.
pub(super) fn date_the_undated(out: &mut Recording) {
    let sources = &out.sources;
    let of_day = |series: &Series| {
        let source = sources.get(series.source.0 as usize);
        source.is_some_and(|source| source.clock == Clock::Local)
    };
    for host in &mut out.hosts {
        let all = || host.series.values().flat_map(|by| by.values().flatten());
        let stamps = || all().filter(|series| of_day(series)).flat_map(|series| &series.points);
        let (dated, undated): (Vec<Stamp>, Vec<Stamp>) =
            stamps().filter_map(|point| point.at).partition(|at| at.has_date());
        let ends =
            |stamps: &[Stamp]| stamps.iter().min().copied().zip(stamps.iter().max().copied());
        let (Some((first, last)), Some((from, to))) = (ends(&dated), ends(&undated)) else {
            continue;
        };
        let meets = from.second_of_day() <= last.second_of_day()
            && to.second_of_day() >= first.second_of_day();
        if first.day() != last.day() || to.day() > 0 || !meets {
            continue;
        }
        let all = host.series.values_mut().flat_map(|by| by.values_mut().flatten());
        for point in all.filter(|series| of_day(series)).flat_map(|series| &mut series.points) {
            let dated = |at: Stamp| if at.has_date() { at } else { at.days_later(first.day()) };
            point.at = point.at.map(dated);
        }
    }
}

/// Puts values in order of time, those without one first. Nearly all texts have that order; who
/// asks for the values of a time searches for it.
pub(super) fn sort_by_time(series: &mut Series) {
    if !series.points.is_sorted_by_key(|point| point.at) {
        series.points.sort_by_key(|point| point.at);
    }
}

/// Joins series of one tool that follow one another in time: a file a day, or several listings.
pub(super) fn join_in_time(all: &mut Vec<Series>, sources: &[Source]) {
    if all.len() < 2 {
        return;
    }
    let kind = |series: &Series| sources.get(series.source.0 as usize).map(|source| source.kind);
    all.sort_by_key(|series| (kind(series), series.span()));
    let mut joined: Vec<Series> = Vec::with_capacity(all.len());
    for mut series in all.drain(..) {
        let before = joined.last_mut().filter(|before| {
            let ends = before.span().map(|(_, last)| last);
            kind(before) == kind(&series) && ends.is_some() && ends < series.span().map(|s| s.0)
        });
        match (before, series.span()) {
            (Some(before), Some((first, _))) => {
                before.later.push((first, series.source));
                before.points.append(&mut series.points);
            }
            _ => joined.push(series),
        }
    }
    // As given: the first source named wins where two know the same.
    joined.sort_by_key(|series| series.source);
    *all = joined;
}
