//! Outputs that need a real change, made from their types: every kind of each.

use super::outputs::Outputs;
use hugewise_base::units::{Bytes, Ns, ProcId};
use hugewise_collect::hugetlb::kept::RestoredFile;
use hugewise_linux::trail::Restored;
use hugewise_manager::access::Tracker;
use hugewise_manager::compaction::{CompactAsk, CompactEnd, CompactReport};
use hugewise_manager::config::Mode;
use hugewise_manager::decision::{Action, Call, FailureClass, Motive, Outcome, Outlook};
use hugewise_manager::limits::pressure::PressureSource;
use hugewise_manager::reason::{Limit, SkipReason};
use hugewise_manager::record::{Record, SCHEMA};
use hugewise_manager::state::Totals;
use hugewise_manager::state::bloat::Account;
use serde_json::json;
use std::collections::BTreeMap;

/// All of them.
pub(crate) fn all(all: &mut Outputs) {
    for record in records() {
        let mut line = serde_json::to_value(record).expect("plain data");
        line["time"] = json!("2026-11-23T12:00:00.000Z");
        all.add("journal", line);
    }
    let (settings, files) = (restored(), restored_files());
    let back = json!({ "settings": settings, "files": files });
    let mut pools = back.clone();
    pools["schema"] = json!(1);
    pools["dry_run"] = json!(false);
    all.add("hugetlb-revert", pools.clone());
    all.add("thp-revert", pools);
    let changed = json!({ "key": "defrag", "from": "madvise", "to": "never", "now": "never" });
    let set = json!({ "schema": 1, "dry_run": false, "settings": [changed], "file": null,
        "keep_huge": [{ "pid": 7, "name": "x", "huge": 2_097_152 }] });
    all.add("thp-set", set);
    let settings = json!({
        "schema": 1, "dry_run": false, "settings": settings, "abandoned_pids": [7], "hugetlb": back
    });
    all.add("revert", settings);
}

const TARGET: ProcId = ProcId { pid: 7, start_ticks: 99 };

fn records() -> Vec<Record> {
    let (dry_run, kernel, boot_id) = (false, "6.12".to_owned(), Some("x".to_owned()));
    let (version, pids) = ("0.1.0".to_owned(), Some(vec![7]));
    let mode = Mode::default();
    let (file, from, why) = ("sys/x".to_owned(), "1".to_owned(), "owned".to_owned());
    let to = Some("2".to_owned());
    let mut all = vec![
        Record::Start { schema: SCHEMA, version, mode, dry_run, kernel, boot_id, pids },
        Record::Setting { file, from, to, why },
        Record::Use {
            target: TARGET,
            by: Tracker::Referenced,
            hot_bytes: Bytes(4096),
            idle_bytes: Bytes(0),
            other_bytes: Bytes(0),
        },
        Record::SkipsLeftOut { uid: Some(1000), user: Some("x".into()), lines: 9 },
        Record::SkipsLeftOut { uid: None, user: None, lines: 9 },
        Record::Pressure {
            cgroup: None,
            belongs_to: None,
            source: Some(PressureSource::MachineStalls),
        },
        Record::Pressure {
            cgroup: Some("/a".into()),
            belongs_to: Some("a.service".into()),
            source: None,
        },
        Record::Reload { error: None },
        Record::Reload { error: Some("unknown key".into()) },
        Record::Skips {
            target: TARGET,
            name: "x".into(),
            belongs_to: Some("a.service".into()),
            huge: 3,
            not_promoted: SkipReason::ALL.iter().map(|reason| (*reason, 1)).collect(),
            not_split: BTreeMap::from([(SkipReason::UnknownUse, 2)]),
            bloat_bytes: Account { unknown: Bytes(4096), ..Account::default() },
            limit: Some(Limit::LockShare),
        },
    ];
    all.extend(outcomes().map(action));
    all.extend(compactions().map(Record::Compaction));
    let mut totals = Totals::default();
    totals.failed.insert(FailureClass::Transient, 1);
    totals.skipped.insert(SkipReason::Gone, 1);
    totals.compaction.reasons.insert(SkipReason::CompactionSlow, 1);
    all.push(Record::Stop { why: "nothing left".into(), totals });
    all
}

