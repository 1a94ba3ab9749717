//! What is written to the journal: one JSON line each. The writer adds the wall-clock time.

use crate::config::Mode;
use crate::policy::bloat::{self, Account};
use crate::policy::{Action, Decision, Motive, Outcome};
use crate::reason::{Limit, SkipReason};
use crate::state::{Target, Totals};
use crate::units::{Geometry, ProcId};
use serde::Serialize;
use std::collections::BTreeMap;

/// One line of the journal.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum Record {
    /// The manager started.
    Start {
        /// Version of hugewise.
        version: String,
        /// Mode in force.
        mode: Mode,
        /// The actuator's last step is left out.
        dry_run: bool,
        /// Kernel release.
        kernel: String,
        /// Identity of this boot.
        boot_id: Option<String>,
        /// Pids named on the command line.
        pids: Option<Vec<u32>>,
    },
    /// A kernel setting was changed, restored or left alone.
    Setting {
        /// Path below the root.
        file: String,
        /// Value found.
        from: String,
        /// Value written; `None` where nothing was written.
        to: Option<String>,
        /// Why.
        why: String,
    },
    /// A decision and what became of it.
    Action {
        /// Whose memory.
        target: ProcId,
        /// Region, as an offset into its mapping: no address leaves this program.
        offset_bytes: u64,
        /// What was to be done.
        action: Action,
        /// Why.
        motive: Motive,
        /// Populated base pages when it was chosen.
        populated: u16,
        /// Base pages that it wastes (demote) or will waste (promote).
        waste_pages: u16,
        /// What happened.
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// Why a target's regions stay as they are, by reason, and what is known of its waste,
    /// whenever a reason's count changed.
    Skips {
        /// Whose regions.
        target: ProcId,
        /// Its command name.
        name: String,
        /// Huge regions.
        huge: u64,
        /// Small regions by reason.
        skips: BTreeMap<SkipReason, u64>,
        /// Regions with waste that are not split, by reason.
        kept: BTreeMap<SkipReason, u64>,
        /// Its waste, in bytes by source.
        bloat_bytes: Account,
        /// What holds its rate down.
        limit: Option<Limit>,
    },
    /// The configuration was read again.
    Reload {
        /// What was wrong with it, when the old one stays in force.
        error: Option<String>,
    },
    /// The manager ended.
    Stop {
        /// Why.
        why: String,
        /// Everything it did.
        totals: Totals,
    },
}

impl Record {
    /// The record of one decision.
    #[must_use]
    pub fn action(decision: &Decision, outcome: &Outcome) -> Self {
        Self::Action {
            target: decision.target,
            offset_bytes: decision.region.0.saturating_sub(decision.mapping.0),
            action: decision.action,
            motive: decision.motive,
            populated: decision.populated,
            waste_pages: decision.waste,
            outcome: *outcome,
        }
    }
}

/// The record of a target's skip counts.
#[must_use]
pub fn skips_record(id: ProcId, target: &Target, geometry: Geometry) -> Record {
    Record::Skips {
        target: id,
        name: target.sample.name.clone(),
        huge: target.huge(),
        skips: target.skips.clone(),
        kept: target.kept.clone(),
        bloat_bytes: bloat::account(target, geometry),
        limit: target.limit,
    }
}
