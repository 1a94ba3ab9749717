//! Memory that cannot be moved, where compaction of the rest comes to nothing.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::MemoryPinned,
    severity: Severity::Warning,
    title: "Pinned pages keep memory in pieces: programs compact it for huge pages in vain",
    id: "memory.pinned",
    question: "Do pages that cannot be moved keep memory from being compacted?",
    how: "Base pages that are pinned now (nr_foll_pin_acquired less nr_foll_pin_released), of all \
          memory, beside compactions that mostly gave nothing.",
    limits: &[],
    leads_to: &[
        Cause::Compaction,
        Cause::CompactionSinceBoot,
        Cause::Fragmentation,
        Cause::HugeFaults,
        Cause::KernelTime,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see whose pages are pinned: buffers of io_uring, RDMA and graphics cards",
            "grep -H VmPin /proc/[0-9]*/status | sort -k2 -nr | head -5",
            "a few processes have nearly all",
        ),
        Remedy::new(
            Reach::Program,
            "have it register its buffers once, at its start, in HugeTLB pages or in one piece, \
             not page by page as they come",
            "hugewise hugetlb plan",
            "compact_fail grows by less than half of compact_stall",
        ),
        Remedy::new(
            Reach::Machine,
            "let page faults fall back to base pages at once instead of compacting",
            "echo defer > /sys/kernel/mm/transparent_hugepage/defrag",
            "compact_stall stops growing",
        ),
        Remedy::new(
            Reach::Machine,
            "keep a part of memory movable from boot on: pages are moved out of it before they \
             are pinned for long",
            "movablecore=50% on the kernel command line",
            "free blocks of order 9 and more in zone Movable of /proc/buddyinfo",
        ),
    ],
    judge,
};

/// One pinned page in each block of 512 keeps all of them from being made: 0.2 %. Five times as
/// much is judgement: pinned pages seldom lie evenly.
const PINNED_MIN_PERCENT: f64 = 1.0;
/// Share of the compactions that gave nothing, percent.
const FAILED_MIN_PERCENT: f64 = 50.0;
/// Fewer compactions a second are no matter; since boot, as `compaction_since_boot`.
const STALLS_MIN_PER_S: f64 = 1.0;
const STALLS_MIN: f64 = 10_000.0;
/// Processes that are named.
const NAMED_MAX: usize = 2;

/// Do pages that cannot be moved keep memory from being compacted?
fn judge(cx: &Context<'_>) -> Answer {
    let pinned = cx.state(Field::MemPinned).map(|seen| (seen.value, seen)).or_else(|| {
        let (pins, unpins) = (cx.state(Field::PinCount)?, cx.state(Field::UnpinCount)?);
        let page = cx.host.geometry().base.0 as f64;
        Some(((pins.value - unpins.value).max(0.0) * page, pins))
    });
    let Some(((bytes, seen), total)) = pinned.zip(cx.memory_bytes()) else {
        return Answer::unknown(&[VMSTAT]);
    };
    let Some((in_vain, compactions)) = in_vain(cx) else { return Answer::unknown(&[VMSTAT]) };
    let percent = bytes / total * 100.0;
    let text = format!(
        "{} are pinned, {percent:.1} % of all memory, and one such page keeps a block from being \
         made",
        write::bytes(bytes)
    );
    let evidence = vec![cx.derive(&seen, &text), compactions];
    let much = in_vain && percent >= PINNED_MIN_PERCENT;
    Answer::when(much, 0.5, evidence).backed(holders(cx)).lacking(&[PROCESSES])
}

/// Whether most compactions of allocating tasks gave nothing, and what says so.
fn in_vain(cx: &Context<'_>) -> Option<(bool, Evidence)> {
    let rates = cx.mean_of(Field::CompactStall).zip(cx.mean_of(Field::CompactFail));
    let counts = cx.state(Field::CompactStallCount).zip(cx.state(Field::CompactFailCount));
    let (stalls, failed, least, when) = match (rates, counts) {
        (Some((stalls, failed)), _) => (stalls, failed, STALLS_MIN_PER_S, "a second"),
        (None, Some((stalls, failed))) => (stalls, failed, STALLS_MIN, "since boot"),
        (None, None) => return None,
    };
    let percent = failed.value / stalls.value.max(1.0) * 100.0;
    let text = format!(
        "{} of {} compactions {when} gave nothing",
        write::number(failed.value),
        write::number(stalls.value)
    );
    let much = stalls.value >= least && percent >= FAILED_MIN_PERCENT;
    Some((much, cx.derive(&stalls, &text)))
}

/// The processes that have most of it pinned.
fn holders(cx: &Context<'_>) -> Vec<Evidence> {
    let mut seen: Vec<Reading> = Vec::new();
    for line in cx.lines(Field::ProcPinned, |_| true) {
        seen.extend(cx.highest(&line).filter(|seen| seen.value > 0.0));
    }
    seen.sort_by(|one, other| other.value.total_cmp(&one.value));
    seen.truncate(NAMED_MAX);
    seen.iter().map(|seen| cx.quote(seen)).collect()
}
