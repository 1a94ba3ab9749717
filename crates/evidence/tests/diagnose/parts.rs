//! Limits that refuse, parts of the machine that have less than the whole, disks that are held
//! back, a full Java heap.

use super::{Text, assert_says, chain, found, notes, of_texts, suffers};

macro_rules! ticket {
    ($name:literal) => {
        ($name, include_str!(concat!("../corpus/", $name, ".txt")))
    };
}

const HEAP: Text = ticket!("gc-fullgc-java8");
const CAPPED: Text = ticket!("blind4-gp2-cap");
const CACHE_OFF: Text = ticket!("blind4-bbu");
const CHECK: Text = ticket!("blind4-md-check");
const SHM: Text = ticket!("blind4-tmpfs");
const TLB: Text = ticket!("blind4-tlb");
const NAMES: Text = ticket!("blind4-dentries-probe");
const DROPPED: Text = ticket!("blind4-drop-caches");

const FILTER: Text = ticket!("blind5-iptables");
const FULL: Text = ticket!("blind5-pgbouncer");
const BUSY: Text = ticket!("ok-blind5-10");
const LOW: Text = ticket!("blind6-lowmem");
const FIFO: Text = ticket!("blind6-fifo-thread");
const SLOTS: Text = ticket!("blind6-nfs-slots");
const DAMAGED: Text = ticket!("blind6-crc");

/// Memory is free, and no more of it may be promised.
const COMMIT: Text = (
    "commit.txt",
    "\
db-1:~# free -m
              total        used        free      shared  buff/cache   available
Mem:          64232       21011       38120          11        5101       42520
Swap:          2047           0        2047
db-1:~# grep Commit /proc/meminfo; sysctl vm.overcommit_memory
CommitLimit:    34984332 kB
Committed_AS:   34981204 kB
vm.overcommit_memory = 2
2026-03-11 02:14:20 db-1 postgres[812]: LOG: could not fork worker process: Cannot allocate memory
",
);

/// The same where nothing limits it.
const PROMISED: Text = (
    "promised.txt",
    "\
db-1:~# grep Commit /proc/meminfo; sysctl vm.overcommit_memory
CommitLimit:    34984332 kB
Committed_AS:   64981204 kB
vm.overcommit_memory = 0
",
);

/// No more tasks, and no more mappings.
const REFUSED: Text = (
    "refused.txt",
    "\
app@app-1:~$ ls
-bash: fork: retry: Resource temporarily unavailable
-bash: fork: Resource temporarily unavailable
root@app-1:~# cat /proc/loadavg; sysctl kernel.pid_max kernel.threads-max vm.max_map_count
4.10 3.98 3.70 3/32702 30112
kernel.pid_max = 32768
kernel.threads-max = 512044
vm.max_map_count = 65530
2026-03-11T02:14:20 ERROR java.io.IOException: Map failed: OutOfMemoryError: Map failed
",
);

/// Room for both.
const ROOM: Text = (
    "room.txt",
    "\
root@app-1:~# cat /proc/loadavg; sysctl kernel.pid_max kernel.threads-max
0.10 0.08 0.07 1/702 30112
kernel.pid_max = 32768
kernel.threads-max = 512044
root@app-1:~# wc -l /proc/812/maps; sysctl vm.max_map_count
1204 /proc/812/maps
vm.max_map_count = 65530
",
);

/// One node is full; and then both are alike.
const NODE: Text = (
    "node.txt",
    "\
available: 2 nodes (0-1)
node 0 cpus: 0 2 4 6
node 0 size: 128817 MB
node 0 free: 301 MB
node 1 cpus: 1 3 5 7
node 1 size: 129019 MB
node 1 free: 61204 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
",
);
const EVEN: Text = (
    "even.txt",
    "node 0 size: 1000 MB\nnode 0 free: 300 MB\nnode 1 size: 1000 MB\nnode 1 free: 310 MB\n",
);

/// CPUs in use at 1.2 of 3 GHz, by their governor.
const SLOW: Text = (
    "slow.txt",
    "\
# turbostat --quiet --num_iterations 1 --interval 5
Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz
-\t-\t1180\t98.30\t1200\t3000
# cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
powersave
",
);

/// The thread that merges equal pages.
const KSM: Text = (
    "ksm.txt",
    "\
top - 02:14:20 up 9 days,  1 user,  load average: 2.10, 2.01, 1.99
Tasks: 212 total,   2 running, 210 sleeping,   0 stopped,   0 zombie
%Cpu(s):  5.1 us, 49.2 sy,  0.0 ni, 45.5 id,  0.0 wa,  0.0 hi,  0.2 si,  0.0 st
MiB Mem :  64232.0 total,  38120.0 free,  21011.0 used,   5101.0 buff/cache
MiB Swap:   2047.0 total,   2047.0 free,      0.0 used.  42520.0 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
     71 root      25   5       0      0      0 R  97.4   0.0 812:44.10 ksmd
    812 root      20   0  812044   6120   4100 S   2.0   0.0   1:20.11 libvirtd
",
);

