//! Tickets as people paste them: several commands one after another, by several tools.

use super::{Thresholds, Verdict, diagnose, key, read, suffers};
use hugewise_evidence::diagnose::{Diagnosis, Level, Severity};
use hugewise_evidence::recording::{Field, Recording, Subject};

fn ticket(text: &'static str) -> (Recording, Diagnosis) {
    let recording = read(&[("ticket", text)]);
    let found = diagnose(&recording, &Thresholds::default());
    (recording, found)
}

fn answer(found: &Diagnosis, id: &str) -> (Verdict, String) {
    let asked = found.hosts[0].tree.iter().find(|asked| asked.id == id).expect(id);
    let answer = asked.answer.as_ref().expect("asked");
    let first = answer.evidence.first().map_or_else(String::new, |one| one.text.clone());
    (answer.verdict, first)
}

const CPU: &str = "\
Linux 5.14.0 (db1)  11/23/2026  _x86_64_  (8 CPU)

10:15:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:15:02        all     11.20      0.00     58.30      0.40      0.00     30.10
10:15:03        all     10.70      0.00     60.10      0.20      0.00     29.00
10:15:04        all     11.00      0.00     59.20      0.30      0.00     29.50

";

/// 20 s after the CPU's samples: related, and said to be.
const LATER: &str = "\
10:15:24  pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    %vmeff
10:15:25      0.00     12.00 1510200.00      0.00 1498000.00      0.00      0.00      0.00      0.00
10:15:26      0.00      8.00 1498800.00      0.00 1502100.00      0.00      0.00      0.00      0.00
10:15:27      0.00     10.00 1502500.00      0.00 1499900.00      0.00      0.00      0.00      0.00
";

#[test]
fn commands_one_after_another_are_one_moment() {
    let text: &'static str = Box::leak(format!("{CPU}{LATER}").into_boxed_str());
    let (_, found) = ticket(text);
    assert_eq!(suffers(&found), ["allocation_churn"]);
    let (verdict, said) = answer(&found, "kernel.faults");
    assert_eq!(verdict, Verdict::Yes);
    assert!(said.contains("(21 s after the CPU's use by sar)"), "{said}");
}

#[test]
fn an_hour_later_is_another_moment() {
    let later = LATER.replace("10:15:", "11:20:");
    let text: &'static str = Box::leak(format!("{CPU}{later}").into_boxed_str());
    let (_, found) = ticket(text);
    assert_eq!(answer(&found, "kernel.faults").0, Verdict::Unknown);
    for finding in &found.findings {
        assert!(finding.ruled_out.iter().all(|step| step.node != "kernel.faults"));
    }
}

/// sysstat 11.6.4 to 12.7.7: used is without the caches; from then on it is all but available.
#[test]
fn all_memory_is_what_its_share_says() {
    for (used, percent) in [("8052312", "6.11"), ("14680064", "11.14")] {
        let text = format!(
            "Linux 5.14.0 (db1)  11/23/2026  _x86_64_  (8 CPU)\n\n\
             10:00:01    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit\n\
             10:10:01      1172216 117099520  {used}     {percent}    204800 120324096  23068672\n"
        );
        let (recording, found) = ticket(Box::leak(text.into_boxed_str()));
        let total = recording.hosts[0].series(Field::MemTotal, &Subject::Machine);
        let total = total.expect("computed").points[0].value / f64::from(1 << 30);
        assert!((total - 125.7).abs() < 0.3, "{total}");
        assert_eq!(suffers(&found), [""; 0]);
    }
}

#[test]
fn pressure_is_that_of_the_interval() {
    let (recording, _) = ticket(
        "Linux 6.1.0 (db1)  11/23/2026  _x86_64_  (8 CPU)\n\n\
         13:59:22  %smem-10 %smem-60 %smem-300  %smem  %fmem-10 %fmem-60 %fmem-300  %fmem\n\
         14:09:22      0.00     0.31     12.10  24.50      0.00     0.20      9.10  19.75\n",
    );
    let series = recording.hosts[0].series(Field::PsiMemorySome, &Subject::Machine);
    let values: Vec<f64> = series.expect("read").points.iter().map(|p| p.value).collect();
    assert_eq!(values, [24.5]);
}

