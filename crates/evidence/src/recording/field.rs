//! What a recording can contain: each quantity once, with its unit and meaning.

mod programs;
mod rate;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::programs::fields_of_programs;
use super::unit::{About, Span, Unit, fields};

fields_of_programs! {
    // Processor time, of the machine (mean of its CPUs) or of one CPU. proc_stat(5).
    CpuUser "cpu.user_percent" Percent Average "CPU in programs";
    CpuNice "cpu.nice_percent" Percent Average "CPU in niced programs";
    CpuSystem "cpu.system_percent" Percent Average "CPU in the kernel, without interrupts";
    // What vmstat, iostat and plain `sar -u` call system: interrupts included.
    CpuKernel "cpu.kernel_percent" Percent Average "CPU in the kernel, interrupts included";
    CpuIowait "cpu.iowait_percent" Percent Average "CPU idle while a disk request was pending";
    CpuIrq "cpu.irq_percent" Percent Average "CPU in hardware interrupts";
    CpuSoftirq "cpu.softirq_percent" Percent Average "CPU in soft interrupts";
    CpuInterrupts "cpu.interrupt_percent" Percent Average "CPU in interrupts, hardware and soft";
    CpuSteal "cpu.steal_percent" Percent Average "CPU taken by the hypervisor";
    CpuGuest "cpu.guest_percent" Percent Average "CPU running guests";
    CpuIdle "cpu.idle_percent" Percent Average "CPU idle";
    CpuClock "cpu.clock_mhz" Count Instant "MHz at which the CPUs run";
    CpuRated "cpu.rated_mhz" Count Instant "MHz that the CPUs are rated for";
    CpuCount "cpu.count" Count Instant "CPUs";
    CpuTime "cpu.time_ms" Milliseconds SinceBoot "CPU time since boot in this state";

    // Tasks.
    RunQueue "tasks.running" Count Instant "tasks that run or wait for a CPU";
    Blocked "tasks.blocked" Count Instant "tasks in uninterruptible wait";
    Tasks "tasks.count" Count Instant "tasks";
    // Documentation/scheduler/sched-stats: time spent waiting to run on a CPU.
    RunDelay "tasks.wait_for_cpu" Count Average "tasks that wait for a CPU";
    RunDelayCount "tasks.waited_for_cpu_ms" Milliseconds SinceBoot "time waited for a CPU";
    ProcRunDelay "process.wait_for_cpu_percent" Percent Average
        "time in which its threads wait for a CPU";
    RunDelayEvent "process.run_delay_ms" Milliseconds Event "time that a task waited for a CPU";
    Load1 "load.1_min" Count Instant "load average over 1 minute";
    Load5 "load.5_min" Count Instant "load average over 5 minutes";
    Load15 "load.15_min" Count Instant "load average over 15 minutes";
    Forks "tasks.created_per_s" PerSecond Average "tasks created";
    ContextSwitches "tasks.switches_per_s" PerSecond Average "context switches";
    Interrupts "irq.per_s" PerSecond Average "interrupts";

    // Counts by vector and CPU: /proc/interrupts, /proc/softirqs.
    IrqCount "irq.count" Count SinceBoot "interrupts since boot";
    AcpiEvents "acpi.events" Count SinceBoot "times that an event of firmware came since boot";
    SoftirqCount "softirq.count" Count SinceBoot "soft interrupts since boot";
    IrqRate "irq.vector_per_s" PerSecond Average "interrupts of one vector";
    SoftirqRate "softirq.vector_per_s" PerSecond Average "soft interrupts of one vector";

    // Paging: /proc/vmstat.
    PageIn "paging.in_bytes_per_s" BytesPerSecond Average "read from disks for the page cache";
    PageOut "paging.out_bytes_per_s" BytesPerSecond Average "written to disks from the page cache";
    Faults "paging.faults_per_s" PerSecond Average "page faults";
    MajorFaults "paging.major_faults_per_s" PerSecond Average "page faults that read a disk";
    PagesFreed "paging.freed_per_s" PerSecond Average "base pages freed";
    ScanKswapd "reclaim.kswapd_scan_per_s" PerSecond Average "base pages scanned by kswapd";
    ScanDirect "reclaim.direct_scan_per_s" PerSecond Average "base pages scanned by allocating \
        tasks";
    Steal "reclaim.steal_per_s" PerSecond Average "base pages reclaimed";
    ReclaimEfficiency "reclaim.efficiency_percent" Percent Average "reclaimed of scanned base \
        pages";
    AllocStall "reclaim.stalls_per_s" PerSecond Average "allocations that had to reclaim first";
    SwapIn "swap.in_bytes_per_s" BytesPerSecond Average "swapped in";
    SwapOut "swap.out_bytes_per_s" BytesPerSecond Average "swapped out";
    Scan "reclaim.scan_per_s" PerSecond Average "base pages scanned, by whomever";
    OomCalls "kill.calls" Count Event "times that somebody was to be killed, nobody says who";
    OomNobody "kill.nobody" Count Event "times that nobody was left who could be killed";
    OomLimit "kill.limit_bytes" Bytes Event "the limit at which a process was killed";
    OomVictim "kill.victim_bytes" Bytes Event "resident memory of the process that was killed";
    OomAsked "kill.asked" Count Event "it asked for memory when there was none";
    OomOrder "kill.order" Count Event "order of the block of base pages that it asked for";
    OomKills "reclaim.oom_kills_per_s" PerSecond Average "processes killed for memory";

    // Huge pages and compaction: /proc/vmstat.
    ThpFaultAlloc "thp.fault_alloc_per_s" PerSecond Average "huge pages given by page faults";
    ThpFaultFallback "thp.fault_fallback_per_s" PerSecond Average "faults that found no huge page";
    ThpCollapse "thp.collapse_per_s" PerSecond Average "huge pages made by khugepaged and advice";
    ThpCollapseFailed "thp.collapse_failed_per_s" PerSecond Average "failed attempts to make a \
        huge page";
    ThpSplit "thp.split_per_s" PerSecond Average "huge pages split";
    CompactStall "compaction.stalls_per_s" PerSecond Average "allocations that had to compact \
        first";
    CompactFail "compaction.fails_per_s" PerSecond Average "compactions that gave nothing";
    CompactSuccess "compaction.successes_per_s" PerSecond Average "compactions that gave a block";
    CompactMigrateScanned "compaction.migrate_scanned_per_s" PerSecond Average "base pages \
        scanned for migration";
    CompactFreeScanned "compaction.free_scanned_per_s" PerSecond Average "base pages scanned for \
        free space";
    PagesMigrated "compaction.migrated_per_s" PerSecond Average "base pages migrated";
    // Documentation/core-api/pin_user_pages.rst.
    MemPinned "mem.pinned_bytes" Bytes Instant "pages that are pinned, and cannot be moved";
    Fmfi "fragmentation.fmfi" Index Instant "unusable free space index at the huge-page order";
    FreeHugeBlocks "fragmentation.free_huge_blocks" Count Instant "free blocks of at least a huge \
        page";

    // Since boot, where there is one reading only: /proc/vmstat, /proc/net/snmp, /proc/net/netstat.
    FaultCount "paging.faults" Count SinceBoot "page faults since boot";
    MajorFaultCount "paging.major_faults" Count SinceBoot "page faults since boot that read a disk";
    FreedCount "paging.freed" Count SinceBoot "base pages freed since boot";
    ThpCollapseCount "thp.collapses" Count SinceBoot
        "huge pages made since boot by khugepaged and advice";
    AllocStallCount "reclaim.stalls" Count SinceBoot
        "allocations since boot that had to reclaim first";
    ScanKswapdCount "reclaim.kswapd_scan" Count SinceBoot "base pages scanned by kswapd since boot";
    ScanDirectCount "reclaim.direct_scan" Count SinceBoot
        "base pages scanned by allocating tasks since boot";
    SwapInCount "swap.in_bytes" Bytes SinceBoot "swapped in since boot";
    SwapOutCount "swap.out_bytes" Bytes SinceBoot "swapped out since boot";
    OomKillCount "reclaim.oom_kills" Count SinceBoot "processes killed for memory since boot";
    ThpFaultAllocCount "thp.fault_alloc" Count SinceBoot
        "huge pages given by page faults since boot";
    ThpFaultFallbackCount "thp.fault_fallback" Count SinceBoot
        "faults since boot that found no huge page";
    CompactStallCount "compaction.stalls" Count SinceBoot
        "allocations since boot that had to compact first";
    CompactFailCount "compaction.fails" Count SinceBoot "compactions since boot that gave nothing";
    CompactSuccessCount "compaction.successes" Count SinceBoot
        "compactions since boot that gave a block";
    PinCount "mem.pins" Count SinceBoot "base pages pinned since boot";
    UnpinCount "mem.unpins" Count SinceBoot "base pages no longer pinned, since boot";
    TcpOutSegmentCount "tcp.out_segments" Count SinceBoot "TCP segments sent since boot";
    TcpRetransmitCount "tcp.retransmits" Count SinceBoot "TCP segments sent again since boot";
    UdpDatagramCount "udp.datagrams" Count SinceBoot "datagrams received since boot";
    UdpErrorCount "udp.receive_errors" Count SinceBoot "datagrams not delivered, since boot";
    UdpBufferErrorCount "udp.buffer_errors" Count SinceBoot "datagrams lost to full buffers";
    TcpListenOverflowCount "tcp.listen_overflows" Count SinceBoot
        "connections refused since boot by a full accept queue";
    SoftnetPacketCount "softnet.packets" Count SinceBoot
        "packets in the receive backlog since boot";
    SoftnetDroppedCount "softnet.dropped" Count SinceBoot
        "packets dropped from a full backlog since boot";
    SoftnetSqueezedCount "softnet.squeezed" Count SinceBoot
        "receive rounds cut short with packets left, since boot";

    // Memory: /proc/meminfo.
    MemTotal "mem.total_bytes" Bytes Instant "memory";
    MemFree "mem.free_bytes" Bytes Instant "free memory";
    LowTotal "mem.low_total_bytes" Bytes Instant "memory that a 32-bit kernel reaches by itself";
    LowFree "mem.low_free_bytes" Bytes Instant "free memory of that";
    MemAvailable "mem.available_bytes" Bytes Instant "available memory";
    MemUsed "mem.used_bytes" Bytes Instant "used memory, as the source counts it";
    Buffers "mem.buffers_bytes" Bytes Instant "buffers";
    Cached "mem.cached_bytes" Bytes Instant "page cache";
    Committed "mem.committed_bytes" Bytes Instant "committed memory";
    CommitLimit "mem.commit_limit_bytes" Bytes Instant "memory that may be committed";
    Active "mem.active_bytes" Bytes Instant "active memory";
    Inactive "mem.inactive_bytes" Bytes Instant "inactive memory";
    Dirty "mem.dirty_bytes" Bytes Instant "dirty page cache";
    DirtyLimit "mem.dirty_limit_bytes" Bytes Instant "dirty page cache at which writers stop";
    Writeback "mem.writeback_bytes" Bytes Instant "page cache being written";
    Anon "mem.anon_bytes" Bytes Instant "anonymous memory";
    AnonActive "mem.anon_active_bytes" Bytes Instant "anonymous and shared memory, active";
    AnonInactive "mem.anon_inactive_bytes" Bytes Instant "anonymous and shared memory, inactive";
    SwapCached "mem.swap_cached_bytes" Bytes Instant "memory that is in swap as well";
    AnonHuge "mem.anon_huge_bytes" Bytes Instant "anonymous memory in huge pages";
    Shmem "mem.shmem_bytes" Bytes Instant "shared memory and tmpfs";
    Slab "mem.slab_bytes" Bytes Instant "kernel objects";
    SlabUnreclaimable "mem.slab_unreclaimable_bytes" Bytes Instant "kernel objects that cannot be \
        reclaimed";
    SlabReclaimable "mem.slab_reclaimable_bytes" Bytes Instant "kernel objects that can be \
        reclaimed";
    SlabCache "mem.slab_cache_bytes" Bytes Instant "kernel objects of one cache";
    KernelStacks "mem.kernel_stacks_bytes" Bytes Instant "kernel stacks";
    PageTables "mem.page_tables_bytes" Bytes Instant "page tables";
    SwapTotal "swap.total_bytes" Bytes Instant "swap space";
    SwapFree "swap.free_bytes" Bytes Instant "free swap space";
    HugetlbTotal "hugetlb.total_bytes" Bytes Instant "HugeTLB pool";
    HugetlbFree "hugetlb.free_bytes" Bytes Instant "HugeTLB pool not handed out";
    HugetlbReserved "hugetlb.reserved_bytes" Bytes Instant "HugeTLB pool promised, not yet handed \
        out";
    HugetlbSurplus "hugetlb.surplus_bytes" Bytes Instant "HugeTLB pages above the pool's size";
    HugetlbAll "hugetlb.all_bytes" Bytes Instant "HugeTLB pages of all sizes";
    HugetlbPage "hugetlb.page_bytes" Bytes Instant "size of a HugeTLB page";

    // By NUMA node.
    NodeSize "node.size_bytes" Bytes Instant "memory of the node";
    NodeFree "node.free_bytes" Bytes Instant "free memory of the node";
    NodeMissCount "node.misses" Count SinceBoot
        "base pages given by the node because another one had none";
    NodeMisses "node.misses_per_s" PerSecond Average
        "base pages given by the node because another one has none";

    // Pressure stall information, the 10 s averages.
    PsiCpuSome "psi.cpu_some_percent" Percent Instant "time in which a task waited for CPU";
    PsiMemorySome "psi.memory_some_percent" Percent Instant "time in which a task waited for \
        memory";
    PsiMemoryFull "psi.memory_full_percent" Percent Instant "time in which all tasks waited for \
        memory";
    PsiIoSome "psi.io_some_percent" Percent Instant "time in which a task waited for I/O";
    PsiIoFull "psi.io_full_percent" Percent Instant "time in which all tasks waited for I/O";

    // Disks: /proc/diskstats.
    DiskReads "disk.reads_per_s" PerSecond Average "reads";
    DiskWrites "disk.writes_per_s" PerSecond Average "writes";
    DiskTransfers "disk.transfers_per_s" PerSecond Average "requests";
    DiskReadBytes "disk.read_bytes_per_s" BytesPerSecond Average "read";
    DiskWriteBytes "disk.write_bytes_per_s" BytesPerSecond Average "written";
    DiskRequestBytes "disk.request_bytes" Bytes Average "mean size of a request";
    DiskReadRequestBytes "disk.read_request_bytes" Bytes Average "mean size of a read";
    DiskWriteRequestBytes "disk.write_request_bytes" Bytes Average "mean size of a write";
    DiskReadMerges "disk.read_merges_per_s" PerSecond Average "reads merged with a neighbour";
    DiskWriteMerges "disk.write_merges_per_s" PerSecond Average "writes merged with a neighbour";
    DiskQueue "disk.queue" Count Average "requests in the queue";
    DiskAwait "disk.await_ms" Milliseconds Average "time of a request, waiting included";
    DiskReadAwait "disk.read_await_ms" Milliseconds Average "time of a read, waiting included";
    DiskWriteAwait "disk.write_await_ms" Milliseconds Average "time of a write, waiting included";
    DiskFlushes "disk.flushes_per_s" PerSecond Average "flushes of a disk's write cache";
    DiskFlushAwait "disk.flush_await_ms" Milliseconds Average "time of a flush, waiting included";
    DiskComplaints "disk.complaints" Count Event "errors in the kernel's log";
    Reclaimable "disk.reclaimable_bytes" Bytes Instant "space that nothing uses any more";
    NoSpace "disk.no_space" Count Event "times that no space was left on a device";
    SmartReplaced "smart.replaced" Count SinceBoot "blocks that the disk replaced, over its life";
    SmartFailed "smart.failed" Count Event "tests that a disk did not pass";
    SmartUnreadable "smart.unreadable" Count Event "blocks that a disk cannot read";
    SmartMediaErrors "smart.media_errors" Count SinceBoot "errors of the medium, over its life";
    PathLost "disk.path_lost" Count Instant "the path to storage is lost (1) or not (0)";
    ArrayLacks "array.lacks" Count Instant "disks that the array lacks";
    ArrayRebuilt "array.rebuilt_percent" Percent Instant "how far it is rebuilt or checked";
    RemoteReadAwait "remote.read_await_ms" Milliseconds Average
        "time of a read from the file server, waiting included";
    RemoteRoundTrip "remote.round_trip_ms" Milliseconds Average
        "time of a request to the file server on the way and in the server";
    RemoteWriteAwait "remote.write_await_ms" Milliseconds Average
        "time of a write to the file server, waiting included";
    DiskBusy "disk.busy_percent" Percent Average "time in which the disk had work";
    DiskReadCount "disk.reads" Count SinceBoot "reads since boot";
    DiskWriteCount "disk.writes" Count SinceBoot "writes since boot";
    DiskReadTotal "disk.read_bytes" Bytes SinceBoot "read since boot";
    DiskWriteTotal "disk.write_bytes" Bytes SinceBoot "written since boot";
    DiskReadTime "disk.read_time_ms" Milliseconds SinceBoot "time of all reads since boot";
    DiskWriteTime "disk.write_time_ms" Milliseconds SinceBoot "time of all writes since boot";
    DiskQueueTime "disk.queue_ms" Milliseconds SinceBoot
        "time of all requests in the queue since boot";
    DiskBusyTime "disk.busy_ms" Milliseconds SinceBoot "time since boot in which the disk had work";

    // Network: /proc/net/dev, softnet_stat, snmp, netstat.
    NetRxPackets "net.rx_packets_per_s" PerSecond Average "packets received";
    NetTxPackets "net.tx_packets_per_s" PerSecond Average "packets sent";
    NetRxBytes "net.rx_bytes_per_s" BytesPerSecond Average "received";
    NetTxBytes "net.tx_bytes_per_s" BytesPerSecond Average "sent";
    NetBusy "net.busy_percent" Percent Average "use of the link";
    NetSpeed "net.speed_bytes_per_s" BytesPerSecond Instant "speed of the link";
    NetErrors "net.errors_per_s" PerSecond Average "damaged packets";
    NetRxDrops "net.rx_drops_per_s" PerSecond Average "received packets dropped";
    NetRxFifo "net.rx_fifo_per_s" PerSecond Average "received packets lost to a full ring";
    NetErrorCount "net.errors" Count SinceBoot "damaged packets since boot";
    NetMissedCount "net.rx_missed" Count SinceBoot
        "received packets lost to a full ring since boot";
    NetRxPacketCount "net.rx_packets" Count SinceBoot "packets received since boot";
    NetTxPacketCount "net.tx_packets" Count SinceBoot "packets sent since boot";
    NetRxTotal "net.rx_bytes" Bytes SinceBoot "received since boot";
    NetTxTotal "net.tx_bytes" Bytes SinceBoot "sent since boot";
    NetRxDropCount "net.rx_drops" Count SinceBoot "received packets dropped since boot";
    NetTxDropCount "net.tx_drops" Count SinceBoot "packets dropped before sending since boot";
    NetTxDrops "net.tx_drops_per_s" PerSecond Average "packets dropped before sending";
    SoftnetPackets "softnet.packets_per_s" PerSecond Average "packets in the receive backlog";
    SoftnetDropped "softnet.dropped_per_s" PerSecond Average "packets dropped from a full backlog";
    SoftnetSqueezed "softnet.squeezed_per_s" PerSecond Average "receive rounds cut short with \
        work left";
    TcpOutSegments "tcp.out_segments_per_s" PerSecond Average "TCP segments sent";
    TcpInSegments "tcp.in_segments_per_s" PerSecond Average "TCP segments received";
    TcpRetransmits "tcp.retransmits_per_s" PerSecond Average "TCP segments sent again";
    TcpListenOverflows "tcp.listen_overflows_per_s" PerSecond Average "connections refused by a \
        full accept queue";
    TcpPassiveOpens "tcp.passive_opens_per_s" PerSecond Average "connections accepted";
    TcpActiveOpens "tcp.active_opens_per_s" PerSecond Average "connections opened";
    SynFloods "tcp.syn_floods" Count SinceBoot
        "times that more wanted to connect than a port takes";
    ConntrackDrops "conntrack.drops" Count Event "packets dropped by a full connection table";
    ConntrackDropCount "conntrack.dropped" Count SinceBoot
        "packets dropped since boot for want of an entry in the connection table";
    ConntrackFailCount "conntrack.failed" Count SinceBoot
        "connections since boot that found no place in the connection table";
    ConntrackEvictCount "conntrack.evicted" Count SinceBoot
        "connections since boot that were removed from the full connection table";
    TcpMemoryPages "tcp.memory_pages" Count Instant "pages in buffers of TCP's sockets";
    UdpMemoryPages "udp.memory_pages" Count Instant "pages in buffers of UDP's sockets";
    UdpDatagrams "udp.datagrams_per_s" PerSecond Average "datagrams received";
    UdpErrors "udp.receive_errors_per_s" PerSecond Average "datagrams that were not delivered";
    UdpBufferErrors "udp.buffer_errors_per_s" PerSecond Average "datagrams lost to full buffers";
    TcpTimeWait "tcp.time_wait" Count Instant "closed connections in TIME-WAIT";
    TcpOrphans "tcp.orphans" Count Instant "connections that no program has open any more";
    TcpInState "tcp.in_state" Count Instant "connections in this state";
    PeerTimeWait "tcp.time_wait_to_peer" Count Instant "closed connections to a peer in TIME-WAIT";
    PortErrors "tcp.port_errors" Count Event "connections that got no address of their own";
    FsUsed "fs.used_percent" Percent Instant "space in use";
    FsInodes "fs.inodes_percent" Percent Instant "inodes in use";
    FlowSent "flow.sent_bytes_per_s" BytesPerSecond Average "sent to a peer";
    FlowReceived "flow.received_bytes_per_s" BytesPerSecond Average "received from a peer";

    // One process or thread.
    ThreadCpu "thread.cpu_percent" Percent Average "CPU of the thread";
    ProcCpu "process.cpu_percent" Percent Average "CPU of the process, of one CPU";
    ProcUser "process.user_percent" Percent Average "its CPU outside the kernel";
    ProcSystem "process.system_percent" Percent Average "its CPU in the kernel";
    RealTimeCpu "thread.real_time_percent" Percent SinceBoot
        "CPU of a thread of a real-time class since its start";
    ProcRss "process.rss_bytes" Bytes Instant "its resident memory";
    ProcRead "process.read_bytes_per_s" BytesPerSecond Average "its reads";
    ProcWrite "process.write_bytes_per_s" BytesPerSecond Average "its writes";
    ProcIo "process.io_percent" Percent Average "time in which it waited for I/O";
    ProcShare "process.share_percent" Percent Average "its CPU, of all CPUs";
    ProcCpuTime "process.cpu_time_ms" Milliseconds SinceBoot "its CPU time since its start";
    ProcStarts "process.starts" Count Event "times that this program was started";
    ProcRequest "process.io_ms" Milliseconds Event "one of its reads or writes";
    ProcMinorFaults "process.minor_faults_per_s" PerSecond Average "its page faults without a disk";
    ProcMajorFaults "process.major_faults_per_s" PerSecond Average "its page faults that read a \
        disk";
    ProcThreads "process.threads" Count Instant "its threads";
    ProcPinned "process.pinned_bytes" Bytes Instant "its memory that is pinned (VmPin)";
    ProcPageTables "process.page_tables_bytes" Bytes Instant "its page tables (VmPTE)";
    ProcShmem "process.shmem_bytes" Bytes Instant "its resident shared memory (RssShmem)";
    ProcAnon "process.anon_bytes" Bytes Instant "its resident anonymous memory (RssAnon)";
    ProcPrivate "process.private_bytes" Bytes Instant "its own writable memory (VmData, VmStk)";
    ProcDeleted "process.deleted_bytes" Bytes Instant "deleted files that it keeps open";
    ResidentAll "process.resident_sum_bytes" Bytes Instant "resident memory of all processes";
    ProcThpOff "process.thp_off" Count Instant "it takes no huge pages (1) or may (0)";
    ProcRemoteWait "process.waits_for_server" Count Instant "it waits for a file server";
    ProcKilled "process.killed" Count Event "it was killed for memory";
    ProcBlocked "process.blocked" Count Instant "it is in uninterruptible wait (1) or not (0)";

    TaskWaits "tasks.wait_in" Count Instant "tasks that wait in this function of the kernel";
    ServerSilent "server.silent" Count Event "a file server does not answer (1), or again (0)";
    OpenFiles "process.open_files" Count Instant "its open files";
    OpenFilesMax "process.open_files_limit" Count Instant "most files that it may have open";
    OpenFileErrors "process.open_file_errors" Count Event "files that it could not open: too many";
    WatchErrors "inotify.errors" Count Event "watches of files that a user did not get: a limit";
    BufferErrors "net.buffer_errors" Count Event "requests that found no room in network buffers";
    TaskErrors "tasks.start_errors" Count Event "tasks that could not be started: a limit";
    MemoryErrors "memory.errors" Count Event "requests for memory that the kernel refused";
    MapErrors "maps.errors" Count Event "mappings that a program did not get: a limit";
    Maps "process.maps" Count Instant "its mappings";

    // The kernel's log; what about is the subject. Dates in seconds since 1970.
    LogLength "log.length" Count Event "lines of the kernel's log that are shown";
    LogLines "log.lines" Count Event "lines in the kernel's log";
    LogReports "log.reports" Count Event "reports of the kernel about its own failures";
    LogAmount "log.amount" Count Event "highest number in such lines";
    LogUptime "log.since_boot_ms" Milliseconds Instant "time of the last such line since the start";
    LogClock "log.clock" Count Instant "date and time of the last such line";
    // Memory as it was when the kernel reported it there (Mem-Info).
    LogZoneFree "log.zone_free_bytes" Bytes Event "free memory of the zone";
    LogZoneFreeCma "log.zone_free_cma_bytes" Bytes Event "free memory of the zone that is CMA";
    LogZoneMin "log.zone_min_bytes" Bytes Event "min watermark of the zone";
    LogAnon "log.anon_bytes" Bytes Event "anonymous memory";
    LogFileCache "log.file_cache_bytes" Bytes Event "page cache without shared memory";
    LogShmem "log.shmem_bytes" Bytes Event "shared memory and tmpfs";
    LogSlabFixed "log.slab_unreclaimable_bytes" Bytes Event
        "kernel objects that cannot be reclaimed";
    LogPageTables "log.page_tables_bytes" Bytes Event "page tables";
    LogMemory "log.memory_bytes" Bytes Event "memory";
    LogCma "log.cma_bytes" Bytes Event "memory reserved for CMA";
    LogPoisoned "log.hwpoisoned_bytes" Bytes Event "memory put aside after hardware errors";
    LogSwapFree "log.swap_free_bytes" Bytes Event "free swap space";
    LogSwapTotal "log.swap_total_bytes" Bytes Event "swap space";
    LogHugetlb "log.hugetlb_bytes" Bytes Event "HugeTLB pool of the node";
    LogHugetlbFree "log.hugetlb_free_bytes" Bytes Event "HugeTLB pool not handed out";
    LogTaskRss "log.task_rss_bytes" Bytes Event "resident memory of the process";
    Uptime "machine.uptime_ms" Milliseconds Instant "time since the machine's start";
    WallClock "machine.clock" Count Instant "date and time";
    ProcHung "process.hung" Count Event "it hung in uninterruptible wait for minutes";
    ProcHuge "process.huge_bytes" Bytes Instant "its anonymous memory in huge pages";

    // Samples of a profiler.
    SymbolPercent "profile.symbol_percent" Percent Average "samples in this function";
    WithinPercent "profile.within_percent" Percent Average "samples in this function or in what \
        it called";
    ProfileKernel "profile.kernel_percent" Percent Average "samples in the kernel";
    ProfileKernelMost "profile.kernel_most_percent" Percent Average "samples that may be the \
        kernel's";
    EntryPercent "profile.entry_percent" Percent Average "samples after this way into the kernel";
    PathPercent "profile.path_percent" Percent Average "samples in this chain of calls";
    ProfileIdle "profile.idle_percent" Percent Average "samples of idle CPUs, which are left out";
    ProfileUnknown "profile.unknown_percent" Percent Average
        "samples of which the function is not known";
    ProfileSamples "profile.samples" Count Event "samples of what ran";
    // What folded stacks of the same profile add up to.
    ProfileWeight "profile.weight" Count Event "events that all samples stand for";
    ProfileBroken "profile.broken_percent" Percent Average "samples without a whole chain of calls";
    ProfileLost "profile.lost_percent" Percent Average "samples that were lost";
    EventPercent "profile.event_percent" Percent Average
        "samples of another event than CPU time in this function";
    SyscallCalls "syscall.calls" Count Event "system calls traced";
    SyscallTime "syscall.time_ms" Milliseconds Event "time of one such call, the mean";
    SyscallShare "syscall.time_percent" Percent Event "share of the time in traced calls";
    SyscallRate "syscall.per_s" PerSecond Average "system calls traced";
    SyscallLongest "syscall.longest_ms" Milliseconds Event "time of the longest such call";
    PerfEvents "perf.events" Count Event "events counted by perf";
    PerfRate "perf.events_per_s" PerSecond Average "events counted by perf";
    PerfCpus "perf.cpus" Count Average "CPUs in use by what perf counted";
    PerfIpc "perf.instructions_per_cycle" Count Average "instructions in a clock cycle";
    PerfUser "perf.user_ms" Milliseconds Event "its CPU outside the kernel";
    PerfSystem "perf.system_ms" Milliseconds Event "its CPU in the kernel";
    LatencyEvents "latency.events" Count Event "events in this histogram";
    LatencyMedian "latency.median_ms" Milliseconds Event "half of them took no longer";
    Latency99 "latency.p99_ms" Milliseconds Event "99 of 100 took no longer";
    LatencyMost "latency.most_ms" Milliseconds Event "none took longer";
}

impl Serialize for Field {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.about().key)
    }
}
