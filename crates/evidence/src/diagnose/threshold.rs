//! The thresholds of the tree: one table, each with its source, all tunable.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is said about a [`Threshold`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// Its name in `--set` and in the configuration; ends in its unit.
    pub key: &'static str,
    /// Its value unless set.
    pub default: f64,
    /// What it decides.
    pub help: &'static str,
    /// Where the value comes from.
    pub source: &'static str,
}

macro_rules! thresholds {
    ($($variant:ident $key:literal $default:literal $help:literal, $source:literal;)*) => {
        /// A number that decides between yes and no.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Threshold {
            $(#[doc = $help] $variant,)*
        }

        impl Threshold {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What is said about it.
            pub const fn entry(self) -> Entry {
                match self {
                    $(Self::$variant => Entry {
                        key: $key,
                        default: $default,
                        help: $help,
                        source: $source,
                    },)*
                }
            }
        }
    };
}

thresholds! {
    KernelHigh "kernel_high_percent" 30.0
        "CPU in the kernel from which on it is asked why",
        "Cloudera's symptom threshold for THP trouble \
            (docs/measurements.md#symptoms-others-warn-of); 003_80b3d735f18cc1a9.txt rests at 2 to \
            4 and suffers at 66 to 77";
    CloseShare "close_percent" 75.0
        "of a limit: a value below the limit but above this share of it rules nothing out",
        "two tools, or two samples of one, differ by as much for the same load";
    KernelKeep "kernel_keep_percent" 10.0
        "CPU in the kernel down to which neighbouring samples belong to the same episode",
        "003_80b3d735f18cc1a9.txt: 25 and 17 beside 69 and 67, against 2 to 4 at rest";
    EpisodeMin "episode_min_s" 2.0
        "length of an episode from which on it counts",
        "004_0e5078dc25511fb5.txt: freezes of 3 to 5 s; a healthy machine has single bad seconds";
    EpisodeFull "episode_full_s" 10.0
        "length of an episode from which on it is as bad as its values say",
        "what one waits for patiently (Nielsen's limit for keeping attention on a task)";
    LateMin "late_min_s" 3.0
        "delay of a sample, while those around it are in time, from which on it is quoted",
        "004_0e5078dc25511fb5.txt: freezes of 3 to 5 s; 003_80b3d735f18cc1a9.txt: two minutes";
    KernelCritical "kernel_critical_percent" 60.0
        "CPU in the kernel from which on a cause is critical",
        "003_80b3d735f18cc1a9.txt: the database froze at 66 and more";
    KernelCpuHigh "kernel_cpu_high_percent" 70.0
        "CPU in the kernel, of a single CPU and as a mean, from which on it is asked why",
        "one CPU lost to the kernel for the whole recording, where the machine's mean hides it";
    RampPoints "ramp_points" 10.0
        "rise over the recording, in points of CPU, that counts as a slow ramp",
        "000_3f2c0b5e2a1ae943.txt: system time grows under a constant load; a trigger on jumps of \
            20 points never sees it (docs/measurements.md#symptoms-others-warn-of)";
    RampSteadiness "ramp_steadiness_index" 0.5
        "Kendall's tau against time from which on a rise is steady",
        "by chance, 24 samples reach 0.29 once in 20 recordings (table of Kendall's coefficient); \
            twice that leaves room";
    WatchJump "watch_jump_points" 20.0
        "rise against the minute before, in points of CPU or half a CPU if that is less, at which \
            'diagnose --follow' takes a closer look",
        "docs/measurements.md#symptoms-others-warn-of: the trigger that others use";
    IowaitHigh "iowait_high_percent" 30.0
        "idle time with disk requests pending from which on it is asked why",
        "002_e950a442f470f4d6.txt: 61 to 94; 003_80b3d735f18cc1a9.txt works well at 12 to 22";
    InterruptHigh "interrupt_high_percent" 10.0
        "CPU in interrupts, of the machine, from which on it is asked why",
        "002_e950a442f470f4d6.txt: 16 where a gateway's packets limit it";
    InterruptCpuHigh "interrupt_cpu_high_percent" 50.0
        "CPU in interrupts, of a single CPU, from which on it is asked why",
        "half of a CPU gone for interrupts leaves less than half for what they wake";
    InterruptAlone "interrupt_alone_ratio" 3.0
        "interrupt time of one CPU, against the mean of the others, from which on it has them to \
            itself",
        "spread over all CPUs it is near 1 on each; one that has nearly all is far above";
    IrqStorm "irq_storm_per_s" 100000.0
        "interrupts of one device's line in a second from which on it does not come to rest",
        "cards that moderate their interrupts fire up to 20,000 times a second; at 3 us each a \
            CPU loses a third";
    ReceiveAlone "receive_alone_percent" 90.0
        "share of one CPU in the NET_RX soft interrupts from which on it has them to itself",
        "of two CPUs that share the packets fairly each has 50";
    StealHigh "steal_high_percent" 10.0
        "CPU taken by the hypervisor from which on the machine suffers",
        "convention of cloud providers' guides: 10 over minutes; our own idle and busy recordings \
            show 0 to 6";
    UserHigh "user_high_percent" 70.0
        "CPU in programs from which on they are what uses the CPU",
        "with 30 in the kernel as the other branch nothing else can dominate";
    BusyHigh "busy_high_percent" 90.0
        "CPU, all states but idle and iowait, that counts as exhausted",
        "002_e950a442f470f4d6.txt: workers at 90 and 96 were exhausted, at 71 not";
    IdleLow "balance_idle_busy_percent" 50.0
        "CPU, disk or host busy below this counts as having room, beside an exhausted one",
        "002_e950a442f470f4d6.txt: services moved to workers below 50";
    HostIdle "host_idle_busy_percent" 75.0
        "mean CPU of the other machines below which they have room for an exhausted one's work",
        "002_e950a442f470f4d6.txt: a worker at 71 took over a service";
    QueuePerCpu "queue_per_cpu" 2.0
        "tasks that run or wait, a CPU, from which on programs wait for CPUs",
        "a task that runs and one that waits: waiting as long as working";
    ExplainedShare "explained_share_percent" 20.0
        "share of kernel time that an activity must explain to be a cause",
        "smaller shares would not be felt when removed: a fifth of 30 is 6 points";
    CountedShare "counted_share_percent" 50.0
        "share of kernel time, explained by all countable events, above which what is left is no \
            cause",
        "costs of one event are known to a factor of two or three: half may be all of it";
    FutexShare "futex_share_percent" 50.0
        "share of futex in the system calls traced from which on threads wait for each other",
        "half: threads that find their lock free make no such call";
    PagesPerFault "pages_per_fault" 30.0
        "base pages freed for each page fault from which on many of the faults must have been huge",
        "000_3f2c0b5e2a1ae943.txt: 190; a program that takes and gives back base pages has 1, and \
            one in sixteen faults being huge already makes it 33";
    ThreadFull "thread_full_percent" 90.0
        "CPU of a thread from which on it is taken never to be idle",
        "the rest is what other tasks take from it, and rounding";
    CostFault "fault_cost_us" 2.4
        "kernel time of a base-page fault",
        "p50 2.3 to 2.4 measured; Ingens 3.6 (docs/measurements.md#kernel-time-of-events)";
    CostHugeFault "huge_fault_cost_us" 200.0
        "kernel time of a huge-page fault",
        "p50 188 to 213 measured; Ingens 378 (docs/measurements.md#kernel-time-of-events)";
    CostFork "fork_cost_us" 300.0
        "kernel time of creating and ending a process",
        "measured: stress-ng --fork on 2 CPUs, 730 us of kernel time each, page faults included \
            (docs/measurements.md#kernel-time-of-events)";
    CostProcess "process_cost_us" 730.0
        "kernel time of a new task where its page faults are not counted: its start, its program's \
            first pages, its end",
        "measured: stress-ng --fork on 2 CPUs, page faults included; alone on an idle machine \
            'true' takes 280 and 'sh' 350 us";
    ForkFaults "fork_faults_max" 300.0
        "page faults a new task up to which they are its own start and end",
        "measured: stress-ng --fork 62 each, 'sh' 127, 'awk' 157, a pipe of four programs 160 \
            each; Python's start, 2,000, is work of its own";
    FreedShare "freed_share_percent" 50.0
        "base pages freed, against page faults, from which on memory is taken and given back",
        "what is freed was faulted in before; half as much says that memory does not just grow";
    CostSwitch "switch_cost_us" 1.9
        "kernel time of a context switch",
        "measured: stress-ng --yield 1.9, --switch 3.0, --pipe 5.3 us of kernel time each, calls \
            included";
    CostPacket "packet_cost_us" 3.0
        "kernel time of a packet sent or received",
        "measured: stress-ng --udp over loopback, 3.2 us of kernel and interrupt time each";
    CostDiskRequest "disk_request_cost_us" 20.0
        "kernel time of a disk request",
        "measured: stress-ng --io 40, --hdd 5 to 20 us of kernel time each";
    CostCompact "compact_stall_cost_us" 1000.0
        "kernel time of a direct compaction",
        "p99.9 of synchronous huge-page faults 2.4 to 28 ms measured \
            (docs/measurements.md#kernel-time-of-events); Ingens: 461,383 compactions in one run";
    FreeLow "free_low_percent" 1.0
        "free memory, of all, at or below which reclaim works",
        "003_80b3d735f18cc1a9.txt: 0.42 and 0.38 before the freezes; the kernel's own watermarks \
            are near there";
    FreeSwing "free_swing_percent" 3.0
        "rise of free memory, of all, within one episode that shows reclaim",
        "003_80b3d735f18cc1a9.txt: 5.2 and 22.9; between freezes rises of up to 1.7";
    FreeCorrelation "free_correlation_index" 0.4
        "rank correlation of kernel time and the rise of free memory that is quoted for reclaim",
        "003_80b3d735f18cc1a9.txt: 0.43 over 13 samples, which chance reaches once in 14 \
            recordings: it supports, and decides nothing";
    ReclaimScan "reclaim_scan_per_s" 1000.0
        "base pages scanned in a second from which on reclaim works",
        "4 MiB/s: below it a scan is background noise";
    DirectScanHigh "direct_scan_high_per_s" 10000.0
        "base pages scanned by programs in a second from which on they stall, whatever CPU it \
            takes",
        "ten times reclaim_scan_per_s, as a mean over a minute: 40 MiB/s that programs looked \
            through to get memory";
    SwapHigh "swap_high_bytes_per_s" 1048576.0
        "swap traffic from which on the machine swaps",
        "256 base pages a second: more than the odd idle page";
    PageTablesHigh "page_tables_high_percent" 5.0
        "page tables, of memory, from which on they are waste",
        "003_80b3d735f18cc1a9.txt: 24; a process that maps all of memory once needs 0.2";
    SlabHigh "slab_unreclaimable_high_percent" 15.0
        "kernel objects that cannot be reclaimed, of memory, from which on they are a leak or a \
            load",
        "healthy machines hold 1 to 3";
    SlabCacheHigh "slab_cache_high_percent" 50.0
        "kernel objects that can be reclaimed, of memory, from which on they are worth a note",
        "most of the memory: what programs read from files finds less room";
    MinFreeHigh "min_free_high_percent" 5.0
        "vm.min_free_kbytes, of memory, from which on it withholds memory",
        "sysctl/vm.rst: setting it too high will OOM the machine instantly; the kernel's own \
            choice is 0.1 to 2";
    HugetlbUnused "hugetlb_unused_high_percent" 10.0
        "HugeTLB pool neither used nor promised, of memory, from which on it is waste",
        "available is Free - Rsvd (docs/measurements.md#hugetlb-accounting); a pool is memory that \
            nobody else can use";
    AvailableLow "available_low_percent" 3.0
        "available memory, of all, at or below which the next program has none",
        "the kernel's high watermarks and reserves are 1 to 2";
    AvailableAmple "available_ample_percent" 10.0
        "available memory, of all, from which on reclaim only turns the page cache over",
        "three times what counts as short; a machine that copies files has hardly any free memory \
            and half of it available";
    AvailableLowBytes "available_low_bytes" 4294967296.0
        "available memory from which on the next program has some, whatever the share",
        "3 % of a machine with terabytes is more than programs start with";
    FmfiHigh "fmfi_high_index" 0.9
        "unusable free space index at the huge-page order from which on memory is fragmented",
        "Ingens backs off by FMFI (docs/measurements.md#ingens); 0 is good, 1 is bad";
    BloatHigh "bloat_high_percent" 3.0
        "memory held by partially mapped huge pages, of all memory, that counts as bloat",
        "the promise for memory: within 3 % of THP never (docs/measurements.md#defaults-by-choice)";
    ThpFallback "thp_fallback_high_percent" 50.0
        "huge-page faults that found no huge page, of all, from which on memory is fragmented for \
            them",
        "half of the attempts in vain: each has looked for, or made, a block first";
    CompactHigh "compact_stalls_high_per_s" 10.0
        "direct compactions in a second from which on programs stall",
        "at 1 ms and more each, 10 a second are felt";
    DaemonCpu "kernel_daemon_high_percent" 20.0
        "CPU of one kernel thread (khugepaged, kcompactd, kswapd), of one CPU, that is too much",
        "004_0e5078dc25511fb5.txt: the daemon took the CPU in bursts";
    DiskBusy "disk_busy_high_percent" 90.0
        "time with requests in flight from which on a disk is saturated, if it queues as well",
        "002_e950a442f470f4d6.txt: 100 to 116";
    DiskInUse "disk_in_use_percent" 30.0
        "time with requests in flight from which on programs that wait may wait for this disk",
        "with 30 of iowait, a disk busy for less is not what they wait for";
    DiskQueue "disk_queue_high" 4.0
        "requests in the queue from which on a busy disk makes them wait",
        "002_e950a442f470f4d6.txt: 108 to 129; a flash disk is busy at 100 % with 1";
    DiskAwaitShort "disk_await_short_ms" 2.0
        "time of a request up to which a queue is no waiting: a flash disk serves many at once",
        "flash answers in 0.1 to 1 ms with 32 requests in flight";
    DiskAwait "disk_await_high_ms" 20.0
        "time of a request, waiting included, that programs feel",
        "twice a rotating disk's seek; 002_e950a442f470f4d6.txt: 411 to 601";
    DiskAwaitLong "disk_await_long_ms" 100.0
        "time of a request from which on a saturated disk hurts, whatever the CPUs do",
        "ten times a rotating disk's own time: nine requests in front; a backup that reads ahead \
            stays below";
    DiskSlow "disk_slow_requests_per_s" 60.0
        "requests a second up to which long waits are the storage's, not the load's",
        "half of what a rotating disk serves: one in a turn of 8.3 ms";
    DiskSlowBytes "disk_slow_bytes_per_s" 10485760.0
        "bytes a second up to which long waits are the storage's, not the load's",
        "a tenth of what a rotating disk reads in a row";
    FlushBusy "flush_busy_percent" 50.0
        "time in flushes of a disk's cache from which on they are what programs wait for",
        "half: nothing else takes as long";
    SequentialBlocks "sequential_blocks" 16.0
        "blocks of 4 KiB in a request from which on it is sequential",
        "002_e950a442f470f4d6.txt: 62 is sequential; 1 is random; 64 KiB is what read-ahead \
            begins with";
    RandomBlocks "random_blocks" 8.0
        "blocks of 4 KiB in a request up to which it is random",
        "databases read and write pages of 8 and 16 KiB, some of which the kernel merges";
    SmallPacket "small_packet_bytes" 300.0
        "mean packet up to which packets, not bytes, are the load",
        "a fifth of a full Ethernet frame of 1,500";
    PacketsHigh "packets_high_per_s" 50000.0
        "packets in a second from which on they load the CPU",
        "at 3 us each: 15 % of a CPU";
    DropsHigh "drops_high_per_s" 10.0
        "packets dropped in a second that count",
        "interfaces also count packets that nobody wanted (unknown protocols, multicast, the \
            standby of a bond): some a second; 10 are a loss that TCP feels";
    ListenOverflowsHigh "listen_overflows_high_count" 1000.0
        "overflows of accept queues since boot that count, where no rate is known",
        "judgement: the start of a busy service overflows a queue some hundred times, and that is \
            over";
    TableFull "table_full_percent" 95.0
        "entries of the kernel's table of connections, of its limit, from which on it is full",
        "nf_conntrack drops what finds no place; it looks for closing connections to give up first";
    FlushLong "flush_long_ms" 4.0
        "time of a call that waits for data to be safe from which on it waits for a disk's medium",
        "half a turn of a disk of 7,200 a minute; a cache that survives power loss answers in \
            below 1 ms";
    ShootdownsHigh "shootdowns_high_per_s" 3000.0
        "TLB shootdowns a second, the mean of the CPUs, that take much of the kernel's time",
        "1 to 3 us on the CPU that is interrupted, and as long on the one that waits for it: 1 % \
            of all CPUs";
    LevelSpread "level_spread_percent" 3.0
        "from the lowest to the highest rate of a disk at which it is held at one",
        "a gp2 volume of 300 requests a second without credits gave 300.0 in each sample; disks \
            at their own limit vary by a tenth";
    NamesCalls "names_calls_percent" 40.0
        "traced calls that look up names, of all, from which on their cache matters",
        "judgement: nearly every other call";
    RemoteQueue "remote_queue_factor" 5.0
        "times its round trip that a request takes, from which on it queues on this machine",
        "without a queue both are nearly the same (nfsiostat(8): avg exe includes the queue)";
    RemoteAwait "remote_await_high_ms" 50.0
        "time of a request to a file server from which on programs feel it",
        "judgement: ten times that of a request over a network in order";
    NodeLow "node_free_low_percent" 2.0
        "free memory of a NUMA node, of its size, at or below which it has none",
        "the kernel's high watermarks and reserves are 1 to 2";
    NodeAmple "node_free_ample_percent" 15.0
        "free memory of another node from which on the load is not even",
        "judgement: as much as a large program can still take there";
    ShmemHigh "shared_memory_high_percent" 50.0
        "shared memory, of all, from which on it is what holds the memory",
        "half: no other use can be larger; a database's buffers are mostly a quarter to 40";
    HeapFull "heap_full_percent" 90.0
        "use of Java's heap after a full collection from which on it is full",
        "judgement: -XX:GCHeapFreeLimit ends a program at 98 (GCOverheadLimit), long before it \
            crawls";
    SqueezeHigh "squeezes_high_per_s" 10.0
        "receive rounds cut short in a second that count",
        "now and then it is normal under load";
    LinkBusy "link_busy_high_percent" 80.0
        "use of a link from which on it is full",
        "queues grow steeply from there";
    ReceiveQueueSockets "receive_queue_sockets" 3.0
        "sockets with unread bytes, of one program, that show a slow reader",
        "002_e950a442f470f4d6.txt: 14; one or two can be the moment of the listing";
    ReceiveQueueBytes "receive_queue_bytes" 4096.0
        "unread bytes, over those sockets, that show a slow reader",
        "002_e950a442f470f4d6.txt: 21,278";
    ReceiveQueueOneBytes "receive_queue_one_bytes" 1048576.0
        "unread bytes of one program that show a slow reader, on however few sockets",
        "a single connection can be in the middle of a large answer; eight times the receive \
            buffer that a connection begins with (128 KiB, tcp_rmem in ip-sysctl.rst)";
    SendQueueBytes "send_queue_bytes" 65536.0
        "bytes not acknowledged, over the sockets to one peer, that show a slow peer or network",
        "what a 100 MB/s link holds in flight at 0.6 ms; more waits for the peer";
    RetransmitShare "retransmit_high_percent" 1.0
        "segments sent again, of all, that slow TCP down",
        "throughput falls with the square root of the loss (Mathis' formula)";
    BlockedSame "blocked_same_tasks" 5.0
        "tasks in uninterruptible wait in one function, other than for one request to a disk, that \
            count however many CPUs there are",
        "judgement: what is held for a moment keeps one or two";
    DirtyTasks "dirty_tasks_high" 3.0
        "tasks stopped at the limit of dirty memory that count",
        "judgement: one large copy keeps itself and the thread that writes back";
    DirtyNear "dirty_near_percent" 90.0
        "dirty memory, of the limit, from which on writers stop",
        "balance_dirty_pages slows writers down from midway between the background limit and this \
            one, and stops them at it (mm/page-writeback.c)";
    EntropyLow "entropy_low_bits" 100.0
        "available entropy, before Linux 5.6, below which programs wait for random numbers",
        "/dev/random waits below read_wakeup_threshold, 64 (random(4)); a pool that nobody drains \
            stays above 1,000";
    LogOld "log_old_hours" 24.0
        "age of a line of a log from which on what it says is over",
        "judgement: a day; who asks in the morning means last night";
    HeatEvents "heat_events_high" 100.0
        "times that a CPU became too hot, or lines about it, that count",
        "judgement: a fan that starts late gives some; the kernel writes one line in 5 minutes \
            (CHECK_INTERVAL in therm_throt.c)";
    ClockLow "clock_low_percent" 60.0
        "clock of the CPUs, of what they are rated for, below which heat or a limit slows them",
        "judgement: with all cores in use turbo is off, and the rated clock is what is promised";
    LinkFlaps "link_flaps_high" 3.0
        "times that a card lost its link that are no restart",
        "judgement: a restart of the card or of its switch is one or two";
    CgroupHits "cgroup_hits_high_per_s" 10.0
        "times in a second that a cgroup is at its memory limit from which on its programs wait",
        "as compact_stalls_high_per_s: each is a reclaim of some ms in a program's own time";
    CgroupHitsEver "cgroup_hits_ever_high" 1000000.0
        "times since its start that a cgroup was at its memory limit that are told",
        "judgement: a cache that grows to its limit hits it some thousand times, without harm";
    PortsNear "ports_near_percent" 90.0
        "closed connections to one peer, of all ports, from which on the next finds none",
        "connect looks at half of them first, and then at all (inet_hash_connect)";
    BlockedTasks "blocked_tasks_per_cpu" 1.0
        "tasks in uninterruptible wait, a CPU, that count as waiting",
        "one each is what a busy disk shows in passing";
    PsiHigh "psi_high_percent" 10.0
        "time in which some task waited for a resource from which on it is short",
        "a tenth of the time lost";
    GcPause "gc_pause_high_ms" 1000.0
        "pause for garbage collection that users feel",
        "004_0e5078dc25511fb5.txt: freezes of 3 to 5 s";
    GcShare "gc_share_high_percent" 25.0
        "share of the time in pauses for garbage collection from which on they are too many",
        "three times what G1 aims at (GCTimeRatio=12 is 8 %, gc/g1/g1Policy.cpp of JDK 17)";
    ThrottledHigh "throttled_high_percent" 10.0
        "periods in which a cgroup used up its CPU quota from which on it is too small",
        "each such period is a stall of up to 100 ms";
    WhoShare "who_share_percent" 20.0
        "share of one program that is named for it",
        "below a fifth it is one of many";
    FsFull "filesystem_full_percent" 100.0
        "space or inodes in use from which on a file system is full",
        "df(1) rounds up, and leaves out what is reserved for root: at 100 % other users cannot \
            write";
    WayShare "way_share_percent" 10.0
        "share of the kernel's samples in one chain of calls from which on it is shown",
        "of 50 samples, the fewest that are used, a tenth is known to 4 points (standard error)";
    CommandShare "command_share_high_percent" 50.0
        "share of one command, or statement, of the time of all from which on it is named",
        "half: no other one takes as much";
    CommandLong "command_long_ms" 1.0
        "mean time of a kind of command from which on a single-threaded server suffers",
        "a thousand times a GET or SET (0.4 to 2 us in INFO commandstats of Redis 7.0, measured); \
            a thousand calls a second would fill the thread";
    CommandBusy "command_busy_high_percent" 20.0
        "time of a server's one thread in one kind of slow command from which on others feel it",
        "one request in five finds the thread taken";
    SlowCommand "slow_command_high_ms" 100.0
        "time of a call that clients of a single-threaded server feel",
        "Redis's manual on latency monitoring sets latency-monitor-threshold to 100 ms; its slow \
            log begins at 10";
    SlowCommands "slow_commands_high_count" 3.0
        "calls of that length, of one command within an hour, that are no accident",
        "judgement: somebody looks around once or twice";
    ServerFull "server_thread_full_percent" 90.0
        "CPU of a server's main thread from which on it is full",
        "as thread_full_percent";
    ForkHigh "fork_high_ms" 1000.0
        "time of a fork that users feel, whatever the size of the server",
        "as gc_pause_high_ms";
    ForkFelt "fork_felt_ms" 100.0
        "time of a fork that clients feel",
        "as slow_command_high_ms";
    ForkSlow "fork_slow_ms_per_gib" 40.0
        "time of a fork, for each GiB of data, that is slow",
        "Redis 7.0, latency.c: below 25 GB/s it calls the rate poor; about 10 ms/GiB are usual";
    CowHigh "copy_on_write_high_percent" 50.0
        "memory copied during a save, of the data, from which on a save may exhaust the machine",
        "half of the worst case, which is all of it (Redis's manual on persistence)";
    DataLarge "server_data_large_bytes" 1073741824.0
        "data of a server from which on ratios of its memory mean something",
        "ok-real-redis.txt: an empty server holds 13 times its data; 1 GiB is a hundred times that";
    RssRatio "rss_high_ratio" 1.4
        "resident memory over what a server uses from which on it wastes memory",
        "Redis 7.0, object.c: MEMORY DOCTOR complains from 1.4";
    LimitNear "memory_limit_near_percent" 95.0
        "a server's memory, of its limit, from which on it is full",
        "it evicts as soon as a write would pass the limit";
    CacheHits "cache_hits_low_percent" 80.0
        "reads that find their key, of all, below which evictions hurt",
        "Amazon ElastiCache's manual on metrics: from a hit rate of about 0.8";
    FsyncDelays "fsync_delays_high_per_s" 0.01
        "writes held up by fsync in a second that count",
        "each waits for up to 2 s (flushAppendOnlyFile in aof.c of Redis 7.0): a fiftieth of \
            the time";
    SessionsWaiting "sessions_waiting_high" 4.0
        "sessions in one kind of wait that count",
        "judgement: two or three are the moment of the listing";
    LockShare "sessions_lock_share_percent" 20.0
        "share of the sessions at work that wait for locks from which on locks are the trouble",
        "judgement: a fifth of the work stands still";
    WaitShare "sessions_wait_share_percent" 50.0
        "share of the sessions at work in one kind of wait from which on it is the trouble",
        "half: the CPU is no longer what most of them use";
    IdleInTransaction "idle_in_transaction_high_ms" 300000.0
        "time idle within a transaction from which on it is forgotten",
        "judgement: five minutes; PostgreSQL's manual warns of locks and of what vacuum cannot \
            remove (idle_in_transaction_session_timeout)";
    IdleSessions "idle_in_transaction_high" 5.0
        "sessions idle within a transaction that count where nobody says for how long",
        "judgement: some are on their way to the next statement";
    StatementLong "statement_long_ms" 100.0
        "mean time of a statement from which on it can be made faster",
        "a lookup by an index takes below 1 ms";
    CheckpointShare "checkpoints_requested_high_percent" 50.0
        "checkpoints that were not by the clock, of all, from which on max_wal_size is too small",
        "PostgreSQL's manual, WAL configuration: raise max_wal_size where they are frequent";
    PoolQueue "pool_queue_high" 1.0
        "requests that wait for a worker, while all are at work, that count",
        "php-fpm's manual: the queue is empty where workers are left";
    ThreadsWaiting "threads_waiting_high" 5.0
        "threads of a program in one wait that count",
        "judgement: as sessions_waiting_high, and one more, since threads are more";
    ThreadsShare "threads_share_percent" 25.0
        "threads in one wait, of those with work, that count: in most of several dumps, or in one \
            where they wait for a connection of a pool",
        "judgement: a quarter of the work stands still";
    ThreadsShareOnce "threads_share_once_percent" 50.0
        "threads in one wait, of those with work, that count where there is one dump",
        "judgement: one dump is one moment, in which a fair lock may have a queue";
    WorkersMin "workers_min" 10.0
        "threads of a pool for requests from which on it counts that none is free",
        "Tomcat 11's manual, minSpareThreads: 10 are there without any load";
    DelayPerCpu "run_delay_per_cpu" 1.0
        "tasks that wait for a CPU, as a mean, for each CPU",
        "as queue_per_cpu, which counts the task that runs as well";
    ConnectionsDropped "connections_dropped_high_count" 10.0
        "connections accepted and not handled, since the server's start, that count",
        "nginx's manual, stub_status: both are the same unless a limit was reached";
}

