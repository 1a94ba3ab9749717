//! Input from strangers: whatever a text holds, what is kept of it and what is said about it are
//! bounded, and what is left out is named.

use std::fmt::Write as _;

use hugewise_evidence::diagnose::{Diagnosis, INTERVALS_MAX, Thresholds, diagnose};
use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_evidence::recording::{Builder, Field, Recording};

const BANNER: &str = "Linux 6.1.0 (vm) \t2026-11-22 \t_x86_64_\t(2 CPU)\n\n";
const CPU: &str = "CPU     %user     %nice   %system   %iowait    %steal     %idle";
const MEMORY: &str = "kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit \
                      kbactive kbinact kbdirty";

fn clock(second: usize) -> String {
    format!("{:02}:{:02}:{:02}", second / 3600 % 24, second / 60 % 60, second % 60)
}

fn read(text: &str) -> Recording {
    let mut builder = Builder::new();
    builder.read("x", text.as_bytes()).expect("a text");
    builder.finish()
}

fn says(recording: &Recording, wanted: &str) {
    let said = recording.problems.iter().any(|problem| problem.text.contains(wanted));
    assert!(said, "'{wanted}' is not said: {:?}", recording.problems);
}

fn diagnosed(recording: &Recording) -> Diagnosis {
    diagnose(recording, &Thresholds::default())
}

/// Whatever the recording, a diagnosis is of a size that can be shown.
fn is_bounded(found: &Diagnosis) {
    for asked in found.hosts.iter().flat_map(|host| &host.tree) {
        let Some(answer) = &asked.answer else { continue };
        let (held, blind) = (answer.intervals.len(), answer.blind.len());
        assert!(held <= INTERVALS_MAX && blind <= INTERVALS_MAX, "{}: {held} {blind}", asked.id);
        assert!(answer.evidence.len() <= 40, "{}: {}", asked.id, answer.evidence.len());
    }
    let text = serde_json::to_string(found).expect("JSON");
    assert!(text.len() < 8 << 20, "{} MiB of JSON", text.len() >> 20);
}

/// Free memory that is low and high by turns, at these times.
fn swinging(times: impl Iterator<Item = usize>) -> String {
    let mut text = format!("{BANNER}00:00:00 {MEMORY}\n");
    for (index, second) in times.enumerate() {
        let free = if index % 2 == 0 { 100 } else { 15_000_000 };
        let _ = writeln!(text, "{} {free} 0 16000000 99.00 0 0 0 0.00 0 0 0", clock(second));
    }
    text
}

#[test]
fn one_time_again_and_again_is_one_time() {
    let recording = read(&swinging((0..60_000).map(|_| 43_200)));
    let found = diagnosed(&recording);
    is_bounded(&found);
    let tree = &found.hosts[0].tree;
    let swings = tree.iter().find(|asked| asked.id == "memory.swinging").expect("the question");
    let answer = swings.answer.as_ref().expect("an answer");
    assert_eq!((answer.intervals.len(), answer.evidence.len()), (1, 2));
}

#[test]
fn episodes_beyond_number_are_told_as_fewer() {
    // Every ten minutes for 70 days.
    let times = || (0..10_000).map(|sample| sample * 600);
    let mut text = swinging(times());
    let _ = writeln!(text, "\n00:00:00 {CPU}");
    for (index, second) in times().enumerate() {
        let (system, idle) = if index % 2 == 0 { (90, 9) } else { (1, 98) };
        let _ = writeln!(text, "{} all 1.00 0.00 {system}.00 0.00 0.00 {idle}.00", clock(second));
    }
    let found = diagnosed(&read(&text));
    is_bounded(&found);
    let kernel = found.hosts[0].tree.iter().find(|asked| asked.id == "cpu.kernel");
    let times = kernel.and_then(|asked| asked.answer.as_ref()).expect("an answer");
    assert_eq!(times.intervals.len(), INTERVALS_MAX);
    assert!(times.evidence.iter().any(|said| said.text.contains("in 5000 stretches of time")));
}

