//! A moment of a machine, live or recorded, as the screens show it.

use super::machine::machine;
use super::programs::{ProgramsReport, merge};
use crate::render::view::status::View;
use crate::render::view::top::values::{CpuSplit, MapPane, Report, Shown};
use hugewise_base::parse::proc_stat::{self, CpuTimes};
use hugewise_base::units::{Bytes, Ns};
use hugewise_linux::machine as files;
use hugewise_linux::root::Root;
use std::collections::BTreeMap;

/// What is known at one moment.
pub(super) struct Snapshot<'a> {
    /// The machine's files.
    pub(super) root: &'a Root,
    /// Its monotonic clock.
    pub(super) at: Ns,
    /// The size of its base pages; `None`: as on this machine.
    pub(super) base_page: Option<Bytes>,
    /// Its name.
    pub(super) host: String,
    /// The time, for people.
    pub(super) time: String,
    /// What was told of programs.
    pub(super) told: ProgramsReport,
}

/// Counters of a moment, from which the next one has rates.
#[derive(Debug, Clone)]
pub(super) struct Counters {
    at: Ns,
    vmstat: BTreeMap<String, u64>,
    cpu: Option<CpuTimes>,
}

/// Everything that `top` shows of a moment, and its counters. Without those `before` it has no
/// rates; they must be of the same boot.
pub(super) fn shown(moment: Snapshot<'_>, before: Option<&Counters>) -> (Shown, Counters) {
    let root = moment.root;
    let stat = proc_stat::parse(&root.read_text("proc/stat").unwrap_or_default()).value;
    let mut geometry = files::geometry(root);
    geometry.base = moment.base_page.unwrap_or(geometry.base);
    let sample = files::sample(root, geometry);
    let now = Counters { at: moment.at, vmstat: sample.vmstat.clone(), cpu: stat.all };
    let before = before.filter(|before| before.at < now.at);
    let since = before.map(|before| (&before.vmstat, now.at.since(before.at)));
    let own = moment.told.is_own();
    let mut processes = Vec::new();
    let (mut groups, mut left_alone) = (Vec::new(), Vec::new());
    if let Some(status) = moment.told.programs() {
        processes.clone_from(&status.targets);
        groups.clone_from(&status.cgroups);
        left_alone.clone_from(&status.left_alone);
    }
    if own {
        merge(&mut processes, None);
    }
    let shown = Shown {
        host: moment.host,
        time: moment.time,
        cpus: (!stat.cpus.is_empty()).then_some(stat.cpus.len()),
        cpu: before.and_then(|before| split(&before.cpu?, &now.cpu?)),
        view: View {
            geometry,
            machine: machine(root, &sample, since),
            processes,
            more: 0,
            left_alone,
            manager: moment.told.manager,
            missing: moment.told.missing,
            fields: Vec::new(),
            chosen: false,
            recorded: None,
        },
        groups,
        own,
        map: MapPane::Nobody,
        report: Report::None,
        past: None,
    };
    (shown, now)
}

fn split(before: &CpuTimes, now: &CpuTimes) -> Option<CpuSplit> {
    let part = |part: fn(&CpuTimes) -> u64| now.percent_since(before, part);
    Some(CpuSplit {
        user: part(CpuTimes::programs)?,
        system: part(|times| times.system)?,
        interrupts: part(|times| times.irq + times.softirq)?,
        iowait: part(|times| times.iowait)?,
        steal: part(|times| times.steal)?,
        idle: part(|times| times.idle)?,
    })
}