#[test]
fn converted_recordings_have_no_available_memory() {
    let (recording, found) = ticket(
        "Linux 2.6.32 (old1)  11/23/2026  _x86_64_  (8 CPU)\n\n\
         10:00:01    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit\n\
         10:10:01     22172216         0  10052312     31.19    204800   4324096   6068672\n\
         10:20:01     22170000         0  10054528     31.20    204800   4324096   6068672\n",
    );
    assert!(recording.hosts[0].series(Field::MemAvailable, &Subject::Machine).is_none());
    assert!(recording.problems[0].text.contains("sadf -c"), "{:?}", recording.problems);
    // What is free can be had: two thirds of this machine.
    assert_eq!(answer(&found, "memory.short").0, Verdict::No);
}

#[test]
fn a_name_with_its_domain_is_the_same_machine() {
    let (recording, _) = ticket(
        "[root@db1 ~]# cat /proc/meminfo\n\
         MemTotal:       32224528 kB\nMemFree:        22170000 kB\n\
         Linux 5.14.0 (db1.prod.example.com)  11/23/2026  _x86_64_  (8 CPU)\n\n\
         10:15:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
         10:15:02        all     11.20      0.00      8.30      0.40      0.00     80.10\n",
    );
    let names: Vec<_> = recording.hosts.iter().filter_map(|host| host.name.clone()).collect();
    assert_eq!(names, ["db1.prod.example.com"]);
}

#[test]
fn a_value_near_its_limit_rules_nothing_out() {
    let text = "\
Linux 5.14.0 (db1)  11/23/2026  _x86_64_  (8 CPU)

10:15:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:15:02        all     11.20      0.00     44.10     26.90      0.00     17.80
10:15:03        all     11.20      0.00     44.10     26.90      0.00     17.80
10:15:04        all     11.20      0.00     44.10     26.90      0.00     17.80
";
    let (_, found) = ticket(text);
    assert_eq!(key(&found.findings[0]), "kernel_time");
    assert_eq!(answer(&found, "cpu.iowait").0, Verdict::No);
    let ruled_out = &found.findings[0].ruled_out;
    assert!(ruled_out.iter().all(|step| step.node != "cpu.iowait"), "{ruled_out:?}");
    assert!(ruled_out.iter().any(|step| step.node == "cpu.steal"), "{ruled_out:?}");
}

/// The same ticket, as it comes in a mail, set in, or behind other prompts.
#[test]
fn quoted_and_set_in_says_the_same() {
    let plain = format!("[root@db1 ~]# sar -u 1 3\n{CPU}[root@db1 ~]# sar -B 1 3\n{LATER}");
    let each = |first: &str| plain.lines().map(|l| format!("{first}{l}\n")).collect::<String>();
    for text in [
        plain.clone(),
        format!("Jo wrote:\n{}", each("> ")),
        format!("see below:\n\n{}", each("    ")),
        each("> >     "),
        plain.replace("[root@db1 ~]#", "db1:~ #"),
        plain.replace("[root@db1 ~]#", "-bash-4.2$"),
        plain.replace('\n', "\r\n"),
    ] {
        let (recording, found) = ticket(Box::leak(text.into_boxed_str()));
        assert_eq!(suffers(&found), ["allocation_churn"]);
        assert_eq!(recording.hosts.len(), 1);
    }
}

#[test]
fn units_and_columns_of_vmstat_are_those_of_the_command() {
    for (command, head, free) in [
        ("vmstat -S M 1 2", "free   buff  cache", 2048.0 * 1_048_576.0_f64),
        ("vmstat 1 2", "frei   Puffer  Cache", 2048.0 * 1024.0),
        ("vmstat 1 2", "libre tampon cache", 2048.0 * 1024.0),
    ] {
        let text = format!(
            "[root@db1 ~]# nproc\n32\n[root@db1 ~]# {command}\n\
             procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
             r  b   swpd   {head}   si   so    bi    bo   in   cs us sy id wa st\n \
             1  1      0   2048     20   5000    0    0     5     8    1    2  1  0 99  0  0\n"
        );
        let (recording, found) = ticket(Box::leak(text.into_boxed_str()));
        let series = recording.hosts[0].series(Field::MemFree, &Subject::Machine);
        assert_eq!(series.expect("read").points[0].value.to_bits(), free.to_bits(), "{command}");
        // One task of 32 CPUs waits: nothing hangs.
        assert_eq!(suffers(&found), [""; 0]);
    }
}