#[test]
fn times_that_go_backwards_do_no_harm() {
    let found = diagnosed(&read(&swinging((0..20_000).map(|index| index * 7919 % 86_400))));
    is_bounded(&found);
    let found = diagnosed(&read(&swinging((0..20_000).rev())));
    is_bounded(&found);
}

#[test]
fn the_same_machine_block_by_block_is_one_series() {
    let disk = "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util";
    let mut text = String::new();
    for block in 0..15_000 {
        let (head, row) = (clock(2 * block), clock(2 * block + 1));
        let _ =
            writeln!(text, "{BANNER}{head} {disk}\n{row} sda 9.0 9.0 9.0 0.0 20.0 9.0 90.0 99.0");
    }
    let recording = read(&text);
    assert_eq!(recording.problems, []);
    let (_, series) = recording.hosts[0].subjects(Field::DiskBusy).next().expect("a disk");
    assert_eq!((series.len(), series[0].points.len()), (1, 15_000));
    // Each sample's source was compared with all sources of each other column.
    is_bounded(&diagnosed(&recording));
}

#[test]
fn machines_and_blocks_beyond_number_are_left_out_and_told() {
    let block = |host: usize| {
        let banner = BANNER.replace("(vm)", &format!("(vm{host})"));
        format!("{banner}00:00:01 {CPU}\n00:00:02 all 1.00 0.00 1.00 0.00 0.00 98.00\n")
    };
    let recording = read(&(0..2000).map(block).collect::<String>());
    assert_eq!(recording.hosts.len(), 1024);
    says(&recording, "1024 machines");
    // Comparing each machine with all others took the square of their number.
    let found = diagnosed(&recording);
    assert_eq!(found.hosts.len(), 1024);

    let recording = read(&"MemTotal: 5 kB\nnot of any tool\n".repeat(30_000));
    assert_eq!(recording.sources.len(), 20_000);
    says(&recording, "20000 blocks");
    let text: String = (0..120_000).map(|number| format!("vm.x{number} = 1\n")).collect();
    let recording = read(&text);
    assert_eq!(recording.hosts[0].settings.len(), 100_000);
    says(&recording, "100000 settings");
    let restarts = "00:00:01       LINUX RESTART\t(2 CPU)\n".repeat(120_000);
    let recording = read(&format!("{BANNER}{restarts}"));
    assert_eq!(recording.hosts[0].restarts.len(), 100_000);
    says(&recording, "100000 restarts");
}

#[test]
fn values_of_a_machine_too_many_go_to_no_other() {
    let mut text = String::new();
    for host in 0..1025 {
        let _ = writeln!(text, "[root@h{host} ~]# cat /proc/meminfo\nMemTotal: {} kB", host + 1);
    }
    let recording = read(&text);
    let sizes = recording.hosts.iter().filter_map(|host| {
        let (_, series) = host.subjects(Field::MemTotal).next()?;
        Some(series.iter().map(|series| series.points.len()).sum::<usize>())
    });
    assert!(sizes.clone().all(|points| points == 1));
    assert_eq!(sizes.count(), 1024);
}

#[test]
fn problems_beyond_number_are_counted_as_such() {
    let recording = read(&"tcp x 0 1.2.3.4:5 6.7.8.9:1\n".repeat(1000).replacen('x', "1", 1));
    assert_eq!(recording.problems.len(), 65);
    says(&recording, "more than 64 problems");
}

#[test]
fn the_largest_numbers_add_up_to_no_panic() {
    let most = u64::MAX;
    let mut text =
        "Proto Recv-Q Send-Q Local Address Foreign Address State PID/Program\n".to_owned();
    for port in 0..2000 {
        let _ = writeln!(text, "tcp {most} {most} 1.1.1.1:{port} 2.2.2.2:9 ESTABLISHED 1/x");
    }
    is_bounded(&diagnosed(&read(&text)));
    let row = |second: usize| format!("{} all {most} {most} nan inf -1 1e308", clock(second));
    let rows: Vec<String> = (0..100).map(row).collect();
    let recording = read(&format!("{BANNER}00:00:01 {CPU}\n{}\n", rows.join("\n")));
    assert!(recording.hosts.iter().all(|host| host.series.is_empty() || !host.is_empty()));
    is_bounded(&diagnosed(&recording));
}

