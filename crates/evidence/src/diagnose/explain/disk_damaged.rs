//! Disks that report damage about themselves.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::DiskDamaged,
    severity: Severity::Warning,
    title: "A disk reports damaged blocks about itself (SMART): it fails, or will",
    id: "disk.damaged",
    question: "Does a disk report damage about itself?",
    how: "SMART: the disk's own verdict, attributes about blocks that cannot be read or were \
          replaced, and errors in its log.",
    limits: &[],
    leads_to: &[
        Cause::StorageFails,
        Cause::FilesystemErrors,
        Cause::DiskLatency,
        Cause::DiskSaturated,
        Cause::Blocked,
        Cause::Iowait,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "let the disk test itself, and read what it found",
            "smartctl -l selftest /dev/DEV; smartctl -l error /dev/DEV",
            "LBA_of_first_error names the block",
        ),
        Remedy::new(
            Reach::Hardware,
            "save the data, then replace the disk",
            "smartctl -i /dev/DEV",
            "the new one reports no such blocks",
        ),
    ],
    judge,
};

/// Attributes that count blocks which cannot be read, and such as were replaced
/// (smartmontools 7.4, `knowndrives.h` and `smartctl.8`).
const UNREADABLE: [&str; 3] =
    ["Current_Pending_Sector", "Offline_Uncorrectable", "Reported_Uncorrect"];
const REPLACED: [&str; 2] = ["Reallocated_Sector_Ct", "Reallocated_Event_Count"];
/// Judgement: new disks replace a few blocks.
const REPLACED_MIN: f64 = 10.0;

/// Does a disk report damage about itself?
fn judge(look: &Look<'_>) -> Answer {
    let raw = look.sorted(Field::SmartRaw, |_| true);
    let of = |seen: &&Seen, names: &[&str], least: f64| {
        names.contains(&seen.subject.to_string().as_str()) && seen.value >= least
    };
    let damaged = raw
        .iter()
        .filter(|seen| of(seen, &UNREADABLE, 1.0) || of(seen, &REPLACED, REPLACED_MIN))
        .map(|seen| look.say(seen, &format!("{}: {}", seen.subject, write::number(seen.value))));
    let mut evidence: Vec<Evidence> = damaged.collect();
    let said = [
        (Field::SmartFailed, "the disk itself says that it fails"),
        (Field::SmartUnreadable, "its log has a block that could not be read"),
    ];
    for (field, text) in said {
        evidence.extend(look.top(field).map(|seen| look.say(&seen, text)));
    }
    let errors = look.top(Field::SmartMediaErrors).filter(|seen| seen.value > 0.0);
    evidence.extend(errors.map(|seen| look.quote(&seen)));
    match (evidence.is_empty(), raw.first()) {
        (false, _) => Answer::yes(0.6, evidence),
        (true, Some(first)) => Answer::no(vec![look.quote(first)]),
        (true, None) => Answer::unknown(&[SMART]),
    }
}