const SET_STORM: &str = "\
[root@cache1 ~]# sar -u 1 3
Linux 4.18.0-305.el8.x86_64 (cache1)  11/23/2026  _x86_64_  (8 CPU)

10:15:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:15:02        all     21.20      0.00     48.30      0.00      0.00     30.50
10:15:03        all     20.70      0.00     50.10      0.00      0.00     29.20
10:15:04        all     21.00      0.00     49.20      0.00      0.00     29.80
";

/// 000: page faults that free 190 base pages each were huge, whatever a fault of 4 KiB costs.
#[test]
fn pages_freed_for_each_fault_betray_huge_ones() {
    let paging = "\
[root@cache1 ~]# sar -B 1 3
10:15:21   pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s  %vmeff
10:15:22       0.00     12.00  52010.00      0.00 9880400.00     0.00      0.00      0.00    0.00
10:15:23       0.00      8.00  51800.00      0.00 9842000.00     0.00      0.00      0.00    0.00
";
    let text: &'static str = Box::leak(format!("{SET_STORM}{paging}").into_boxed_str());
    let (_, found) = ticket(text);
    assert_eq!(suffers(&found), ["huge_faults"]);
    // Linux 4.18 has no remote collapse: 'hugewise manage' is no remedy there.
    let remedies = &found.findings[0].remedies;
    assert!(remedies.iter().all(|remedy| !remedy.command.contains("manage")), "{remedies:?}");
    assert!(remedies.iter().any(|remedy| remedy.command.contains("never")), "{remedies:?}");
}

/// ... and where nothing is counted, THP 'always' is the first suspect, and no more than that.
#[test]
fn huge_pages_are_suspected_where_nothing_else_is_counted() {
    let setting = "\
[root@cache1 ~]# cat /sys/kernel/mm/transparent_hugepage/enabled
[always] madvise never
";
    let text: &'static str = Box::leak(format!("{SET_STORM}{setting}").into_boxed_str());
    let (_, found) = ticket(text);
    assert_eq!(suffers(&found), ["huge_faults"]);
    assert_eq!(found.findings[0].confidence.level, Level::Possible);
    let madvise = text.replace("[always] madvise", "always [madvise]");
    assert_eq!(suffers(&ticket(Box::leak(madvise.into_boxed_str())).1), ["kernel_time"]);
}

#[test]
fn one_thread_that_is_never_idle_is_seen_on_many_cpus() {
    let (_, found) = ticket(
        "Linux 5.14.0 (batch3)  11/23/2026  _x86_64_  (32 CPU)\n\n\
         10:15:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
         10:15:02        all      3.20      0.00      0.30      0.00      0.00     96.50\n\n\
         10:15:31      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  \
         Command\n\
         10:15:32     1001      4711         -  101.00    1.00    0.00    0.00  102.00    17  \
         settle\n\
         10:15:32     1001         -      4711    2.00    0.00    0.00    0.00    2.00     3  \
         |__settle\n\
         10:15:32     1001         -      4712   99.00    1.00    0.00    0.00  100.00    17  \
         |__merge\n",
    );
    assert_eq!(key(&found.findings[0]), "one_cpu");
    let (verdict, said) = answer(&found, "balance.cpus");
    assert_eq!(verdict, Verdict::Yes);
    assert!(said.contains("merge"), "{said}");
}

#[test]
fn what_follows_from_a_cause_comes_after_it_and_has_no_ladder() {
    let (_, found) = ticket(
        "MemTotal:       131902464 kB\nMemFree:          401232 kB\nMemAvailable:     780112 kB\n\
         SwapTotal:       8388604 kB\nSwapFree:         102400 kB\nHugePages_Total:   45056\n\
         HugePages_Free:    45056\nHugePages_Rsvd:        0\nHugepagesize:       2048 kB\n\n\
         procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
         2  6 8286204 401232  1024 302232 9200 8100  9900  8300 4000 7000  9  6 40 45  0\n \
         1  7 8286204 399232  1024 302232 9900 8700 10100  8800 4100 7100  8  7 39 46  0\n",
    );
    let first = &found.findings[0];
    assert_eq!((key(first), first.follows), ("hugetlb_unused", None));
    let swapping = found.findings.iter().find(|f| key(f) == "swapping").expect("swaps");
    assert_eq!(swapping.follows.map(|cause| cause.about().key), Some("hugetlb_unused"));
    assert!(swapping.remedies.is_empty());
    assert!(!first.remedies.is_empty());
}

