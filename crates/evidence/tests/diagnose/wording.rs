//! What findings say: whose end of a connection, at whose limit, of which direction, later than
//! what, and which machines are compared.

use super::{found, of_texts, suffers};
use hugewise_evidence::diagnose::Severity;

/// All that a ticket's finding says.
fn said(text: &str, cause: &str) -> String {
    let diagnosis = of_texts(&[("ticket", text)]);
    let finding = found(&diagnosis, cause);
    let all = finding.chain.iter().flat_map(|step| &step.evidence);
    all.map(|evidence| evidence.text.clone()).collect::<Vec<_>>().join("\n")
}

macro_rules! corpus {
    ($name:literal) => {
        include_str!(concat!("../corpus/", $name))
    };
}

#[test]
fn the_end_that_is_shared_is_the_service() {
    let text = said(corpus!("blind-consumer-ephemeral.txt"), "slow_reader");
    assert!(text.contains("all 12 with 10.20.1.60:5672"), "{text}");
}

#[test]
fn kills_are_at_the_limit_of_somebody() {
    let text = said(corpus!("blind-memcg-oom.txt"), "oom_kills");
    assert!(text.contains("java (4.0 GiB resident) for memory, 3 times"), "{text}");
    assert!(text.contains("once at the limit of 4.0 GiB of /kubepods.slice/"), "{text}");
    assert!(!text.contains("machine's memory was used up"), "{text}");
    let machine =
        said("[1.0] Out of memory: Killed process 812 (java) total-vm:1kB\n", "oom_kills");
    assert!(machine.contains("the machine's memory was used up"), "{machine}");
    for cut in [
        "[7.0] etcd invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0\n",
        "[7.0] Killed process 7 (etcd) total-vm:9kB, anon-rss:8kB, file-rss:0kB\n",
        "[7.0] oom_reaper: reaped process 7 (etcd), now anon-rss:0kB, file-rss:0kB\n",
    ] {
        let text = said(cut, "oom_kills");
        assert!(text.contains("the machine's or a cgroup's, these lines do not say"), "{text}");
        assert!(text.contains("etcd"), "{text}");
    }
    let cma = said(
        "[9.0] DMA free:300000kB min:9000kB low:9900kB high:11000kB free_cma:298000kB\n\
         [9.0] Out of memory: Killed process 9 (gdm) total-vm:9kB, anon-rss:8kB\n",
        "oom_kills",
    );
    assert!(!cma.contains("was used up"), "{cma}");
    assert!(cma.contains("293.0 MiB that were free 291.0 MiB are CMA"), "{cma}");
}

#[test]
fn a_kill_that_several_lines_tell_of_is_one() {
    let log = "Mar  2 11:00:01 n4 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),\
               oom_memcg=/jobs,task_memcg=/jobs/1,task=solver,pid=99,uid=7\n\
               Mar  2 11:00:02 n4 systemd[1]: jobs.service: Failed with result 'oom-kill'.\n\
               Mar  2 11:00:03 n4 kernel: oom_reaper: reaped process 99 (solver), now \
               anon-rss:0kB, file-rss:0kB\n";
    let text = said(log, "oom_kills");
    assert!(text.contains("killed solver for memory") && !text.contains("times"), "{text}");
    let events = "LAST SEEN   TYPE      REASON       OBJECT     MESSAGE\n\
                  4m          Warning   OOMKilling   node/n4    Memory cgroup out of memory: \
                  Killed process 99 (solver) total-vm:9kB, anon-rss:8kB\n\
                  3m          Warning   SystemOOM    node/n4    System OOM encountered, victim \
                  process: solver, pid: 99\n";
    let text = said(events, "oom_kills");
    assert!(!text.contains("machine's memory was used up"), "{text}");
}

#[test]
fn a_kill_is_as_old_as_the_log_goes_on() {
    let kill = "[ 100.0] Out of memory: Killed process 9 (gdm) total-vm:9kB, anon-rss:8kB\n";
    for (after, severity, words) in [
        ("[ 160.0] usb 1-1: new device\n", Severity::Warning, "gdm"),
        ("[812044.0] usb 1-1: new device\n", Severity::Note, "9 days before the log's end"),
    ] {
        let diagnosis = of_texts(&[("ticket", &format!("{kill}{after}"))]);
        assert_eq!(found(&diagnosis, "oom_kills").severity, severity, "{after}");
        assert!(said(&format!("{kill}{after}"), "oom_kills").contains(words), "{after}");
    }
}

#[test]
fn what_raises_the_limit_of_a_kill_is_filled_in() {
    for (limited, command) in [
        (
            "/system.slice/api.service",
            "systemctl set-property --runtime api.service MemoryMax=768M",
        ),
        (
            "/kubepods/burstable/pod7",
            "kubectl set resources WORKLOAD -c CONTAINER --limits=memory=768Mi",
        ),
        ("/docker/8f1e", "docker update --memory 768M --memory-swap 768M 8f1e"),
        ("/jobs/nightly", "echo 768M > /sys/fs/cgroup/jobs/nightly/memory.max"),
    ] {
        let text = format!(
            "[5.0] memory: usage 524288kB, limit 524288kB, failcnt 9\n\
             [5.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,\
             oom_memcg={limited},task_memcg={limited},task=node,pid=31,uid=0\n"
        );
        let diagnosis = of_texts(&[("ticket", &text)]);
        let remedies = &found(&diagnosis, "oom_kills").remedies;
        assert!(remedies.iter().any(|remedy| remedy.command == command), "{remedies:?}");
        assert!(remedies.iter().all(|remedy| remedy.what != "add memory"), "{remedies:?}");
    }
}

