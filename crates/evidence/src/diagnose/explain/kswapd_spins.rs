//! kswapd that works although much memory is free.

use super::prelude::*;
use crate::diagnose::nodes::daemon;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::KswapdSpins,
    severity: Severity::Warning,
    title: "kswapd spins though much memory is free: a zone or a NUMA node is below its \
            watermark, or it is a fault of the kernel",
    id: "memory.kswapd_spins",
    question: "Does kswapd work though much memory is free?",
    how: "CPU of kswapd beside free memory of at least half of all.",
    limits: &[T::DaemonCpu],
    leads_to: &[
        Cause::HighOrder,
        Cause::Reclaim,
        Cause::KernelTime,
        Cause::OneCpu,
        Cause::CpuSaturated,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "find the zone whose free pages are below its low watermark, and the node",
            "cat /proc/zoneinfo /proc/buddyinfo",
            "one zone has free below low: a small one (DMA, DMA32) or a full node",
        ),
        Remedy::new(
            Reach::Look,
            "see what it does there",
            "perf record -a -g -- sleep 10; perf report --stdio",
            "shrink_slab, compaction or balance_pgdat has most samples",
        ),
        Remedy::new(
            Reach::Machine,
            "where a node is full, spread the program over nodes; where no zone is low, a newer \
             kernel: such loops were mended several times (3.x to 5.x)",
            "numactl --interleave=all PROGRAM; uname -r",
            "top: kswapd near 0 % of a CPU",
        ),
    ],
    judge,
};

/// Free memory, of all, with which no shortage makes it work: judgement.
const FREE_MIN_PERCENT: f64 = 50.0;

/// Does kswapd work though much memory is free?
fn judge(cx: &Context<'_>) -> Answer {
    let kswapd = daemon(cx, "kswapd");
    let free = cx.lowest_of(Field::MemFree).zip(cx.memory_bytes());
    let Some((free, total)) = free else { return Answer::unknown(&[MEMORY]) };
    if !kswapd.is_yes() {
        return kswapd;
    }
    let percent = free.value / total * 100.0;
    let text = format!("{} ({percent:.0} % of all)", write::sentence(&free));
    let much = percent >= FREE_MIN_PERCENT;
    Answer::when(much, 0.6, kswapd.evidence).and([cx.say(&free, &text)])
}
