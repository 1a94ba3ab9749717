//! A server that asked for huge pages of the pool and got none.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::HugetlbRefused,
    severity: Severity::Warning,
    title: "A server got no pages of the HugeTLB pool: the pool is too small, or the server \
            may not lock memory",
    id: "hugetlb.refused",
    question: "Was a server refused the HugeTLB pages that it asked for?",
    how: "What servers log about their huge pages, with what they asked for, against the \
          free part of the pool and their limit of locked memory.",
    limits: &[],
    leads_to: &[Cause::HugetlbUnused, Cause::PageTables, Cause::CommitLimit],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see the pool, who may use it, and how much the server may lock",
            "grep -i huge /proc/meminfo; sysctl vm.hugetlb_shm_group; grep -i locked \
             /proc/PID/limits",
            "free less reserved pages, and the limit, against what the server asks for",
        ),
        Remedy::new(
            Reach::Service,
            "let the server lock as much (systemd: LimitMEMLOCK=infinity; else limits.conf: \
             memlock)",
            "systemctl show SERVICE -p LimitMEMLOCK",
            "Max locked memory in /proc/PID/limits covers the segment",
        ),
        Remedy::new(
            Reach::Machine,
            "size the pool for what the server asks for, while it is stopped or at boot",
            "hugewise hugetlb plan; hugewise hugetlb apply --persist",
            "HugePages_Rsvd or the used part grows by as much when it starts",
        ),
    ],
    judge,
};

/// The server of a quantity that it logged, with what it asked for.
fn refused(cx: &Context<'_>) -> Option<Reading> {
    let all = [Field::HugeRefused, Field::HugeForgone, Field::MemoryRefused];
    let found = |field: Field| {
        let seen = cx.top(field)?;
        // Memory that was refused is of the pool where a pool stands beside it.
        let pool = field != Field::MemoryRefused || pool_bytes(cx, &seen.subject).is_some();
        (seen.value > 0.0 && pool).then_some(seen)
    };
    all.into_iter().find_map(found).or_else(|| unused(cx))
}

/// Of what a server asked for: less than so much in huge pages is a part of it.
const PART: f64 = 0.98;

/// A server that has no huge page, or not as many as it asked for.
fn unused(cx: &Context<'_>) -> Option<Reading> {
    let used = cx.top(Field::HugeUsed)?;
    let wanted = cx.peak(Field::MemoryWanted, &used.subject)?;
    (used.value < wanted.value * PART).then_some(used)
}

/// The pool, as the server or the kernel says.
fn pool_bytes(cx: &Context<'_>, server: &Subject) -> Option<Reading> {
    let own = cx.peak(Field::HugePool, server);
    own.or_else(|| cx.state(Field::HugetlbTotal)).filter(|pool| pool.value > 0.0)
}

/// Was a server refused the HugeTLB pages that it asked for?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(seen) = refused(cx) else { return Answer::unknown(&[MEMINFO]) };
    let server = &seen.subject;
    let wanted = cx.peak(Field::MemoryWanted, server);
    let part = seen.field == Field::HugeUsed && seen.value > 0.0;
    let text = match &wanted {
        Some(wanted) if part => {
            let (want, has) = (write::bytes(wanted.value), write::bytes(seen.value));
            format!("{server} asked for {want} and got {has} of it in huge pages")
        }
        Some(wanted) => format!("{server} asked for {} and got none", write::bytes(wanted.value)),
        None => format!("{server} got no huge pages"),
    };
    let answer = Answer::yes(0.6, vec![cx.say(&seen, &text)]);
    let pool = pool_bytes(cx, server);
    let small = wanted.as_ref().zip(pool.as_ref()).map(|(wanted, pool)| {
        let (want, has) = (write::bytes(wanted.value), write::bytes(pool.value));
        let text = match wanted.value > pool.value {
            true => format!("the pool has {has}: too small for {want}"),
            false => format!("the pool has {has}: large enough for {want}"),
        };
        cx.derive(pool, &text)
    });
    let lock = cx.peak(Field::MemlockLimit, server).map(|limit| {
        let text = format!("it may lock {} of memory", write::bytes(limit.value));
        cx.say(&limit, &text)
    });
    answer.and(small).and(lock).mended_by(cure(cx, server, wanted.as_ref()))
}

/// Room beside what the server asked for, as it asks for a little more when it starts.
const HEADROOM_PERCENT: f64 = 2.0;

/// The step that gives it the pages: a larger pool where that is too small, else the limit of
/// locked memory where that is.
fn cure(cx: &Context<'_>, server: &Subject, wanted: Option<&Reading>) -> Vec<Remedy> {
    let find = |reach: Reach| EXPLANATION.remedies.iter().find(|remedy| remedy.reach == reach);
    let (Some(service), Some(machine)) = (find(Reach::Service), find(Reach::Machine)) else {
        return Vec::new();
    };
    let Some(wanted) = wanted.map(|seen| seen.value) else { return Vec::new() };
    if cx.peak(Field::MemlockLimit, server).is_some_and(|limit| limit.value < wanted) {
        return vec![service.clone()];
    }
    let pool = pool_bytes(cx, server);
    let page = cx.state(Field::HugetlbPage).filter(|page| page.value > 0.0);
    match (pool, page) {
        (Some(pool), Some(page)) if pool.value < wanted => {
            let pages = (wanted * (1.0 + HEADROOM_PERCENT / 100.0) / page.value).ceil();
            vec![machine.with(format!("hugewise hugetlb plan; sysctl vm.nr_hugepages={pages}"))]
        }
        _ => vec![machine.clone()],
    }
}
