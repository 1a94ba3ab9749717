//! What was done, in sums.

use crate::compaction::CompactReport;
use crate::decision::{FailureClass, Outcome};
use crate::reason::SkipReason;
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sums since the manager (or the target) started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Regions made huge.
    pub promoted: u64,
    /// Huge pages, or blocks held for their rest, that were split.
    pub demoted: u64,
    /// Base pages that splits gave back.
    pub freed_pages: u64,
    /// Regions below the threshold that somebody else made huge: khugepaged at work.
    pub filled: u64,
    /// Destinations warmed: each counts once in the kernel's `thp_fault_alloc`.
    pub warm_ups: u64,
    /// Decisions that no actuator carried out.
    pub withheld: u64,
    /// Decisions that the re-check stopped, by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Calls that failed, by class.
    pub failed: BTreeMap<FailureClass, u64>,
    /// Time in calls on targets.
    pub call_ns: Ns,
    /// Time in warm-ups.
    pub warm_ns: Ns,
    /// Compaction; of the machine only.
    #[serde(default)]
    pub compaction: Compactions,
}

/// Runs of compaction, in sums.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compactions {
    /// Runs that the kernel began.
    pub runs: u64,
    /// Free blocks that there were more after them.
    pub won: u64,
    /// CPU time that they took.
    #[serde(rename = "cpu_ns")]
    pub cpu: Ns,
    /// How often compaction was held back or ended early, by reason.
    pub reasons: BTreeMap<SkipReason, u64>,
}

impl Compactions {
    pub(super) fn add(&mut self, report: &CompactReport, reason: Option<SkipReason>) {
        self.runs += u64::from(report.has_begun());
        self.won += report.won().unwrap_or(0);
        self.cpu += report.cpu;
        if let Some(reason) = reason {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }
}

impl Totals {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Promoted { .. } => self.promoted += 1,
            Outcome::Demoted { freed, .. } => {
                self.demoted += 1;
                self.freed_pages += u64::from(*freed);
            }
            Outcome::Withheld { .. } => self.withheld += 1,
            Outcome::Skipped { reason, .. } => *self.skipped.entry(*reason).or_default() += 1,
            Outcome::Failed { class, .. } => *self.failed.entry(*class).or_default() += 1,
        }
        self.warm_ups += u64::from(outcome.warm().is_some());
        self.warm_ns += outcome.warm().unwrap_or_default();
        self.call_ns += outcome.call().unwrap_or_default().took;
    }
}
