//! The tree: one table of questions, each with the test that answers it.

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
#[macro_use]
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

use super::cause::Cause;
use super::threshold::Threshold as T;

nodes! {
    "cpu" < None, "Does a CPU state other than idle stand out?",
        "Yes when one of the questions below it about a state says yes.",
        [], None, cpu::any;

    "cpu.kernel" < Some("cpu"), "Does the kernel take much of the CPU?",
        "System time with interrupts, of the machine, in episodes with a lower limit for \
            neighbours; else a slow steady rise; else a single CPU, or a thread of the kernel that \
            works on memory, that takes a CPU nearly all the time.",
        [KernelHigh KernelKeep EpisodeMin EpisodeFull LateMin RampPoints
            RampSteadiness KernelCpuHigh WayShare], Some(Cause::KernelTime), cpu::kernel;
    "kernel.reclaim" < Some("cpu.kernel"), "Does memory run out, so that the kernel reclaims?",
        "In each episode: base pages scanned, or free memory that was as good as used up and then \
            came back. Beside ample available memory only if tasks reclaim themselves. Or \
            functions of reclaim in a profile: their share of the kernel's samples.",
        [ReclaimScan FreeLow FreeSwing FreeCorrelation AvailableAmple ExplainedShare],
            Some(Cause::Reclaim), reclaim::reclaim;
    "reclaim.page_tables" < Some("kernel.reclaim"), "Is it page tables that hold the memory?",
        "Page tables against all memory; 8 bytes map 4 KiB, so much more mapped than there is \
            means that many processes map the same.",
        [PageTablesHigh], Some(Cause::PageTables), reclaim::page_tables;
    "reclaim.slab" < Some("kernel.reclaim"), "Is it kernel objects that hold the memory?",
        "Unreclaimable slab against all memory.",
        [SlabHigh], Some(Cause::Slab), reclaim::slab;
    "reclaim.hugetlb" < Some("kernel.reclaim"), "Does an idle HugeTLB pool hold the memory?",
        "Free less reserved pages of the pool against all memory.",
        [HugetlbUnused], Some(Cause::HugetlbUnused), reclaim::hugetlb_unused;
    "reclaim.swap" < Some("kernel.reclaim"), "Does it swap programs' memory out and in?",
        "Bytes swapped in and out, the highest mean over a minute.",
        [SwapHigh], Some(Cause::Swapping), reclaim::swapping;
    "kernel.high_order" < Some("cpu.kernel"), "Does the kernel look for large blocks of memory \
        though single pages are free?",
        "CPU of kswapd beside ample free and available memory, where no compaction of programs is \
            counted or profiled.",
        [DaemonCpu AvailableLow AvailableAmple], Some(Cause::HighOrder), named::high_order;
    "kernel.compaction" < Some("cpu.kernel"), "Do programs stop to make huge blocks of free \
        memory?",
        "Direct compactions a second; or functions of compaction in a profile: their share of the \
            kernel's samples.",
        [CompactHigh CostCompact EpisodeMin EpisodeFull LateMin ExplainedShare],
            Some(Cause::Compaction),
            kernel::compaction;
    "kernel.khugepaged" < Some("cpu.kernel"), "Does khugepaged take the time?",
        "CPU of the kernel thread.",
        [DaemonCpu EpisodeMin EpisodeFull LateMin], Some(Cause::Khugepaged), kernel::khugepaged;
    "kernel.kcompactd" < Some("cpu.kernel"), "Does kcompactd take the time?",
        "CPU of the kernel threads.",
        [DaemonCpu EpisodeMin EpisodeFull LateMin], Some(Cause::Compaction), kernel::kcompactd;
    "kernel.ksmd" < Some("cpu.kernel"), "Does merging equal pages take the time?",
        "CPU of ksmd.",
        [DaemonCpu EpisodeMin EpisodeFull LateMin], Some(Cause::SamePages), parts::same_pages;
    "kernel.huge_faults" < Some("cpu.kernel"), "Do page faults that hand out huge pages take the \
        time?",
        "Huge-page faults a second times the cost of one, against all kernel time of the episodes; \
            or functions that clear huge pages in a profile: their share of the kernel's samples.",
        [CostHugeFault ExplainedShare], Some(Cause::HugeFaults), kernel::huge_faults;
    "kernel.faults" < Some("cpu.kernel"), "Do page faults take the time?",
        "Page faults a second times the cost of one, against all kernel time of the episodes.",
        [CostFault ExplainedShare ForkFaults], Some(Cause::Faults), kernel::faults;
    "faults.churn" < Some("kernel.faults"), "Is memory taken and given back all the time?",
        "Base pages freed a second against page faults.",
        [FreedShare], Some(Cause::Churn), kernel::churn;
    "kernel.forks" < Some("cpu.kernel"), "Do new processes take the time?",
        "Tasks created a second times the cost of one, against all kernel time of the episodes; \
            or functions of the start and end of processes in a profile: their share of the \
            kernel's samples.",
        [CostFork CostProcess ExplainedShare], Some(Cause::Forks), kernel::forks;
    "kernel.shootdowns" < Some("cpu.kernel"), "Do changes of mappings interrupt the other CPUs?",
        "Functions that flush other CPUs' TLBs in a profile: their share of the kernel's samples; \
            or TLB shootdowns a second on each CPU, in /proc/interrupts.",
        [ExplainedShare ShootdownsHigh], Some(Cause::Shootdowns), named::shootdowns;
    "kernel.clock" < Some("cpu.kernel"), "Does reading the time take the kernel's time?",
        "Functions that read a device's clock in a profile: their share of the kernel's samples.",
        [ExplainedShare], Some(Cause::SlowClock), named::clock;
    "kernel.futex" < Some("cpu.kernel"), "Do threads of a program wait for each other's locks?",
        "Functions of futex in a profile: their share of the kernel's samples; or its share of the \
            system calls that were traced.",
        [ExplainedShare FutexShare], Some(Cause::Futex), named::futex;
    "kernel.switches" < Some("cpu.kernel"), "Do context switches take the time?",
        "Switches a second times the cost of one, against all kernel time of the episodes.",
        [CostSwitch ExplainedShare], Some(Cause::Switches), kernel::switches;
    "kernel.packet_filter" < Some("cpu.kernel"), "Are packets compared with a long list of rules?",
        "Functions of the packet filter in a profile: their share of the kernel's samples.",
        [ExplainedShare], Some(Cause::PacketFilter), named::packet_filter;
    "kernel.network" < Some("cpu.kernel"), "Does the network stack take the time?",
        "Packets a second, both ways and loopback too, times the cost of one, against all kernel \
            time.",
        [CostPacket ExplainedShare], Some(Cause::NetworkStack), kernel::network;
    "kernel.disk_requests" < Some("cpu.kernel"), "Do disk requests take the time?",
        "Requests a second times the cost of one, against all kernel time of the episodes.",
        [CostDiskRequest ExplainedShare], Some(Cause::DiskRequests), kernel::disk_requests;
    "kernel.huge_pages" < Some("cpu.kernel"), "Are huge pages the first suspect?",
        "THP is 'always', nothing counts its page faults, and nothing that was counted explains \
            the time; or so many pages are freed for each page fault that the faults must be huge.",
        [CostHugeFault ExplainedShare PagesPerFault], Some(Cause::HugeFaults), kernel::huge_pages;
    "kernel.names" < Some("cpu.kernel"), "Do look-ups of file names take the time?",
        "A cache of directory entries that has much of the memory, and functions that search it in \
            a profile, or calls that do among those traced.",
        [SlabCacheHigh NamesCalls ExplainedShare], Some(Cause::NameCache), named::names;
    "kernel.locks" < Some("cpu.kernel"), "Do tasks spin for the kernel's locks?",
        "Lock functions' share of the kernel's samples in a profile, idle left out.",
        [ExplainedShare], Some(Cause::Locks), kernel::locks;
    "kernel.system_calls" < Some("cpu.kernel"), "Is it other system calls?",
        "By elimination: page faults and switches are known, and neither one kind of countable \
            event nor all of them explain enough, nor do functions in a profile.",
        [ExplainedShare CountedShare], Some(Cause::SystemCalls), kernel::system_calls;

    "cpu.iowait" < Some("cpu"), "Are CPUs idle because disks are slow?",
        "Idle time with a disk request pending, of the machine.",
        [IowaitHigh EpisodeMin EpisodeFull LateMin], Some(Cause::Iowait), cpu::iowait;
    "io.disk" < Some("cpu.iowait"), "Is a disk saturated?",
        "Time with requests in flight, and a queue, a long wait or large requests: busy alone says \
            nothing of flash. A long queue and a long wait suffice on a disk in use.",
        [DiskBusy DiskInUse DiskQueue DiskAwait DiskAwaitShort SequentialBlocks],
            Some(Cause::DiskSaturated), io::waited_for;
    "io.sequential" < Some("io.disk"), "Are the requests large: is bandwidth the limit?",
        "Bytes over requests of the busier direction, in blocks of 4 KiB.",
        [SequentialBlocks], Some(Cause::DiskBandwidth), io::sequential;
    "io.random" < Some("io.disk"), "Are the requests small: are requests a second the limit?",
        "Bytes over requests of the busier direction, in blocks of 4 KiB.",
        [RandomBlocks], Some(Cause::DiskRandom), io::random;
    "io.who" < Some("io.disk"), "Is it known who reads and writes?",
        "The program with most of all writes, reads or waiting; for a file server the peers that \
            send.",
        [WhoShare], None, io::known;
    "io.latency" < Some("cpu.iowait"), "Do programs wait request by request?",
        "A disk in use, yet not saturated (as io.disk): few tasks, each with one request at a \
            time.",
        [DiskInUse DiskBusy DiskQueue DiskAwait DiskAwaitShort SequentialBlocks],
            Some(Cause::DiskLatency), io::latency;
    "io.remote" < Some("cpu.iowait"), "Do programs wait for storage over the network?",
        "All local disks hardly in use while requests are pending.",
        [DiskInUse], Some(Cause::NetworkStorage), io::remote;
    "io.swap" < Some("cpu.iowait"), "Is it swapping?",
        "Bytes swapped in and out, the highest mean over a minute.",
        [SwapHigh], Some(Cause::Swapping), reclaim::swapping;

    "disk.saturated" < None, "Is a disk saturated, whatever the CPUs do?",
        "As io.disk, with waits that hurt: on a machine with many or busy CPUs, those that wait \
            are no iowait.",
        [DiskBusy DiskInUse DiskQueue DiskAwait DiskAwaitShort DiskAwaitLong SequentialBlocks],
            Some(Cause::DiskSaturated), io::clogged;

    "disk.capped" < None, "Does something hold a disk at one rate?",
        "Requests, or bytes, a second of its samples with long waits: level, and either at a round \
            number of requests, or half of what it did at another time without a wait.",
        [DiskBusy DiskAwait LevelSpread], Some(Cause::DiskCapped), held::capped;
    "disk.write_cache" < None, "Is the write cache of a disk controller off?",
        "The kernel's log about its battery; the policy that the controller's tool says.",
        [LogOld], Some(Cause::WriteCacheOff), held::write_cache;

    "disk.full" < None, "Is a file system full?",
        "Space in use as programs see it, or inodes. Images, which are full by nature, are left \
            out.",
        [FsFull], Some(Cause::FilesystemFull), io::full;
    "disk.slow" < None, "Does a disk answer slowly at a rate that any disk reaches?",
        "A disk in use, requests that wait long, and so few of them, with so few bytes, that the \
            load is not why.",
        [DiskInUse DiskAwaitLong DiskSlow DiskSlowBytes], Some(Cause::DiskLatency), io::slow;
    "disk.stuck" < None, "Does a disk no longer answer?",
        "Requests stand in its queue all the time, and none ends.",
        [DiskBusy], Some(Cause::StorageFails), io::stuck;
    "disk.array" < None, "Does an array of disks lack one, or is it rebuilt or checked?",
        "/proc/mdstat.",
        [], Some(Cause::ArrayWork), parts::array;
    "disk.flush" < None, "Do programs wait until a disk has emptied its cache?",
        "Flushes a second times the time of one, where writes themselves are fast; fsync and its \
            kin in a trace of a program's calls.",
        [FlushBusy FlushLong], Some(Cause::DiskFlush), io::flush;

    "cpu.interrupts" < Some("cpu"), "Do interrupts take much of the CPU, or of one CPU?",
        "Hardware and soft interrupt time, of the machine or of one CPU.",
        [InterruptHigh InterruptCpuHigh EpisodeMin EpisodeFull LateMin], Some(Cause::Interrupts),
            cpu::interrupts;
    "interrupts.small_packets" < Some("cpu.interrupts"), "Are there many small packets at little \
        bandwidth?",
        "Packets a second and bytes a packet, all interfaces.",
        [PacketsHigh SmallPacket CostPacket], Some(Cause::SmallPackets), network::small_packets;
    "interrupts.many_packets" < Some("cpu.interrupts"), "Are there many packets, and not small \
        ones?",
        "Packets a second, all interfaces.",
        [PacketsHigh CostPacket], Some(Cause::NetworkStack), network::many_packets;
    "interrupts.one_cpu" < Some("cpu.interrupts"), "Does one CPU take nearly all interrupts?",
        "Interrupt time by CPU, against that of the others; or NET_RX counts by CPU.",
        [InterruptHigh InterruptAlone ReceiveAlone], Some(Cause::InterruptsOneCpu),
            network::one_cpu;
    "interrupts.storm" < None, "Does a device interrupt without end?",
        "Interrupts a second of one line, all CPUs together, between two looks.",
        [IrqStorm], Some(Cause::IrqStorm), named::storm;
    "interrupts.squeezed" < Some("cpu.interrupts"), "Are receive rounds cut short?",
        "softnet's time_squeeze a second.",
        [SqueezeHigh], Some(Cause::Backlog), network::squeezed;

    "cpu.steal" < Some("cpu"), "Does the hypervisor take CPU away?",
        "Steal time, the highest mean over a minute.",
        [StealHigh], Some(Cause::Steal), cpu::steal;
    "cpu.throttled" < None, "Does a cgroup use up its CPU quota?",
        "Periods throttled of all periods, from cpu.stat: between two looks. A single look tells \
            of all the time since the cgroup began, and rules nothing out.",
        [ThrottledHigh], Some(Cause::Throttled), cpu::throttled;
    "cpu.user" < Some("cpu"), "Do programs themselves use the CPU?",
        "User and nice time. Not a fault as such.",
        [UserHigh EpisodeMin EpisodeFull LateMin], None, cpu::user;
    "user.saturated" < None, "Do far more tasks want to run than there are CPUs?",
        "Run queue against CPUs while CPUs are in use.",
        [QueuePerCpu BusyHigh], Some(Cause::CpuSaturated), cpu::saturated;

    "user.delayed" < None, "Do tasks wait for a CPU most of the time?",
        "Time that tasks waited for a CPU, of all CPUs between two looks at /proc/schedstat, while \
            CPUs are in use. On idle CPUs a quota or a binding makes them wait.",
        [DelayPerCpu BusyHigh], Some(Cause::CpuSaturated), cpu::delayed;

    "load" < None, "Is the load average far above the CPUs, and nothing says why?",
        "Load over a minute against CPUs, where neither the CPUs' use nor what waits is known.",
        [QueuePerCpu], Some(Cause::Load), named::load;
    "cpu.heat" < None, "Does heat slow the CPUs down?",
        "The kernel's log about throttled clocks, and counts of it; the clock of CPUs against what \
            they are rated for. A few old events are a note.",
        [HeatEvents ClockLow LogOld], Some(Cause::Heat), log::heat;
    "cpu.real_time" < None, "Does a real-time thread keep a CPU from everybody else?",
        "CPU of a thread of a real-time class, as ps has it.",
        [ThreadFull], Some(Cause::RealTime), parts::real_time;
    "cpu.slow" < None, "Do CPUs in use run far below their rated clock?",
        "Their clock against what they are rated for, where heat is not the reason.",
        [ClockLow UserHigh], Some(Cause::SlowCpus), parts::slow_cpus;
    "cpu.clock" < None, "Does the kernel read the time from a slow clock?",
        "The clocksource, as its file or the kernel's log names it last; functions that read a \
            slow one in a profile. A note unless they, or the kernel, take much of the CPU.",
        [WayShare KernelHigh], Some(Cause::SlowClock), log::clock;

    "wait" < None, "Do tasks wait without using the CPU?",
        "Yes when one of the questions below says yes.",
        [], None, wait::any;
    "wait.blocked" < Some("wait"), "Do tasks hang in uninterruptible wait?",
        "Tasks in state D, counted or listed, against CPUs; or several in one function of the \
            kernel. The kernel's log about tasks that hang.",
        [BlockedTasks BlockedSame LogOld], Some(Cause::Blocked), wait::blocked;
    "wait.dirty" < Some("wait"), "Do writers wait until dirty memory is written?",
        "Tasks in balance_dirty_pages; dirty memory and what is being written against its limit.",
        [DirtyTasks DirtyNear], Some(Cause::DirtyLimit), tasks::dirty;
    "wait.random" < Some("wait"), "Do programs wait for random numbers?",
        "Tasks that read /dev/random; the entropy that is left, before Linux 5.6.",
        [EntropyLow], Some(Cause::Entropy), tasks::random;
    "wait.remote" < Some("wait"), "Do tasks wait for a file server?",
        "Tasks in uninterruptible wait inside NFS, CIFS or Ceph; the kernel's log about a server \
            that does not answer; the time of its requests.",
        [RemoteAwait], Some(Cause::NetworkStorage), tasks::remote;
    "remote.slots" < Some("wait.remote"), "Do requests to the file server queue on this machine?",
        "The whole time of a request against its round trip.",
        [RemoteQueue], Some(Cause::NfsQueue), tasks::queue_before_server;
    "wait.memory" < Some("wait"), "Do tasks wait for memory?",
        "PSI memory, some, as a mean.",
        [PsiHigh], Some(Cause::MemoryPressure), wait::memory_pressure;
    "wait.io" < Some("wait"), "Do tasks wait for I/O?",
        "PSI io, some, as a mean.",
        [PsiHigh], Some(Cause::IoPressure), wait::io_pressure;
    "wait.pauses" < Some("wait"), "Does Java stop for long?",
        "Pauses for garbage collection and at safepoints: the longest, or the share of the time in \
            them.",
        [GcPause GcShare], Some(Cause::GcPauses), wait::pauses;
    "pauses.heap" < Some("wait.pauses"), "Is its heap full?",
        "What is in use after full collections, against the heap; the old part in each look of \
            jstat.",
        [HeapFull], Some(Cause::HeapFull), heap::full;
    "pauses.kernel" < Some("wait.pauses"), "Does the kernel use more CPU in such a pause than the \
        collector?",
        "sys against user time of the worst pause, if it is at least half of gc_pause_high_ms.",
        [GcPause], Some(Cause::GcKernel), wait::kernel_in_pauses;
    "pauses.safepoint" < Some("wait.pauses"), "Does it take long until all threads stop?",
        "Time to reach the safepoint: at least half of gc_pause_high_ms.",
        [GcPause], Some(Cause::SafepointReach), wait::safepoint_reach;

    "network.reader" < None, "Does a program read its connections too slowly?",
        "Recv-Q of connections, by program and by the service at the other end.",
        [ReceiveQueueSockets ReceiveQueueBytes ReceiveQueueOneBytes], Some(Cause::SlowReader),
            network::reader;
    "network.sender" < None, "Does a peer, or the network to it, take bytes too slowly?",
        "Send-Q of connections, by peer.",
        [SendQueueBytes], Some(Cause::SlowPeer), network::sender;
    "network.listen" < None, "Do accept queues overflow?",
        "A listening socket at its limit, or overflows counted.",
        [DropsHigh ListenOverflowsHigh], Some(Cause::ListenOverflow), network::listen;
    "network.retransmits" < None, "Are TCP segments sent again?",
        "Segments sent again of all sent.",
        [RetransmitShare], Some(Cause::Retransmits), network::retransmits;
    "network.drops" < None, "Are packets dropped on this machine?",
        "Drops of interfaces and of the receive backlog.",
        [DropsHigh], Some(Cause::Drops), network::drops;
    "network.errors" < None, "Do packets arrive damaged?",
        "Errors of interfaces: checksums, symbols, frames.",
        [DropsHigh], Some(Cause::LinkErrors), network::errors;
    "network.conntrack" < None, "Is the kernel's table of connections full?",
        "The kernel's log about nf_conntrack; its entries against their limit.",
        [TableFull], Some(Cause::ConntrackFull), network::conntrack;
    "network.link" < None, "Is a link full?",
        "Use of the link, where its speed is known: as a tool says, or bytes over speed, which may \
            come from two tools. Half duplex adds both directions.",
        [LinkBusy], Some(Cause::LinkFull), link::link;

    "network.ports" < None, "Are the ports for connections to one peer used up?",
        "Closed connections that hold a port, by peer, against ip_local_port_range; logs of \
            programs that got no address.",
        [PortsNear LogOld], Some(Cause::PortsExhausted), limits::ports_used_up;

    "memory.cgroup" < None, "Is a cgroup at its memory limit?",
        "Times a second that it is at its limit, or slowed down above memory.high; pressure of \
            its own. A count since its start alone is a note.",
        [CgroupHits CgroupHitsEver PsiHigh], Some(Cause::CgroupMemory), limits::cgroup_memory;
    "memory.commit" < None, "Is as much memory promised as may be?",
        "Committed_AS against CommitLimit, where vm.overcommit_memory makes it a limit.",
        [TableFull LogOld], Some(Cause::CommitLimit), refused::commit;
    "memory.maps" < None, "Has a program as many mappings as it may?",
        "Its mappings against vm.max_map_count; logs of programs that got no more.",
        [TableFull LogOld], Some(Cause::MapLimit), refused::maps;
    "memory.low" < None, "Has a 32-bit kernel used up the memory that it can reach by itself?",
        "LowFree against LowTotal, where there is high memory.",
        [AvailableLow], Some(Cause::LowMemory), parts::low_memory;
    "memory.node" < None, "Has a NUMA node no free memory while another one has?",
        "Free memory by node, against its size. A note unless somebody reclaims or swaps for it.",
        [NodeLow NodeAmple], Some(Cause::NodeShort), parts::node;
    "memory.shared" < None, "Does shared memory hold most of the memory while little is left?",
        "Shmem, files in tmpfs among it, against all memory, where memory is short, swapped \
            or killed for.",
        [ShmemHigh], Some(Cause::SharedMemory), parts::shared;
    "memory.swinging" < None, "Does free memory fall to nothing and come back?",
        "From one sample to the next: down to a low share of all memory, then a rise; not beside \
            ample available memory.",
        [FreeLow FreeSwing AvailableAmple], Some(Cause::Reclaim), reclaim::swinging;
    "memory.page_tables" < None, "Do page tables take much of the memory?",
        "Page tables against all memory.",
        [PageTablesHigh], Some(Cause::PageTables), reclaim::page_tables;
    "memory.slab" < None, "Do kernel objects take much of the memory?",
        "Unreclaimable slab against all memory.",
        [SlabHigh], Some(Cause::Slab), reclaim::slab;
    "memory.caches" < None, "Do caches of kernel objects take most of the memory?",
        "Reclaimable slab against all memory.",
        [SlabCacheHigh], Some(Cause::SlabCache), memory::caches;
    "memory.direct" < None, "Do programs reclaim memory themselves, whatever CPU that takes?",
        "Base pages scanned by allocating tasks, the highest mean over a minute.",
        [DirectScanHigh], Some(Cause::Reclaim), memory::direct;
    "memory.compaction" < None, "Do programs make huge blocks of free memory themselves, whatever \
        CPU that takes?",
        "Direct compactions, the highest mean over a minute.",
        [CompactHigh], Some(Cause::Compaction), memory::compaction;
    "memory.hugetlb" < None, "Does a HugeTLB pool lie idle?",
        "Free less reserved pages of the pool against all memory.",
        [HugetlbUnused], Some(Cause::HugetlbUnused), reclaim::hugetlb_unused;
    "memory.swap" < None, "Does the machine swap?",
        "Bytes swapped in and out, the highest mean over a minute.",
        [SwapHigh], Some(Cause::Swapping), reclaim::swapping;
    "memory.short" < None, "Is hardly any memory available?",
        "Available memory at its lowest, in bytes and against all but the HugeTLB pool.",
        [AvailableLow AvailableLowBytes], Some(Cause::MemoryShort), memory::short;
    "memory.killed" < None, "Does the kernel kill programs for memory?",
        "OOM kills. Those of long ago are a note.",
        [LogOld], Some(Cause::OomKills), memory::killed;
    "memory.fragmentation" < None, "Is free memory in pieces smaller than a huge page?",
        "Unusable free space index at the huge-page order.",
        [FmfiHigh], Some(Cause::Fragmentation), memory::fragmentation;
    "memory.fallback" < None, "Do faults that want a huge page get none?",
        "Fallbacks of all huge-page faults.",
        [ThpFallback], Some(Cause::Fragmentation), memory::fallback;
    "memory.bloat" < None, "Are huge pages held of which parts were given back?",
        "Partially mapped huge pages, counted by the kernel from 6.12 on.",
        [BloatHigh], Some(Cause::Bloat), memory::bloat;

    "balance.cpus" < None, "Is one CPU exhausted beside idle ones?",
        "CPU in use by CPU, means; or a thread that uses all of one CPU, wherever it runs.",
        [BusyHigh IdleLow ThreadFull], Some(Cause::OneCpu), balance::cpus;
    "server.full" < None, "Is the one thread of a server full that has no other?",
        "CPU of a process, or of its thread, of a server that works in one thread.",
        [ThreadFull], Some(Cause::ServerFull), balance::servers;
    "balance.disks" < None, "Is one disk saturated beside idle ones?",
        "Busy time by disk, means; only where a disk is saturated, not just busy.",
        [DiskBusy IdleLow], Some(Cause::OneDisk), balance::disks;
    "balance.hosts" < None, "Is this machine exhausted beside idle ones?",
        "CPU in use by machine, means; needs recordings of several machines.",
        [BusyHigh HostIdle], Some(Cause::OneHost), balance::hosts;

    "files.open" < None, "Are as many files open as may be?",
        "Open files of a process and of the machine against their limits; logs of programs that \
            could not open one.",
        [TableFull LogOld], Some(Cause::OpenFiles), limits::open_files;

    "tasks.limit" < None, "Can no more tasks be started?",
        "Tasks against kernel.pid_max and threads-max; logs of programs that could not start one.",
        [TableFull LogOld], Some(Cause::TaskLimit), refused::tasks;

    "log" < None, "Does the kernel's log name trouble?",
        "Yes when one of the questions below it says yes.",
        [], None, log::any;
    "log.storage" < Some("log"), "Do requests to storage end in errors, or not at all?",
        "Errors of disks, devices that are gone and paths that are lost. Of long ago, or a single \
            line of unknown age, it is a note: as with all the following.",
        [LogOld], Some(Cause::StorageFails), log::storage;
    "log.lockups" < Some("log"), "Did CPUs stand still?",
        "Lines about soft and hard lockups and stalls of RCU.",
        [LogOld], Some(Cause::Lockups), log::lockups;
    "log.audit" < Some("log"), "Do programs wait for a place for a record of audit?",
        "Lines about its backlog; auditctl's count of waiting records against its limit; tasks in \
            audit_log_start.",
        [LogOld], Some(Cause::AuditBacklog), log::audit;
    "log.file_systems" < Some("log"), "Is a file system damaged, or was it made read-only?",
        "Lines of ext4, XFS and btrfs about errors.",
        [LogOld], Some(Cause::FilesystemErrors), log::file_systems;
    "log.blocks" < Some("log"), "Do allocations of several pages fail?",
        "Lines about page allocation failures of order 1 and higher.",
        [LogOld], Some(Cause::HighOrder), log::blocks;
    "log.dropped" < Some("log"), "Does somebody drop the page cache, again and again?",
        "Lines about drop_caches.",
        [LogOld], Some(Cause::CacheDropped), log::dropped;
    "log.neighbours" < Some("log"), "Is the table of neighbours full?",
        "Lines about its overflow.",
        [LogOld], Some(Cause::NeighbourTable), log::neighbours;
    "log.cards" < Some("log"), "Does a network card hang, or lose its link again and again?",
        "Lines about transmit queues that time out and hangs of the hardware; links that go down.",
        [LogOld LinkFlaps], Some(Cause::CardHangs), log::cards;
    "log.tcp_memory" < Some("log"), "Has TCP used up its memory?",
        "Lines about tcp_mem and orphaned sockets.",
        [LogOld], Some(Cause::TcpMemory), log::tcp_memory;
    "log.hardware" < Some("log"), "Does the hardware report errors that it could not correct?",
        "Lines of EDAC, machine checks and PCI Express.",
        [LogOld], Some(Cause::HardwareErrors), log::hardware;
    "log.bugs" < Some("log"), "Did the kernel itself fail?",
        "Lines about bugs, general protection faults and a panic.",
        [LogOld], Some(Cause::KernelBug), log::bugs;
    "log.other" < Some("log"), "Does the kernel's log have other lines that may matter?",
        "Corrected errors, failed allocations of single pages, links that went down, crashed \
            programs, late requests to storage.",
        [], Some(Cause::LogErrors), log::other;

    "redis" < None, "Does Redis or Valkey say that it suffers?",
        "Yes when one of the questions below says yes.",
        [], None, redis::any_of;
    "redis.command" < Some("redis"), "Does one slow command take most of its time?",
        "Time by command: a share of all, the mean of a call, and the part of the one thread that \
            it takes, between two looks, since the start, or because the process uses a whole CPU \
            now.",
        [CommandShare CommandLong CommandBusy ThreadFull], Some(Cause::SlowCommands),
            redis::command;
    "redis.slow_log" < Some("redis"), "Do single calls stop it for long, again and again?",
        "Calls of one command in the slow log within an hour of the latest; stalls of commands \
            that it measured.",
        [SlowCommand SlowCommands], Some(Cause::SlowCommands), redis::slow_log;
    "redis.full" < Some("redis"), "Is its one thread full?",
        "CPU of the main thread between two looks, or since its start.",
        [ServerFull], Some(Cause::ServerFull), redis::full;
    "redis.fork" < Some("redis"), "Does it stand still while it forks?",
        "The latest fork, and for each GiB of data.",
        [ForkHigh ForkFelt ForkSlow], Some(Cause::RedisFork), redis::fork;
    "redis.copied" < Some("redis"), "Is most of its data copied while it saves?",
        "Memory copied by the last save or rewrite, against its data.",
        [CowHigh DataLarge], Some(Cause::RedisCow), redis::copied;
    "redis.evictions" < Some("redis"), "Does it evict what is asked for, or refuse to write?",
        "At its memory limit: keys evicted while few reads find theirs, or commands refused.",
        [LimitNear CacheHits], Some(Cause::RedisEvictions), redis::evictions;
    "redis.resident" < Some("redis"), "Is far more memory resident than it uses?",
        "Resident memory over used memory, of a server that is not nearly empty.",
        [RssRatio DataLarge], Some(Cause::RedisFragmentation), redis::resident;
    "resident.huge" < Some("redis.resident"), "Do huge pages keep what its allocator gave back?",
        "The allocator's own ratios do not explain it, and THP is 'always'.",
        [RssRatio], Some(Cause::Bloat), redis::huge;
    "redis.fsync" < Some("redis"), "Does it wait for the disk of its log?",
        "Writes held up by fsync, or stalls of the log that it measured.",
        [FsyncDelays SlowCommand], Some(Cause::RedisFsync), redis::fsync;

    "postgres" < None, "Does PostgreSQL say that it suffers?",
        "Yes when one of the questions below says yes.",
        [], None, postgres::any_of;
    "postgres.locks" < Some("postgres"), "Do sessions wait for each other's locks?",
        "Sessions at work whose wait is of type Lock.",
        [SessionsWaiting LockShare], Some(Cause::PgLocks), postgres::locks;
    "postgres.lwlocks" < Some("postgres"), "Do sessions wait for its internal locks?",
        "Sessions at work whose wait is of type LWLock.",
        [SessionsWaiting WaitShare], Some(Cause::PgLwlocks), postgres::latches;
    "postgres.io" < Some("postgres"), "Do sessions wait for storage?",
        "Sessions at work whose wait is of type IO.",
        [SessionsWaiting WaitShare], Some(Cause::PgIo), postgres::storage;
    "postgres.idle" < Some("postgres"), "Does a session keep a transaction open and do nothing?",
        "The longest time idle within a transaction; where that is not known, how many.",
        [IdleInTransaction IdleSessions], Some(Cause::PgIdle), postgres::idle;
    "postgres.statement" < Some("postgres"), "Does one slow statement take most of the time?",
        "Total and mean times of statements; maintenance left out.",
        [CommandShare StatementLong], Some(Cause::PgStatement), postgres::statement;
    "postgres.checkpoints" < Some("postgres"), "Does full WAL force checkpoints?",
        "Checkpoints requested, of all.",
        [CheckpointShare], Some(Cause::PgCheckpoints), postgres::checkpoints;

    "threads" < None, "Do threads of a program wait for one another, or for somebody else?",
        "Yes when one of the questions below says yes; of dumps of its threads, pools without work \
            left out.",
        [], None, threads::any_of;
    "threads.deadlock" < Some("threads"), "Do threads wait for each other's locks in a circle?",
        "What the dump says of deadlocks.",
        [], Some(Cause::Deadlock), threads::deadlock;
    "threads.service" < Some("threads"), "Do threads wait for another service's answers?",
        "Threads with a request, or with a connection of an empty pool, in a client's read: the \
            same ones in all dumps, without using the CPU; or most of a pool without a free one.",
        [ThreadsWaiting ThreadsShare ThreadsShareOnce WorkersMin], Some(Cause::ServiceWait),
            threads::service;
    "threads.lock" < Some("threads"), "Do many threads wait for one lock?",
        "Threads that wait for a monitor or a lock of java.util.concurrent, of those with work; \
            and what its holder does.",
        [ThreadsWaiting ThreadsShare ThreadsShareOnce], Some(Cause::ThreadLock), threads::lock;
    "threads.pool" < Some("threads"), "Do threads wait until a pool has something for them?",
        "Threads that wait for a connection of a known pool, a permit of a semaphore, or within a \
            request for a queue, of those with work; and what those do that use the connections.",
        [ThreadsWaiting ThreadsShare ThreadsShareOnce], Some(Cause::PoolLimit), threads::pool;
    "threads.workers" < Some("threads"), "Have all threads for requests work?",
        "A pool whose threads mostly serve requests, and none of which waits for work in any dump.",
        [WorkersMin], Some(Cause::WorkersFull), threads::workers;

    "web" < None, "Does nginx or php-fpm say that it suffers?",
        "Yes when one of the questions below says yes.",
        [], None, web::any_of;
    "web.pool" < Some("web"), "Do requests wait because all workers are at work?",
        "Listen queue and idle workers of a php-fpm pool.",
        [PoolQueue], Some(Cause::FpmFull), web::pool;
    "web.dropped" < Some("web"), "Does nginx drop connections that it accepted?",
        "Connections accepted less those handled.",
        [ConnectionsDropped], Some(Cause::NginxDrops), web::dropped;

    "defaults.thp_always" < None, "Do all programs get huge pages in their page faults?",
        "transparent_hugepage/enabled is always.",
        [], Some(Cause::ThpAlways), defaults::thp_always;
    "defaults.defrag_always" < Some("defaults.thp_always"), "Do page faults reclaim and compact \
        for a huge page?",
        "transparent_hugepage/defrag is always.",
        [], Some(Cause::DefragAlways), defaults::defrag_always;
    "defaults.max_ptes_none" < Some("defaults.thp_always"), "Does khugepaged fill holes that no \
        program asked for?",
        "khugepaged/max_ptes_none is the kernel's default, 511 of 512.",
        [], Some(Cause::MaxPtesNone), defaults::max_ptes_none;
    "defaults.zone_reclaim" < None, "Does the kernel reclaim on one NUMA node while others have \
        memory?",
        "vm.zone_reclaim_mode is not 0.",
        [], Some(Cause::ZoneReclaim), defaults::zone_reclaim;
    "defaults.min_free" < None, "Does a setting keep much of the memory free?",
        "vm.min_free_kbytes against all memory.",
        [MinFreeHigh], Some(Cause::MinFree), defaults::min_free;
    "defaults.somaxconn" < Some("network.listen"), "Is the limit of accept queues 128?",
        "net.core.somaxconn as before Linux 5.4.",
        [], Some(Cause::Somaxconn), defaults::somaxconn;
}

/// The node of that name.
pub fn find(id: &str) -> Option<&'static Node> {
    ALL.iter().find(|node| node.id == id)
}

#[cfg(test)]
mod tests;
