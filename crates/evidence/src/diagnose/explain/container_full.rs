//! A container at the limit of its memory.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ContainerFull,
    severity: Severity::Warning,
    title: "A container is at the limit of its memory",
    id: "memory.container",
    question: "Is a container at the limit of its memory?",
    how: "Memory of a cgroup or container against its limit.",
    limits: &[T::LimitNear],
    leads_to: &[Cause::CgroupMemory],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what the memory is: of programs, or page cache that can be dropped",
            "cat /sys/fs/cgroup/CGROUP/memory.stat | grep -E \"^(anon|file|slab|shmem) \"; \
             cat /sys/fs/cgroup/CGROUP/memory.events",
            "anon near the limit, oom_kill or max grows",
        ),
        Remedy::new(
            Reach::Program,
            "give the program less: heap, cache or workers in its own configuration, below \
             the limit",
            "docker stats --no-stream",
            "MEM % below 90",
        ),
        Remedy::new(
            Reach::Service,
            "a higher limit, where the machine has the memory",
            "docker update --memory SIZE CONTAINER  # or: kubectl set resources deployment \
             NAME --limits=memory=SIZE",
            "memory.events: max stands still",
        ),
    ],
    judge,
};

/// Is a container at the limit of its memory?
fn judge(cx: &Context<'_>) -> Answer {
    let mut fullest: Option<(f64, Reading, f64)> = None;
    for used in cx.sorted(Field::CgroupMemory, |_| true) {
        // What the kernel counts has page cache in it, which fills any limit; engines leave it out.
        let source = cx.recording.source(used.source);
        if source.is_none_or(|source| source.kind != SourceKind::Containers) {
            continue;
        }
        let Some(limit) = cx.peak(Field::CgroupMemoryMax, &used.subject) else { continue };
        let percent = used.value / limit.value.max(1.0) * 100.0;
        if fullest.as_ref().is_none_or(|(most, ..)| percent > *most) {
            fullest = Some((percent, used, limit.value));
        }
    }
    let Some((percent, used, limit)) = fullest else { return Answer::unknown(&[CGROUP_MEMORY]) };
    let text = format!(
        "{}: {} of its limit of {}, {percent:.1} %",
        used.subject,
        write::bytes(used.value),
        write::bytes(limit)
    );
    let evidence = vec![cx.say(&used, &text)];
    let near = cx.limit(T::LimitNear);
    Answer::when(percent >= near, 0.6, evidence).or_close(cx.is_close(percent, near))
}
