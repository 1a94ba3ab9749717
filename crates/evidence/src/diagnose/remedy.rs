//! What to do: ladders of remedies, the smallest reach first, each with its command and its check.
//!
//! Commands change nothing by being read here; `PLACEHOLDERS` in capitals are the user's to fill.

#[macro_use]
mod step;
mod machine;
mod parts;
mod servers;
mod threads;
mod told;

pub(super) use machine::*;
pub(super) use parts::*;
pub(super) use servers::*;
pub use step::{Reach, Remedy, When};
pub(super) use threads::*;
pub(super) use told::*;

/// What is known of the machine that decides which remedies are shown; `None`: they all are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// Its version of Linux.
    pub(super) linux: Option<(u32, u32)>,
    /// Whether its disk mostly reads.
    pub(super) reads: Option<bool>,
    /// Whether its disk answers slowly however few requests there are.
    pub(super) slow_disk: bool,
    /// Whether there is a profile of its kernel.
    pub(super) profiled: bool,
    /// Whether its interrupts are mostly the hardware's.
    pub(super) hardware: bool,
}

impl Facts {
    fn fit(self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Linux(major, minor) => self.linux.is_none_or(|linux| linux >= (major, minor)),
            When::Reads => self.reads != Some(false),
            When::Writes => self.reads != Some(true),
            When::SlowDisk => self.slow_disk,
            When::SoundDisk => !self.slow_disk,
            When::Unprofiled => !self.profiled,
            When::Hardware => self.hardware,
            When::Software => !self.hardware,
        }
    }
}

/// The steps of a ladder that the machine can go.
pub(super) fn fitting(ladder: &[Remedy], facts: Facts) -> Vec<Remedy> {
    ladder.iter().filter(|remedy| facts.fit(remedy.when)).copied().collect()
}

/// Version of a kernel by its release, `5.14.0-362.el9`.
pub(super) fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

