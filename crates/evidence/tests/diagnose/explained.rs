//! What each mechanism of the machine's model must find, and what it must leave alone: a text
//! each, with the first finding (nothing: no finding above a note).

use super::{Text, notes, of_texts, suffers};
use hugewise_evidence::diagnose::Load;

macro_rules! explained {
    ($($name:literal $first:literal $text:literal;)*) => {
        /// A text, and the first cause that must be found in it.
        const CASES: &[(Text, &str)] = &[$((($name, $text), $first),)*];
    };
}

explained! {
    "kswapd-much-free" "kswapd_spins" "\
top - 11:02:44 up 9 days,  2:10,  1 user,  load average: 1.31, 1.22, 1.15
%Cpu(s):  0.7 us, 11.9 sy,  0.0 ni, 87.3 id,  0.0 wa,  0.0 hi,  0.1 si,  0.0 st
KiB Mem:  32901220 total,  9810044 used, 23091176 free,    88112 buffers
KiB Swap:  4194300 total,        0 used,  4194300 free.  3100412 cached Mem

  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND
   44 root      20   0       0      0      0 R  99.0  0.0 201:44.01 kswapd0
";
    "kswapd-idle-much-free" "" "\
top - 11:02:44 up 9 days,  2:10,  1 user,  load average: 0.31, 0.22, 0.15
%Cpu(s):  0.7 us,  0.9 sy,  0.0 ni, 98.3 id,  0.0 wa,  0.0 hi,  0.1 si,  0.0 st
KiB Mem:  32901220 total,  9810044 used, 23091176 free,    88112 buffers
KiB Swap:  4194300 total,        0 used,  4194300 free.  3100412 cached Mem

  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND
   44 root      20   0       0      0      0 S   0.3  0.0   1:44.01 kswapd0
";
    "kswapd-old-columns-short" "reclaim" "\
top - 11:02:44 up 9 days,  2:10,  1 user,  load average: 4.31, 4.22, 4.15
%Cpu(s):  4.7 us, 31.9 sy,  0.0 ni, 53.3 id, 10.0 wa,  0.0 hi,  0.1 si,  0.0 st
KiB Mem:  32901220 total, 32610044 used,   291176 free,     8112 buffers
KiB Swap:  4194300 total,  3000000 used,  1194300 free.   700412 cached Mem

  PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND
   44 root      20   0       0      0      0 R  99.0  0.0 201:44.01 kswapd0
";
    "old-free-swap-used-up" "memory_short" "\
$ free -m
             total       used       free     shared    buffers     cached
Mem:         64402      63998        404          0         31       2411
-/+ buffers/cache:      61556       2846
Swap:         8191       8188          3
";
    "old-free-room" "" "\
$ free -m
             total       used       free     shared    buffers     cached
Mem:         64402      63998        404          0         31      21411
-/+ buffers/cache:      42556      21846
Swap:         8191       8188          3
";
    "one-cache" "slab" "\
# slabtop -o
 Active / Total Objects (% used)    : 212000000 / 212300000 (99.9%)
 Active / Total Slabs (% used)      : 3500000 / 3500000 (100.0%)
 Active / Total Caches (% used)     : 91 / 131 (69.5%)
 Active / Total Size (% used)       : 21200000.00K / 21210000.00K (100.0%)
 Minimum / Average / Maximum Object : 0.01K / 0.10K / 8.00K

  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME
208000000 208000000 100%    0.09K 4900000       42  19600000K kmalloc-96
310000 290000  93%    0.19K  14000       21     56000K dentry
";
    "names-only" "" "\
# slabtop -o
 Active / Total Objects (% used)    : 212000000 / 212300000 (99.9%)

  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME
90000000 88000000  97%    0.19K 4300000       21  17200000K dentry
310000 290000  93%    0.09K  14000       21     56000K kmalloc-96
";
    "idle-pool-alone" "hugetlb_unused" "\
[root@db2 ~]# grep HugePages /proc/meminfo; grep Hugepagesize /proc/meminfo
HugePages_Total:   20480
HugePages_Free:    20100
HugePages_Rsvd:       12
HugePages_Surp:        0
Hugepagesize:       2048 kB
";
    "promised-pool-alone" "" "\
[root@db2 ~]# grep HugePages /proc/meminfo; grep Hugepagesize /proc/meminfo
HugePages_Total:   20480
HugePages_Free:    20100
HugePages_Rsvd:    19800
HugePages_Surp:        0
Hugepagesize:       2048 kB
";
    "unlisted" "memory_unlisted" "\
MemTotal:       131921604 kB
MemFree:         2105520 kB
MemAvailable:   21210116 kB
Buffers:           91200 kB
Cached:         21811040 kB
AnonPages:      37280404 kB
Shmem:            902112 kB
Slab:            2911204 kB
SReclaimable:    1902200 kB
SUnreclaim:      1009004 kB
KernelStack:       41024 kB
PageTables:       301220 kB
HugePages_Total:       0
HugePages_Free:        0
Hugepagesize:       2048 kB
Hugetlb:               0 kB
";
    "gigantic-pool" "hugetlb_other_sizes" "\
MemTotal:       131921604 kB
MemFree:         2105520 kB
MemAvailable:    4210116 kB
Buffers:           91200 kB
Cached:          2811040 kB
AnonPages:      19280404 kB
Shmem:            902112 kB
Slab:            2911204 kB
KernelStack:       41024 kB
PageTables:       301220 kB
HugePages_Total:     512
HugePages_Free:        0
HugePages_Rsvd:        0
Hugepagesize:       2048 kB
Hugetlb:       104857600 kB
";
    "whole-account" "" "\
MemTotal:       131921604 kB
MemFree:        12105520 kB
MemAvailable:   51210116 kB
Buffers:           91200 kB
Cached:         41811040 kB
AnonPages:      67280404 kB
Shmem:            902112 kB
Slab:            6911204 kB
KernelStack:       41024 kB
PageTables:       301220 kB
HugePages_Total:       0
HugePages_Free:        0
HugePages_Rsvd:        0
Hugepagesize:       2048 kB
Hugetlb:               0 kB
";
    "grows" "process_grows" "\
$ ps -o pid,rss,comm -p 733; sleep 300; ps -o pid,rss,comm -p 733
    PID   RSS COMMAND
    733 3145728 collector
    PID   RSS COMMAND
    733 9437184 collector
$ ps -o pid,rss,comm -p 733
    PID   RSS COMMAND
    733 20971520 collector
";
    "warms-up" "" "\
$ ps -o pid,rss,comm -p 733; sleep 300; ps -o pid,rss,comm -p 733
    PID   RSS COMMAND
    733 3145728 collector
    PID   RSS COMMAND
    733 3345728 collector
$ ps -o pid,rss,comm -p 733
    PID   RSS COMMAND
    733 3445728 collector
";
    "thrashes" "thrashing" "\
10:00:01     pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s \
pgsteal/s    %vmeff
10:00:02     48000.00      0.00   2100.00   1800.00  31000.00   9000.00  21000.00  \
30000.00    100.00
";
    "starts-up" "" "\
10:00:01     pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s \
pgsteal/s    %vmeff
10:00:02     48000.00      0.00    900.00    400.00   3000.00      0.00      0.00      \
0.00      0.00
";
    "since-boot" "" "\
$ grep -E 'compact_|pgscan' /proc/vmstat
pgscan_kswapd 90210
pgscan_direct 88120344
compact_stall 911204
compact_fail 880110
compact_success 31094
";
    "since-boot-fine" "" "\
$ grep -E 'compact_|pgscan' /proc/vmstat
pgscan_kswapd 88120344
pgscan_direct 90210
compact_stall 911204
compact_fail 80110
compact_success 831094
";
    "direct-beside-free" "compaction" "\
$ grep -E 'pgscan|compact_|thp_fault' /proc/vmstat; sleep 10; grep -E \
'pgscan|compact_|thp_fault' /proc/vmstat
pgscan_kswapd 5000
pgscan_direct 700000
compact_stall 9000
compact_fail 8000
compact_success 1000
thp_fault_alloc 50000
pgscan_kswapd 5000
pgscan_direct 790000
compact_stall 9900
compact_fail 8850
compact_success 1050
thp_fault_alloc 52000
$ head -3 /proc/meminfo
MemTotal:       32768512 kB
MemFree:         9242880 kB
MemAvailable:   18332752 kB
";
    "disk-full-of-many-cpus" "disk_random" "\
Linux 6.1.0-18-amd64 (db9) 	11/28/2026 	_x86_64_	(64 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           3.10    0.00    1.20    4.40    0.00   91.30

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  \
%wrqm w_await wareq-sz  aqu-sz  %util
sdc            172.00   1376.00     0.00   0.00   61.20     8.00   21.00    168.00     2.00   \
4.65   84.10     8.00   12.10  99.80
";
    "busy-and-nobody-waits" "" "\
Linux 6.1.0-18-amd64 (db9) 	11/28/2026 	_x86_64_	(64 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           3.10    0.00    1.20    0.20    0.00   95.50

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  \
%wrqm w_await wareq-sz  aqu-sz  %util
nvme1n1       9172.00  73376.00     0.00   0.00    0.09     8.00    0.00      0.00     0.00   \
0.00    0.00     0.00    0.80  71.80
";
    "no-time-in-use" "disk_latency" "\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           2.00    0.00    2.00   38.00    0.00   58.00

Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await \
w_await aqu-sz rareq-sz wareq-sz  svctm  %util
xvdb             12.00  210.00    192.00   1680.00     0.00     0.00   0.00   0.00    4.10    \
9.30   0.00    16.00     8.00   0.00   0.00
";
    "one-bad-second" "disk_bandwidth" "\
$ iostat -dx 1
Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await \
w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sdd              0.00  130.00      0.00  66560.00     0.00     0.00   0.00   0.00    0.00  \
240.00  31.00     0.00   512.00   7.60 100.00

Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await \
w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sdd              0.00    0.00      0.00      0.00     0.00     0.00   0.00   0.00    0.00    \
0.00  31.00     0.00     0.00   0.00 100.00
";
    "bytes-without-requests" "disk_bandwidth" "\
Device:    rrqm/s wrqm/s   r/s   w/s  rsec/s  wsec/s    rkB/s    wkB/s avgrq-sz avgqu-sz   \
await  svctm  %util
cciss/c0d1   4400.00 10.00  0.00  0.00 36000.00 80.00 18000.00 40.00 0.00 610.00 0.00 0.00 100.00
";
    "one-at-a-time" "serial_requests" "\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    0.00    5.00   41.00    0.00   44.00

Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await \
w_await aqu-sz rareq-sz wareq-sz  svctm  %util
nvme2n1          0.00 6100.00      0.00 24400.00     0.00     0.00   0.00   0.00    0.00    \
0.14   0.90     0.00     4.00   0.14  87.00
";
    "disk-listing-alone" "" "\
Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util
sdb               1.40     19.60     0.00   38.00    14.00    0.05   0.11
";
    "pool-too-small" "hugetlb_refused" "\
2026-11-27 10:11:12.301 UTC [911] FATAL:  could not map anonymous shared memory: Cannot \
allocate memory
2026-11-27 10:11:12.301 UTC [911] HINT:  This error usually means that PostgreSQL's request \
for a shared memory segment exceeded available memory, swap space, or huge pages. To reduce \
the request size (currently 9214885888 bytes), reduce PostgreSQL's shared memory usage, \
perhaps by reducing shared_buffers or max_connections.
$ grep -i huge /proc/meminfo
HugePages_Total:    4096
HugePages_Free:     4096
HugePages_Rsvd:        0
HugePages_Surp:        0
Hugepagesize:       2048 kB
";
    "sigbus-beside-pool" "hugetlb_sigbus" "\
2026-11-27 10:11:12.301 UTC [1] LOG:  server process (PID 77) was terminated by signal 7: Bus \
error
$ grep -i huge /proc/meminfo
HugePages_Total:    4096
HugePages_Free:      100
HugePages_Rsvd:       90
HugePages_Surp:        0
Hugepagesize:       2048 kB
";
    "no-fork" "fork_refused" "\
912:M 27 Nov 2026 10:11:12.031 # Can't save in background: fork: Cannot allocate memory
";
    "no-connection" "connections_exhausted" "\
2026-11-27 10:11:12.031 ERROR [worker-9] o.a.Pool - orders - Connection is not available, \
request timed out after 5001ms (total=20, active=20, idle=0, waiting=31)
";
    "connections-left" "" "\
2026-11-27 10:11:12.031 DEBUG [pool housekeeper] com.zaxxer.hikari.pool.HikariPool - orders - \
Pool stats (total=20, active=3, idle=17, waiting=1)
";
    "statements-wait" "statement_locks" "\
# Time: 2026-11-27T10:11:12.000001Z
# User@Host: app[app] @  [10.0.0.7]  Id:  811
# Query_time: 8.100100  Lock_time: 8.000100 Rows_sent: 0  Rows_examined: 1
SET timestamp=1795774272;
update seats set taken = 1 where id = 77;
";
    "statements-run" "rows_examined" "\
# Time: 2026-11-27T10:11:12.000001Z
# User@Host: app[app] @  [10.0.0.7]  Id:  811
# Query_time: 8.100100  Lock_time: 0.000100 Rows_sent: 3  Rows_examined: 7000111
SET timestamp=1795774272;
select * from seats where note like '%x%';
";
    "statements-fine" "" "\
# Time: 2026-11-27T10:11:12.000001Z
# User@Host: app[app] @  [10.0.0.7]  Id:  811
# Query_time: 1.100100  Lock_time: 0.000100 Rows_sent: 5000  Rows_examined: 7000
SET timestamp=1795774272;
select * from seats where hall = 7;
";
    "table-changed" "metadata_lock" "\
mysql> show processlist;
+-----+------+-----------+------+---------+------+---------------------------------+----------\
--------------------------+
| Id  | User | Host      | db   | Command | Time | State                           | \
Info                               |
+-----+------+-----------+------+---------+------+---------------------------------+----------\
--------------------------+
|   7 | app  | localhost | shop | Sleep   |  700 |                                 | \
NULL                               |
|   8 | app  | localhost | shop | Query   |  300 | Waiting for table metadata lock | alter \
table seats add note text    |
|   9 | app  | localhost | shop | Query   |  200 | Waiting for table metadata lock | select * \
from seats                |
+-----+------+-----------+------+---------+------+---------------------------------+----------\
--------------------------+
";
    "one-waits-for-a-table" "" "\
mysql> show processlist;
+-----+------+-----------+------+---------+------+---------------------------------+----------\
--------------------------+
| Id  | User | Host      | db   | Command | Time | State                           | \
Info                               |
+-----+------+-----------+------+---------+------+---------------------------------+----------\
--------------------------+
|   8 | app  | localhost | shop | Query   |    1 | Waiting for table metadata lock | alter \
table seats add note text    |
+-----+------+-----------+------+---------+------+---------------------------------+----------\
--------------------------+
";
    "udp-unread" "datagrams_unread" "\
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
udp   425984      0 0.0.0.0:514             0.0.0.0:*                           812/rsyslogd
udp        0      0 127.0.0.1:323           0.0.0.0:*                           613/chronyd
";
    "udp-read" "" "\
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
udp      768      0 0.0.0.0:514             0.0.0.0:*                           812/rsyslogd
";
    "closed-and-kept" "close_wait" "\
$ netstat -ant | awk '{print $6}' | sort | uniq -c
   1204 CLOSE_WAIT
     31 ESTABLISHED
     12 LISTEN
";
    "half-open" "half_open" "\
$ netstat -ant | awk '{print $6}' | sort | uniq -c
   2048 SYN_RECV
     31 ESTABLISHED
     12 LISTEN
";
    "mostly-established" "" "\
$ netstat -ant | awk '{print $6}' | sort | uniq -c
    120 CLOSE_WAIT
     14 SYN_RECV
   4031 ESTABLISHED
     12 LISTEN
";
    "not-accepted" "accept_queue" "\
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp      512      0 0.0.0.0:9000            0.0.0.0:*               LISTEN      912/fcgi
tcp        0      0 127.0.0.1:25            0.0.0.0:*               LISTEN      711/master
";
    "accepted" "" "\
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp        1      0 0.0.0.0:9000            0.0.0.0:*               LISTEN      912/fcgi
";
    "ring-missed" "ring_missed" "\
eth2: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        RX packets 81200311  bytes 92000311000 (85.6 GiB)
        RX errors 0  dropped 0  overruns 9120033  frame 0
        TX packets 71200311  bytes 12000311000 (11.1 GiB)
        TX errors 0  dropped 0 overruns 0  carrier 0  collisions 0
";
    "ring-fine" "" "\
eth2: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        RX packets 81200311  bytes 92000311000 (85.6 GiB)
        RX errors 0  dropped 0  overruns 33  frame 0
        TX packets 71200311  bytes 12000311000 (11.1 GiB)
        TX errors 0  dropped 0 overruns 0  carrier 0  collisions 0
";
    "queues-on-one" "queues_one_cpu" "\
$ grep -E 'CPU|ens' /proc/interrupts
            CPU0       CPU1       CPU2       CPU3
  41:          0          0   90110220          0   PCI-MSI 1048576-edge      ens1f0-0
  42:          0          0   88110220          0   PCI-MSI 1048577-edge      ens1f0-1
";
    "queues-spread" "" "\
$ grep -E 'CPU|ens' /proc/interrupts
            CPU0       CPU1       CPU2       CPU3
  41:          0          0   90110220          0   PCI-MSI 1048576-edge      ens1f0-0
  42:          0   88110220          0          0   PCI-MSI 1048577-edge      ens1f0-1
";
    "container-at-limit" "container_full" "\
CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O           BLOCK \
I/O         PIDS
0a1b2c3d4e5f   orders    12.10%    1.491GiB / 1.5GiB     99.40%    1.2GB / 800MB     12MB / \
4MB        31
1a1b2c3d4e5f   web       2.10%     100.1MiB / 1.5GiB     6.50%     1.2GB / 800MB     12MB / \
4MB        11
";
    "container-with-room" "" "\
CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O           BLOCK \
I/O         PIDS
0a1b2c3d4e5f   orders    12.10%    0.491GiB / 1.5GiB     33.40%    1.2GB / 800MB     12MB / \
4MB        31
";
    "one-node-full" "cluster_node" "\
$ kubectl top nodes
NAME     CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%
node-a   7810m        98%    9001Mi          60%
node-b   1010m        13%    5001Mi          33%
node-c   990m         12%    5101Mi          34%
";
    "nodes-alike" "" "\
$ kubectl top nodes
NAME     CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%
node-a   2810m        38%    9001Mi          60%
node-b   2010m        23%    5001Mi          33%
";
    "mostly-in-the-kernel" "process_in_kernel" "\
10:00:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:00:02     1000      4411   20.00   91.00    0.00    0.00  111.00     3  ingest
";
    "mostly-its-own-code" "" "\
10:00:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:00:02     1000      4411   91.00   20.00    0.00    0.00  111.00     3  ingest
";
    "ksoftirqd-of-many" "interrupts_one_cpu" "\
top - 19:40:12 up 33 days,  2:01,  1 user,  load average: 1.42, 1.31, 1.22
%Cpu(s):  3.1 us,  2.0 sy,  0.0 ni, 91.6 id,  0.0 wa,  0.0 hi,  3.3 si,  0.0 st

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
     98 root      20   0       0      0      0 R  97.0   0.0 811:20.15 ksoftirqd/17
";
}

