//! HugeTLB pages of another size than the default.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::HugetlbOtherSizes,
    severity: Severity::Warning,
    title: "HugeTLB pages of another size than the default hold much of the memory",
    id: "memory.hugetlb_sizes",
    question: "Do HugeTLB pages of another size than the default hold much memory?",
    how: "Hugetlb of /proc/meminfo, which counts pools of all sizes, less the default pool.",
    limits: &[T::HugetlbUnused],
    leads_to: &[Cause::MemoryShort, Cause::Reclaim, Cause::Swapping, Cause::OomKills],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see the pools of all sizes, and how much of each is in use",
            "grep -r . /sys/kernel/mm/hugepages",
            "one size has the pages; free less reserved ones are idle",
        ),
        Remedy::new(
            Reach::Machine,
            "shrink the pool to what is in use; where it comes from the command line \
             (hugepagesz= hugepages=), there too",
            "echo PAGES > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
            "Hugetlb in /proc/meminfo falls, MemFree rises",
        ),
    ],
    judge,
};

/// Do HugeTLB pages of another size than the default hold much memory?
fn judge(cx: &Context<'_>) -> Answer {
    let (Some(all), Some(total)) = (cx.state(Field::HugetlbAll), cx.memory_bytes()) else {
        return Answer::unknown(&[MEMINFO]);
    };
    let Some(pool) = cx.state(Field::HugetlbTotal) else { return Answer::unknown(&[MEMINFO]) };
    let other = (all.value - pool.value).max(0.0);
    let percent = other / total * 100.0;
    let text = format!(
        "HugeTLB pages hold {}, and the default pool has {}: {} ({percent:.0} % of all memory) \
         are in pages of another size",
        write::bytes(all.value),
        write::bytes(pool.value),
        write::bytes(other)
    );
    let evidence = vec![cx.derive(&all, &text)];
    Answer::when(percent >= cx.limit(T::HugetlbUnused), percent / 100.0, evidence)
}