fn compactions() -> impl Iterator<Item = CompactReport> {
    let reason = Some(SkipReason::LowMemory);
    let ends = [
        (CompactEnd::Complete, None),
        (CompactEnd::Enough, None),
        (CompactEnd::TimeOver, None),
        (CompactEnd::Stopped, reason),
        (CompactEnd::Refused, reason),
        (CompactEnd::Withheld, reason),
    ];
    ends.into_iter().map(|(end, reason)| {
        let unknown = CompactReport::not_begun(&CompactAsk::EXAMPLE, end, reason);
        if end != CompactEnd::Enough {
            return unknown;
        }
        CompactReport {
            took: Ns::ms(50),
            cpu: Ns::ms(40),
            free_before: Some(0),
            free_after: Some(9),
            taken: Some(1),
            fmfi_before: Some(1.0),
            fmfi_after: Some(0.9),
            unmovable_percent: Some(4.5),
            ..unknown
        }
    })
}

fn action(outcome: Outcome) -> Record {
    let (action, motive) = match outcome {
        Outcome::Demoted { .. } => (Action::Demote, Motive::Pressure),
        _ => (Action::Promote, Motive::Utilization),
    };
    Record::Action {
        target: TARGET,
        offset_bytes: 2 << 20,
        action,
        motive,
        populated: 500,
        waste_pages: 12,
        outlook: (motive == Motive::Utilization)
            .then_some(Outlook { gain_ns_per_s: 5_000_000, cost_ns_per_s: 30_000 }),
        outcome,
    }
}

fn outcomes() -> impl Iterator<Item = Outcome> {
    let (cpu, reason, errno) = (Ns(900_000), SkipReason::RetryLater, Some(11));
    let (call, asleep) = (Call::from(Ns(700_000)), Call { took: Ns(7), asleep: true });
    let classes = [
        FailureClass::Allocation,
        FailureClass::Cgroup,
        FailureClass::Transient,
        FailureClass::Refused,
        FailureClass::Permission,
        FailureClass::Other,
    ];
    let failed = classes.map(|class| {
        let warm = Some(Ns(5));
        Outcome::Failed { class, reason, errno, warm, call, cpu }
    });
    let others = [
        Outcome::Promoted { populated: 512, warm: None, call, cpu },
        Outcome::Promoted { populated: 512, warm: Some(Ns(3)), call: asleep, cpu },
        Outcome::Demoted { freed: 300, call: asleep, cpu },
        Outcome::Skipped { reason, warm: Some(Ns(1)), cpu },
        Outcome::Withheld { populated: 512 },
    ];
    others.into_iter().chain(failed)
}

fn restored() -> Vec<Restored> {
    let file = || "sys/x".to_owned();
    let word = |text: &str| text.to_owned();
    vec![
        Restored::PutBack { file: file(), from: word("1"), to: word("2") },
        Restored::Unchanged { file: file() },
        Restored::Foreign { file: file(), found: word("3"), written: word("1") },
        Restored::InUse { file: file(), from: word("9"), to: word("5"), wanted: word("0") },
        Restored::EarlierBoot { file: file() },
        Restored::Gone { file: file() },
        Restored::Failed { file: file(), error: word("denied") },
    ]
}

fn restored_files() -> Vec<RestoredFile> {
    let file = || "etc/x".to_owned();
    vec![
        RestoredFile::Removed { file: file() },
        RestoredFile::PutBack { file: file() },
        RestoredFile::Unchanged { file: file() },
        RestoredFile::Foreign { file: file() },
        RestoredFile::Failed { file: file(), error: "denied".into() },
    ]
}
