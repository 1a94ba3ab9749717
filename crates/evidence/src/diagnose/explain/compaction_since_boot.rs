//! What counts since boot say of huge pages, where nobody took a second reading.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::CompactionSinceBoot,
    severity: Severity::Warning,
    title: "Since boot, programs stopped to make huge pages, mostly in vain; a second reading \
            tells whether they do now",
    id: "memory.compaction_since_boot",
    question: "Did programs stop to compact memory since boot?",
    how: "Compactions since boot and how many of them failed; pages that tasks scanned against \
          those of kswapd.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "take a second reading: counts since boot may be of long ago",
            "grep -E 'allocstall|pgscan|pgsteal|compact_|thp_' /proc/vmstat; sleep 10; \
             grep -E 'allocstall|pgscan|pgsteal|compact_|thp_' /proc/vmstat",
            "compact_stall grows by more than a hundred in 10 s",
        ),
        Remedy::new(
            Reach::Machine,
            "where it grows: let page faults wake kswapd instead of compacting themselves",
            "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag",
            "compact_stall stops growing",
        ),
    ],
    judge,
};

/// Judgement: fewer are what any machine has after days; and most of them failed.
const STALLS_MIN: f64 = 10_000.0;
const FAILED_MIN_PERCENT: f64 = 50.0;
/// Tasks reclaimed this many times as much as kswapd: it cannot keep up, or is not asked.
const DIRECT_FACTOR: f64 = 2.0;

/// Did programs stop to compact memory since boot?
fn judge(cx: &Context<'_>) -> Answer {
    if cx.mean_of(Field::CompactStall).is_some() {
        return Answer::unknown(&[]);
    }
    let Some(stalls) = cx.state(Field::CompactStallCount) else {
        return Answer::unknown(&[VMSTAT]);
    };
    let Some(failed) = cx.state(Field::CompactFailCount) else {
        return Answer::unknown(&[VMSTAT]);
    };
    let percent = failed.value / stalls.value.max(1.0) * 100.0;
    let text = format!(
        "{percent:.0} % of {} compactions by allocating tasks since boot gave nothing",
        write::number(stalls.value)
    );
    let evidence = vec![cx.derive(&stalls, &text)];
    let much = stalls.value >= STALLS_MIN && percent >= FAILED_MIN_PERCENT;
    Answer::when(much, 0.5, evidence).or_close(true).backed(direct(cx)).lacking(&[VMSTAT])
}

/// That tasks reclaimed far more than kswapd did.
fn direct(cx: &Context<'_>) -> Option<Evidence> {
    let (direct, kswapd) = (cx.state(Field::ScanDirectCount)?, cx.state(Field::ScanKswapdCount)?);
    let factor = direct.value / kswapd.value.max(1.0);
    let text = format!(
        "tasks scanned {} base pages themselves since boot, {factor:.0} times as many as kswapd",
        write::number(direct.value)
    );
    (factor >= DIRECT_FACTOR).then(|| cx.derive(&direct, &text))
}
