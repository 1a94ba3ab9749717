//! The stressors, and loads that none of them is.

use crate::cmd::lab::obstacles::switched_off;
use crate::exit;
use hugewise_base::parse::meminfo;
use hugewise_experiment::kind::{Value, Values};
use hugewise_experiment::spec::HugePages;
use hugewise_lab::environment::Environment;
use hugewise_linux::root::Root;

/// Memory of a worker that maps and unmaps it all the time, MiB: some rounds a second.
const WORKER_MIB: u64 = 64;
/// Least memory of a worker, MiB: one huge page.
const WORKER_MIB_MIN: u64 = 2;
/// All workers together take at most one of so many parts of the available memory.
const AVAILABLE_PARTS: u64 = 4;

/// A load that fills the machine.
#[derive(Debug)]
pub(super) struct Load {
    /// Its name.
    pub(super) name: &'static str,
    /// What it does, for `name ...`.
    pub(super) about: &'static str,
    /// The kind of workload, with a worker on each CPU.
    pub(super) kind: &'static str,
    /// Distance of two touches of memory, KiB, where it touches some.
    stride_kib: Option<u64>,
    /// What it does about huge pages for itself.
    pub(super) huge_pages: HugePages,
}

const fn load(name: &'static str, about: &'static str, kind: &'static str) -> Load {
    Load { name, about, kind, stride_kib: None, huge_pages: HugePages::Never }
}

/// The stressors whose signatures are made.
pub(super) const STRESSORS: &[Load] = &[
    load("cpu", "computes", "stress-cpu"),
    load("io", "writes files and has them written to disk", "stress-io"),
    load("network", "sends and receives small datagrams", "stress-net"),
    Load {
        stride_kib: Some(4),
        ..load("memory", "faults in base pages and frees them", "stress-vm")
    },
    Load {
        stride_kib: Some(2048),
        huge_pages: HugePages::Always,
        ..load("thp", "faults in huge pages and frees them", "stress-vm")
    },
    load("fork", "has children that touch a few pages and end", "stress-fork"),
];

/// Loads of other kinds, which resemble none of them.
pub(super) const FOREIGN: &[Load] = &[
    load("switch", "has pairs of threads that wait for each other", "stress-switch"),
    load("read", "reads a file from the page cache in small pieces", "stress-read"),
];

/// The stressors of these names, or all.
pub(super) fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Load>> {
    if let Some(unknown) = names.iter().find(|name| STRESSORS.iter().all(|s| s.name != **name)) {
        let known: Vec<&str> = STRESSORS.iter().map(|stressor| stressor.name).collect();
        let (unknown, known) = (unknown.escape_debug(), known.join(", "));
        let why = format!("--only: there is no stressor '{unknown}'; there are {known}");
        return Err(exit::coded(exit::USAGE, why));
    }
    let wanted = |load: &&Load| names.is_empty() || names.iter().any(|name| name == load.name);
    Ok(STRESSORS.iter().filter(wanted).collect())
}

/// What the stressor of this name does.
pub(super) fn about(name: &str) -> &'static str {
    STRESSORS.iter().find(|load| load.name == name).map_or("", |load| load.about)
}

impl Load {
    /// Why it cannot run on this machine.
    pub(super) fn obstacle(&self, environment: &Environment) -> Option<String> {
        if self.huge_pages != HugePages::Always {
            return None;
        }
        switched_off(environment.switch().as_deref())
    }

    /// Its parameters on a machine with so many CPUs.
    pub(super) fn params(&self, root: &Root, cpus: u64) -> Values {
        let mut values = Values::from([("workers".to_owned(), Value::Count(cpus))]);
        if let Some(stride_kib) = self.stride_kib {
            let text = root.read_text("proc/meminfo").unwrap_or_default();
            let available = meminfo::parse(&text).value.mem_available_bytes.unwrap_or(0) >> 20;
            let mib = (available / AVAILABLE_PARTS / cpus.max(1)).clamp(WORKER_MIB_MIN, WORKER_MIB);
            values.insert("mib".to_owned(), Value::Count(mib));
            values.insert("stride_kib".to_owned(), Value::Count(stride_kib));
        }
        values
    }
}
