//! Whether memory is short: for everybody, or for one cgroup.
//!
//! One question ([`Pressure::on`]) and several sources behind it, each with hysteresis: free memory
//! and a cgroup's usage, and the time for which programs wait for memory (PSI; in a cgroup of
//! version 1, which does not count that, how often the limit was reached). Waiting alone says
//! little: whoever runs into the limit of a cgroup, or asks for huge pages where memory is
//! fragmented, waits as well, and so could make others give up theirs. So it only moves the marks:
//! memory counts as short earlier while programs wait for it.

use crate::config::Watermark;
use crate::snapshot::{CgroupSample, MachineSample};
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Waiting comes in bursts: programs count as stalled for so long after the last one. The kernel's
/// own shortest average is over as long (`avg10` of PSI).
const STALLED: Ns = Ns::s(10);
/// Shortest time over which waiting is judged: half a tick.
const WINDOW: Ns = Ns::ms(500);

/// What says that memory is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PressureSource {
    /// MemAvailable fell below its low watermark and has not passed the high one since.
    MemAvailable,
    /// The cgroup's usage rose above its high watermark and has not passed the low one since.
    CgroupUsage,
    /// Programs wait for memory, and MemAvailable is below the mark for that.
    MachineStalls,
    /// The cgroup's programs wait for memory, and its usage is above the mark for that.
    CgroupStalls,
}

impl PressureSource {
    /// The word used in journal and views.
    pub const fn key(self) -> &'static str {
        match self {
            Self::MemAvailable => "mem_available",
            Self::CgroupUsage => "cgroup_usage",
            Self::MachineStalls => "machine_stalls",
            Self::CgroupStalls => "cgroup_stalls",
        }
    }
}

/// The machine, or one cgroup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Scope {
    /// Time waited in all when it was last judged, and when that was.
    waited: Option<(u64, Ns)>,
    /// How often the limit had been reached then.
    hits: Option<u64>,
    /// Programs count as stalled until then.
    stalled_until: Ns,
    short: Option<PressureSource>,
}

impl Scope {
    /// Takes how long programs have waited in all, in microseconds. Returns whether they count as
    /// stalled.
    fn stalls(&mut self, total_us: Option<u64>, percent: f64, now: Ns) -> bool {
        let Some(total_us) = total_us else {
            (self.waited, self.stalled_until) = (None, Ns(0));
            return false;
        };
        let (before_us, since) = *self.waited.get_or_insert((total_us, now));
        let passed = now.since(since);
        if passed >= WINDOW {
            let waited = Ns::us(total_us.saturating_sub(before_us));
            if waited.0 as f64 >= passed.0 as f64 * percent / 100.0 {
                self.stalled_until = now + STALLED;
            }
            self.waited = Some((total_us, now));
        }
        self.stalled_until > now
    }

    /// Takes how often the limit was reached in all. Returns whether programs count as stalled.
    fn hits(&mut self, hits: u64, now: Ns) -> bool {
        if self.hits.replace(hits).is_some_and(|before| hits > before) {
            self.stalled_until = now + STALLED;
        }
        self.stalled_until > now
    }
}

/// Whether memory is short, for everybody and per cgroup, with hysteresis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pressure {
    machine: Scope,
    cgroups: BTreeMap<String, Scope>,
}

impl Pressure {
    /// Takes a machine sample. Unknown sizes leave things as they are.
    pub fn machine(&mut self, marks: &Watermark, machine: &MachineSample, now: Ns) {
        let stalls = self.machine.stalls(machine.stalled_us, marks.stall_percent, now);
        if let (Some(total), Some(available)) = (machine.mem_total, machine.mem_available) {
            let below = |percent| available < total.percent(percent);
            let mark = match self.machine.short {
                Some(PressureSource::MemAvailable) => marks.mem_available_high_percent,
                _ => marks.mem_available_low_percent,
            };
            self.machine.short = if below(mark) {
                Some(PressureSource::MemAvailable)
            } else {
                let short = stalls && below(marks.mem_available_stalled_percent);
                short.then_some(PressureSource::MachineStalls)
            };
        }
    }

