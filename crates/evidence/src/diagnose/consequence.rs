//! Causes and what follows from them: page tables that eat memory make the kernel reclaim. The root
//! is told first, with what to do; its consequences below it.

use super::cause::Cause;
use super::finding::{Finding, order};

/// What follows from what, where both were found on one machine.
const FOLLOWS: &[(Cause, &[Cause])] = {
    use Cause as C;
    &[
        (C::PageTables, SHORTAGE),
        (C::HugetlbUnused, SHORTAGE),
        (C::Slab, SHORTAGE),
        (C::MinFree, SHORTAGE),
        (C::SharedMemory, SHORTAGE),
        (C::LowMemory, SHORTAGE),
        (C::RealTime, &[C::Lockups, C::Blocked, C::OneCpu]),
        (C::NfsQueue, &[C::NetworkStorage, C::Blocked, C::Iowait]),
        (C::LinkErrors, &[C::Retransmits, C::Drops, C::SlowPeer, C::NetworkStack, C::CardHangs]),
        (C::ZoneReclaim, NODE),
        (C::NodeShort, NODE_SHORT),
        (C::DiskCapped, HELD_BACK),
        (C::WriteCacheOff, HELD_BACK),
        (C::NameCache, &[C::SlabCache, C::SystemCalls, C::KernelTime]),
        (C::ArrayWork, HELD_BACK),
        (C::HeapFull, &[C::GcPauses, C::GcKernel, C::OneCpu, C::SafepointReach]),
        (C::SlowCpus, &[C::CpuSaturated]),
        (C::SamePages, &[C::KernelTime, C::OneCpu]),
        (C::Bloat, &[C::MemoryShort, C::Swapping, C::OomKills, C::RedisFragmentation]),
        (C::HighOrder, &[C::Compaction, C::Fragmentation, C::Reclaim, C::KernelTime]),
        (C::Futex, &[C::Locks, C::Switches, C::SystemCalls, C::KernelTime]),
        (
            C::PacketFilter,
            &[C::NetworkStack, C::Interrupts, C::Backlog, C::Drops, C::SmallPackets, C::KernelTime],
        ),
        (C::Shootdowns, &[C::Churn, C::Faults, C::Locks, C::SystemCalls, C::KernelTime]),
        (C::CacheDropped, HELD_BACK),
        (C::SlowClock, &[C::SystemCalls, C::KernelTime]),
        (C::IrqStorm, &[C::InterruptsOneCpu, C::Interrupts, C::OneCpu, C::KernelTime]),
        (
            C::Swapping,
            &[
                C::MemoryShort,
                C::MemoryPressure,
                C::IoPressure,
                C::Iowait,
                C::DiskSaturated,
                C::DiskLatency,
                C::DiskRandom,
                C::DiskBandwidth,
                C::Blocked,
                C::GcKernel,
                C::GcPauses,
                C::RedisFork,
                C::RedisFsync,
                C::PgIo,
            ],
        ),
        (C::Reclaim, &[C::MemoryShort, C::MemoryPressure, C::Locks, C::KernelTime]),
        (C::MemoryShort, &[C::MemoryPressure]),
        // A setting that lets it happen is told with it: the remedies change that, too.
        (C::Compaction, &[C::GcKernel, C::Locks, C::KernelTime, C::DefragAlways, C::ThpAlways]),
        (C::HugeFaults, &[C::GcKernel, C::KernelTime, C::DefragAlways, C::ThpAlways]),
        (C::Khugepaged, &[C::MaxPtesNone]),
        (C::Heat, &[C::CpuSaturated]),
        (C::AuditBacklog, &[C::Blocked]),
        (C::CgroupMemory, &[C::Reclaim, C::MemoryPressure, C::KernelTime, C::Blocked]),
        (C::Entropy, &[C::Blocked]),
        (C::CardHangs, &[C::Drops, C::Retransmits]),
        (C::StorageFails, FAILING),
        (C::FilesystemErrors, &[C::Blocked]),
        (
            C::DirtyLimit,
            &[
                C::DiskBandwidth,
                C::DiskSaturated,
                C::DiskRandom,
                C::IoPressure,
                C::Iowait,
                C::Blocked,
            ],
        ),
        (
            C::DiskFlush,
            &[C::DiskLatency, C::PgIo, C::RedisFsync, C::IoPressure, C::Iowait, C::OneDisk],
        ),
        (C::DiskSaturated, WAITING),
        (C::DiskBandwidth, WAITING),
        (C::DiskRandom, WAITING),
        (C::DiskLatency, WAITING),
        (C::NetworkStorage, WAITING),
        (C::LinkFull, &[C::Retransmits, C::Drops, C::SlowPeer, C::NetworkStack]),
        (C::Interrupts, &[C::KernelTime]),
        (C::InterruptsOneCpu, &[C::OneCpu, C::Backlog, C::Drops, C::KernelTime]),
        (C::SmallPackets, &[C::KernelTime, C::NetworkStack]),
        (C::Backlog, &[C::Drops]),
        (C::ConntrackFull, &[C::Drops, C::Retransmits]),
        (C::Steal, &[C::CpuSaturated]),
        // Full CPUs, and a program that stands still, keep threads waiting wherever they wait.
        (C::CpuSaturated, INSIDE),
        (C::Throttled, INSIDE),
        (C::HeapFull, INSIDE),
        (C::GcPauses, INSIDE),
        // What a server says of itself explains what the machine shows.
        (C::SlowCommands, &[C::ServerFull, C::OneCpu]),
        (C::ServerFull, &[C::OneCpu]),
        (C::RedisCow, SHORTAGE),
        (C::PgIdle, &[C::PgLocks]),
        (C::PgLocks, &[C::FpmFull, C::ServiceWait, C::PoolLimit, C::WorkersFull]),
        (C::PgStatement, &[C::PgIo, C::FpmFull]),
        (C::FpmFull, &[C::ListenOverflow, C::NginxDrops]),
        (C::PgStatement, SLOW_SERVICE),
        (C::PgLwlocks, SLOW_SERVICE),
        (C::PgIo, SLOW_SERVICE),
        (C::Deadlock, &[C::ThreadLock, C::PoolLimit, C::WorkersFull]),
        (C::ServiceWait, &[C::PoolLimit, C::ThreadLock, C::WorkersFull]),
        (C::ThreadLock, &[C::PoolLimit, C::WorkersFull, C::Futex, C::Switches]),
        (C::PoolLimit, &[C::WorkersFull]),
        (C::WorkersFull, &[C::ListenOverflow, C::SlowReader, C::NginxDrops]),
    ]
};