#[test]
fn only_one_line_of_a_log_is_once() {
    let counts = [(1, "once"), (2, "2 times"), (11, "11 times"), (21, "21 times")];
    for (lines, times) in counts.into_iter().chain([(101, "101 times")]) {
        let log = "accept4() failed (24: Too many open files)\n";
        let all: String = (0..lines)
            .map(|line| {
                format!("2024/06/14 03:{:02}:{:02} [crit] 9#9: {log}", line / 60, line % 60)
            })
            .collect();
        let text = said(&all, "open_files");
        assert!(text.contains(&format!("a log says {times}: too many open files")), "{text}");
    }
}

#[test]
fn a_slow_disk_is_not_called_full_of_requests() {
    let diagnosis = of_texts(&[("ticket", corpus!("blind-dying-disk.txt"))]);
    assert_eq!(suffers(&diagnosis), ["disk_latency"]);
    let text = said(corpus!("blind-dying-disk.txt"), "disk_latency");
    assert!(text.contains("kernel's log has 3 lines, the last about sdb: sd 0:2:1:0"), "{text}");
    let remedies = &found(&diagnosis, "disk_latency").remedies;
    assert!(remedies.iter().any(|remedy| remedy.command.starts_with("smartctl")));
    assert!(remedies.iter().all(|remedy| !remedy.what.starts_with("more than one")));
}

#[test]
fn a_process_that_a_list_leaves_out_was_idle() {
    let text = said(corpus!("blind-khugepaged-bursts.txt"), "khugepaged");
    assert!(text.contains("of one CPU 59.4 %"), "475 % in eight seconds: {text}");
}

#[test]
fn a_row_of_top_h_is_a_thread() {
    let text = said(corpus!("blind-one-thread.txt"), "one_cpu");
    assert!(text.contains("CPU of the thread 99.9 %"), "{text}");
}

#[test]
fn clearing_counts_where_pages_are_huge() {
    let text = said(corpus!("blind-perf-huge-chain.txt"), "huge_faults");
    assert!(text.contains("with what they call"), "{text}");
    let alone: String = corpus!("blind-perf-huge-chain.txt")
        .lines()
        .filter(|line| line.contains('%') || !line.starts_with("  "))
        .filter(|line| !line.contains("--"))
        .map(|line| format!("{line}\n"))
        .collect();
    // Without a word of THP it is page faults, of one kind or the other.
    assert_eq!(suffers(&of_texts(&[("ticket", &alone)])), ["page_faults"]);
    assert!(said(&alone, "page_faults").contains("of base pages or of huge ones"));
    let always = "$ cat /sys/kernel/mm/transparent_hugepage/enabled\n[always] madvise never\n";
    let both = of_texts(&[("ticket", &format!("{alone}\n{always}"))]);
    assert_eq!(suffers(&both), ["huge_faults"]);
}

/// Two machines, one full and one idle.
fn two(first_day: &str, second_day: &str) -> Vec<&'static str> {
    let sar = |host: &str, day: &str, idle: u32| {
        let row = |minute: u32| {
            let user = 99 - idle;
            format!(
                "10:0{minute}:01     all     {user}.00      0.00      1.00      0.00      \
                     0.00     {idle}.00\n"
            )
        };
        let rows: String = (1..6).map(row).collect();
        format!(
            "Linux 5.14.0 ({host})  {day}  _x86_64_  (8 CPU)\n\n10:00:01     CPU     %user     \
                 %nice   %system   %iowait    %steal     %idle\n{rows}"
        )
    };
    let (full, idle) = (sar("db1", first_day, 2), sar("db2", second_day, 90));
    let texts: [(&str, &str); 2] = [("one", &full), ("other", &idle)];
    suffers(&of_texts(&texts))
}

#[test]
fn machines_are_compared_at_the_same_time() {
    assert!(two("11/23/2026", "11/23/2026").contains(&"one_host"));
    assert!(!two("11/23/2026", "11/22/2026").contains(&"one_host"));
    assert!(!undated().contains(&"one_host"));
}

/// The same by `vmstat`, which has no times.
fn undated() -> Vec<&'static str> {
    const HEAD: &str = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id \
                        wa st\n";
    let rows = |user: u32, idle: u32| {
        format!(" 9  0      0 500 500 500    0    0     0     0 100 100 {user} 1 {idle} 0 0\n")
            .repeat(2)
    };
    let full = format!("$ vmstat 1\n{HEAD}{}", rows(97, 2));
    let idle = format!("db2:~ # vmstat 1\n{HEAD}{}", rows(7, 92));
    suffers(&of_texts(&[("one", &full), ("other", &idle)]))
}
