//! What logs say, and limits that programs run into: memory of a cgroup, ports, open files,
//! entropy, dirty memory.

use super::{Text, assert_says, chain, found, notes, of_texts, suffers, verdict};
use hugewise_evidence::diagnose::{Diagnosis, Verdict};

macro_rules! ticket {
    ($name:literal) => {
        ($name, include_str!(concat!("../corpus/", $name, ".txt")))
    };
}

const LOCKUP: Text = ticket!("blind3-soft-lockup");
const PATHS: Text = ticket!("blind3-lost-paths");
const HEAT: Text = ticket!("blind3-heat");
const AUDIT: Text = ticket!("blind3-audit");
const FLUSH: Text = ticket!("blind3-flush");
const MEMBER: Text = ticket!("blind3-raid-member");
const DIRTY: Text = ticket!("blind3-dirty-limit");
const PORTS: Text = ticket!("blind3-ports");
const FILES: Text = ticket!("blind3-open-files");
const ENTROPY: Text = ticket!("blind3-entropy");
const V1: Text = ticket!("blind3-memcg-v1");
const V2: Text = ticket!("blind3-memcg-v2");
const SILENT: Text = ticket!("blind3-nas-silent");
const OLD_LOG: Text = ticket!("ok-blind3-old-log");
const OLD_KILL: Text = ticket!("ok-blind3-old-oom");
const CACHE: Text = ticket!("ok-blind3-cache-at-limit");
const TIME_WAIT: Text = ticket!("ok-blind3-time-wait");