/// What waiting inside of a program shows as.
const INSIDE: &[Cause] = &[Cause::ThreadLock, Cause::PoolLimit, Cause::WorkersFull];

/// What a database that answers slowly shows as in a program that asks it.
const SLOW_SERVICE: &[Cause] = &[Cause::ServiceWait, Cause::PoolLimit, Cause::WorkersFull];

/// What a shortage of memory shows as.
const SHORTAGE: &[Cause] = &[
    Cause::MemoryShort,
    Cause::Reclaim,
    Cause::Swapping,
    Cause::MemoryPressure,
    Cause::OomKills,
    Cause::KernelTime,
];

/// What a NUMA node without free memory shows as.
const NODE: &[Cause] = &[
    Cause::NodeShort,
    Cause::Reclaim,
    Cause::Swapping,
    Cause::MemoryPressure,
    Cause::HighOrder,
    Cause::KernelTime,
];

const NODE_SHORT: &[Cause] = NODE.split_at(1).1;

/// What storage shows as that is held back: by work on an array, a limit, a cache that is off.
const HELD_BACK: &[Cause] = &[
    Cause::DiskSaturated,
    Cause::DiskLatency,
    Cause::DiskRandom,
    Cause::DiskBandwidth,
    Cause::DiskFlush,
    Cause::IoPressure,
    Cause::Iowait,
    Cause::Blocked,
    Cause::OneDisk,
    Cause::PgIo,
];

/// What storage that fails shows as.
const FAILING: &[Cause] = &[
    Cause::FilesystemErrors,
    Cause::DiskSaturated,
    Cause::DiskLatency,
    Cause::DiskRandom,
    Cause::DiskBandwidth,
    Cause::NetworkStorage,
    Cause::IoPressure,
    Cause::Iowait,
    Cause::Blocked,
    Cause::OneDisk,
    Cause::PgIo,
];