ladders! {
    LOOK_CLOSER {
        [Unprofiled] Look "profile the kernel while it happens",
            "perf record -a -g -- sleep 10; perf report --stdio > perf.txt; hugewise diagnose \
                perf.txt",
            "the report names the functions";
        Look "record what these sources lack",
            "hugewise record --for 60s -o FILE; hugewise diagnose FILE",
            "this finding is replaced by a closer one";
    }
    RECLAIM {
        Look "see what holds the memory",
            "grep -E 'PageTables|Slab|SUnreclaim|AnonPages|Shmem|HugePages' /proc/meminfo",
            "one of them is far above its usual";
        Program "give the largest program less: buffer pool, heap or worker count in its own \
            configuration",
            "ps -eo pid,rss,comm --sort=-rss | head",
            "sar -B 1 10: pgscank/s and pgscand/s near 0";
        Service "set a limit for the service that may shrink, so that it reclaims from itself",
            "systemctl set-property --runtime SERVICE MemoryHigh=SIZE  # above what it uses now",
            "memory.events of its cgroup counts 'high', sar -B shows no scans";
        Machine "wake kswapd earlier, so that programs do not reclaim themselves",
            "sysctl vm.watermark_scale_factor=100",
            "sar -B 1 10: pgscand/s 0 while pgscank/s works";
        Hardware "add memory", "free -h", "free memory stays above 1 %";
    }
    PAGE_TABLES {
        Look "see who pays: page tables by process, and the segments they attach",
            "grep -H VmPTE /proc/[0-9]*/status | sort -k2 -n | tail; ipcs -m",
            "processes of one program hold nearly all";
        Program "use fewer processes: a connection pool in front of the database",
            "ps -C PROGRAM --no-headers | wc -l",
            "PageTables in /proc/meminfo falls with the processes";
        Service "map the shared segment with HugeTLB pages: a pool of its size plus some \
            headroom, memlock for the user, then the database's own switch (Oracle: \
            use_large_pages, no AMM; PostgreSQL: huge_pages=on). Reserve while the database is \
            stopped, or at boot: beside the running one the memory would be needed twice",
            "hugewise hugetlb plan; hugewise hugetlb apply --sga SEGMENT_SIZE --headroom SIZE \
                --user USER --shm-group GID --persist",
            "hugewise hugetlb verify, after its restart: pages in use, page tables many times \
                smaller";
    }
    SLAB {
        Look "see which objects", "slabtop -o -s c | head -20", "one cache has most";
        Program "find who opens, watches or mounts so much: files, inotify watches, network \
            namespaces, cgroups",
            "sysctl fs.file-nr fs.inode-nr; find /sys/fs/cgroup -type d | wc -l",
            "SUnreclaim in /proc/meminfo falls when it stops";
    }
    HUGETLB_UNUSED {
        Look "see who should use the pool",
            "grep HugePages /proc/meminfo; grep -H HugetlbPages /proc/[0-9]*/status | grep -v ' 0 \
                kB'",
            "(Total - Free) + Rsvd is what is in use or promised";
        Service "let the program use it: its own switch for large pages, memlock for its user",
            "ulimit -l; grep -i huge ITS_CONFIGURATION",
            "HugePages_Free - HugePages_Rsvd near 0 after its restart";
        Machine "make the pool as large as what is used",
            "hugewise hugetlb apply --shrink",
            "HugePages_Free - HugePages_Rsvd near 0, MemAvailable higher";
    }
    SWAPPING {
        Look "see whose memory is swapped", "grep -H VmSwap /proc/[0-9]*/status | sort -k2 -n | \
            tail", "one program has most";
        Program "give that program less memory, or run fewer of them", "ps -eo pid,rss,comm \
            --sort=-rss | head", "sar -W 1 10: 0";
        Service "protect the service that matters", "systemctl set-property --runtime SERVICE \
            MemoryLow=SIZE", "its VmSwap stays";
        Machine "prefer dropping page cache to swapping", "sysctl vm.swappiness=10", "sar -W 1 \
            10: falls";
        Hardware "add memory", "free -h", "swap stays unused";
    }
    COMPACTION {
        Look "see who stalls", "grep -E 'compact_|thp_fault' /proc/vmstat", "compact_stall grows \
            by the second";
        Program "switch huge pages off for the program that stalls: jemalloc thp:never, Go \
            GODEBUG=disablethp=1, Redis disable-thp yes, Java -XX:-UseTransparentHugePages",
            "MALLOC_CONF=thp:never PROGRAM",
            "compact_stall no longer grows";
        Service "switch them off for its unit", "systemctl edit SERVICE  # [Service] \
            MemoryTHP=disable (systemd 260 or later)", "grep THP_enabled /proc/PID/status: 0";
        [Linux(6, 1)] Machine "let page faults take only what is ready, and let hugewise promote \
            in the background",
            "hugewise thp set defrag=defer+madvise; hugewise manage",
            "compact_stall no longer grows while AnonHugePages stays";
        Machine "let no page fault wait for a huge page; programs that run keep theirs",
            "hugewise thp set defrag=never  # 'hugewise thp revert' undoes it",
            "compact_stall no longer grows";
        Machine "or switch huge pages off: no compaction for them at all",
            "hugewise thp set enabled=never  # 'hugewise thp revert' undoes it",
            "thp_fault_alloc and compact_stall no longer grow";
    }
    KHUGEPAGED {
        Look "see what it does", "grep -r . /sys/kernel/mm/transparent_hugepage/khugepaged",
            "pages_to_scan over scan_sleep_millisecs is its pace";
        Service "switch huge pages off for the service whose memory it works on",
            "systemctl edit SERVICE  # [Service] MemoryTHP=disable (systemd 260 or later)",
            "its CPU time no longer grows: pidstat -p $(pgrep khugepaged) 1";
        [Linux(6, 1)] Machine "let hugewise promote instead: only well-used regions, within a \
            budget of CPU and stall",
            "hugewise manage",
            "khugepaged is idle, hugewise status names what was promoted";
        Machine "or switch huge pages off: khugepaged ends",
            "hugewise thp set enabled=never  # 'hugewise thp revert' undoes it",
            "pgrep khugepaged: nothing";
    }
    HUGE_FAULTS {
        Look "count them", "grep thp_fault_alloc /proc/vmstat; sleep 10; grep thp_fault_alloc \
            /proc/vmstat", "the difference times 0.2 ms is the kernel time";
        Program "make the program keep its memory: allocator decay times, heap pre-touched, \
            worker processes reused",
            "MALLOC_CONF=dirty_decay_ms:60000 PROGRAM",
            "thp_fault_alloc grows more slowly";
        Program "or switch huge pages off for it", "MALLOC_CONF=thp:never PROGRAM",
            "thp_fault_alloc no longer grows";
        Service "or for its unit", "systemctl edit SERVICE  # [Service] MemoryTHP=disable \
            (systemd 260 or later)", "grep THP_enabled /proc/PID/status: 0";
        [Linux(6, 1)] Machine "hand out base pages in faults and promote what turns out to be used",
            "hugewise manage",
            "thp_fault_alloc no longer grows, hugewise status shows huge pages all the same";
        Machine "or switch huge pages off",
            "hugewise thp set enabled=never  # 'hugewise thp revert' undoes it",
            "thp_fault_alloc no longer grows, system time falls: sar -u 1 10";
    }
    FAULTS {
        Look "see whose faults", "pidstat -r 1 10", "one program has most of minflt/s";
        Program "touch memory once: pre-touch heaps, keep worker processes, map files once",
            "java -XX:+AlwaysPreTouch ...", "sar -B 1 10: fault/s falls";
        [Linux(6, 1)] Machine "larger pages mean fewer faults: let hugewise promote where it is \
            well used",
            "hugewise manage --pid PID", "pidstat -r 1 10: minflt/s falls";
    }
    CHURN {
        Look "see who", "pidstat -r 1 10; perf trace -s -e mmap,munmap,brk,madvise -p PID -- \
            sleep 10",
            "one program has most of the faults";
        Program "let the allocator keep freed memory: glibc M_TRIM_THRESHOLD and \
            M_MMAP_THRESHOLD, jemalloc decay times, a pool",
            "GLIBC_TUNABLES=glibc.malloc.trim_threshold=1073741824 PROGRAM",
            "sar -B 1 10: fault/s and pgfree/s fall together";
    }
    FORKS {
        Look "see who starts them", "pidstat -w 1 5; perf trace -s -e \
            clone,clone3,fork,vfork,execve -p PID -- sleep 10", "one parent";
        Program "keep workers: php-fpm pm=static, a shell loop's inner programs as built-ins, CGI \
            as a service", "ps -eo ppid,comm | sort | uniq -c | sort -n | tail", "sar -w 1 10: \
            proc/s falls";
    }
    SWITCHES {
        Look "see who switches", "pidstat -w 1 10", "one program has most of cswch/s";
        Program "fewer threads, larger batches: pipelining, bulk reads, a pool no larger than the \
            CPUs", "pidstat -wt -p PID 1 5", "sar -w 1 10: cswch/s falls";
    }
    NETWORK_STACK {
        Look "see whose traffic", "ss -tnpi | head; sar -n DEV 1 10", "one interface, one program";
        Program "larger writes, fewer packets; a UNIX socket instead of loopback TCP", "perf \
            trace -s -e network -p PID -- sleep 10", "sar -n DEV 1 10: pck/s falls";
        Machine "let the card merge packets", "ethtool -K DEV gro on tso on", "sar -n DEV 1 10: \
            pck/s falls at the same kB/s";
    }
    LOCKS {
        Look "see which lock", "perf lock contention -a -b -- sleep 10", "one lock, one caller";
        Program "fewer threads on what the lock protects: address space (mmap lock), one file, \
            one socket", "perf record -g -p PID -- sleep 10", "lock functions leave the profile";
    }
    SYSTEM_CALLS {
        Look "see which calls", "perf trace -s -a -- sleep 10  # strace -c would slow the program \
            many times", "one \
            call, one program";
        Look "see which functions", "perf record -a -g -- sleep 10; perf report --stdio > \
            perf.txt; hugewise diagnose perf.txt", "the report names them";
        Program "call less: larger buffers, cached results, batches", "perf trace -s -p PID -- \
            sleep 10",
            "system time falls: sar -u ALL 1 10";
    }
    DISK_CLOSER {
        Look "see which disk and who", "iostat -xz 1 10; iotop -obP -n 5", "one disk near 100 % \
            with a queue, one program";
    }
    DISK {
        Look "see who writes", "iotop -obP -n 5", "one program";
        Program "move logs, data files or backups of that program to another disk, or to another \
            time", "lsof +D DIRECTORY", "iostat -xz 1 10: await falls";
        [Writes] Service "limit the service that may wait", "systemctl set-property --runtime \
            SERVICE IOWriteBandwidthMax='DEV 20M'", "await of the others falls";
        [Reads] Service "limit the service that may wait", "systemctl set-property --runtime \
            SERVICE IOReadBandwidthMax='DEV 20M'", "await of the others falls";
        [Writes] Machine "write back earlier and less at once", "sysctl \
            vm.dirty_background_bytes=67108864 \
            vm.dirty_bytes=268435456", "w_await falls";
        Hardware "a faster disk, or more of them", "fio --name=test --rw=rw --size=1G \
            --filename=NEW_FILE --direct=1", "the same load at less than 70 % busy";
    }
    DISK_LATENCY {
        Look "see who", "iotop -obP -n 5", "one program";
        [SlowDisk] Look "see what the disk and its controller say of themselves",
            "smartctl -a /dev/DEV  # behind a RAID controller: -d megaraid,N, or storcli /c0 show \
                all",
            "reallocated or pending sectors, media errors, a degraded array, a cache without its \
                battery";
        Look "see whether the way to the storage has errors", "dmesg -T | tail -50; multipath -ll",
            "aborted commands, resets, failed paths: the way there, its controller or the disk";
        [SoundDisk] Program "more than one request at a time: asynchronous or buffered writes, \
            group commit, read-ahead, more workers",
            "perf trace -s -e fsync,fdatasync,pread64,pwrite64 -p PID -- sleep 10",
            "iostat -xz 1 10: the same requests in less %iowait";
        [SlowDisk] Hardware "replace the disk, its cable or its controller, whichever has the \
            errors", "smartctl -a /dev/DEV", "await as that of the other disks";
        [SoundDisk] Hardware "a disk with shorter requests, or a write cache that survives power \
            loss",
            "iostat -xz 1 10", "await falls";
    }
    NETWORK_STORAGE {
        Look "see which mounts, and who waits for them",
            "nfsiostat 1 5; mount -t nfs,nfs4,cifs; ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /D/'",
            "one mount with a long average RTT or exe time; functions that begin with rpc_ or nfs";
        Look "see whether the server or the way there is slow",
            "ping -c 5 SERVER; on the server: iostat -xz 1 10; nfsstat -s",
            "its disks are busy, or packets are lost: nstat -az TcpRetransSegs";
        Program "keep temporary files and what is read again and again on a local disk",
            "df -T DIRECTORY", "iowait falls";
        Service "more threads of the server, where its disks have room",
            "on the server: cat /proc/fs/nfsd/threads; rpc.nfsd 32", "the average RTT falls";
    }
    DISK_RANDOM {
        Look "see who", "iotop -obP -n 5", "one program";
        [Writes] Program "larger or fewer writes: group commits, larger pages, fewer fsync",
            "perf trace -s -e fsync,fdatasync,pwrite64 -p PID -- sleep 10",
            "iostat -xz 1 10: w/s falls";
        [Reads] Program "fewer reads: an index for what is scanned, data that lie together",
            "perf trace -s -e pread64,read -p PID -- sleep 10", "iostat -xz 1 10: r/s falls";
        [Reads] Program "give its cache more memory, so that reads need no disk", "free -h", "r/s \
            falls";
        Hardware "flash instead of rotating disks", "cat /sys/block/DEV/queue/rotational", "await \
            below 1 ms at the same requests a second";
    }
    INTERRUPTS {
        [Software] Look "see which", "cat /proc/softirqs; sleep 10; cat /proc/softirqs",
            "one vector grows most";
        Look "see which device", "cat /proc/interrupts; sleep 10; cat /proc/interrupts", "one \
            line grows most";
    }
    SMALL_PACKETS {
        Look "see whose", "ss -tnpi | head; iftop -t -s 10", "one program, one peer";
        Program "larger messages: batching, pipelining, keep-alive connections, no TCP_NODELAY \
            for streams", "ss -tnpi state established", "sar -n DEV 1 10: pck/s falls";
        Service "move the forwarding service away from the busiest machine", "kubectl drain or an \
            affinity rule", "si falls on the one and the rate rises";
        Machine "let the card merge packets and interrupts", "ethtool -K DEV gro on; ethtool -C \
            DEV adaptive-rx on", "softirq time falls";
    }
    INTERRUPTS_ONE_CPU {
        [Hardware] Look "see which device", "cat /proc/interrupts; sleep 10; cat /proc/interrupts",
            "one line grows most";
        [Software] Look "see the queues (changing them resets many links: at a quiet time)",
            "grep DEV /proc/interrupts; ethtool -l DEV", "one queue, or all on one CPU";
        [Hardware] Machine "move the busiest line to a CPU that has room, or let irqbalance do it",
            "cat /proc/irq/LINE/smp_affinity_list; echo CPU > /proc/irq/LINE/smp_affinity_list",
            "mpstat -P ALL 1 10: %irq is even";
        [Software] Machine "spread them: irqbalance, more queues, or receive packet steering in \
            software",
            "systemctl start irqbalance; ethtool -L DEV combined CPUS; echo HEXMASK > \
                /sys/class/net/DEV/queues/rx-0/rps_cpus",
            "mpstat -P ALL 1 10: %soft is even";
    }
    BACKLOG {
        Look "see where", "cat /proc/net/softnet_stat; ethtool -S DEV | grep -iE \
            'drop|miss|fifo'", "one column grows";
        Machine "larger rounds and rings", "sysctl net.core.netdev_budget=600 \
            net.core.netdev_max_backlog=10000; ethtool -G DEV rx MAX", "sar -n SOFT,EDEV 1 10: no \
            drops";
    }
    STEAL {
        Look "see whether it is a limit (burst credits used up) or neighbours", "sar -u ALL 1 \
            60", "steady: a limit; in waves: neighbours";
        Hardware "a larger or dedicated instance, or another host", "sar -u ALL 1 60", "%steal \
            below 2";
    }
    THROTTLED {
        Look "see how often", "cat /sys/fs/cgroup/CGROUP/cpu.stat", "nr_throttled grows";
        Program "fewer threads than the quota has CPUs: GOMAXPROCS, -XX:ActiveProcessorCount, \
            worker counts", "nproc", "nr_throttled stops growing";
        Service "a larger quota", "systemctl set-property --runtime SERVICE CPUQuota=400%",
            "nr_throttled \
            stops growing";
    }
    CPU_SATURATED {
        Look "see who", "pidstat -u 1 10", "one program has most";
        Program "no more workers than CPUs: a queue in front of them is shorter than the run \
            queue", "nproc", "sar -q 1 10: runq-sz near the CPUs";
        Service "give the service that matters its share", "systemctl set-property --runtime \
            SERVICE \
            CPUWeight=1000", "its latency falls";
        Hardware "more CPUs, or another machine", "nproc", "runq-sz below twice the CPUs";
    }
    BLOCKED {
        Look "see what they wait for", "ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /D/'", "one \
            function: a disk, NFS, a lock";
        Machine "let the kernel say it", "echo w > /proc/sysrq-trigger; dmesg | tail -200",
            "stacks of all blocked tasks";
    }
    GC {
        Look "see why", "java -Xlog:gc*,safepoint:file=gc.log ...; hugewise diagnose gc.log",
            "cause and phases of the longest pause";
        Program "a heap that fits, or a collector without long pauses", "java -XX:+UseZGC ...",
            "no pause above 100 ms";
    }
    GC_KERNEL {
        Look "see what the kernel does meanwhile", "hugewise record --for 60s -o FILE; \
            hugewise diagnose FILE gc.log", "swap, compaction or huge-page faults in the same \
            seconds";
        Program "touch the heap at start, and keep it in memory", "java -XX:+AlwaysPreTouch -Xms \
            = -Xmx ...", "Sys near 0 in [Times: ...]";
        Program "take huge pages by advice only, or none", "java -XX:-UseTransparentHugePages \
            ...", "Sys near 0 in [Times: ...]";
        [Linux(6, 1)] Machine "no synchronous compaction in page faults, promotion in the \
            background", "hugewise thp set \
            defrag=defer+madvise; hugewise manage",
            "compact_stall no longer grows";
    }
    SAFEPOINT {
        Look "see which thread is late", "java -XX:+SafepointTimeout \
            -XX:SafepointTimeoutDelay=500 ...", "its stack is printed";
        Program "counted loops with safepoints, no mapped files on slow disks", "java \
            -XX:+UseCountedLoopSafepoints ...", "Reaching safepoint below 1 ms";
    }
    SLOW_READER {
        Look "see what its threads do", "top -H -p PID; jstack PID  # for Java", "busy threads: \
            CPU; waiting ones: a pool or a lock";
        Program "more readers or less work for each: thread and connection pools, smaller \
            results, a cache", "ss -tnp | awk '$2 > 0'", "Recv-Q 0";
        Service "give it more CPU, or a second instance", "systemctl set-property --runtime \
            SERVICE \
            CPUWeight=1000", "Recv-Q 0";
    }
    SLOW_PEER {
        Look "see which of the two", "ss -tnpi dst PEER", "rwnd_limited: the peer reads slowly; \
            retrans: the network loses; busy: bandwidth";
        Service "look at the peer's Recv-Q", "ssh PEER ss -tnap", "full there: its program; \
            empty: the network between";
    }
    LISTEN {
        Look "see which", "ss -ltn; nstat -az TcpExtListenOverflows", "Recv-Q at Send-Q";
        Program "accept faster, or a longer queue: the program's own backlog", "ss -ltn", "Recv-Q \
            below Send-Q";
        Machine "allow longer queues, then restart the program", "sysctl \
            net.core.somaxconn=4096", "nstat: no more overflows";
    }
    RETRANSMITS {
        Look "see to whom", "ss -tnpi | grep -B1 retrans", "one peer: the path; all: this \
            machine's link";
        Look "see the link", "ethtool -S DEV | grep -iE 'err|drop|crc'", "counters grow";
        Hardware "cable, port, or a congested switch", "ethtool DEV", "sar -n ETCP 1 10: \
            retrans/s near 0";
    }
    CONNTRACK {
        Look "see how full it is, and of what", "sysctl net.netfilter.nf_conntrack_count \
            net.netfilter.nf_conntrack_max; conntrack -L | awk '{print $1, $4}' | sort | uniq -c | \
            sort -n | tail", "count near max; one state or protocol has most";
        Program "open fewer connections: keep-alive, a pool, a local resolver cache", "ss -s",
            "nf_conntrack_count falls";
        Machine "a larger table: 320 bytes each", "sysctl net.netfilter.nf_conntrack_max=1048576",
            "dmesg: no more 'table full'";
        Machine "forget idle connections sooner", "sysctl \
            net.netfilter.nf_conntrack_tcp_timeout_established=7200", "nf_conntrack_count falls";
    }
    LINK {
        Look "see whose traffic", "iftop -t -s 10", "one peer or program";
        Program "move what is not the service's away: backups, logs, monitoring", "iftop -t -s \
            10", "sar -n DEV 1 10: %ifutil below 70";
        Hardware "a faster link, or several", "ethtool DEV", "%ifutil below 70";
    }
    FILESYSTEM_FULL {
        Look "see what fills it, on this file system only", "du -xh --max-depth=2 /MOUNT | sort \
            -h | tail -20", "one folder, or one kind of file";
        Look "see files that were deleted and are still open", "lsof +L1", "a restart of that \
            program gives the space back";
        Program "rotate or move what grows", "logrotate -f /etc/logrotate.conf", "df -h: below \
            90 %";
        Hardware "a larger file system", "df -h", "df -h: below 90 %";
    }
    OOM {
        Look "see who and why", "dmesg -T | grep -iE 'out of memory|oom-kill|killed process'",
            "the victim, and the cgroup if it was its limit";
        Program "give the largest program less", "ps -eo pid,rss,comm --sort=-rss | head",
            "oom_kill in /proc/vmstat stops growing";
        Service "limits for those that may die, protection for those that may not", "systemctl \
            set-property --runtime SERVICE MemoryMax=SIZE", "oom_kill in its memory.events, not in \
            others'";
        Hardware "add memory", "free -h", "oom_kill stops growing";
    }
    FRAGMENTATION {
        Look "see the free blocks", "cat /proc/buddyinfo", "the right columns are 0";
        Machine "compact now, once", "echo 1 > /proc/sys/vm/compact_memory", "the right columns \
            of /proc/buddyinfo rise";
        [Linux(6, 1)] Machine "let hugewise wait for better times: it stops promoting where \
            memory is \
            fragmented", "hugewise manage", "hugewise status names fragmentation as the limit";
    }
    BLOAT {
        Look "see whose", "hugewise status; hugewise status --map PID", "bloat by process";
        [Linux(6, 1)] Machine "give it back, worst first", "hugewise manage --mode guard",
            "hugewise status: \
            bloat falls; cgroup usage falls";
    }
    ONE_CPU {
        Look "see who is there", "pidstat -t -u 1 10; ps -eo pid,psr,pcpu,comm --sort=-pcpu | \
            head", "one thread, or many bound to it";
        Program "more threads, or several instances of the single-threaded program", "taskset -cp \
            PID", "mpstat -P ALL 1 10: even";
    }
    ONE_DISK {
        Look "see who", "iotop -obP -n 5", "one program";
        Program "spread its data: another disk for logs, striping for tables", "df; lsblk",
            "iostat -xz 1 10: even";
    }
    ONE_HOST {
        Look "see which services are there", "pidstat -u 1 10", "one service has most";
        Service "move one of them to a machine with room", "kubectl cordon NODE; kubectl delete \
            pod POD", "CPU in use falls here and rises there, the service's rate rises";
    }
    THP_ALWAYS {
        Look "see who has them", "hugewise status", "huge pages and bloat by process";
        [Linux(6, 1)] Machine "let programs ask, and hugewise promote what is well used",
            "hugewise manage", "hugewise status";
        Machine "let only those programs have them that ask",
            "hugewise thp set enabled=madvise  # 'hugewise thp revert' undoes it",
            "thp_fault_alloc in /proc/vmstat grows more slowly";
    }
    DEFRAG {
        Machine "page faults take what is ready; khugepaged, or hugewise, does the rest",
            "hugewise thp set defrag=defer+madvise", "compact_stall in /proc/vmstat stops growing";
    }
    MAX_PTES_NONE {
        Machine "huge pages only for regions that are used",
            "hugewise thp set khugepaged/max_ptes_none=51  # or: hugewise manage --mode guard",
            "memory of programs no longer grows by itself";
    }
    ZONE_RECLAIM {
        Machine "use the other node's memory first", "sysctl vm.zone_reclaim_mode=0", "sar -B 1 \
            10: pgscand/s falls";
    }
}

#[cfg(test)]
mod tests {
    use super::super::cause::Cause;

    #[test]
    fn every_text_is_one_line() {
        for cause in Cause::ALL {
            for remedy in cause.about().remedies {
                for text in [remedy.what, remedy.command, remedy.verify] {
                    assert!(!text.contains(['\n', '\t']), "{text:?}");
                }
            }
        }
    }
}