/// Two lines of each other kind of trouble.
const MANY: Text = (
    "many.txt",
    "\
[812.044812] neighbour: arp_cache: neighbor table overflow!
[820.044812] neighbour: arp_cache: neighbor table overflow!
[830.120448] NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out
[850.120448] NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out
[860.448120] TCP: out of memory -- consider tuning tcp_mem
[870.448120] TCP: out of memory -- consider tuning tcp_mem
[880.812044] EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1
[890.812044] EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1
[900.204482] BUG: unable to handle kernel NULL pointer dereference at 0000000000000008
[910.204482] general protection fault: 0000 [#2] SMP PTI
[920.210448] EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: comm ls
[930.210448] EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: comm ls
",
);

/// A log without trouble, a fast clock, and limits with room.
const QUIET: Text = (
    "quiet.txt",
    "\
db-1:~# dmesg | tail -1
[ 6.811238] ixgbe 0000:18:00.0 eno1: NIC Link is Up 10 Gbps, Flow Control: RX/TX
db-1:~# cat /sys/devices/system/clocksource/clocksource0/current_clocksource
tsc
db-1:~# cat /proc/sys/kernel/random/entropy_avail
3812
db-1:~# cat /proc/812/limits | grep 'open files'
Max open files            65536                65536                files
db-1:~# ls /proc/812/fd | wc -l
120
db-1:~# grep -E 'MemTotal|MemAvail|Dirty|Writeback:' /proc/meminfo; sysctl vm.dirty_ratio
MemTotal:       65780120 kB
MemAvailable:   48810220 kB
Dirty:             12044 kB
Writeback:             0 kB
vm.dirty_ratio = 20
",
);

/// Tasks that wait for something else than random numbers.
const PRESSED: Text = (
    "pressed.txt",
    "\
db-1:~# cat /proc/sys/kernel/random/entropy_avail
3812
db-1:~# cat /proc/pressure/memory
some avg10=41.22 avg60=38.10 avg300=31.44 total=8812044120
full avg10=28.01 avg60=25.20 avg300=19.90 total=7120448120
",
);

/// For the coverage.
pub(crate) fn texts() -> impl Iterator<Item = Text> {
    let all = [LOCKUP, PATHS, HEAT, AUDIT, FLUSH, MEMBER, DIRTY, PORTS, FILES, ENTROPY, V1, V2];
    all.into_iter().chain([SILENT, OLD_LOG, OLD_KILL, CACHE, TIME_WAIT, MANY, QUIET, PRESSED])
}

fn of(text: Text) -> Diagnosis {
    of_texts(&[text])
}

#[test]
fn trouble_in_the_log_is_a_cause_and_quoted() {
    let text = chain(found(&of(LOCKUP), "lockups"));
    assert_says(&text, &["3 lines", "CPU#0 stuck for 38s", "for up to 41 s"]);
    let diagnosis = of(PATHS);
    assert_eq!(suffers(&diagnosis)[0], "storage_fails");
    for wrong in ["disk_saturated", "disk_latency"] {
        assert!(!suffers(&diagnosis).contains(&wrong), "{wrong}");
    }
    assert_says(&chain(found(&diagnosis, "storage_fails")), &["Failing path", "none of them ends"]);
    assert_says(&chain(found(&of(HEAT), "heat")), &["throttled", "1,200 of the 2,900 MHz"]);
    let text = chain(found(&of(AUDIT), "audit_backlog"));
    assert_says(&text, &["5 tasks wait in audit_log_start", "8,193 records of audit wait, 8,192"]);
    let many = of(MANY);
    for cause in ["neighbour_table", "network_card", "tcp_memory", "hardware_errors"] {
        assert!(suffers(&many).contains(&cause), "{cause}");
    }
    for cause in ["kernel_bug", "filesystem_errors"] {
        assert!(suffers(&many).contains(&cause), "{cause}");
    }
}

#[test]
fn what_is_over_is_a_note() {
    let old = of(OLD_LOG);
    assert!(suffers(&old).is_empty(), "{:?}", suffers(&old));
    for cause in ["lockups", "storage_fails", "heat", "log_errors"] {
        assert!(notes(&old).contains(&cause), "{cause}: {:?}", notes(&old));
    }
    assert_says(&chain(found(&old, "lockups")), &["79 days ago"]);
    assert_eq!(notes(&of(OLD_KILL)), ["oom_kills"]);
    assert_eq!(verdict(&of(QUIET), "log"), Verdict::No);
    assert!(of(QUIET).findings.is_empty());
}

#[test]
fn disks_that_are_slow_or_flush() {
    let text = chain(found(&of(MEMBER), "disk_latency"));
    assert_says(&text, &["sdd", "1,310 ms"]);
    let diagnosis = of(FLUSH);
    assert_eq!(suffers(&diagnosis)[0], "disk_flush");
    assert_says(&chain(found(&diagnosis, "disk_flush")), &["54.2 flushes a second took 17.9 ms"]);
}

#[test]
fn tasks_are_told_by_the_function_in_which_they_wait() {
    let diagnosis = of(DIRTY);
    assert_eq!(suffers(&diagnosis)[0], "dirty_limit");
    let text = chain(found(&diagnosis, "dirty_limit"));
    assert_says(&text, &["10 tasks wait in balance_dirty_pages", "vm.dirty_ratio, 40 %"]);
    let text = chain(found(&of(SILENT), "network_storage"));
    let server = "says 3 times that file server nas01 does not answer";
    assert_says(&text, &["7 tasks wait for a file server", "5 tasks wait in rpc_wait", server]);
    assert_says(&chain(found(&of(ENTROPY), "entropy")), &["random_read", "12 bits"]);
}

#[test]
fn limits_that_programs_run_into() {
    for (text, cgroup) in [(V1, "/docker/8f1e2210a44b"), (V2, "kubepods-burstable-pod8f1e.slice")] {
        let text = chain(found(&of(text), "cgroup_memory"));
        assert_says(&text, &[cgroup, "of its limit of"]);
    }
    assert_says(&chain(found(&of(V2), "cgroup_memory")), &["at its memory limit 2,709/s"]);
    assert!(suffers(&of(CACHE)).is_empty());
    let text = chain(found(&of(PORTS), "ports_exhausted"));
    assert_says(&text, &["28,211 closed connections to 10.0.4.9:6379", "of 28,232 ports"]);
    assert_eq!(verdict(&of(TIME_WAIT), "network.ports"), Verdict::No);
    let text = chain(found(&of(FILES), "open_files"));
    assert_says(&text, &["2 times", "process (2210): 1,024 of 1,024 files open"]);
}

#[test]
fn a_finding_rests_on_no_other_questions_lines() {
    let log = "\
[  100.000001] bash (812): drop_caches: 3
[  160.000001] bash (812): drop_caches: 3
[  220.000001] bash (812): drop_caches: 3
[  300.000001] reader[18196]: segfault at 10 ip 0000 sp 00007f error 4 in reader[55+1000]
[  301.000001] reader[18197]: segfault at 10 ip 0000 sp 00007f error 4 in reader[55+1000]
";
    let found = of_texts(&[("log.txt", log)]);
    let dropped = found.findings.iter().find(|one| one.cause.about().key == "cache_dropped");
    let values = dropped.expect("it is found").values();
    assert!(!values.is_empty());
    for value in values {
        assert!(!value.text.contains("segfault"), "{}", value.text);
    }
}

#[test]
fn a_share_is_of_the_machine_and_not_of_a_list() {
    // A list of two processes beside a machine with many times their faults.
    let ticket = |faults: u32| {
        format!(
            "\
Linux 6.1.0 (db1)  12/01/2026  _x86_64_  (8 CPU)

10:00:01  CPU  %user  %nice  %system  %iowait  %steal  %idle
10:00:02  all  20.00   0.00    60.00     0.00    0.00  20.00

10:00:01  pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff
10:00:02      0.00      0.00 4000000.00 0.00 2000.00 0.00 0.00 0.00 0.00

10:00:01  UID  PID  minflt/s  majflt/s  VSZ  RSS  %MEM  Command
10:00:02    0  812   {faults}.00  0.00  100000  90000  1.00  postgres
10:00:02    0  813   1000.00  0.00  100000  90000  1.00  bash
"
        )
    };
    for (faults, share) in [(2893, None), (2_893_000, Some("postgres has 72 % of it"))] {
        let found = of_texts(&[("ticket.txt", &ticket(faults))]);
        let said = serde_json::to_string(&found).expect("JSON");
        assert!(said.contains("4,000,000 page faults a second"), "{said}");
        assert_eq!(said.contains("postgres has"), share.is_some(), "{said}");
        assert!(share.is_none_or(|share| said.contains(share)), "{said}");
    }
}
