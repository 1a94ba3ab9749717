//! The tree: the questions of `data/questions.tsv`, each with the test that answers it.

mod age;
mod balance;
mod cpu;
mod defaults;
mod events;
mod heap;
mod held;
mod io;
mod kernel;
mod limits;
mod link;
mod log;
mod memory;
mod named;
mod network;
mod node;
mod parts;
mod pick;
mod postgres;
mod prelude;
mod profile;
mod reclaim;
mod redis;
mod refused;
mod servers;
mod tasks;
mod threads;
mod traced;
mod traffic;
mod wait;
mod web;

pub use node::Node;
pub(crate) use pick::hardware;

use std::sync::LazyLock;

use self::node::Test;
use super::cause::Cause;
use super::threshold::Threshold as T;
use crate::table::table;

/// What answers each question, in the order of [`ALL`].
const TESTS: &[(&str, Test)] = &[
    ("cpu", cpu::any),
    ("cpu.kernel", cpu::kernel),
    ("kernel.reclaim", reclaim::reclaim),
    ("reclaim.page_tables", reclaim::page_tables),
    ("reclaim.slab", reclaim::slab),
    ("reclaim.hugetlb", reclaim::hugetlb_unused),
    ("reclaim.swap", reclaim::swapping),
    ("kernel.high_order", named::high_order),
    ("kernel.compaction", kernel::compaction),
    ("kernel.khugepaged", kernel::khugepaged),
    ("kernel.kcompactd", kernel::kcompactd),
    ("kernel.ksmd", parts::same_pages),
    ("kernel.huge_faults", kernel::huge_faults),
    ("kernel.faults", kernel::faults),
    ("faults.churn", kernel::churn),
    ("kernel.forks", kernel::forks),
    ("kernel.shootdowns", named::shootdowns),
    ("kernel.clock", named::clock),
    ("kernel.futex", named::futex),
    ("kernel.switches", kernel::switches),
    ("kernel.packet_filter", named::packet_filter),
    ("kernel.network", kernel::network),
    ("kernel.disk_requests", kernel::disk_requests),
    ("kernel.huge_pages", kernel::huge_pages),
    ("kernel.names", named::names),
    ("kernel.locks", kernel::locks),
    ("kernel.system_calls", kernel::system_calls),
    ("cpu.iowait", cpu::iowait),
    ("io.disk", io::waited_for),
    ("io.sequential", io::sequential),
    ("io.random", io::random),
    ("io.who", io::known),
    ("io.latency", io::latency),
    ("io.remote", io::remote),
    ("io.swap", reclaim::swapping),
    ("disk.saturated", io::clogged),
    ("disk.capped", held::capped),
    ("disk.write_cache", held::write_cache),
    ("disk.full", io::full),
    ("disk.slow", io::slow),
    ("disk.stuck", io::stuck),
    ("disk.array", parts::array),
    ("disk.flush", io::flush),
    ("cpu.interrupts", cpu::interrupts),
    ("interrupts.small_packets", network::small_packets),
    ("interrupts.many_packets", network::many_packets),
    ("interrupts.one_cpu", network::one_cpu),
    ("interrupts.storm", named::storm),
    ("interrupts.squeezed", network::squeezed),
    ("cpu.steal", cpu::steal),
    ("cpu.throttled", cpu::throttled),
    ("cpu.user", cpu::user),
    ("user.saturated", cpu::saturated),
    ("user.delayed", cpu::delayed),
    ("load", named::load),
    ("cpu.heat", log::heat),
    ("cpu.real_time", parts::real_time),
    ("cpu.slow", parts::slow_cpus),
    ("cpu.clock", log::clock),
    ("wait", wait::any),
    ("wait.blocked", wait::blocked),
    ("wait.dirty", tasks::dirty),
    ("wait.random", tasks::random),
    ("wait.remote", tasks::remote),
    ("remote.slots", tasks::queue_before_server),
    ("wait.memory", wait::memory_pressure),
    ("wait.io", wait::io_pressure),
    ("wait.pauses", wait::pauses),
    ("pauses.heap", heap::full),
    ("pauses.kernel", wait::kernel_in_pauses),
    ("pauses.safepoint", wait::safepoint_reach),
    ("network.reader", network::reader),
    ("network.sender", network::sender),
    ("network.listen", network::listen),
    ("network.retransmits", network::retransmits),
    ("network.drops", network::drops),
    ("network.errors", network::errors),
    ("network.conntrack", network::conntrack),
    ("network.link", link::link),
    ("network.ports", limits::ports_used_up),
    ("memory.cgroup", limits::cgroup_memory),
    ("memory.commit", refused::commit),
    ("memory.maps", refused::maps),
    ("memory.low", parts::low_memory),
    ("memory.node", parts::node),
    ("memory.shared", parts::shared),
    ("memory.swinging", reclaim::swinging),
    ("memory.page_tables", reclaim::page_tables),
    ("memory.slab", reclaim::slab),
    ("memory.caches", memory::caches),
    ("memory.direct", memory::direct),
    ("memory.compaction", memory::compaction),
    ("memory.hugetlb", reclaim::hugetlb_unused),
    ("memory.swap", reclaim::swapping),
    ("memory.short", memory::short),
    ("memory.killed", memory::killed),
    ("memory.fragmentation", memory::fragmentation),
    ("memory.fallback", memory::fallback),
    ("memory.bloat", memory::bloat),
    ("balance.cpus", balance::cpus),
    ("server.full", balance::servers),
    ("balance.disks", balance::disks),
    ("balance.hosts", balance::hosts),
    ("files.open", limits::open_files),
    ("tasks.limit", refused::tasks),
    ("log", log::any),
    ("log.storage", log::storage),
    ("log.lockups", log::lockups),
    ("log.audit", log::audit),
    ("log.file_systems", log::file_systems),
    ("log.blocks", log::blocks),
    ("log.dropped", log::dropped),
    ("log.neighbours", log::neighbours),
    ("log.cards", log::cards),
    ("log.tcp_memory", log::tcp_memory),
    ("log.hardware", log::hardware),
    ("log.bugs", log::bugs),
    ("log.other", log::other),
    ("redis", redis::any_of),
    ("redis.command", redis::command),
    ("redis.slow_log", redis::slow_log),
    ("redis.full", redis::full),
    ("redis.fork", redis::fork),
    ("redis.copied", redis::copied),
    ("redis.evictions", redis::evictions),
    ("redis.resident", redis::resident),
    ("resident.huge", redis::huge),
    ("redis.fsync", redis::fsync),
    ("postgres", postgres::any_of),
    ("postgres.locks", postgres::locks),
    ("postgres.lwlocks", postgres::latches),
    ("postgres.io", postgres::storage),
    ("postgres.idle", postgres::idle),
    ("postgres.statement", postgres::statement),
    ("postgres.checkpoints", postgres::checkpoints),
    ("threads", threads::any_of),
    ("threads.deadlock", threads::deadlock),
    ("threads.service", threads::service),
    ("threads.lock", threads::lock),
    ("threads.pool", threads::pool),
    ("threads.workers", threads::workers),
    ("web", web::any_of),
    ("web.pool", web::pool),
    ("web.dropped", web::dropped),
    ("defaults.thp_always", defaults::thp_always),
    ("defaults.defrag_always", defaults::defrag_always),
    ("defaults.max_ptes_none", defaults::max_ptes_none),
    ("defaults.zone_reclaim", defaults::zone_reclaim),
    ("defaults.min_free", defaults::min_free),
    ("defaults.somaxconn", defaults::somaxconn),
];

/// All questions: parents before their children, in the order in which they are asked.
pub static ALL: LazyLock<Vec<Node>> = LazyLock::new(|| {
    table!("questions.tsv").about(
        TESTS,
        |(id, _)| id,
        |row, (id, test)| {
            let [_, parent, cause, question, how, limits] = row.fields();
            let limit = |key: &str| row.one_of(T::ALL, T::key, key);
            Node {
                id,
                parent: (parent != "-").then_some(parent),
                question,
                how,
                limits: limits.split(' ').filter(|key| *key != "-").map(limit).collect(),
                cause: (cause != "-").then(|| row.one_of(Cause::ALL, Cause::key, cause)),
                test,
            }
        },
    )
});

/// The node of that name.
pub fn find(id: &str) -> Option<&'static Node> {
    ALL.iter().find(|node| node.id == id)
}

#[cfg(test)]
mod tests;