    /// Takes the usage of all cgroups of interest; those that are not named are forgotten.
    pub fn cgroups(&mut self, marks: &Watermark, usage: &BTreeMap<String, CgroupSample>, now: Ns) {
        self.cgroups.retain(|cgroup, _| usage.contains_key(cgroup));
        for (cgroup, sample) in usage {
            let scope = self.cgroups.entry(cgroup.clone()).or_default();
            let stalls = match (sample.stalled_us, sample.limit_hits) {
                (None, Some(hits)) => scope.hits(hits, now),
                (total_us, _) => scope.stalls(total_us, marks.stall_percent, now),
            };
            let above = |percent| sample.usage > sample.limit.percent(percent);
            let mark = match scope.short {
                Some(PressureSource::CgroupUsage) => marks.cgroup_usage_low_percent,
                _ => marks.cgroup_usage_high_percent,
            };
            scope.short = if above(mark) {
                Some(PressureSource::CgroupUsage)
            } else {
                let short = stalls && above(marks.cgroup_usage_stalled_percent);
                short.then_some(PressureSource::CgroupStalls)
            };
        }
    }

    /// Takes what was added to a cgroup since it was read. Only the next reading says that it is
    /// short no longer.
    pub fn risen(&mut self, cgroup: &str, sample: &CgroupSample, mark_percent: f64) {
        if sample.usage > sample.limit.percent(mark_percent)
            && let Some(scope) = self.cgroups.get_mut(cgroup)
        {
            scope.short = Some(PressureSource::CgroupUsage);
        }
    }

    /// What says that memory is short for members of this cgroup.
    pub fn on(&self, cgroup: &str) -> Option<PressureSource> {
        self.machine.short.or_else(|| self.cgroups.get(cgroup)?.short)
    }

    /// What says that memory is short for everybody.
    pub const fn on_machine(&self) -> Option<PressureSource> {
        self.machine.short
    }

