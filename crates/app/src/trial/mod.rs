//! `hugewise try`: the same workload under three sources of huge pages, interleaved.
//!
//! [`schedule`] runs the rounds, [`simulated`] stands in for it where nothing can be promoted;
//! both give a [`Trial`], from which [`verdict`], [`table`] and the HTML report are made.

pub(crate) mod child;
pub(crate) mod manager;
pub(crate) mod pattern;
pub(crate) mod protocol;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod schedule;
pub(crate) mod simulated;
pub(crate) mod table;
pub(crate) mod verdict;

use crate::environment::Environment;
use hugewise_core::reason::Limit;
use hugewise_core::stats::Histogram;
use hugewise_core::units::Bytes;
use protocol::{Parts, Variant};
use serde::{Deserialize, Serialize};

/// Version of the JSON that `try --json` prints and the report holds.
pub(crate) const SCHEMA: u32 = 1;

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
    /// Where it ran.
    pub(crate) environment: Environment,
    /// One row a run, in the order of time.
    pub(crate) rows: Vec<Row>,
}

/// One run of the workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Which round, from 1.
    pub(crate) round: u32,
    /// Where its huge pages came from.
    pub(crate) variant: Variant,
    /// Memory when everything had settled.
    pub(crate) memory: Memory,
    /// What was timed; `None` in a simulation.
    pub(crate) timing: Option<Timing>,
    /// What the manager did; `None` without one.
    pub(crate) promotion: Option<Promotion>,
    /// What became of its memory once it freed much of it; `None` where it did not.
    #[serde(default)]
    pub(crate) freeing: Option<Freeing>,
}

/// Memory of the workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// Resident in its three parts.
    pub(crate) rss: Bytes,
    /// Charged to its cgroup; `None` where it could not have one of its own.
    pub(crate) cgroup: Option<Bytes>,
    /// Share of each part that is huge, in percent.
    pub(crate) huge_percent: Parts<f64>,
}

/// What was timed, in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Timing {
    /// Seconds to write everything for the first time.
    pub(crate) fill_s: f64,
    /// First touch of each base page during that.
    pub(crate) first_touch: Histogram,
    /// Mean of one random read, a value a window.
    pub(crate) access_ns: Vec<f64>,
    /// With nobody promoting.
    pub(crate) quiet: Tail,
    /// Words compared with what was written; all were right, or there would be no row.
    pub(crate) verified_words: u64,
}

/// Latencies that a stall would show in, in nanoseconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// One random read (mean of a batch).
    pub(crate) access: Histogram,
    /// First touch of a base page of a new small mapping.
    pub(crate) fault: Histogram,
    /// `mmap` of a small piece.
    pub(crate) map: Histogram,
}

/// What the manager did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Promotion {
    /// How long it ran.
    pub(crate) seconds: f64,
    /// Regions promoted, from its journal.
    pub(crate) promoted: u64,
    /// Why it ended, from its journal; `None` where the journal does not say.
    pub(crate) end: Option<String>,
    /// What held its rate down last, from its journal; `None` where nothing did.
    pub(crate) limit: Option<Limit>,
    /// CPU time of its own, in seconds.
    pub(crate) cpu_s: Option<f64>,
    /// Calls into the kernel that promoted a region, in nanoseconds.
    pub(crate) calls: Histogram,
    /// Huge pages over time.
    pub(crate) samples: Vec<Sample>,
    /// Latencies of the workload meanwhile; `None` in a simulation.
    pub(crate) tail: Option<Tail>,
}

/// The workload frees most of its memory in pieces.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Freeing {
    /// Share of its memory that it freed, percent.
    pub(crate) percent: u8,
    /// Memory before that ...
    pub(crate) before: Memory,
    /// ... right after ...
    pub(crate) after: Memory,
    /// ... and when everything had settled.
    pub(crate) later: Memory,
    /// What the manager gave back; `None` without one.
    pub(crate) given_back: Option<GivenBack>,
    /// Words that were not freed, compared at the end; `None` in a simulation.
    pub(crate) verified_words: Option<u64>,
}

/// What the manager gave back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GivenBack {
    /// From the end of freeing until memory had settled.
    pub(crate) seconds: f64,
    /// Whether memory had settled before the time was over.
    pub(crate) settled: bool,
    /// Huge pages split, from its journal.
    pub(crate) demoted: u64,
    /// CPU time for that, in seconds.
    pub(crate) cpu_s: Option<f64>,
}

impl Memory {
    /// Physical memory: the cgroup's usage, which shows all of it, else what is resident.
    pub(crate) fn physical(&self) -> Bytes {
        self.cgroup.unwrap_or(self.rss)
    }
}

/// Huge pages at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Seconds after the manager was started.
    pub(crate) at_s: f64,
    /// Share of each part that is huge, in percent.
    pub(crate) huge_percent: Parts<f64>,
}

impl Trial {
    /// The rows of one variant.
    pub(crate) fn of(&self, variant: Variant) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.variant == variant)
    }
}
