//! Disks that report damage about themselves.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::DiskDamaged,
    severity: Severity::Warning,
    title: "A disk reports damaged blocks about itself (SMART): it fails, or will",
    id: "disk.damaged",
    question: "Does a disk report damage about itself?",
    how: "SMART: the disk's own verdict and tests, attributes about blocks that cannot be read or \
          were replaced, and errors in its log.",
    limits: &[],
    leads_to: &[
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

/// Judgement: new disks replace a few blocks.
const REPLACED_MIN: f64 = 10.0;

/// Does a disk report damage about itself?
fn judge(cx: &Context<'_>) -> Answer {
    const MOST: [(Field, f64); 4] = [
        (Field::SmartFailed, 0.0),
        (Field::SmartUnreadable, 1.0),
        (Field::SmartMediaErrors, 1.0),
        (Field::SmartReplaced, REPLACED_MIN),
    ];
    let (mut bad, mut fine) = (Vec::new(), Vec::new());
    for (field, least) in MOST {
        let Some(seen) = cx.top(field) else { continue };
        let about = if seen.value >= least { &mut bad } else { &mut fine };
        let name = seen.field.about().name;
        let text = match field {
            Field::SmartFailed => format!("{name}: its test or verdict"),
            _ => format!("{name}: {}", write::number(seen.value)),
        };
        let mut evidence = cx.say(&seen, &text);
        // Damage stays, however long ago it came.
        (evidence.field, evidence.value) = (None, None);
        about.push(evidence);
    }
    match (bad.is_empty(), fine.is_empty()) {
        (false, _) => Answer::yes(0.6, bad),
        (true, false) => Answer::no(fine),
        (true, true) => Answer::unknown(&[SMART]),
    }
}