/// Two samples of one file.
fn captured(path: &str, text: &str) -> Recording {
    let (mut out, mut capture) = (Builder::new(), Capture::new("x"));
    for second in 0..2_u64 {
        let (at, up) = (1_795_305_600_000 + second * 1000, second * 1_000_000_000);
        let head = format!(
            "hugewise-capture 1 at_ms={at} utc_offset_s=0 monotonic_ns={up} ticks_per_s=100 \
             page_bytes=4096 host=vm boot=b files=1\n"
        );
        let sample = format!("{head}@@ {} {path}\n{text}\n", text.len());
        capture.take(sample.as_bytes(), &mut out);
    }
    capture.end(&mut out);
    out.finish()
}

#[test]
fn devices_beyond_number_in_a_sample_are_left_out_and_told() {
    let rows = |count: usize, row: fn(usize) -> String| (0..count).map(row).collect::<String>();
    for (path, text, wanted) in [
        (
            "/proc/diskstats",
            rows(70_000, |n| format!("8 {n} sd{n} 1 1 1 1 1 1 1 1 1 1 1\n")),
            "65536 rows",
        ),
        (
            "/proc/net/dev",
            rows(70_000, |n| format!("e{n}: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n")),
            "65536 rows",
        ),
        ("/proc/stat", rows(9000, |_| "cpu7 1 1 1 1 1 1 1 1 1 1\n".to_owned()), "8192 CPUs"),
        ("/proc/vmstat", rows(9000, |n| format!("a{n} 1\n")), "8192 names"),
        ("/proc/interrupts", format!("CPU0\n{}", rows(201_000, |n| format!("{n}: 1\n"))), "200000"),
        ("/proc/loadavg", " ".repeat(17 << 20), "more than 16 MiB"),
        ("/proc/net/snmp", rows(100, |n| format!("P{n}: a\nP{n}: 1\n")), "64 protocols"),
    ] {
        let recording = captured(path, &text);
        says(&recording, wanted);
        is_bounded(&diagnosed(&recording));
    }
}

