//! Whether memory is short: for everybody, or for one cgroup.
//!
//! One question ([`Pressure::on`]) and several sources behind it, each with hysteresis. So far
//! free memory and cgroup usage answer; stall time (PSI) and compaction will be further sources,
//! and nothing outside this module needs to know.

use crate::manager::config::Watermark;
use crate::manager::snapshot::{CgroupSample, MachineSample};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What says that memory is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PressureSource {
    /// MemAvailable fell below its low watermark and has not passed the high one since.
    MemAvailable,
    /// The cgroup's usage rose above its high watermark and has not passed the low one since.
    CgroupUsage,
}

impl PressureSource {
    /// The word used in journal and views.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::MemAvailable => "mem_available",
            Self::CgroupUsage => "cgroup_usage",
        }
    }
}

/// Whether memory is short, for everybody and per cgroup, with hysteresis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pressure {
    machine: Option<PressureSource>,
    cgroups: BTreeMap<String, PressureSource>,
}

impl Pressure {
    /// Takes a machine sample. Unknown sizes leave things as they are.
    pub fn machine(&mut self, marks: &Watermark, machine: &MachineSample) {
        if let (Some(total), Some(available)) = (machine.mem_total, machine.mem_available) {
            let low = total.percent(marks.mem_available_low_percent);
            let high = total.percent(marks.mem_available_high_percent);
            let short = available < low || (self.machine.is_some() && available < high);
            self.machine = short.then_some(PressureSource::MemAvailable);
        }
    }

    /// Takes the usage of all cgroups of interest; those that are not named are forgotten.
    pub fn cgroups(&mut self, marks: &Watermark, usage: &BTreeMap<String, CgroupSample>) {
        let short = |(cgroup, sample): (&String, &CgroupSample)| {
            let mark = match self.cgroups.contains_key(cgroup) {
                true => marks.cgroup_usage_low_percent,
                false => marks.cgroup_usage_high_percent,
            };
            let over = sample.usage > sample.limit.percent(mark);
            over.then(|| (cgroup.clone(), PressureSource::CgroupUsage))
        };
        self.cgroups = usage.iter().filter_map(short).collect();
    }

    /// What says that memory is short for members of this cgroup.
    #[must_use]
    pub fn on(&self, cgroup: &str) -> Option<PressureSource> {
        self.machine.or_else(|| self.cgroups.get(cgroup).copied())
    }

    /// What says that memory is short for everybody.
    #[must_use]
    pub const fn on_machine(&self) -> Option<PressureSource> {
        self.machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Bytes;

    #[test]
    fn free_memory_has_hysteresis() {
        let (mut pressure, marks) = (Pressure::default(), Watermark::default());
        let mut sees = |percent: f64| {
            let total = Bytes::mib(1000);
            let mem_available = Some(total.percent(percent));
            let sample =
                MachineSample { mem_total: Some(total), mem_available, ..MachineSample::example() };
            pressure.machine(&marks, &sample);
            pressure.on("/any").is_some()
        };
        let seen = [6.0, 4.9, 6.0, 7.9, 8.1, 6.0].map(&mut sees);
        assert_eq!(seen, [false, true, true, true, false, false]);
    }

    #[test]
    fn a_full_cgroup_is_its_own_trouble_and_has_hysteresis() {
        let (mut pressure, marks) = (Pressure::default(), Watermark::default());
        let mut sees = |percent: f64| {
            let limit = Bytes::mib(100);
            let sample = CgroupSample { usage: limit.percent(percent), limit };
            pressure.cgroups(&marks, &BTreeMap::from([("/a".to_owned(), sample)]));
            assert_eq!(pressure.on("/b"), None);
            pressure.on("/a")
        };
        let short = Some(PressureSource::CgroupUsage);
        assert_eq!([94.0, 96.0, 91.0, 89.0].map(&mut sees), [None, short, short, None]);
        pressure.cgroups(&marks, &BTreeMap::new());
        assert_eq!(pressure, Pressure::default());
    }
}