/// The texts, for the coverage.
pub(crate) fn texts() -> impl Iterator<Item = Text> {
    CASES.iter().map(|(text, _)| *text)
}

#[test]
fn each_mechanism_is_found_and_its_likeness_is_not() {
    let mut wrong = Vec::new();
    for (text, first) in CASES {
        let found = suffers(&of_texts(&[*text]));
        if found.first().copied().unwrap_or_default() != *first {
            wrong.push(format!("{}: {found:?}, not {first}", text.0));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Counts since boot name a suspect, and no more.
#[test]
fn counts_since_boot_are_a_note() {
    let (text, _) = CASES.iter().find(|(text, _)| text.0 == "since-boot").expect("a case");
    assert_eq!(notes(&of_texts(&[*text])), ["compaction_since_boot"]);
}

/// Full CPUs of an unknown number are no cause; they are no all-clear either.
#[test]
fn full_cpus_are_under_pressure() {
    let top = "top - 16:21:37 up  5:10,  1 user,  load average: 9.61, 9.02, 7.34\n\
               Tasks: 220 total,   8 running, 212 sleeping,   0 stopped,   0 zombie\n\
               %Cpu(s): 68.1 us, 24.3 sy,  0.0 ni,  2.9 id,  0.0 wa,  0.0 hi,  4.7 si,  0.0 st\n";
    let found = of_texts(&[("full.txt", top)]);
    assert_eq!(suffers(&found), [""; 0]);
    let [cpus] = found.hosts[0].pressure.as_slice() else { panic!("{:?}", found.hosts[0]) };
    assert_eq!((cpus.resource, cpus.load), ("cpus", Load::High));
    assert!(cpus.evidence[0].text.contains("97.1 %"), "{:?}", cpus.evidence);
    assert!(found.is_under_pressure());
}

/// A machine without a finding is described in a few lines.
#[test]
fn a_quiet_machine_says_what_it_does() {
    let top = "%Cpu(s): 12.0 us,  3.0 sy,  0.0 ni, 85.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n\
               MiB Mem :  24105.0 total,  13971.0 free,    666.6 used,   9868.4 buff/cache\n\
               MiB Swap:      0.0 total,      0.0 free,      0.0 used.  23439.0 avail Mem\n\n    \
               PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   \
               2201 app       20   0    9.1g   5.0g  12000 S  38.0   8.0  12:01.00 java\n";
    let found = of_texts(&[("quiet.txt", top)]);
    assert!(!found.is_under_pressure());
    let said: Vec<&str> = found.hosts[0].doing.iter().map(|line| line.text.as_str()).collect();
    assert!(said[0].contains("CPU in programs 12 %"), "{said:?}");
    assert!(said[1].contains("java: 38 % of a CPU"), "{said:?}");
    assert!(said[2].contains("22.9 GiB"), "{said:?}");
}
