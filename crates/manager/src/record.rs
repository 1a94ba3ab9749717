//! What is written to the journal: one JSON line each. The writer adds the wall-clock time.

use crate::access::Tracker;
use crate::compaction::CompactReport;
use crate::config::Mode;
use crate::decision::{Action, Decision, Motive, Outcome, Outlook};
use crate::limits::pressure::PressureSource;
use crate::policy::Reasons;
use crate::reason::{Limit, SkipReason};
use crate::state::bloat::Account;
use crate::state::{Target, Totals};
use hugewise_base::units::{Bytes, Geometry, Ns, ProcId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the journal's lines.
pub const SCHEMA: u32 = 1;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum Record {
    /// The manager started.
    Start {
        /// Version of this line and of those that follow, up to the next start.
        #[serde(default)]
        schema: u32,
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
        /// What it is expected to give and to cost, where the policy asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outlook: Option<Outlook>,
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
        /// What its cgroup belongs to: a container with its pod, or a unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        belongs_to: Option<String>,
        /// Huge regions.
        huge: u64,
        /// Small regions by reason.
        #[serde(rename = "skips")]
        not_promoted: BTreeMap<SkipReason, u64>,
        /// Regions with waste that are not split, by reason.
        #[serde(rename = "kept")]
        not_split: BTreeMap<SkipReason, u64>,
        /// Its waste, in bytes by source.
        bloat_bytes: Account,
        /// What holds its rate down.
        limit: Option<Limit>,
    },
    /// Lines of that kind which were not written: a user's programs change their reasons more often
    /// than the journal has room for.
    SkipsLeftOut {
        /// The user; `None`: unknown.
        uid: Option<u32>,
        /// The name, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// How many, since the last line that says so.
        lines: u64,
    },
    /// Memory became short, or is no longer: promotion stops there meanwhile, and waste is given
    /// back.
    Pressure {
        /// For a cgroup; `None`: for everybody.
        cgroup: Option<String>,
        /// What that belongs to: a container with its pod, or a unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        belongs_to: Option<String>,
        /// What says so; `None`: memory suffices again.
        source: Option<PressureSource>,
    },
    /// A run of compaction, when it is over.
    Compaction(CompactReport),
    /// How a program's memory is used, after each complete look.
    Use {
        /// Whose memory.
        target: ProcId,
        /// By which tracker.
        by: Tracker,
        /// Memory known to be hot.
        hot_bytes: Bytes,
        /// Memory known to be idle.
        idle_bytes: Bytes,
        /// Memory in between, or hardly known.
        other_bytes: Bytes,
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
    pub fn action(decision: &Decision, outcome: &Outcome) -> Self {
        Self::Action {
            target: decision.target,
            offset_bytes: decision.region.0.saturating_sub(decision.mapping.0),
            action: decision.action,
            motive: decision.motive,
            populated: decision.populated,
            waste_pages: decision.waste,
            outlook: decision.outlook,
            outcome: *outcome,
        }
    }
}

/// The records of a journal's text. Lines that make no sense are passed over: a crash may have
/// left half of one.
pub fn read(journal: &str) -> impl Iterator<Item = Record> {
    journal.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// The record of a target's reasons.
pub fn skips_record(
    target: &Target,
    reasons: &Reasons,
    limit: Option<Limit>,
    geometry: Geometry,
) -> Record {
    Record::Skips {
        target: target.sample.id,
        name: target.sample.name.clone(),
        belongs_to: target.sample.belongs_to(),
        huge: target.huge(),
        not_promoted: reasons.not_promoted.clone(),
        not_split: reasons.not_split.clone(),
        bloat_bytes: target.bloat(geometry),
        limit,
    }
}

/// The record of a look that is complete, if there was one since `begin`.
pub fn use_record(target: &Target, begin: Ns) -> Option<Record> {
    let (by, _) = target.looks.last().filter(|(_, at)| *at >= begin)?;
    let [hot_bytes, idle_bytes, other_bytes] = target.heat.bytes();
    Some(Record::Use { target: target.sample.id, by, hot_bytes, idle_bytes, other_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Call, FailureClass};
    use hugewise_base::units::Addr;

    #[test]
    fn what_is_written_is_read_again() {
        let target = ProcId { pid: 7, start_ticks: 99 };
        let decision = Decision {
            target,
            region: Addr(0x40_0000),
            mapping: Addr(0x20_0000),
            action: Action::Promote,
            motive: Motive::Utilization,
            populated: 500,
            waste: 12,
            min_populated: 460,
            warm: false,
            sample: false,
            another: false,
            unhurried: false,
            shared_memory: false,
            outlook: None,
        };
        let (cpu, reason) = (Ns(900_000), SkipReason::RetryLater);
        let (call, asleep) = (Call::from(Ns(700_000)), Call { took: Ns(7), asleep: true });
        let (class, errno) = (FailureClass::Transient, Some(11));
        let outcomes = [
            Outcome::Promoted { populated: 512, warm: None, call, cpu },
            Outcome::Demoted { freed: 300, call: asleep, cpu },
            Outcome::Skipped { reason, warm: Some(Ns(1)), cpu },
            Outcome::Withheld { populated: 512 },
            Outcome::Failed { class, reason, errno, warm: None, call, cpu },
        ];
        let mut all: Vec<_> = outcomes.iter().map(|o| Record::action(&decision, o)).collect();
        all.push(Record::Skips {
            target,
            name: "x".into(),
            belongs_to: Some("a.service".into()),
            huge: 3,
            not_promoted: [(SkipReason::RetryLater, 2)].into(),
            not_split: BTreeMap::new(),
            bloat_bytes: Account::default(),
            limit: Some(Limit::LockShare),
        });
        all.push(Record::SkipsLeftOut { uid: Some(7), user: None, lines: 9 });
        let mut totals = Totals::default();
        totals.failed.insert(class, 1);
        all.push(Record::Stop { why: "nothing left".into(), totals });
        let line = |record: &Record| {
            let line = serde_json::to_string(record).expect("plain data");
            let names: Vec<_> = line.matches("\"populated\":").collect();
            assert!(names.len() <= 1, "a name stands twice: {line}");
            // The writer puts the time first.
            line.replacen('{', "{\"time\":\"2026-01-01T00:00:00.000Z\",", 1)
        };
        let mut text: Vec<_> = all.iter().map(line).collect();
        text.insert(1, "{\"record\":\"action\",\"targ".into());
        text.push("not json".into());
        assert_eq!(read(&text.join("\n")).collect::<Vec<_>>(), all);
    }
}
