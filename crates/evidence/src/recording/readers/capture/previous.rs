//! What one sample leaves for the next, so that counters become rates.

use std::collections::BTreeMap;

use crate::recording::{Builder, Field, SERIES_MAX, Stamp, Subject};
use hugewise_base::parse::diskstats::Disk;
use hugewise_base::parse::pid_io::PidIo;
use hugewise_base::parse::proc_stat::CpuTimes;

/// Most counters of a sample that the next one is compared with: as many as a recording has series.
pub(super) const COUNTERS_MAX: usize = SERIES_MAX;

/// Counters of a process. They are the same process's only if it started at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessCounts {
    pub(super) start_ticks: u64,
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) io: PidIo,
}

/// Counters of one sample.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Those that are divided by time and nothing else.
    plain: BTreeMap<Field, BTreeMap<Subject, u64>>,
    /// How many these are, and how many more there were.
    plain_kept: usize,
    pub(super) left_out: usize,
    /// By CPU; `None` is all of them.
    pub(super) cpus: BTreeMap<Option<u32>, CpuTimes>,
    pub(super) disks: BTreeMap<String, Disk>,
    pub(super) processes: BTreeMap<u32, ProcessCounts>,
    /// Threads: when each started, and its CPU time, in ticks.
    pub(super) threads: BTreeMap<u32, (u64, u64)>,
    /// Threads: how long each has waited for a CPU, in ns.
    pub(super) delays: BTreeMap<u32, u64>,
    /// Periods of a CPU quota, and those in which it was used up.
    pub(super) cgroups: BTreeMap<String, (u64, u64)>,
    /// Base pages scanned and reclaimed.
    pub(super) reclaim: Option<(u64, u64)>,
}

impl Counts {
    /// A counter as it stood.
    pub(super) fn plain(&self, field: Field, subject: &Subject) -> Option<u64> {
        self.plain.get(&field)?.get(subject).copied()
    }
}

/// A sample being read.
pub(super) struct Now<'a> {
    pub(super) out: &'a mut Builder,
    /// Local time of the sample.
    pub(super) at: Option<Stamp>,
    /// Time since the sample before; `None` for the first one, and after a restart.
    pub(super) passed_s: Option<f64>,
    /// The sample before; empty where there is none.
    pub(super) before: &'a Counts,
    /// This one, for the next.
    pub(super) counts: Counts,
    pub(super) ticks_per_s: Option<u64>,
    pub(super) page_bytes: Option<u64>,
}

impl Now<'_> {
    /// A state.
    pub(super) fn state(&mut self, field: Field, subject: &Subject, value: f64) {
        self.out.put(field, subject, self.at, value);
    }

    /// A state that this kernel may not have.
    pub(super) fn known(&mut self, field: Field, subject: &Subject, value: Option<u64>) {
        if let Some(value) = value {
            self.state(field, subject, value as f64);
        }
    }

    /// A counter: its growth a second, times `unit`, where it did not go back.
    pub(super) fn rate(&mut self, field: Field, subject: &Subject, count: Option<u64>, unit: f64) {
        let Some(count) = count else { return };
        let before = self.before.plain(field, subject);
        if self.counts.plain_kept >= COUNTERS_MAX {
            self.counts.left_out += 1;
            return;
        }
        let known = self.counts.plain.entry(field).or_default().insert(subject.clone(), count);
        self.counts.plain_kept += usize::from(known.is_none());
        if let Some(before) = before {
            self.grown(field, subject, before, count, unit);
        }
    }

    /// The same for counts that are stored elsewhere.
    pub(super) fn grown(&mut self, field: Field, subject: &Subject, from: u64, to: u64, unit: f64) {
        if let (Some(grown), Some(passed)) = (to.checked_sub(from), self.passed_s) {
            self.state(field, subject, grown as f64 * unit / passed);
        }
    }
}
