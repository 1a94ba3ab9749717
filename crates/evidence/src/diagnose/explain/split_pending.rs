//! Huge pages that were partly freed and wait to be split.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::SplitPending,
    severity: Severity::Warning,
    title: "Huge pages that were partly freed still hold all their memory: they wait to be split",
    id: "memory.split",
    question: "Do partly freed huge pages hold much memory?",
    how: "Anonymous memory on the lists of reclaim, less what programs map of it, shared memory \
          and swapped memory that is cached; of the machine or of a cgroup.",
    limits: &[],
    leads_to: &[
        Cause::CgroupMemory,
        Cause::ContainerFull,
        Cause::MemoryShort,
        Cause::OomKills,
        Cause::Reclaim,
        Cause::MemoryUnlisted,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see whether huge pages are split when memory is needed",
            "grep -E 'thp_deferred_split|thp_split_page ' /proc/vmstat; grep -E \
             '^(anon|active_anon|inactive_anon|shmem) ' /sys/fs/cgroup/CGROUP/memory.stat",
            "many are deferred, few are split",
        ),
        Remedy::new(
            Reach::Program,
            "give up huge pages in the program that frees parts of them (jemalloc's own switch is \
             MALLOC_CONF=thp:never)",
            "hugewise advise run --thp never -- PROGRAM",
            "mapped and charged memory are alike",
        ),
        Remedy::new(
            Reach::Machine,
            "have them split now: shrinkers do it. Before Linux 5.4 a cgroup at its limit does \
             not; later kernels do",
            "echo 2 > /proc/sys/vm/drop_caches",
            "the memory in use falls to what programs map",
        ),
    ],
    judge,
};

/// Judgement: as much of the anonymous memory is more than pages that are being swapped or moved.
const PENDING_MIN_PERCENT: f64 = 25.0;
const PENDING_MIN_BYTES: f64 = 268_435_456.0;
/// Of all memory of the machine: 1.2 % in tests/recordings/capture/idle.txt.
const OF_MACHINE_MIN_PERCENT: f64 = 5.0;

/// Do partly freed huge pages hold much memory?
///
/// The lists count whole huge pages, `AnonPages` and `anon` only pages that are mapped
/// (`mm/rmap.c`, `__folio_remove_rmap`); what is no longer mapped waits in the queue of
/// `mm/huge_memory.c`, `deferred_split_folio`.
fn judge(cx: &Context<'_>) -> Answer {
    let listed = cx.lines(Field::AnonInactive, |_| true);
    let pending = listed.iter().filter_map(|line| {
        let of = |field: Field| cx.latest(field, &line.subject).map(|seen| seen.value);
        let mapped = of(Field::Anon)?;
        let lists = of(Field::AnonInactive)? + of(Field::AnonActive)?;
        let others = [Field::Shmem, Field::SwapCached].map(|field| of(field).unwrap_or(0.0));
        Some((line.subject.clone(), lists, mapped, lists - mapped - others.iter().sum::<f64>()))
    });
    let worst = pending.max_by(|one, other| one.3.total_cmp(&other.3));
    let Some((subject, lists, mapped, bytes)) = worst else {
        return Answer::unknown(&[MEMINFO, CGROUP_MEMORY]);
    };
    let percent = bytes / lists.max(1.0) * 100.0;
    let Some(seen) = cx.latest(Field::AnonInactive, &subject) else {
        return Answer::unknown(&[MEMINFO, CGROUP_MEMORY]);
    };
    let text = format!(
        "{subject}: {} of anonymous memory, and programs map {} of it: {} belong to nobody",
        write::bytes(lists),
        write::bytes(mapped),
        write::bytes(bytes.max(0.0))
    );
    let machine = cx.memory_bytes().filter(|_| subject == Subject::Machine);
    let least = machine.map_or(0.0, |all| all * OF_MACHINE_MIN_PERCENT / 100.0);
    let much = percent >= PENDING_MIN_PERCENT && bytes >= least.max(PENDING_MIN_BYTES);
    Answer::when(much, 0.6, vec![cx.derive(&seen, &text)]).backed(full(cx, &subject))
}

/// How full the cgroup is with it.
fn full(cx: &Context<'_>, cgroup: &Subject) -> Option<Evidence> {
    let used = cx.latest(Field::CgroupMemory, cgroup)?;
    let limit = cx.latest(Field::CgroupMemoryMax, cgroup)?;
    let text = format!(
        "{} of its limit of {} in use",
        write::bytes(used.value),
        write::bytes(limit.value)
    );
    Some(cx.say(&used, &text))
}
