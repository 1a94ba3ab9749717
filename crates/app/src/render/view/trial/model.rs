//! What `hugewise try` shows: the runs of the shipped experiment `try`, or what the simulator makes
//! of it, both as the lab's records.

use hugewise_base::stats::{Histogram, median};
use hugewise_base::units::{Bytes, saturating_u64};
use hugewise_experiment::record::{Record, values};
use hugewise_lab::environment::Environment;
use hugewise_workloads::demo::Parts;
use serde::{Deserialize, Serialize};

/// Version of the JSON that `try --json` prints and the report holds.
pub(crate) const SCHEMA: u32 = 2;

/// The variants of the experiment, in the order of the tables.
pub(crate) const VARIANTS: [&str; 3] = [NEVER, ALWAYS, HUGEWISE];
/// No huge pages: the program switched them off for itself.
pub(crate) const NEVER: &str = "never";
/// Huge pages from the kernel, at the first touch of each region.
pub(crate) const ALWAYS: &str = "always";
/// Huge pages from `hugewise manage`, later.
pub(crate) const HUGEWISE: &str = "hugewise";

/// A whole run of `try`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// Version of this structure.
    pub(crate) schema: u32,
    /// Why nothing of this is real; `None` for a real run.
    pub(crate) simulated: Option<String>,
    /// Memory of the workload.
    pub(crate) size: Bytes,
    /// Its parts.
    pub(crate) parts: Parts<u64>,
    /// Rounds asked for.
    pub(crate) rounds: u32,
    /// Share of its memory that the workload frees in the first round, percent.
    pub(crate) free_percent: u64,
    /// Where it ran.
    pub(crate) environment: Environment,
    /// One record a run, in the order of time.
    pub(crate) records: Vec<Record>,
}

impl Trial {
    /// The records of one variant.
    pub(crate) fn of(&self, variant: &str) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.variant == variant)
    }

    /// A value of all runs of a variant, in the order of rounds.
    pub(crate) fn values(&self, variant: &str, key: &str) -> Vec<f64> {
        values(&self.records, key).remove(variant).unwrap_or_default()
    }

    /// Its median.
    pub(crate) fn median(&self, variant: &str, key: &str) -> Option<f64> {
        median(&self.values(variant, key))
    }

    /// Latencies of all runs of a variant.
    pub(crate) fn histogram(&self, variant: &str, key: &str) -> Histogram {
        let parts = self.of(variant).filter_map(|record| record.measured.histograms.get(key));
        parts.fold(Histogram::default(), |mut all, part| {
            all.merge(part);
            all
        })
    }
}

/// A value of a record that is a size in MiB.
pub(crate) fn bytes(mib: f64) -> Bytes {
    Bytes(saturating_u64(mib * f64::from(1 << 20)))
}

/// Physical memory of a run in a phase, named with its dot: the cgroup's usage, which shows all of
/// it, else what is resident.
pub(crate) fn physical(record: &Record, phase: &str) -> Option<f64> {
    let at = |name: &str| record.measured.values.get(&format!("{phase}{name}")).copied();
    at("cgroup_mib").or_else(|| at("rss_mib"))
}
