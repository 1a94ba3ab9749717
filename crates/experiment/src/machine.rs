//! What the whole machine did while something was measured: events of `/proc/vmstat` and where its
//! CPU time went (`/proc/stat`).

use hugewise_base::parse::proc_stat::{self, CpuTimes};
use hugewise_base::parse::vmstat::{self, VmStat};

/// Keys of metrics, and the kernel's names of what they count. Those with `thp_` are there on every
/// kernel with huge pages, `compact_stall` on those with compaction.
const EVENTS: [(&str, &str); 6] = [
    ("machine_faults", "pgfault"),
    ("machine_huge_faults", "thp_fault_alloc"),
    ("machine_huge_fallbacks", "thp_fault_fallback"),
    ("machine_compact_stalls", "compact_stall"),
    ("machine_collapses", "thp_collapse_alloc"),
    ("machine_splits", "thp_split_page"),
];

/// A part of the CPU time.
type Part = fn(&CpuTimes) -> u64;

/// Keys of metrics, and the time that they are a share of.
const SHARES: [(&str, Part); 4] = [
    ("kernel_cpu_percent", CpuTimes::kernel),
    ("machine_user_percent", CpuTimes::programs),
    ("machine_idle_percent", CpuTimes::unused),
    ("machine_stolen_percent", |times| times.steal),
];

/// The keys of all that [`Machine::since`] may know: it is noted for kinds that have them.
pub const MACHINE: &[&str] = &[
    "kernel_cpu_percent",
    "machine_user_percent",
    "machine_idle_percent",
    "machine_stolen_percent",
    "machine_faults",
    "machine_huge_faults",
    "machine_huge_fallbacks",
    "machine_compact_stalls",
    "machine_collapses",
    "machine_splits",
];

/// Whether [`Machine::since`] may know this.
pub fn is_known(key: &str) -> bool {
    MACHINE.contains(&key)
}

/// Whether what the machine did is noted for a kind with these keys.
pub fn is_noted(keys: &[&str]) -> bool {
    MACHINE.iter().all(|key| keys.contains(key))
}

/// The counters of a machine at one time.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    events: VmStat,
    cpu: Option<CpuTimes>,
}

impl Machine {
    /// From the texts of `/proc/vmstat` and `/proc/stat`; empty ones where a file cannot be read.
    pub fn parse(vmstat: &str, stat: &str) -> Self {
        Self { events: vmstat::parse(vmstat).value, cpu: proc_stat::parse(stat).value.all }
    }

    /// What happened since an earlier look, by the keys of metrics: events, and percent of all
    /// CPUs. What the kernel does not count is left out.
    pub fn since(&self, before: &Self) -> Vec<(&'static str, f64)> {
        let cpu = before.cpu.as_ref().zip(self.cpu.as_ref());
        let shares = SHARES.iter().filter_map(|(key, of)| {
            let (before, now) = cpu?;
            Some((*key, now.percent_since(before, *of)?))
        });
        let events = EVENTS.iter().filter_map(|(key, name)| {
            let grown = self.events.get(name)?.checked_sub(before.events.get(name)?)?;
            Some((*key, grown as f64))
        });
        shares.chain(events).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;
    use std::collections::BTreeMap;

    const BEFORE: (&str, &str) =
        ("pgfault 100\nthp_fault_alloc 7\ncompact_stall 9\n", "cpu 10 0 10 100 0 0 0 0 0 0\n");
    const NOW: (&str, &str) =
        ("pgfault 350\nthp_fault_alloc 7\ncompact_stall 3\n", "cpu 40 0 20 140 0 5 5 10 0 0\n");

    fn machine((vmstat, stat): (&str, &str)) -> Machine {
        Machine::parse(vmstat, stat)
    }

    #[test]
    fn events_and_shares_are_of_the_time_between() {
        let since: BTreeMap<_, _> = machine(NOW).since(&machine(BEFORE)).into_iter().collect();
        let wanted = [
            ("kernel_cpu_percent", 20.0),
            ("machine_user_percent", 30.0),
            ("machine_idle_percent", 40.0),
            ("machine_stolen_percent", 10.0),
            ("machine_faults", 250.0),
            ("machine_huge_faults", 0.0),
        ];
        // A counter that went back and those that this kernel lacks are unknown, and not 0.
        assert_eq!(since, wanted.into());
        assert!(machine(("", "")).since(&machine(BEFORE)).is_empty());
    }

    #[test]
    fn every_key_is_listed_and_is_a_metric() {
        let listed = SHARES.iter().map(|one| one.0).chain(EVENTS.iter().map(|one| one.0));
        assert_eq!(listed.collect::<Vec<_>>(), MACHINE);
        assert!(MACHINE.iter().all(|key| metric::find(key).is_some()));
        assert!(is_noted(MACHINE) && !is_noted(&["kernel_cpu_percent"]));
    }
}
