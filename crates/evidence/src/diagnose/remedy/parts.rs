//! Remedies for limits that refuse, parts of the machine that have less than the whole, and a full
//! Java heap.

use super::step::{Reach, Remedy, When};

ladders! {
    COMMIT_LIMIT {
        Look "see how much is promised, and the limit",
            "grep Commit /proc/meminfo; sysctl vm.overcommit_memory vm.overcommit_ratio",
            "Committed_AS at CommitLimit";
        Program "reserve less: smaller heaps, stacks and pools, fewer processes",
            "ps -eo pid,vsz,rss,comm --sort=-vsz | head", "Committed_AS falls";
        Machine "a higher limit: more of the memory, or swap, which counts in full",
            "sysctl vm.overcommit_ratio=90", "CommitLimit is higher";
        Machine "or no hard limit, as the kernel has it by default",
            "sysctl vm.overcommit_memory=0", "programs start while memory is available";
    }
    TASK_LIMIT {
        Look "see who has so many", "ps -eo pid,nlwp,comm --sort=-nlwp | head; cat /proc/loadavg",
            "one program has most";
        Look "see which limit", "grep -H . /proc/PID/limits /sys/fs/cgroup/SLICE/pids.* | grep -E \
            'processes|pids'; sysctl kernel.pid_max kernel.threads-max",
            "the lowest of them is reached";
        Program "fewer threads: a pool with an upper bound; end those that wait for ever",
            "ps -o nlwp= -p PID", "the number stays level under load";
        Service "a higher limit for the service", "systemctl set-property --runtime SERVICE \
            TasksMax=8192  # LimitNPROC= in its unit", "it starts threads again";
        Machine "a higher one for the machine", "sysctl kernel.pid_max=4194304 \
            kernel.threads-max=4194304", "tasks stay well below it";
    }
    MAP_LIMIT {
        Look "see how many it has", "wc -l /proc/PID/maps; sysctl vm.max_map_count",
            "as many as may be";
        Machine "allow more: each costs some 200 bytes of the kernel's memory",
            "sysctl vm.max_map_count=1048576", "the program maps again; wc -l stays below it";
    }
    LOW_MEMORY {
        Look "see what fills it", "grep -E 'Low|High|Slab|PageTables|KernelStack' /proc/meminfo",
            "LowFree near 0 while HighFree is large";
        Program "fewer processes and open files: their tables and stacks lie there",
            "ps -e --no-headers | wc -l", "LowFree rises";
        Hardware "a 64-bit kernel: it reaches all memory", "uname -m", "x86_64";
    }
    REAL_TIME {
        Look "see which thread, and where", "ps -eLo pid,cls,rtprio,stat,pcpu,comm | grep -E \
            'PID| FF | RR '", "FF or RR, and all of a CPU";
        Program "let it sleep between its polls, or give it the usual class",
            "chrt -o -p 0 TID", "the other tasks of that CPU run again";
        Service "give it a CPU that is kept for it, so that nobody waits behind it",
            "systemctl set-property --runtime SERVICE AllowedCPUs=5  # isolcpus=5 nohz_full=5",
            "no kworker of that CPU waits";
        Machine "leave a part of each second to others, as the kernel does by default",
            "sysctl kernel.sched_rt_runtime_us=950000", "no new lockups in dmesg";
    }
    NFS_QUEUE {
        Look "see where requests wait", "nfsiostat 10 2; sysctl sunrpc.tcp_max_slot_table_entries",
            "avg exe far above avg RTT; few slots";
        Service "several connections to the server (Linux 5.3)",
            "mount -o nconnect=8 SERVER:/EXPORT /MOUNT", "avg exe near avg RTT";
        Machine "more requests at once, from the next mount on",
            "sysctl sunrpc.tcp_max_slot_table_entries=65536  # options sunrpc in /etc/modprobe.d",
            "avg exe near avg RTT";
    }
    LINK_ERRORS {
        Look "see which counts grow, and the light that arrives",
            "ethtool -S DEV | grep -iE 'crc|symbol|fcs|frame'; ethtool -m DEV | grep -iE \
            'power|alarm'", "checksums or symbols; too little light";
        Service "take the bad port out of the bond", "ip link set DEV down",
            "no more segments sent again";
        Hardware "clean or replace cable, plug and transceiver, then the port", "ethtool -S DEV",
            "the counts stand still";
    }
    NODE_SHORT {
        Look "see whose memory is on it", "numastat -c -p PROGRAM; numastat -m",
            "one program has most of it on one node";
        Program "spread it over all nodes, or start it where memory is free",
            "numactl --interleave=all PROGRAM", "numactl -H: free memory is even";
        Machine "do not reclaim for the sake of the own node", "sysctl vm.zone_reclaim_mode=0",
            "pgscank/s in sar -B falls";
        Machine "let the kernel move pages to those who use them", "sysctl kernel.numa_balancing=1",
            "numa_pages_migrated in /proc/vmstat grows, then rests";
    }
    SHARED_MEMORY {
        Look "see which: files in tmpfs, or segments", "df -h -t tmpfs; ipcs -m; grep -E \
            'MemTotal|Shmem' /proc/meminfo", "one directory or segment has most";
        Program "delete what lies there, or remove a segment that nobody is attached to",
            "du -xh /dev/shm /run /tmp | sort -h | tail; ipcrm -m ID  # nattch 0",
            "Shmem in /proc/meminfo falls";
        Service "give the tmpfs a size that the machine can spare",
            "mount -o remount,size=2G /dev/shm", "df -h shows the new size";
    }
    ARRAY {
        Look "see which, how far, and which disk", "cat /proc/mdstat; mdadm --detail /dev/md*",
            "finish= says when it ends";
        Machine "slow the work down while programs need the disks; a check can be stopped",
            "sysctl dev.raid.speed_limit_max=20000  # echo idle > /sys/block/MD/md/sync_action",
            "await in iostat -x falls; speed= in /proc/mdstat is lower";
        Hardware "replace the disk that failed", "mdadm /dev/MD --remove /dev/OLD --add /dev/NEW",
            "[UU...] again once it is rebuilt";
    }
    SHOOTDOWNS {
        Look "see who", "perf trace -s -e mmap,munmap,mprotect,madvise -a -- sleep 10",
            "one program has most of the calls";
        Program "let it keep its buffers: a pool, or an allocator that does not unmap at once",
            "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=67108864 PROGRAM",
            "the TLB row of /proc/interrupts grows slowly";
        Program "processes in place of threads, or fewer CPUs for it: an interrupt goes to each \
            CPU that runs one of its threads", "taskset -c 0-7 PROGRAM",
            "fewer shootdowns for the same work";
    }
    PACKET_FILTER {
        Look "count the rules", "iptables-save | wc -l; nft list ruleset | wc -l",
            "thousands, mostly one for each address";
        Program "one rule with a set in place of a rule for each address: a look-up that does not \
            grow", "ipset create banned hash:ip; iptables -I INPUT -m set --match-set banned src \
            -j DROP", "ipt_do_table no longer leads perf top";
        Program "accept what is established first", "iptables -I INPUT 1 -m conntrack --ctstate \
            ESTABLISHED,RELATED -j ACCEPT", "most packets end at the first rule";
    }
    CACHE_DROPPED {
        Look "see who does it, and when", "dmesg -T | grep drop_caches; grep -rl drop_caches \
            /etc/cron* /var/spool/cron /usr/local", "a script, at regular times";
        Program "remove that: free memory that is page cache is available to every program",
            "free -m  # the column 'available'", "no new lines in dmesg, fewer reads in iostat";
    }
    DISK_CAPPED {
        Look "see the limit: the volume's, or a cgroup's", "aws ec2 describe-volumes --volume-ids \
            VOLUME  # or: grep -r . /sys/fs/cgroup --include=io.max", "the rate that is held";
        Program "fewer or larger requests: more of the data in memory, group commit",
            "iostat -xz 1 10", "%util below 100, await short";
        Hardware "a volume with a higher limit, or one whose limit is not spent: gp3 with IOPS of \
            its own in place of gp2, a larger disk, a larger machine",
            "iostat -xz 1 10", "more requests a second, await short";
    }
    WRITE_CACHE_OFF {
        Look "see the battery and the policy", "dmesg -T | grep -iE 'battery|bbu|write.?cache'; \
            MegaCli64 -AdpBbuCmd -GetBbuStatus -aALL  # or: ssacli ctrl all show status",
            "failed, missing, or in its learning cycle, which ends by itself";
        Hardware "replace the battery; a write cache without one loses data at a power cut",
            "MegaCli64 -LDInfo -Lall -aALL | grep 'Current Cache Policy'",
            "WriteBack, and w_await below 1 ms";
    }
    SLOW_CPUS {
        Look "see who sets the pace", "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor \
            /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq; turbostat --quiet \
            --num_iterations 1 --interval 5", "powersave, or a limit below the rated clock";
        Machine "let the CPUs run", "cpupower frequency-set -g performance",
            "grep MHz /proc/cpuinfo: near the rated clock under load";
        Hardware "the firmware's power profile: maximum performance; a power cap of the chassis",
            "ipmitool dcmi power get_limit", "no limit is active";
    }
    SAME_PAGES {
        Look "see what it finds", "grep -H . /sys/kernel/mm/ksm/*",
            "pages_sharing is small beside pages_volatile and pages_unshared: it works in vain";
        Machine "let it look at less, or stop it", "echo 100 > /sys/kernel/mm/ksm/pages_to_scan  \
            # echo 0 > /sys/kernel/mm/ksm/run", "ksmd is idle in top";
    }
    HEAP_FULL {
        Look "see what holds the heap", "jcmd PID GC.class_histogram | head -20",
            "few classes have most of the bytes";
        Program "keep less in it: bound caches, stream large results, mend what is never freed",
            "jcmd PID GC.heap_info", "well below its size after a full collection";
        Program "a larger heap, where the machine or the container has the memory",
            "java -Xmx8g ...  # free -h: below what is available",
            "full collections are rare again";
    }
}
