//! Samples the machine once an interval, in a thread of its own: a manager that is slow to answer
//! does not hold up the keys.

use super::observer::Observer;
use crate::cli::TopArgs;
use crate::cmd::status::{ask_manager, configuration, machine, merge};
use crate::journal::rfc3339;
use crate::render::view::status::{Seen, View};
use crate::render::view::top::values::{CpuSplit, MapPane, Report, Shown};
use hugewise_core::base::units::{Geometry, Ns};
use hugewise_core::manager::engine::World;
use hugewise_core::manager::snapshot::Ask;
use hugewise_core::parse::proc_stat::{self, CpuTimes};
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// What is remembered from one sample to the next.
pub(super) struct Sampler {
    root: Root,
    args: TopArgs,
    world: Live,
    observer: Option<Observer>,
    host: String,
    before: Option<Before>,
}

/// Counters of the sample before.
struct Before {
    at: Ns,
    vmstat: BTreeMap<String, u64>,
    cpu: Option<CpuTimes>,
}

impl Sampler {
    pub(super) fn new(root: &Root, args: &TopArgs) -> Self {
        Self {
            world: Live::observer(root.clone()),
            root: root.clone(),
            args: args.clone(),
            observer: None,
            host: root.read_line("proc/sys/kernel/hostname").unwrap_or_default(),
            before: None,
        }
    }

    /// One sample; maps and diagnoses are of others.
    pub(super) fn sample(&mut self) -> Shown {
        let mut missing = Vec::new();
        let seen = ask_manager(&self.root, &self.args.daemon, &self.args.state_dir, &mut missing);
        let own = !matches!(seen, Seen::Running(_));
        let told = match &seen {
            Seen::Running(status) => {
                self.observer = None;
                Some(status.as_ref().clone())
            }
            _ => self.observed(&mut missing),
        };
        let sample = self.world.observe(&Ask { machine: true, ..Ask::default() });
        let stat = self.root.read_text("proc/stat").unwrap_or_default();
        let stat = proc_stat::parse(&stat).value;
        let (cpus, cpu) = (stat.cpus.len(), stat.all);
        let geometry = sample.machine.as_ref().map_or(Geometry::X86_64, |m| m.geometry);
        let vmstat = sample.machine.as_ref().map(|m| m.vmstat.clone()).unwrap_or_default();
        let before = self.before.take();
        let split = before.as_ref().and_then(|before| split(&before.cpu?, &cpu?));
        let first = before.as_ref().map(|before| before.vmstat.clone()).unwrap_or_default();
        let watched = before.map_or(Ns(0), |before| sample.at.since(before.at));
        let machine = sample.machine.map(|m| machine(&self.root, &m, &first, watched));
        self.before = Some(Before { at: sample.at, vmstat, cpu });
        let (mut processes, groups, left_alone) = match told {
            Some(status) => (status.targets, status.cgroups, status.left_alone),
            None => Default::default(),
        };
        if own {
            merge(&mut processes, None);
        }
        let machine = machine.unwrap_or_default();
        let manager = seen;
        let view = View {
            geometry,
            machine,
            processes,
            more: 0,
            left_alone,
            manager,
            missing,
            fields: Vec::new(),
            chosen: false,
        };
        Shown {
            host: self.host.clone(),
            time: clock(),
            cpus: (cpus > 0).then_some(cpus),
            cpu: split,
            view,
            groups,
            own,
            map: MapPane::Nobody,
            report: Report::None,
        }
    }

    /// What this program sees by itself.
    fn observed(
        &mut self,
        missing: &mut Vec<String>,
    ) -> Option<hugewise_core::manager::status::ManagerStatus> {
        if self.observer.is_none() {
            let config = configuration(&self.root, missing);
            match Observer::start(&self.root, config) {
                Ok(observer) => self.observer = Some(observer),
                Err(error) => missing.push(format!("the processes: {error:#}")),
            }
        }
        self.observer.as_ref()?.status()
    }
}

/// The time of day, in UTC as everywhere.
pub(super) fn clock() -> String {
    let now = rfc3339(SystemTime::now());
    format!("{} UTC", now.get(11..19).unwrap_or_default())
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
