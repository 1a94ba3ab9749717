//! Compaction: the kernel moves pages together, so that free blocks of huge-page size come
//! together. An action of the machine, not of a region: the words that plan, world and journal
//! share.
//!
//! A world carries it out beside everything else: no tick waits for it. What became of it comes
//! with a later observation.

use crate::reason::SkipReason;
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};

/// What a world is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compact {
    /// Begin.
    Start(CompactAsk),
    /// End at once, for this reason.
    Stop(SkipReason),
}

/// One run of the kernel's compaction over a NUMA node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CompactAsk {
    /// Which node.
    pub node: u32,
    /// It is ended after so long. One thread does it, so it takes no more CPU time.
    pub time: Ns,
    /// It is ended when the node has so many free blocks more.
    pub blocks: u64,
    /// It is refused where a larger share of the node's blocks cannot be moved.
    pub most_unmovable_percent: f64,
}

impl CompactAsk {
    /// One for simulations and tests.
    pub const EXAMPLE: Self =
        Self { node: 0, time: Ns::ms(500), blocks: 64, most_unmovable_percent: 50.0 };
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactEnd {
    /// The kernel was through with the node.
    Complete,
    /// There were as many free blocks more as were wanted.
    Enough,
    /// Its time was over.
    TimeOver,
    /// It was told to.
    Stopped,
    /// It did not begin.
    Refused,
    /// Nobody carried it out: mode `observe`, or `--dry-run`.
    Withheld,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CompactReport {
    /// Which node.
    pub node: u32,
    /// How it ended.
    pub end: CompactEnd,
    /// Why it was stopped or refused; in the journal also why the next one waits.
    pub reason: Option<SkipReason>,
    /// How long it took.
    #[serde(rename = "took_ns")]
    pub took: Ns,
    /// CPU time that it took.
    #[serde(rename = "cpu_ns")]
    pub cpu: Ns,
    /// Free blocks of the node before; `None`: unknown, as below.
    pub free_before: Option<u64>,
    /// ... and after.
    pub free_after: Option<u64>,
    /// Huge pages that the machine gave out meanwhile.
    pub taken: Option<u64>,
    /// FMFI of the node before (`docs/glossary.md#memory`).
    pub fmfi_before: Option<f64>,
    /// ... and after.
    pub fmfi_after: Option<f64>,
    /// Share of the node's blocks that cannot be moved, percent.
    pub unmovable_percent: Option<f64>,
}

impl CompactReport {
    /// One that did not begin: nothing was done, nothing was looked at.
    pub const fn not_begun(ask: &CompactAsk, end: CompactEnd, reason: Option<SkipReason>) -> Self {
        Self {
            node: ask.node,
            end,
            reason,
            took: Ns(0),
            cpu: Ns(0),
            free_before: None,
            free_after: None,
            taken: None,
            fmfi_before: None,
            fmfi_after: None,
            unmovable_percent: None,
        }
    }

    /// Whether the kernel began with it.
    pub const fn has_begun(&self) -> bool {
        !matches!(self.end, CompactEnd::Refused | CompactEnd::Withheld)
    }

    /// Blocks that were made: those that the node has more than before, and those that were given
    /// out meanwhile. What programs gave back is among them. `None`: unknown.
    pub fn won(&self) -> Option<u64> {
        let after = self.free_after?.saturating_add(self.taken.unwrap_or(0));
        Some(after.saturating_sub(self.free_before?))
    }
}
