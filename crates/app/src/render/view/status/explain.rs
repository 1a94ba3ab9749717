//! `hugewise status --explain`: in words why each group of a program's regions is as it is.

use super::{ManagerState, View};
use crate::render::{number, text};
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_base::units::Bytes;
use hugewise_manager::gate;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::status::{ManagerStatus, TargetStatus, UseStatus};
use std::collections::BTreeMap;

/// Why the first process of a view is as it is, or why it is left alone.
pub(crate) fn render(view: &View) -> String {
    let manager = view.manager.status();
    if let Some(process) = view.processes.first() {
        return explain(process, view, manager);
    }
    let left = view.left_alone.iter().map(|process| {
        let what = words(process.reason);
        let name = printable(&process.name);
        text::wrap("", &format!("{name} (pid {}) is left alone: {what}.", process.pid))
    });
    left.chain(view.missing.iter().map(|missing| text::wrap("not seen  ", missing))).collect()
}

fn explain(process: &TargetStatus, view: &View, manager: Option<&ManagerStatus>) -> String {
    let region = view.geometry.huge;
    let size = |regions: u64| Bytes(regions.saturating_mul(region.0)).to_string();
    let managed = manager.is_some_and(|m| m.targets.iter().any(|t| t.pid == process.pid));
    let served = match &view.manager {
        ManagerState::Unknown => " Whether a manager serves it could not be found out.",
        _ if managed => "",
        _ => " No manager serves it.",
    };
    let (name, pid) = (printable(&process.name), process.pid);
    let mut out = text::wrap("", &format!("{name} (pid {pid}): {}.{served}", whole(process)));
    let mut line = |label: &str, what: &str| {
        out.push_str(&text::wrap(&format!("  {label:<12}"), what));
    };
    if let Some(reason) = process.refused {
        line("refused", &words(reason));
    }
    let regions = process.huge.0 / region.0.max(1);
    // Who made them, only a manager knows.
    let made = match process.huge_by_us {
        _ if !managed => String::new(),
        0 => ", none of them made by hugewise".to_owned(),
        n if n == regions => ", all of them made by hugewise".to_owned(),
        n => format!(", {n} of them made by hugewise, the others by the kernel or the program"),
    };
    if regions > 0 {
        let regions = counted(regions, "region", "regions");
        line("huge", &format!("{} in {regions}{made}", process.huge));
    }
    let mut small: Vec<_> = process.not_promoted.iter().collect();
    small.sort_by_key(|(reason, _)| gate::place(**reason));
    for (reason, n) in small {
        let label = if *reason == SkipReason::Scheduled { "waiting" } else { "small" };
        let pace = if *reason == SkipReason::Scheduled { pace(process) } else { String::new() };
        let regions = counted(*n, "region", "regions");
        line(label, &format!("{}, {regions}: {}{pace}", size(*n), words(*reason)));
    }
    for (reason, n) in &process.not_split {
        let regions = counted(*n, "region", "regions");
        line("kept whole", &format!("{regions}: {}", words(*reason)));
    }
    if process.demoted > 0 {
        let splits = counted(process.demoted, "split", "splits");
        line("given back", &format!("{} in {splits}", process.freed));
    }
    for (label, what) in promise_lines(process, &size(waiting(process))) {
        line(label, &what);
    }
    for (label, what) in usage_lines(process.usage.as_ref(), &process.unfit, managed) {
        line(label, &what);
    }
    if let Some(outlook) = manager.map(|m| m.outlook).filter(|o| o.gain_ns_per_s > 0) {
        let (gain, cost) = (outlook.gain_ns_per_s as f64, outlook.cost_ns_per_s as f64);
        let (gain, cost) = (number::latency(gain), number::latency(cost));
        let what = "all that waits, of every program, is expected to save";
        line("worth", &format!("{what} {gain} of CPU time a second, and to cost {cost}"));
    }
    for missing in &view.missing {
        line("not seen", missing);
    }
    line("its vendor", &format!("what it advises: 'hugewise advise --pid {pid}'"));
    out
}

/// How much of all that a process has is huge, and how much could be.
fn whole(process: &TargetStatus) -> String {
    let percent = process.huge.0 as f64 * 100.0 / process.rss.0.max(1) as f64;
    let has = format!("{} of memory, {percent:.0} % of it huge", process.rss);
    if !process.scanned {
        return format!("{has}; the rest could not be seen");
    }
    let regions = counted(process.regions, "region", "regions");
    format!("{has}; {} in {regions} can be", process.populated)
}

/// Regions that a manager would promote.
fn waiting(process: &TargetStatus) -> u64 {
    let would = [SkipReason::Scheduled, SkipReason::Unmanaged];
    would.iter().filter_map(|reason| process.not_promoted.get(reason)).sum()
}

/// What huge pages would give, and what is held in them for nothing, as far as anybody can know.
fn promise_lines(process: &TargetStatus, would: &str) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if waiting(process) > 0 {
        let what = format!(
            "{would} would become huge. Whether that makes it faster cannot be told without an \
             experiment: 'hugewise lab run calibrate --quick' measures what random access gains \
             on this machine, an experiment of your own what your program gains ('hugewise lab \
             list')"
        );
        lines.push(("would gain", what));
    }
    let unknown = process.bloat.unknown;
    if unknown.0 > 0 {
        let what = format!(
            "unknown of {unknown} in huge pages: 'sudo hugewise status --map {} --sample' reads \
             samples of them",
            process.pid
        );
        lines.push(("its zeros", what));
    }
    lines
}

/// How fast what waits becomes huge.
fn pace(process: &TargetStatus) -> String {
    let rate = process.rate_bytes_per_s.map(|rate| format!("; {rate} become huge a second"));
    let left = process.left_s.map(|s| format!(", {} left", number::wait(s)));
    let limit = process.limit.map(|l| format!("; held back by {}", l.config_key()));
    [rate, left, limit].into_iter().flatten().collect()
}

fn usage_lines(
    usage: Option<&UseStatus>,
    unfit: &BTreeMap<hugewise_manager::access::Tracker, SkipReason>,
    managed: bool,
) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    match usage {
        Some(usage) => {
            let UseStatus { hot, hot_huge, idle, idle_huge, other, .. } = usage;
            let by = match (usage.by, usage.age_s) {
                (Some(by), Some(age)) => format!("seen by {by} {} ago", number::wait(age)),
                _ => "as hints say".to_owned(),
            };
            let what = format!(
                "{hot} are hot ({hot_huge} of it huge), {idle} idle ({idle_huge} huge), {other} in \
                 between or unknown; {by}"
            );
            lines.push(("use", what));
        }
        None if managed => {
            let what = "unknown: nobody has looked yet, or no tracker works ('hugewise doctor')";
            lines.push(("use", what.to_owned()));
        }
        None => {}
    }
    for (tracker, reason) in unfit {
        lines.push(("not tracked", format!("by {tracker}: {}", words(*reason))));
    }
    lines
}

fn words(reason: SkipReason) -> String {
    let (means, remedy) = reason.text();
    if remedy.is_empty() { means.to_owned() } else { format!("{means} ({remedy})") }
}
