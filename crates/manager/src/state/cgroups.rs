//! Memory of the targets' cgroups: when it is read, and what promotions add to it meanwhile.

use super::State;
use crate::config::Config;
use crate::snapshot::CgroupSample;
use hugewise_base::units::{Ns, ProcId};
use std::collections::{BTreeMap, BTreeSet};

/// The memory of cgroups is read this often: a few files each, about 10 us a file.
const CGROUPS_INTERVAL: Ns = Ns::s(2);
/// So many or fewer are read with each tick, so that promotions stop within a second when one of
/// them is full.
const CGROUPS_FEW: usize = 50;
/// Less than a tick: none is left out because it came a moment early.
const CGROUPS_SOON: Ns = Ns::ms(900);

impl State {
    /// cgroups whose memory usage is wanted now: all, with each tick or every [`CGROUPS_INTERVAL`],
    /// and at once when one is new.
    pub fn cgroups_wanted(&self, now: Ns) -> Vec<String> {
        let known =
            self.programs.targets.values().filter_map(|target| target.sample.cgroup.clone());
        let known: BTreeSet<_> = known.collect();
        let interval = if known.len() > CGROUPS_FEW { CGROUPS_INTERVAL } else { CGROUPS_SOON };
        let due =
            now.since(self.cgroups.asked.1) >= interval || !known.is_subset(&self.cgroups.asked.0);
        if due { known.into_iter().collect() } else { Vec::new() }
    }

    /// Takes the memory of the targets' cgroups.
    pub fn cgroup_memory(
        &mut self,
        config: &Config,
        usage: BTreeMap<String, CgroupSample>,
        now: Ns,
    ) {
        let known =
            self.programs.targets.values().filter_map(|target| target.sample.cgroup.clone());
        self.cgroups.asked = (known.collect(), now);
        self.limits.pressure.cgroups(&config.watermark, &usage, now);
        self.cgroups.memory = usage;
        self.cgroups.mark_percent = config.watermark.cgroup_usage_high_percent;
    }

    /// Adds what a promotion filled up to its cgroup at once: between two readings there may be
    /// many, and the cgroup must not come to its limit by them.
    pub(super) fn charge_cgroup(&mut self, id: ProcId, populated: u16) {
        let target = self.programs.targets.get(&id);
        let Some(cgroup) = target.and_then(|target| target.sample.cgroup.as_ref()) else { return };
        let Some(memory) = self.cgroups.memory.get_mut(cgroup) else { return };
        let added = self.machine.geometry.pages_per_huge().saturating_sub(populated.into());
        memory.usage += self.machine.geometry.bytes(added.into());
        self.limits.pressure.risen(cgroup, memory, self.cgroups.mark_percent);
    }
}
