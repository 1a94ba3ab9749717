//! A server that died in HugeTLB memory.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::HugetlbSigbus,
    severity: Severity::Warning,
    title: "A process died of SIGBUS in HugeTLB memory: its cgroup or pod may have no such \
            page, or the pool had none",
    id: "hugetlb.sigbus",
    question: "Did a process die of SIGBUS beside a HugeTLB pool?",
    how: "SIGBUS in a server's log, and a HugeTLB pool: pages of a mapping are charged to \
          the cgroup when they are touched, not when they are reserved.",
    limits: &[],
    leads_to: &[Cause::HugetlbUnused, Cause::LogErrors],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see the cgroup's limit of huge pages, and what it has",
            "grep . /sys/fs/cgroup/CGROUP/hugetlb.2MB.{max,current,events}",
            "max is 0 or near current, events counts max",
        ),
        Remedy::new(
            Reach::Service,
            "give the pod or unit huge pages (Kubernetes: resources.limits hugepages-2Mi), \
             or switch them off in the server (PostgreSQL: huge_pages=off)",
            "kubectl describe pod POD | grep -i hugepages",
            "the server starts, and hugetlb.2MB.current grows",
        ),
    ],
    judge,
};

/// Did a process die of SIGBUS beside a HugeTLB pool?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(died) = cx.top(Field::ServerSigbus) else { return Answer::unknown(&[KERNEL_LOG]) };
    let pool = cx.state(Field::HugetlbTotal).filter(|pool| pool.value > 0.0);
    let text = format!("a process of {} died of SIGBUS", died.subject);
    let evidence = vec![cx.say(&died, &text)];
    let Some(pool) = pool else {
        let text = "whether there is a HugeTLB pool is not known: a file that became shorter, or a \
                    disk that fails, gives SIGBUS as well";
        return Answer { evidence, ..Answer::unknown(&[MEMINFO]) }.and([Evidence::derived(text)]);
    };
    let why = "a page is charged to the cgroup when it is touched: above its limit the kernel \
               sends SIGBUS, whatever the pool has left";
    let text = format!("there is a HugeTLB pool of {}", write::bytes(pool.value));
    Answer::yes(0.7, evidence).and([cx.say(&pool, &text), Evidence::derived(why)])
}