/// An old part of the heap with room.
const ROOMY_HEAP: Text = (
    "roomy.txt",
    "\
$ jstat -gcutil 2211 1s 2
  S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT
  0.00  40.00  10.00  31.98  95.11  91.00   4120  120.100     1   3.500  123.600
  0.00  40.00  19.00  31.99  95.11  91.00   4120  120.100     1   3.500  123.600
",
);

/// Low memory with room, a real-time thread that sleeps, a file server without a queue.
const CALM: Text = (
    "calm.txt",
    "\
db-1:~# grep -E 'Low|High' /proc/meminfo; grep MemTotal /proc/meminfo
HighTotal:      15859712 kB
HighFree:        8804944 kB
LowTotal:         738212 kB
LowFree:          407460 kB
MemTotal:       16597924 kB
db-1:~# ps -eLo pid,cls,rtprio,stat,pcpu,comm | grep -E 'PID| FF '
    PID CLS RTPRIO STAT %CPU COMMAND
     42  FF     99 S     0.0 migration/5
db-1:~# nfsiostat 10 2

nas01:/vol/home mounted on /home:

           ops/s       rpc bklog
          12.400           0.000

read:     ops/s      kB/s     kB/op    retrans  avg RTT (ms)  avg exe (ms)
         10.100   101.600    16.000   0 (0.0%)         0.800         0.900
",
);

/// For the coverage.
/// A young collection of 6 s with a quarter of a second of CPU, and one of 3 s that worked.
const WAITED: Text = (
    "waited.txt",
    "\
[71.204s][info][gc    ] GC(40) Pause Young (Normal) (G1 Evacuation Pause) 900M->200M(2G) 6104.500ms
[71.204s][info][gc,cpu ] GC(40) User=0.20s Sys=0.05s Real=6.10s
[99.001s][info][gc     ] GC(41) Pause Full (System.gc()) 900M->200M(2048M) 3104.500ms
[99.001s][info][gc,cpu ] GC(41) User=2.90s Sys=0.05s Real=3.10s
",
);

/// Four CPUs with interrupts of packets, and a profile beside them.
const PACKETS: Text = (
    "packets.txt",
    "\
lb-2:~# perf top --stdio | head
  14.02%  [kernel]       [k] nft_do_chain
  11.31%  [kernel]       [k] __netif_receive_skb_core
   9.75%  [kernel]       [k] ip_rcv
   2.10%  haproxy        [.] process_stream
lb-2:~# mpstat 1 1
11:04:10     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
11:04:11     all    9.00    0.00   15.00    0.00    0.00   46.00    0.00    0.00    0.00   30.00
",
);

pub(crate) fn texts() -> impl Iterator<Item = Text> {
    let corpus = [
        HEAP, CAPPED, CACHE_OFF, CHECK, SHM, TLB, NAMES, DROPPED, FILTER, FULL, BUSY, LOW, FIFO,
        SLOTS, DAMAGED,
    ];
    let own =
        [CALM, COMMIT, PROMISED, REFUSED, ROOM, NODE, EVEN, SLOW, KSM, ROOMY_HEAP, WAITED, PACKETS];
    corpus.into_iter().chain(own)
}

#[test]
fn a_pause_without_cpu_is_waiting() {
    let diagnosis = of_texts(&[WAITED]);
    let text = chain(found(&diagnosis, "gc_waits"));
    assert_says(&text, &["1 of 2 long pauses used less CPU", "6,104 ms with 0.25 s of CPU"]);
    let worked = WAITED.1.replace("User=0.20s", "User=12.20s");
    assert!(!suffers(&of_texts(&[("worked.txt", &worked)])).contains(&"gc_waits"));
}

#[test]
fn a_profile_says_whose_interrupts_they_are() {
    let found = suffers(&of_texts(&[PACKETS]));
    assert!(found.contains(&"network_stack") && !found.contains(&"interrupts"), "{found:?}");
}

#[test]
fn few_samples_of_a_profile_are_no_cause() {
    let frames = "\tffffffff9a0011aa isolate_freepages_block+0x7 ([kernel.kallsyms])\n\n";
    let own = "db 7 [000] 1.5: 1 cycles: \n\t5581aa77 main+0x1 (/opt/db)\n\n";
    let kernel = format!("db 7 [000] 1.5: 1 cycles: \n{frames}");
    let other = kernel.replace("isolate_freepages_block", "vfs_read");
    let compaction = |many: usize| {
        let text = (kernel.clone() + &other + own).repeat(many);
        suffers(&of_texts(&[("few.txt", &text)])).contains(&"compaction")
    };
    assert!(!compaction(1) && compaction(20));
}