/// What a slow disk shows as.
const WAITING: &[Cause] = &[
    Cause::IoPressure,
    Cause::Iowait,
    Cause::Blocked,
    Cause::OneDisk,
    Cause::RedisFsync,
    Cause::PgIo,
];

/// The direct cause of a finding among others.
fn cause_of(all: &[Finding], found: &Finding) -> Option<Cause> {
    let mine = |f: &&Finding| f.host == found.host;
    // Kernel time includes interrupts: they explain it where they are at least half of it.
    const BY_SHARE: [Cause; 3] = [Cause::Interrupts, Cause::InterruptsOneCpu, Cause::SmallPackets];
    let by_share = |f: &Finding| found.cause == Cause::KernelTime && BY_SHARE.contains(&f.cause);
    // A full CPU is a server's where it is one's process, or any CPU of the machine.
    const SERVERS: [Cause; 2] = [Cause::SlowCommands, Cause::ServerFull];
    let alien = |f: &Finding| {
        found.cause == Cause::OneCpu && SERVERS.contains(&f.cause) && !may_be_server(found)
    };
    let enough = |f: &Finding| (!by_share(f) || f.weight * 2.0 >= found.weight) && !alien(f);
    let here = |cause: Cause| all.iter().filter(mine).any(|f| f.cause == cause && enough(f));
    let leads = |(root, follow): &&(Cause, &[Cause])| follow.contains(&found.cause) && here(*root);
    FOLLOWS.iter().find(leads).map(|(root, _)| *root)
}

/// Whether a finding is about a process of Redis or Valkey, or about no process.
fn may_be_server(found: &Finding) -> bool {
    let subjects = found.chain.iter().flat_map(|step| &step.evidence);
    let first = subjects.filter_map(|evidence| evidence.subject.as_deref()).next();
    first.is_none_or(|subject| {
        ["redis", "valkey", "CPU "].iter().any(|start| subject.starts_with(start))
    })
}

/// Puts each root before what follows from it, the worst group first. What follows has no remedies
/// of its own: to mend the root is the remedy.
pub(super) fn linked(mut all: Vec<Finding>) -> Vec<Finding> {
    let direct: Vec<Option<Cause>> = all.iter().map(|found| cause_of(&all, found)).collect();
    for (found, cause) in all.iter_mut().zip(direct) {
        found.follows = cause;
        if cause.is_some() {
            found.remedies.clear();
        }
    }
    let mut groups: Vec<Vec<Finding>> = Vec::new();
    let (mut roots, mut rest): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|found| found.follows.is_none());
    roots.sort_by(order);
    for root in roots {
        let mut group = vec![root];
        // What follows, and what follows from that.
        let mut at = 0;
        while at < group.len() {
            let (cause, host) = (group[at].cause, group[at].host.clone());
            let (mut mine, others): (Vec<_>, Vec<_>) = rest
                .into_iter()
                .partition(|found: &Finding| found.follows == Some(cause) && found.host == host);
            mine.sort_by(order);
            group.extend(mine);
            rest = others;
            at += 1;
        }
        // Who causes what is critical is to be mended first, however little else it does.
        let level = group.iter().map(|found| found.severity).max();
        if let (Some(root), Some(level)) = (group.first_mut(), level) {
            root.severity = level;
        }
        groups.push(group);
    }
    groups.sort_by(|a, b| {
        worst(a).zip(worst(b)).map_or(std::cmp::Ordering::Equal, |(a, b)| order(a, b))
    });
    groups.into_iter().flatten().chain(rest).collect()
}

/// The finding of a group that counts most.
fn worst(group: &[Finding]) -> Option<&Finding> {
    group.iter().min_by(|a, b| order(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cause_follows_from_itself() {
        for (root, _) in FOLLOWS {
            let (mut open, mut seen) = (vec![*root], Vec::new());
            while let Some(cause) = open.pop() {
                let next = FOLLOWS.iter().filter(|(from, _)| *from == cause);
                for follow in next.flat_map(|(_, all)| all.iter()) {
                    assert_ne!(follow, root, "a circle");
                    if !seen.contains(follow) {
                        seen.push(*follow);
                        open.push(*follow);
                    }
                }
            }
        }
    }
}
