//! What a quantity belongs to: devices without those on top of others, the program with most of it.

use super::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A layer that does this many times as much as all hardware in the same listing has its own
/// elsewhere: the disks below a mapped one split its work at most by their number.
const BELOW_PART: f64 = 8.0;

/// Without what stands on top of other devices, and would count their work again: bridges, bonds,
/// ends of containers, VLANs, device mapper, md. All of them where nothing else is left.
pub(crate) fn hardware(mut lines: Vec<Line>) -> Vec<Line> {
    const ON_TOP: [&str; 16] = [
        "bond", "br", "veth", "cni", "docker", "cali", "flannel", "vxlan", "virbr", "team", "ifb",
        "dummy", "dm-", "md", "loop", "lxc",
    ];
    // Loops, md and CDs by their major numbers, as `sar -d` has them (devices.txt of the kernel).
    const NUMBERED_ON_TOP: [&str; 3] = ["dev7-", "dev9-", "dev11-"];
    // These are given out as needed: to the device mapper mostly, and to virtio disks.
    const NUMBERED_MAPPED: [&str; 3] = ["dev252-", "dev253-", "dev254-"];
    const NUMBERED_DISKS: [&str; 3] = ["dev8-", "dev65-", "dev259-"];
    let numbered_disks = lines.iter().any(|line| match &line.subject {
        Subject::Disk(name) => NUMBERED_DISKS.iter().any(|prefix| name.starts_with(prefix)),
        _ => false,
    });
    let on_top = |line: &Line| match &line.subject {
        Subject::Interface(name) => {
            name.contains('.') || ON_TOP.iter().any(|prefix| name.starts_with(prefix))
        }
        Subject::Disk(name) => {
            let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
            is(&ON_TOP) || is(&NUMBERED_ON_TOP) || (is(&NUMBERED_MAPPED) && numbered_disks)
        }
        _ => false,
    };
    let most = |on: bool| {
        let own = lines.iter().filter(|line| on_top(line) == on);
        own.flat_map(|line| &line.points).map(|point| point.value).fold(0.0, f64::max)
    };
    // What the layers below do shows there, too: unless the listing leaves them out.
    let (below, above) = (most(false), most(true));
    if !lines.iter().all(on_top) && below * BELOW_PART >= above {
        lines.retain(|line| !on_top(line));
    }
    lines
}

/// Processes' values with those times as well at which their list was made without them: lists
/// leave out what does nothing. All are of one field.
pub(super) fn listed<'l>(cx: &Context<'_>, lines: impl Iterator<Item = &'l Line>) -> Vec<Line> {
    let mut times: BTreeMap<SourceId, BTreeMap<Stamp, f64>> = BTreeMap::new();
    let of_source = |field, source| {
        let all = cx.host.subjects(field).flat_map(|(_, all)| all);
        let all = all.filter(|series: &&Series| series.source == source);
        let times = all.flat_map(|series| &series.points).filter_map(|point| point.at);
        times.map(|at| (at, 0.0)).collect()
    };
    let listed = |line: &Line| {
        // Without times nothing says how many lists there were.
        if line.points.iter().any(|point| point.at.is_none()) {
            return line.clone();
        }
        let source = line.source;
        let mut points =
            times.entry(source).or_insert_with(|| of_source(line.field, source)).clone();
        points.extend(line.points.iter().filter_map(|point| Some((point.at?, point.value))));
        let points = points.into_iter().map(|(at, value)| Point { at: Some(at), value }).collect();
        Line { points, ..line.clone() }
    };
    lines.map(listed).collect()
}

/// The times of lists of processes, by source; none of sources without times.
fn lists(cx: &Context<'_>, lines: &[Line]) -> BTreeMap<SourceId, BTreeSet<Stamp>> {
    let mut lists: BTreeMap<SourceId, BTreeSet<Stamp>> = BTreeMap::new();
    for line in lines {
        let times = line.points.iter().filter(|point| cx.in_times(point));
        lists.entry(line.source).or_default().extend(times.filter_map(|point| point.at));
    }
    lists.retain(|_, times| !times.is_empty());
    lists
}

/// The program with most of a per-process quantity: all its processes together, their sum with
/// the source of the largest, and its share of all.
pub(in crate::diagnose) fn largest_program(
    cx: &Context<'_>,
    field: Field,
) -> Option<(String, Reading, f64)> {
    let mut programs: BTreeMap<String, Reading> = BTreeMap::new();
    let mut all = 0.0;
    let lines = cx.lines(field, |subject| matches!(subject, Subject::Process { .. }));
    let lists = lists(cx, &lines);
    for line in &lines {
        let (Some(name), Some(mut mean)) = (line.subject.process_name(), cx.mean(line)) else {
            continue;
        };
        // A process that one list of ten names has a tenth of what it has there.
        if let Some(lists) = lists.get(&line.source).filter(|_| field.about().span == Span::Average)
        {
            let named = line.points.iter().filter(|point| cx.in_times(point)).count();
            mean.value *= named.min(lists.len()) as f64 / lists.len() as f64;
        }
        all += mean.value;
        let program = programs
            .entry(name.to_owned())
            .or_insert_with(|| Reading { value: 0.0, ..mean.clone() });
        program.value += mean.value;
    }
    let largest = programs.into_iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (name, mut seen) = largest.filter(|(_, seen)| seen.value > 0.0)?;
    let share = seen.value / all;
    seen.subject = Subject::process(None, &name);
    Some((name, seen, share))
}