#[test]
fn what_several_parts_of_the_kernel_call_says_not_which_it_was() {
    let frames = ["flush_tlb_page", "try_to_unmap_one", "try_to_unmap", "migrate_pages"];
    let frames = frames.into_iter().chain(["migrate_misplaced_page", "do_numa_page"]);
    let frames = frames.map(|name| format!("\tffffffff9a0011aa {name}+0x7 ([kernel.kallsyms])\n"));
    let text = format!("db 7 [000] 1.5: 1 cycles: \n{}\n", frames.collect::<String>()).repeat(50);
    let found = suffers(&of_texts(&[("numa.txt", &text)])).join(" ");
    for wrong in ["compaction", "reclaim", "tlb_shootdowns"] {
        assert!(!found.contains(wrong), "{found}");
    }
}

#[test]
fn an_interrupt_that_others_sent_and_the_profiler_itself_are_no_shootdowns() {
    for inner in ["flush_smp_call_function_queue", "native_write_msr"] {
        let top = ["generic_smp_call_function_single_interrupt", "sysvec_call_function_single"];
        let frames = [inner].into_iter().chain(top);
        let frames =
            frames.map(|name| format!("\tffffffff9a0011aa {name}+0x7 ([kernel.kallsyms])\n"));
        let text = format!("db 7 [000] 1.5: 1 cycles: \n{}\n", frames.collect::<String>());
        let found = suffers(&of_texts(&[("ipi.txt", &text.repeat(50))])).join(" ");
        assert!(!found.contains("tlb_shootdowns"), "{found}");
    }
}

#[test]
fn what_the_kernel_refuses_is_named() {
    let diagnosis = of_texts(&[COMMIT]);
    let text = chain(found(&diagnosis, "commit_limit"));
    assert_says(&text, &["33.4 GiB are promised", "vm.overcommit_memory is 2", "a line of a"]);
    assert!(of_texts(&[PROMISED]).findings.is_empty());
    let refused = of_texts(&[REFUSED]);
    let text = chain(found(&refused, "task_limit"));
    assert_says(&text, &["2 lines of a program", "32,702 tasks of 32,768", "pid_max"]);
    assert!(suffers(&refused).contains(&"map_limit"));
    assert!(of_texts(&[ROOM]).findings.is_empty());
}

#[test]
fn parts_that_have_less_than_the_whole() {
    // A node fills with page cache in time: by itself that is no harm.
    let node = of_texts(&[NODE]);
    assert_eq!(notes(&node), ["numa_node_short"]);
    assert_says(&chain(found(&node, "numa_node_short")), &["0.23 % of it", "47.4 % of it"]);
    assert!(of_texts(&[EVEN]).findings.is_empty());
    let text = chain(found(&of_texts(&[SLOW]), "slow_cpus"));
    assert_says(&text, &["1,200 of the 3,000 MHz", "powersave"]);
    assert_eq!(suffers(&of_texts(&[KSM])), ["same_pages"]);
    let text = chain(found(&of_texts(&[CHECK]), "array"));
    assert_says(&text, &["array md2: check is at"]);
}

#[test]
fn disks_that_are_held_back() {
    let text = chain(found(&of_texts(&[CAPPED]), "disk_capped"));
    assert_says(&text, &["300 requests a second in each of 3 samples", "a limit holds it there"]);
    let text = chain(found(&of_texts(&[CACHE_OFF]), "write_cache_off"));
    assert_says(&text, &["BBU disabled", "WriteThrough"]);
}

#[test]
fn a_heap_is_full_after_its_collections() {
    let text = chain(found(&of_texts(&[HEAP]), "java_heap_full"));
    assert_says(&text, &["4.0 GiB of 4.0 GiB"]);
    assert!(
        of_texts(&[ROOMY_HEAP]).findings.iter().all(|f| f.cause.about().key != "java_heap_full")
    );
}

#[test]
fn what_stands_in_the_way_of_others() {
    let text = chain(found(&of_texts(&[LOW]), "low_memory"));
    assert_says(&text, &["7.3 MiB of 720.9 MiB of low memory are free"]);
    let text = chain(found(&of_texts(&[FIFO]), "real_time_thread"));
    assert_says(&text, &["feedh-rx0", "sched_rt_runtime_us is -1"]);
    let text = chain(found(&of_texts(&[SLOTS]), "nfs_queue"));
    assert_says(&text, &["42.0 ms a request", "tcp_max_slot_table_entries: 2"]);
    let text = chain(found(&of_texts(&[DAMAGED]), "link_errors"));
    assert_says(&text, &["ens2f1np1", "214"]);
    assert!(of_texts(&[CALM]).findings.is_empty());
}