#[test]
fn a_pool_without_its_promises_is_not_known_to_be_idle() {
    let (_, found) = ticket(
        "MemTotal:       131902464 kB\nHugePages_Total:   45056\nHugePages_Free:    45056\n\
         Hugepagesize:       2048 kB\n",
    );
    assert_eq!(answer(&found, "memory.hugetlb").0, Verdict::Unknown);
}

#[test]
fn a_kill_in_the_kernels_log_is_a_warning() {
    let (_, found) = ticket(
        "# dmesg -T | tail -2\n\
         [Mon Nov 23 03:11:09 2026] Out of memory: Killed process 4121 (java) total-vm:31457280kB\n\
         [Mon Nov 23 03:11:10 2026] oom_reaper: reaped process 4121 (java), now anon-rss:0kB\n",
    );
    assert_eq!(suffers(&found), ["oom_kills"]);
    assert!(answer(&found, "memory.killed").1.contains("java"));
}

#[test]
fn a_quota_of_a_pod_is_seen_on_an_idle_machine() {
    let (_, found) = ticket(
        "$ kubectl exec api-7f -- cat /sys/fs/cgroup/cpu.stat\n\
         usage_usec 981230000\nuser_usec 800000000\nsystem_usec 181230000\nnr_periods 91233\n\
         nr_throttled 60211\nthrottled_usec 7812000000\n",
    );
    assert_eq!(suffers(&found), ["throttled"]);
}

/// What everybody sees in `top` when it was transparent huge pages: a suspicion, not a certainty.
#[test]
fn a_guess_is_never_critical() {
    let setting = "\
[root@cache1 ~]# cat /sys/kernel/mm/transparent_hugepage/enabled
[always] madvise never
";
    let storm = SET_STORM.replace("48.30", "68.30").replace("30.50", "10.50");
    let text: &'static str = Box::leak(format!("{storm}{setting}").into_boxed_str());
    let (_, found) = ticket(text);
    assert_eq!(key(&found.findings[0]), "huge_faults");
    assert_eq!(found.findings[0].severity, Severity::Warning);
}

/// Plain `iostat` has no `%util`: the disk with nearly all requests is the one that is waited for.
#[test]
fn requests_alone_name_the_disk() {
    let (_, found) = ticket(
        "Linux 5.14.0 (fs1)  11/23/2026  _x86_64_  (4 CPU)\n\n\
         avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           \
         3.10    0.00    4.80   71.10    0.00   21.00\n\n\
         Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n\
         sda               2.00         0.00        12.00          0         24\n\
         sdb             214.00         0.00    108544.00          0     217088\n",
    );
    assert_eq!(suffers(&found), ["disk_bandwidth"]);
    let (verdict, said) = answer(&found, "io.disk");
    assert_eq!(verdict, Verdict::Yes);
    assert!(said.starts_with("sdb: 214 requests a second, mostly writes"), "{said}");
    let remedies = &found.findings[0].remedies;
    assert!(remedies.iter().all(|remedy| !remedy.command.contains("IOReadBandwidth")));
}

/// What is seen above an unanswered question is reported, whatever is found below it.
#[test]
fn more_data_does_not_hide_a_symptom() {
    const SYSTEM: &str = "\
07:20:01 AM CPU   %user     %nice   %system   %iowait     %idle
07:30:01 AM all   16.44      0.00      2.11     22.21     59.24
07:40:01 AM all   16.40      0.00     69.21      4.11     10.29
07:50:01 AM all   23.15      0.00      2.00     21.53     53.32

";
    const TABLES: &str =
        "MemTotal:     20549012 kB\nPageTables:    5007924 kB\nHugePages_Total:     0\n";
    let both: &'static str = Box::leak(format!("{SYSTEM}{TABLES}").into_boxed_str());
    let (_, alone) = ticket(SYSTEM);
    let (_, found) = ticket(both);
    assert_eq!(alone.worst(), Some(Severity::Critical));
    assert_eq!(found.worst(), alone.worst());
    let keys: Vec<&str> = found.findings.iter().map(key).collect();
    assert_eq!(keys, ["page_tables"]);
}
