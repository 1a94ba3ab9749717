//! What sources can lack, each with the command that records it.

use super::answer::Missing;

macro_rules! missing {
    ($($name:ident $what:literal $command:literal;)*) => {
        $(
            #[doc = $what]
            pub(super) const $name: Missing = Missing { what: $what, command: $command };
        )*

        /// All of them.
        pub const RECORDED: &[Missing] = &[$($name,)*];
    };
}

missing! {
    CPU "CPU states" "sar -u ALL -P ALL 1 60";
    CPU_COUNT "number of CPUs" "nproc";
    MEMORY "free memory over time" "sar -r ALL 1 60";
    MEMINFO "what holds the memory" "cat /proc/meminfo";
    PAGING "page faults and reclaim" "sar -B 1 60";
    SWAP "swap traffic" "sar -W 1 60";
    VMSTAT "THP and compaction counters (sar has none)" "hugewise record --for 60s -o FILE";
    TASKS "tasks created and context switches" "sar -w 1 60";
    QUEUE "run queue and blocked tasks" "sar -q ALL 1 60";
    DISKS "disks: queue, wait and size of requests" "iostat -xz 1 60";
    DISK_WHO "who reads and writes" "iotop -obP -n 10";
    FLOWS "which peers send and receive" "iftop -t -s 10";
    NETWORK "packets and bytes by interface" "sar -n DEV,EDEV 1 60";
    MOUNTS "file systems of other machines" "mount";
    LINKS "speed of the links" "ethtool eth0";
    FILESYSTEMS "how full file systems are" "df -h; df -i";
    SOFTIRQS "soft interrupts by CPU" "cat /proc/softirqs; sleep 10; cat /proc/softirqs";
    INTERRUPT_LINES "interrupts a second of each device"
        "cat /proc/interrupts; sleep 10; cat /proc/interrupts";
    SYSCALLS "system calls of the busiest program" "timeout 10 strace -f -c -p PID";
    SOFTNET "drops in the receive backlog" "sar -n SOFT 1 60";
    TCP "TCP retransmissions" "sar -n TCP,ETCP 1 60";
    LISTEN "accept queues" "nstat -az TcpExtListenOverflows; ss -lntp; ss -lxp";
    CONNTRACK "how full the table of connections is"
        "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max";
    SOCKETS "socket queues" "ss -tnap";
    SMART "what a disk says about itself" "smartctl -a /dev/DEV";
    SOCKET_MEMORY "how much memory sockets use, and may use"
        "cat /proc/net/sockstat; sysctl net.ipv4.tcp_mem net.ipv4.udp_mem";
    UDP "datagrams that were lost" "nstat -az UdpInDatagrams UdpInErrors UdpRcvbufErrors";
    KERNEL_LOG "what the kernel's log says" "dmesg -T | tail -200";
    AUDIT_STATUS "how many records of audit wait" "auditctl -s";
    CLOCK "the clock that the kernel reads"
        "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";
    DIRTY "dirty memory and its limit"
        "grep -E 'Dirty|Writeback' /proc/meminfo; sysctl vm.dirty_ratio vm.dirty_bytes";
    ENTROPY "entropy for random numbers" "cat /proc/sys/kernel/random/entropy_avail";
    CGROUP_MEMORY "how often cgroups are at their memory limit" "grep -r . /sys/fs/cgroup \
        --include=memory.events; sleep 10; grep -r . /sys/fs/cgroup --include=memory.events";
    PORTS "ports in use by peer" "ss -Htan state time-wait | awk '{print $4}' | sort | uniq -c | \
        sort -n | tail; sysctl net.ipv4.ip_local_port_range";
    OPEN_FILES "open files and their limit"
        "grep 'open files' /proc/PID/limits; ls /proc/PID/fd | wc -l";
    COMMIT "memory promised to programs, and whether that is limited"
        "grep Commit /proc/meminfo; sysctl vm.overcommit_memory";
    TASK_LIMITS "tasks, and how many there may be"
        "cat /proc/loadavg; sysctl kernel.pid_max kernel.threads-max";
    MAPS "mappings of a program" "wc -l /proc/PID/maps; sysctl vm.max_map_count";
    NODES "memory by NUMA node" "numactl -H";
    CONTROLLER "the write cache of a disk controller"
        "dmesg -T | grep -iE 'battery|bbu|write.?cache|megaraid|smartpqi'";
    NFS "how long requests to file servers take" "nfsiostat 10 2";
    LOW_MEMORY "memory that a 32-bit kernel reaches by itself" "grep -E 'Low|High' /proc/meminfo";
    REAL_TIME "threads of real-time classes"
        "ps -eLo pid,cls,rtprio,stat,pcpu,comm | grep -E 'PID| FF | RR '";
    ARRAYS "arrays of disks" "cat /proc/mdstat";
    CLOCKS "the clock of the CPUs" "grep -E 'model name|MHz' /proc/cpuinfo";
    WAITS "what tasks wait for" "ps -eo pid,stat,wchan:32,comm | grep -E 'STAT| D'";
    PROCESSES "CPU of each process" "pidstat -u -w 1 60";
    SEGMENTS "shared memory segments and who attaches" "ipcs -m; ipcs -mp";
    PROCESS_MEMORY "memory of each process over time" "pidstat -r 1 60";
    PROCESS_TABLES "page tables of each process" "grep -H VmPTE /proc/[0-9]*/status";
    SYMBOLS "where in the kernel the time goes" "perf record -a -g -- sleep 10; perf report \
        --stdio";
    BUDDYINFO "free blocks by size" "cat /proc/buddyinfo";
    HUGE_STATS "partially mapped huge pages (Linux 6.12 and later)" "grep -r . \
        /sys/kernel/mm/transparent_hugepage/hugepages-2048kB/stats";
    THP_SETTINGS "THP settings" "grep -r . /sys/kernel/mm/transparent_hugepage";
    SYSCTL "kernel settings" "sysctl vm net.core net.ipv4";
    CGROUPS "CPU quotas of cgroups" "grep -r . /sys/fs/cgroup --include=cpu.stat; sleep 10; \
        grep -r . /sys/fs/cgroup --include=cpu.stat";
    PRESSURE "pressure stall information" "grep . /proc/pressure/*";
    GC "pauses for garbage collection" "java -Xlog:gc*,safepoint:file=gc.log ...";
    REDIS "what Redis says of itself" "redis-cli INFO all; sleep 10; redis-cli INFO all";
    REDIS_SLOW_LOG "slow calls of Redis" "redis-cli SLOWLOG GET 32";
    REDIS_LATENCY "stalls that Redis measured (latency-monitor-threshold)"
        "redis-cli LATENCY LATEST";
    PG_SESSIONS "what PostgreSQL's sessions wait for" "psql -c 'select pid, state, \
        wait_event_type, wait_event, xact_start, state_change, now() from pg_stat_activity'";
    PG_STATEMENTS "which statements take PostgreSQL's time" "psql -c 'select query, calls, \
        total_exec_time, mean_exec_time from pg_stat_statements order by 3 desc limit 20'";
    PG_CHECKPOINTS "why PostgreSQL writes checkpoints" "psql -x -c 'select * from \
        pg_stat_bgwriter'  # from 17 on: pg_stat_checkpointer";
    THREADS "what the threads of a Java program do"
        "for i in 1 2 3; do jstack -l PID; sleep 5; done > threads.txt";
    THREADS_OWNERS "who owns locks of java.util.concurrent" "jstack -l PID";
    RUN_DELAY "how long tasks wait for a CPU"
        "cat /proc/schedstat; sleep 10; cat /proc/schedstat";
    FPM "php-fpm's pool (pm.status_path)" "curl -s localhost/status";
    NGINX "nginx's connections (stub_status)" "curl -s localhost/nginx_status";
    SERVER_LOG "what the server's own log says" "journalctl -u SERVICE -n 200";
    CLUSTER "what the cluster says of its nodes"
        "kubectl describe nodes; kubectl get events -A --sort-by=.lastTimestamp";
    SESSIONS "what the database's sessions do" "mysql -e 'show engine innodb status'";
    TRACED "how long requests and waits take, as a histogram" "biolatency 10 1; runqlat 10 1";
    HOSTS "other machines of the group" "sar -A 1 60  # on each of them; give all files together";
}

/// Sources that show what any machine is short of, the most telling first.
pub const OF_MACHINE: [Missing; 7] = [CPU, MEMINFO, DISKS, KERNEL_LOG, PAGING, PROCESSES, NETWORK];