#[test]
fn a_sample_of_json_beyond_any_size_is_left_out_and_told() {
    let zeros = "0,".repeat(2_100_000);
    let first = r#"{"timestamp":{"date":"2026-11-22","time":"00:00:01"},"queue":{"ldavg-1":1.0}}"#;
    let head = r#"{"sysstat":{"hosts":[{"nodename":"x","statistics":["#;
    let recording = read(&format!("{head}{first},[{zeros}0]]}}]}}}}"));
    says(&recording, "a sample of more than 2000000 values");
    assert!(recording.hosts[0].subjects(Field::Load1).next().is_some());
    let sample = format!(r#"{{"timestamp":9,"elapsed":1,"x":[{zeros}0]}}"#);
    says(&read(&sample), "more than 2000000 values");
    says(&read(&format!("{{\"sysstat\":{}", "[".repeat(1_000_000))), "truncated");
}

/// A thread of a pool, in a place of its own, that waits for a lock of its own.
fn thread(number: usize) -> String {
    format!(
        "\"pool-{}-thread-{number}\" #{number} prio=5 os_prio=0 cpu=1.20ms elapsed=9.90s \
         tid=0x7f{number:010x} nid=0x{number:x} waiting for monitor entry\n   \
         java.lang.Thread.State: BLOCKED (on object monitor)\n\tat \
         com.shop.Part{number}.take(Part.java:1)\n\t- waiting to lock <0x{number:016x}> (a \
         com.shop.Part{number})\n\t- locked <0x{:016x}> (a com.shop.Part)\n\tat \
         java.util.concurrent.ThreadPoolExecutor.runWorker(X.java:1)\n\n",
        number % 5000,
        number + 1
    )
}

#[test]
fn a_dump_of_threads_beyond_number_is_told_by_its_largest_groups() {
    let head = "Full thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n";
    let text: String = std::iter::once(head.to_owned()).chain((0..120_000).map(thread)).collect();
    let recording = read(&text);
    says(&recording, "more than 100000 threads: 20000 are left out");
    let host = &recording.hosts[0];
    let (_, all) = host.subjects(Field::Threads).next().expect("the program");
    assert_eq!(all[0].points[0].value, 100_000.0);
    let series: usize = Field::ALL.iter().map(|field| host.subjects(*field).count()).sum();
    assert!(series < 1000, "{series}");
    is_bounded(&diagnosed(&recording));
}

#[test]
fn a_line_that_repeats_its_beginning_takes_no_stack() {
    let nested = "docker exec c ".repeat(70_000);
    for line in [
        " kernel: ".repeat(60_000),
        format!("# {nested}top"),
        format!("root@h:~# {nested}top"),
        format!("root@h:~# {}top", "ssh h ".repeat(70_000)),
        format!("see {}ssh", "for ".repeat(100_000)),
    ] {
        is_bounded(&diagnosed(&read(&line)));
    }
}

#[test]
fn a_chain_of_calls_beyond_any_depth_is_cut_and_told() {
    // Each function was compared with all before it.
    let head = "    40.00%  sh  [kernel.kallsyms]  [k] f0\n            |\n            ---f0\n";
    let calls: String = (1..60_000).map(|n| format!("               f{n}\n")).collect();
    let recording = read(&format!("{head}{calls}"));
    says(&recording, "chains of more than 1024 calls in a profile: 58976 more functions");
    assert_eq!(recording.hosts[0].subjects(Field::WithinPercent).count(), 1024);
    is_bounded(&diagnosed(&recording));
    let rows = (0..10_100).map(|n| format!("     0.01%  sh  [kernel.kallsyms]  [k] f{n}\n"));
    says(&read(&rows.collect::<String>()), "more than 10000 functions or ways: 100 more");
}

#[test]
fn a_queue_of_sessions_is_followed_once() {
    // Each session's way to the first of the queue was walked anew.
    let head = " pid | state | wait_event_type | wait_event | blocked_by\n-----+---+---+---+---\n";
    let row = |n: usize| format!(" {n} | active | Lock | lock{n} | {{{}}}\n", n + 1);
    let recording = read(&format!("{head}{}", (0..10_020).map(row).collect::<String>()));
    says(&recording, "more than 10000 sessions in a view: 20 are left out");
    says(&recording, "more than 1000 kinds of wait in a view: 9020 are left out");
    let heads: Vec<_> = recording.hosts[0].subjects(Field::SessionsBlocked).collect();
    let [(head, blocked)] = heads.as_slice() else { panic!("{heads:?}") };
    assert_eq!(head.to_string(), "postgres, session 10000");
    assert_eq!(blocked[0].points[0].value, 10_000.0);
    is_bounded(&diagnosed(&recording));
}

#[test]
fn programs_beyond_number_that_do_not_read_are_not_listed_each() {
    // Each program had a list of services, and each of these a list of its connections.
    let mut text =
        "Proto Recv-Q Send-Q Local Address Foreign Address State PID/Program\n".to_owned();
    for n in 0..20_000 {
        let _ = writeln!(text, "tcp {} 1 1.1.1.1:{n} 2.2.2.2:{n} ESTABLISHED {n}/p{n}", n + 1);
    }
    let found = diagnosed(&read(&text));
    is_bounded(&found);
    let slow = found.hosts[0].tree.iter().find(|asked| asked.id == "network.reader");
    let answer = slow.and_then(|asked| asked.answer.as_ref()).expect("an answer");
    assert!(answer.evidence[0].text.contains("p19999 (PID 19999) has not read 20"));
}