    /// Where memory is short, and what says so: `None` is the machine.
    pub fn all(&self) -> impl Iterator<Item = (Option<&str>, PressureSource)> {
        let cgroups = self.cgroups.iter().map(|(name, scope)| (Some(name.as_str()), scope.short));
        let all = std::iter::once((None, self.machine.short)).chain(cgroups);
        all.filter_map(|(name, short)| Some((name, short?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::units::Bytes;

    /// What a machine says of which so much is available, second by second, and whose programs
    /// wait for so many milliseconds of each.
    fn of_machine(seconds: &[(f64, u64)]) -> Vec<Option<PressureSource>> {
        let (mut pressure, marks, mut waited_us) = (Pressure::default(), Watermark::default(), 0);
        let mut sees = |(second, (percent, wait_ms)): (u64, &(f64, u64))| {
            let total = Bytes::mib(1000);
            waited_us += wait_ms * 1000;
            let sample = MachineSample {
                mem_total: Some(total),
                mem_available: Some(total.percent(*percent)),
                stalled_us: Some(waited_us),
                ..MachineSample::example()
            };
            pressure.machine(&marks, &sample, Ns::s(second));
            assert_eq!(pressure.on("/any"), pressure.on_machine());
            pressure.on_machine()
        };
        (100..).zip(seconds).map(&mut sees).collect()
    }

    /// The same of a cgroup that is so full.
    fn of_cgroup(seconds: &[(f64, u64)]) -> Vec<Option<PressureSource>> {
        let (mut pressure, marks, mut waited_us) = (Pressure::default(), Watermark::default(), 0);
        let mut sees = |(second, (percent, wait_ms)): (u64, &(f64, u64))| {
            let limit = Bytes::mib(100);
            waited_us += wait_ms * 1000;
            let usage = limit.percent(*percent);
            let sample =
                CgroupSample { usage, limit, stalled_us: Some(waited_us), limit_hits: None };
            pressure.cgroups(&marks, &BTreeMap::from([("/a".to_owned(), sample)]), Ns::s(second));
            assert_eq!(pressure.on("/b"), None);
            pressure.on("/a")
        };
        (100..).zip(seconds).map(&mut sees).collect()
    }

    #[test]
    fn free_memory_has_hysteresis() {
        let seen = of_machine(&[6.0, 4.9, 6.0, 7.9, 8.1, 6.0].map(|percent| (percent, 0)));
        let short = Some(PressureSource::MemAvailable);
        assert_eq!(seen, [None, short, short, short, None, None]);
    }

    #[test]
    fn a_full_cgroup_is_its_own_trouble_and_has_hysteresis() {
        let seen = of_cgroup(&[94.0, 96.0, 91.0, 89.0].map(|percent| (percent, 0)));
        let short = Some(PressureSource::CgroupUsage);
        assert_eq!(seen, [None, short, short, None]);
        let mut pressure = Pressure::default();
        pressure.cgroups.insert("/a".to_owned(), Scope::default());
        pressure.cgroups(&Watermark::default(), &BTreeMap::new(), Ns::s(1));
        assert_eq!(pressure, Pressure::default());
    }

    #[test]
    fn what_was_added_since_counts_at_once() {
        let (mut pressure, marks) = (Pressure::default(), Watermark::default());
        let limit = Bytes::mib(100);
        let used = |mib| CgroupSample {
            usage: Bytes::mib(mib),
            limit,
            stalled_us: None,
            limit_hits: None,
        };
        let read = |pressure: &mut Pressure, mib, second| {
            let all = BTreeMap::from([("/a".to_owned(), used(mib))]);
            pressure.cgroups(&marks, &all, Ns::s(second));
        };
        read(&mut pressure, 94, 1);
        pressure.risen("/a", &used(95), marks.cgroup_usage_high_percent);
        assert_eq!(pressure.on("/a"), None);
        pressure.risen("/a", &used(96), marks.cgroup_usage_high_percent);
        assert_eq!(pressure.on("/a"), Some(PressureSource::CgroupUsage));
        read(&mut pressure, 80, 2);
        assert_eq!(pressure.on("/a"), None);
    }

    #[test]
    fn who_waits_is_short_earlier() {
        // A tenth of the time counts, and for ten seconds.
        let stalls = Some(PressureSource::MachineStalls);
        assert_eq!(of_machine(&[(12.0, 0), (12.0, 90), (12.0, 100)]), [None, None, stalls]);
        let mut calm = vec![(12.0, 0), (12.0, 500)];
        calm.extend([(12.0, 0); 11]);
        let short = of_machine(&calm).iter().filter(|source| source.is_some()).count();
        assert_eq!(short, 10);
        assert_eq!(of_machine(&[(12.0, 0), (4.0, 500)])[1], Some(PressureSource::MemAvailable));
        let stalls = Some(PressureSource::CgroupStalls);
        assert_eq!(of_cgroup(&[(80.0, 0), (80.0, 500), (70.0, 500)]), [None, stalls, None]);
    }

    #[test]
    fn where_waiting_is_not_counted_reaching_the_limit_is() {
        let (mut pressure, marks) = (Pressure::default(), Watermark::default());
        let mut sees = |(second, hits): (u64, u64)| {
            let (limit, usage) = (Bytes::mib(100), Bytes::mib(80));
            let sample = CgroupSample { usage, limit, stalled_us: None, limit_hits: Some(hits) };
            pressure.cgroups(&marks, &BTreeMap::from([("/a".to_owned(), sample)]), Ns::s(second));
            pressure.on("/a")
        };
        let stalls = Some(PressureSource::CgroupStalls);
        let seen = [(100, 7), (101, 7), (102, 8), (111, 8), (112, 8)].map(&mut sees);
        assert_eq!(seen, [None, None, stalls, stalls, None]);
    }

    /// Somebody at the limit of his own cgroup, or who waits for free blocks, takes nothing from
    /// others.
    #[test]
    fn who_waits_while_memory_is_plenty_harms_nobody() {
        assert_eq!(of_machine(&[(16.0, 0), (16.0, 1000), (50.0, 1000)]), [None; 3]);
    }

    #[test]
    fn a_total_that_goes_back_or_away_is_no_stall() {
        let mut scope = Scope::default();
        for (at, total) in [(1, Some(9)), (2, Some(3)), (3, None), (4, Some(u64::MAX))] {
            assert!(!scope.stalls(total, 10.0, Ns::s(at)), "{at}");
        }
    }
}