/// The thresholds in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Thresholds {
    /// Those that differ from their default, by key.
    changed: BTreeMap<&'static str, f64>,
}

impl Thresholds {
    /// The value in force.
    pub fn get(&self, threshold: Threshold) -> f64 {
        let entry = threshold.entry();
        self.changed.get(entry.key).copied().unwrap_or(entry.default)
    }

    /// Sets the threshold of that name.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what was wanted.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let Some(threshold) = Threshold::ALL.iter().find(|t| t.entry().key == key) else {
            let near = Threshold::ALL
                .iter()
                .map(|t| t.entry().key)
                .filter(|known| key.split('_').any(|word| word.len() > 3 && known.contains(word)));
            let near: Vec<&str> = near.take(3).collect();
            let hint = if near.is_empty() {
                String::new()
            } else {
                format!(
                    " ({}?)",
                    near.join(
                        ", \
                "
                    )
                )
            };
            return Err(format!(
                "no threshold is called '{key}'{hint}; `hugewise diagnose --rules` lists \
                them"
            ));
        };
        let number = value.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let number =
            number.ok_or_else(|| format!("{key}: found '{value}', wanted a number >= 0"))?;
        self.changed.insert(threshold.entry().key, number);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_values_settable() {
        let mut all = Thresholds::default();
        for threshold in Threshold::ALL {
            let key = threshold.entry().key;
            all.set(key, "7.5").expect("known");
            assert!((all.get(*threshold) - 7.5).abs() < f64::EPSILON, "{key}");
        }
        assert_eq!(all.changed.len(), Threshold::ALL.len());
    }

    #[test]
    fn wrong_ones_are_named() {
        let mut all = Thresholds::default();
        let error = all.set("kernel_percent", "3").expect_err("unknown");
        assert!(error.contains("kernel_high_percent"), "{error}");
        for wrong in ["", "x", "-1", "nan", "inf"] {
            assert!(all.set("kernel_high_percent", wrong).is_err(), "{wrong}");
        }
    }
}
