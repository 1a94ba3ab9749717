//! Small texts of the tools, and what is wrong with some of them.

use crate::recording::{Builder, Clock, Field, Recording, SourceKind, Stamp, Subject};

fn read(text: &str) -> Recording {
    let mut builder = Builder::new();
    builder.read("a", text.as_bytes()).expect("a text");
    builder.finish()
}

fn values(recording: &Recording, field: Field, subject: &Subject) -> Vec<f64> {
    let host = recording.hosts.first().expect("a host");
    let series = host.series(field, subject).into_iter().flat_map(|series| &series.points);
    series.map(|point| point.value).collect()
}

fn machine(recording: &Recording, field: Field) -> Vec<f64> {
    values(recording, field, &Subject::Machine)
}

fn times(recording: &Recording, field: Field) -> Vec<String> {
    let host = recording.hosts.first().expect("a host");
    let series = host.series(field, &Subject::Machine).into_iter().flat_map(|s| &s.points);
    series.map(|point| point.at.map(|at| at.to_string()).unwrap_or_default()).collect()
}

fn clean(recording: &Recording) {
    assert_eq!((&recording.problems[..], &recording.unrecognised[..]), (&[][..], &[][..]));
}

fn only_kind(recording: &Recording) -> SourceKind {
    assert_eq!(recording.sources.len(), 1, "{:?}", recording.sources);
    recording.sources[0].kind
}

#[test]
fn midnight_is_crossed_in_each_table() {
    let text = "Linux 3.10.0 (db) \t01/31/2026 \t_x86_64_\t(8 CPU)\n\n\
        23:40:01          CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
        23:50:01          all      1.00      0.00      2.00      0.00      0.00     97.00\n\
        00:00:01          all      1.50      0.00      2.00      0.00      0.00     96.50\n\n\
        23:40:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15\n\
        23:50:01            1       100      0.10      0.20      0.30\n\
        00:00:01            2       101      0.10      0.20      0.30\n\
        00:10:01            3       101      0.10      0.20      0.30\n\
        00:11:30       LINUX RESTART\t(4 CPU)\n\n\
        00:20:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15\n\
        00:30:01            4       101      0.10      0.20      0.30\n";
    let recording = read(text);
    clean(&recording);
    assert_eq!(only_kind(&recording), SourceKind::SarText);
    assert_eq!(times(&recording, Field::CpuKernel), ["2026-01-31 23:50:01", "2026-02-01 00:00:01"]);
    assert_eq!(machine(&recording, Field::RunQueue), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(times(&recording, Field::RunQueue)[3], "2026-02-01 00:30:01");
    assert_eq!(machine(&recording, Field::CpuCount), [8.0, 4.0]);
    let restarts = &recording.hosts[0].restarts;
    assert_eq!(restarts.len(), 1);
    assert_eq!(restarts[0].at.map(|at| at.to_string()).as_deref(), Some("2026-02-01 00:11:30"));
}

#[test]
fn old_disks_are_in_sectors() {
    let text = "08:20:01 AM DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n\
        08:30:01 AM dev8-0 10.00 100.00 300.00 40.00 0.50 5.00 1.00 1.00\n\
        08:40:01 AM dev8-0 20.00 200.00 600.00 40.00 0.50 5.00 1.00 1.00\n\
        Average: dev8-0 15.00 150.00 450.00 40.00 0.50 5.00 1.00 1.00\n";
    let recording = read(text);
    clean(&recording);
    let disk = Subject::Disk("dev8-0".into());
    assert_eq!(values(&recording, Field::DiskReadBytes, &disk), [51_200.0, 102_400.0]);
    assert_eq!(values(&recording, Field::DiskRequestBytes, &disk), [20_480.0, 20_480.0]);
    assert_eq!(values(&recording, Field::DiskTransfers, &disk), [10.0, 20.0]);
}

#[test]
fn swapping_counts_base_pages() {
    let text = "10:00:01     pswpin/s pswpout/s\n10:10:01         2.00      0.50\n";
    let recording = read(text);
    assert_eq!(machine(&recording, Field::SwapIn), [8192.0]);
    assert_eq!(machine(&recording, Field::SwapOut), [2048.0]);
}

#[test]
fn torn_rows_are_left_out_and_told() {
    let header = "10:00:01 CPU %user %nice %system %iowait %steal %idle\n\
        10:10:01          all      1.00      0.00      2.00      0.00      0.00     97.00\n";
    for torn in [
        "10:2",
        "10:20:01",
        "10:20:01          all      1.00",
        "10:20:01          all      1.00      0.00      2.00      0.00      0.00     97.0",
        "10:20:01          all      1.00      0.00      2.00      0.00      0.00     9",
    ] {
        let recording = read(&format!("{header}{torn}"));
        assert_eq!(recording.problems.len(), 1, "{torn}");
        assert!(recording.problems[0].text.starts_with("truncated"), "{torn}");
        assert_eq!(machine(&recording, Field::CpuIdle), [97.0], "{torn}");
    }
}

#[test]
fn numbers_that_cannot_be_are_told() {
    let header =
        "10:00:01          CPU     %user     %nice   %system   %iowait    %steal     %idle\n";
    for row in [
        "10:10:01 all 4294967295.00 0.00 2.00 0.00 0.00 97.00",
        "10:10:01 all -1.00 0.00 2.00 0.00 0.00 97.00",
        "10:10:01 all 1.00 0.00 2.00 0.00 0.00 97.00 3.00",
        "10:10:01 all 1.00 0.00 x 0.00 0.00 97.00",
        "10:10:01 most 1.00 0.00 2.00 0.00 0.00 97.00",
    ] {
        let recording = read(&format!("{header}{row}\n"));
        assert_eq!(recording.problems.len(), 1, "{row}");
        assert!(recording.hosts[0].series.is_empty(), "{row}");
    }
}

#[test]
fn unknown_tables_are_told_and_known_ones_passed_over() {
    let recording = read(
        "10:00:01       call/s retrans/s    read/s   write/s  access/s  getatt/s\n\
         10:10:01         0.00      0.00      0.00      0.00      0.00      0.00\n\n\
         10:00:01        newval/s   %newer\n\
         10:10:01            1.00     2.00\n\n\
         10:00:01       proc/s   cswch/s\n\
         10:10:01         3.00     51.00\n",
    );
    // A paste that begins with a table without fields is sar's all the same.
    assert_eq!(recording.problems.len(), 1, "{:?}", recording.problems);
    assert!(recording.problems[0].text.contains("newval/s"));
    assert_eq!(recording.unrecognised, []);
    assert_eq!(machine(&recording, Field::Forks), [3.0]);
    assert_eq!(recording.hosts[0].series.len(), 2);
}

#[test]
fn prose_ends_a_table() {
    let recording = read(
        "10:00:01       proc/s   cswch/s\n10:10:01         3.00     51.00 <-- look\n\
         ....\n10:30:01         4.00     52.00\n\nThen, 10:30:01, it stopped.\n\
         10:30:01 was when it stopped.\nMemTotal:     20549012 kB\nHugePages_Total:     0\n",
    );
    assert_eq!(machine(&recording, Field::Forks), [3.0, 4.0]);
    assert_eq!(recording.problems, []);
    assert_eq!(recording.unrecognised.len(), 1);
    assert_eq!((recording.unrecognised[0].first_line, recording.unrecognised[0].last_line), (6, 7));
}

#[test]
fn carriage_returns_and_hard_blanks() {
    let recording = read(
        "\u{feff}10:00:01\u{a0}AM\u{a0}\u{a0}CPU\u{a0}%user\u{a0}%nice\t%system %iowait %idle\r\n\
         10:10:01\u{a0}PM\u{a0}all\u{a0}1.00\t2.00 3.00 4.00 90.00\u{a0}<--\r\n",
    );
    clean(&recording);
    assert_eq!(times(&recording, Field::CpuKernel), ["22:10:01"]);
    assert_eq!(machine(&recording, Field::CpuIdle), [90.0]);
}

#[test]
fn interrupts_of_sar_and_mpstat() {
    let recording = read(
        "10:00:01         INTR       all      CPU0      CPU1\n\
         10:10:01          sum    513.50    200.00    313.50\n\
         10:10:01           24      5.00      2.00      3.00\n",
    );
    clean(&recording);
    assert_eq!(machine(&recording, Field::Interrupts), [513.5]);
    let vector = |name: &str, cpu| Subject::Vector { name: name.to_owned(), cpu };
    assert_eq!(values(&recording, Field::IrqRate, &vector("24", Some(1))), [3.0]);
    let recording = read(
        "10:00:01     CPU       HI/s    TIMER/s   NET_RX/s\n\
         10:00:02       0       0.00      14.00      7.00\n\n\
         10:00:01     CPU    intr/s\n10:00:02     all     99.00\n10:00:02       1     55.00\n",
    );
    clean(&recording);
    assert_eq!(only_kind(&recording), SourceKind::Mpstat);
    assert_eq!(values(&recording, Field::SoftirqRate, &vector("NET_RX", Some(0))), [7.0]);
    assert_eq!(machine(&recording, Field::Interrupts), [99.0]);
}

#[test]
fn processes_have_names_and_no_arguments() {
    let recording = read(
        "Linux 6.1 (vm) \t11/22/26 \t_x86_64_\t(2 CPU)\n\n\
         10:00:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n\
         10:00:02        0        77    0.00    0.50    0.00    0.00    0.50     0  kworker/0:1\n\
         10:00:02 0 78 1.00 0.50 0.00 0.00 1.50 0 /usr/bin/x --key 5\n\
         10:00:02 0 79 1.00 0.50 0.00 0.00 1.50 0 Web Content <-- !\n\n\
         10:00:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n\
         10:00:02     1000        77     -1.00     -1.00     -1.00       0  kworker/0:1\n\
         10:00:02     1000        79      1.00      2.00      0.00       0  Web Content\n\n\
         Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n\
         Average:        0        77    0.00    0.50    0.00    0.00    0.50     -  kworker/0:1\n",
    );
    clean(&recording);
    assert_eq!(only_kind(&recording), SourceKind::Pidstat);
    let process = |pid, name: &str| Subject::process(Some(pid), name);
    assert_eq!(values(&recording, Field::ProcCpu, &process(77, "kworker/0:1")), [0.5]);
    assert_eq!(values(&recording, Field::ProcCpu, &process(78, "x")), [1.5]);
    assert_eq!(values(&recording, Field::ProcWrite, &process(79, "Web Content")), [2048.0]);
    assert_eq!(values(&recording, Field::ProcRead, &process(77, "kworker/0:1")), [0.0; 0]);
}

#[test]
fn processes_on_one_line_each() {
    let recording = read(
        "# Time UID PID %usr %system %guest %CPU CPU RSS cswch/s nvcswch/s Command\n\
         1767225600 0 7 1.00 2.00 0.00 3.00 1 100 1.00 2.00 sh\n",
    );
    clean(&recording);
    assert_eq!(recording.sources[0].clock, Clock::Utc);
    let sh = Subject::process(Some(7), "sh");
    assert_eq!(values(&recording, Field::ProcRss, &sh), [102_400.0]);
    assert_eq!(values(&recording, Field::ContextSwitches, &sh), [3.0]);
    let host = &recording.hosts[0];
    let at = host.series(Field::ProcRss, &sh).and_then(|series| series.points[0].at);
    assert_eq!(at, Some(Stamp(1_767_225_600)));
    // Since 11.7 with the time of day, and a header before each list.
    let list = |time: &str| {
        format!(
            "# Time UID PID %usr %system %guest %wait %CPU CPU Command\n\
             {time} 0 66 0.00 80.00 0.00 0.00 80.00 0 kswapd0\n\n"
        )
    };
    let text = format!(
        "Linux 5.14.0 (web1) \t02/21/24 \t_x86_64_\t(8 CPU)\n\n{}{}",
        list("16:55:48"),
        list("16:55:49")
    );
    let recording = read(&text);
    clean(&recording);
    let kswapd = Subject::process(Some(66), "kswapd0");
    let series = recording.hosts[0].series(Field::ProcCpu, &kswapd).expect("listed");
    let times: Vec<_> = series.points.iter().filter_map(|point| point.at).collect();
    assert_eq!(times[1].0 - times[0].0, 1);
    let recording = read(
        "10:00:01 UID TGID TID %usr %system %guest %wait %CPU CPU Command\n\
         10:00:02 0 10 - 1.00 0.00 0.00 0.00 1.00 1 java\n\
         10:00:02 0 - 11 1.00 0.00 0.00 0.00 1.00 1 |__java\n",
    );
    clean(&recording);
    assert_eq!(recording.hosts[0].subjects(Field::ProcCpu).count(), 1);
}

const REPORT: &str = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          \
     5.00    0.00    1.00    0.00    0.00   94.00\n\n\
     Device            r/s     rkB/s   await rareq-sz  aqu-sz  %util\n\
     sda              1.00      2.00    3.00     4.00    5.00   6.00\n\n";

#[test]
fn the_report_since_the_start_is_no_interval() {
    let banner = "Linux 6.1 (vm) \t11/22/26 \t_x86_64_\t(2 CPU)\n";
    let later = REPORT.replace("94.00", "50.00").replace("6.00\n", "60.00\n");
    let disk = Subject::Disk("sda".into());
    for (text, wanted) in [
        (format!("{banner}\n{REPORT}{later}{later}"), vec![60.0, 60.0]),
        // The only one there is.
        (format!("{banner}\n{REPORT}"), vec![6.0]),
        // iostat -y leaves two blank lines.
        (format!("{banner}\n\n{REPORT}\n{later}"), vec![6.0, 60.0]),
        // The author cut the first one away, or the first line.
        (format!("{banner}....\n{REPORT}{later}"), vec![6.0, 60.0]),
        (format!("{REPORT}{later}"), vec![6.0, 60.0]),
    ] {
        let recording = read(&text);
        clean(&recording);
        assert_eq!(only_kind(&recording), SourceKind::Iostat);
        assert_eq!(values(&recording, Field::DiskBusy, &disk), wanted, "{text}");
        assert_eq!(machine(&recording, Field::CpuIdle).len(), wanted.len());
    }
}

#[test]
fn iostat_with_times_and_old_names() {
    let recording = read(
        "11/22/2026 01:02:03 PM\n\
         Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn\n\
         sda               1.00         2.00         4.00          0          0\n\
         /dev/mapper/a-very-long-name-of-a-volume\n                  1.00  2.00 4.00 0 0\n\n\
         22.11.2026 14:02:03\n\
         Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn\n\
         sda               1,00         2,00         4,00          0          0\n\
         2026-11-22T15:02:03+0100\n\
         Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn\n\
         sda               1.00         2.00         4.00          0          0\n",
    );
    clean(&recording);
    let disk = Subject::Disk("sda".into());
    let host = &recording.hosts[0];
    let series = host.series(Field::DiskWriteBytes, &disk).expect("a series");
    let clocks: Vec<String> =
        series.points.iter().map(|point| point.at.expect("a time").to_string()).collect();
    assert_eq!(clocks, ["2026-11-22 13:02:03", "2026-11-22 14:02:03", "2026-11-22 15:02:03"]);
    assert!(series.points.iter().all(|point| point.value == 2048.0));
    let long = Subject::Disk("/dev/mapper/a-very-long-name-of-a-volume".into());
    assert_eq!(values(&recording, Field::DiskReadBytes, &long), [1024.0]);
}

const SADF: &str = r#"{"sysstat": {"hosts": [
    {"nodename": "old", "release": "2.6.32", "number-of-cpus": 4, "file-date": "2012-01-02",
     "statistics": [
       {"timestamp": {"date": "2012-01-02", "time": "10:00:01", "utc": 1, "interval": 600},
        "cpu-load": [{"cpu": "all", "user": 1.5, "nice": 0, "system": 2, 
                      "iowait": 0, "steal": 0, "idle": 96.5}],
        "interrupts": [{"intr": "sum", "value": 12.5}],
        "io": {"tps": 3.0, "io-reads": {"rtps": 1.0, "bread": 2.0},
               "io-writes": {"wtps": 2.0, "bwrtn": 4.0}},
        "disk": [{"disk-device": "dev8-0", "tps": 1.0, "rd_sec": 2.0, "wr_sec": 4.0,
                  "avgrq-sz": 8.0}]},
       {"timestamp": {"date": "2012-01-02", "time": "10:10:01", "utc": 1, "interval": 600},
        "memory": {"memfree": 100, "swpfree": 1, "swpused": 2}}
     ],
     "restarts": [{"boot": {"date": "2012-01-02", "time": "09:00:00", "utc": 1}}]
    }]}}"#;

#[test]
fn json_of_old_versions() {
    let recording = read(SADF);
    clean(&recording);
    assert_eq!(only_kind(&recording), SourceKind::SadfJson);
    assert_eq!(recording.sources[0].clock, Clock::Utc);
    let host = &recording.hosts[0];
    assert_eq!((host.name.as_deref(), host.restarts.len()), (Some("old"), 1));
    assert_eq!(host.settings["kernel"].text, "2.6.32");
    assert_eq!(machine(&recording, Field::Interrupts), [12.5]);
    assert_eq!(machine(&recording, Field::DiskReadBytes), [1024.0]);
    assert_eq!(machine(&recording, Field::CpuKernel), [2.0]);
    let disk = Subject::Disk("dev8-0".into());
    assert_eq!(values(&recording, Field::DiskRequestBytes, &disk), [4096.0]);
    assert_eq!(machine(&recording, Field::SwapTotal), [3072.0]);
    assert_eq!(times(&recording, Field::MemFree), ["2012-01-02 10:10:01"]);
}

#[test]
fn torn_json_keeps_what_was_read() {
    for end in 12..SADF.len() - 1 {
        let recording = read(&SADF[..end]);
        assert_eq!(recording.problems.len(), 1, "{end}");
        assert!(recording.problems[0].text.starts_with("truncated"), "{end}");
    }
    let recording = read(&SADF[..SADF.len() - 150]);
    assert_eq!(machine(&recording, Field::CpuKernel), [2.0]);
    let recording = read(&SADF.replace("\"restarts\"", "restarts"));
    assert!(recording.problems[0].text.starts_with("damaged"));
    assert_eq!(machine(&recording, Field::SwapTotal), [3072.0]);
}

#[test]
fn clocks_of_json() {
    for (zone, wanted) in [("\"tz\": \"UTC\"", Clock::Utc), ("\"tz\": \"CET\"", Clock::Local)] {
        let recording = read(&SADF.replace("\"utc\": 1", zone));
        assert_eq!(recording.sources[0].clock, wanted);
    }
}

#[test]
fn the_first_row_of_vmstat_is_no_interval() {
    let text = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
         7  0      0   1000     10    100    0    0  2999  3133 1520 22503 19 30 44  3  4\n";
    let alone = read(text);
    clean(&alone);
    assert_eq!(only_kind(&alone), SourceKind::Vmstat);
    assert_eq!(machine(&alone, Field::CpuKernel), [30.0]);
    let two = format!(
        "{text} 4  1      0   2000     10    100    1    2     3     4  514   75 19 81  0  0  0\n"
    );
    let recording = read(&two);
    clean(&recording);
    assert_eq!(machine(&recording, Field::MemFree), [1_024_000.0, 2_048_000.0]);
    assert_eq!(machine(&recording, Field::RunQueue), [7.0, 4.0]);
    assert_eq!(machine(&recording, Field::CpuKernel), [81.0]);
    assert_eq!(machine(&recording, Field::SwapOut), [2048.0]);
    let torn = read(&format!("{two} 4  1      0   2000 "));
    assert!(torn.problems[0].text.starts_with("truncated"));
    let dated = read(
        " r b swpd free inact active si so bi bo in cs us sy id wa st CET\n \
          2 0 0 10 20 30 0 0 1629 1502 641 9658 12 16 68 2 2 2026-11-22 04:02:32\n",
    );
    clean(&dated);
    assert_eq!(times(&dated, Field::Active), ["2026-11-22 04:02:32"]);
}

#[test]
fn iostat_for_people_has_the_device_last() {
    let recording = read(
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          \
         49.7%    0.0%    0.5%    40.0%    0.0%   9.8%\n\n     \
         r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device\n  \
         412.00     6.4M     0.00   0.0%   85.20    16.0k vda\n\n     \
         w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device\n    \
         0.00      0.0k     0.00   0.0%    0.00     0.0k vda\n\n     \
         d/s     dkB/s   drqm/s  %drqm d_await dareq-sz Device\n    \
         1.00      4.0k     0.00   0.0%    0.00     4.0k vda\n\n     \
         f/s f_await  aqu-sz  %util Device\n    0.00    0.00   35.10  99.5% vda\n",
    );
    clean(&recording);
    let disk = Subject::Disk("vda".to_owned());
    assert_eq!(values(&recording, Field::DiskReads, &disk), [412.0]);
    assert_eq!(values(&recording, Field::DiskReadAwait, &disk), [85.2]);
    assert_eq!(values(&recording, Field::DiskQueue, &disk), [35.1]);
    assert_eq!(values(&recording, Field::DiskBusy, &disk), [99.5]);
    assert_eq!(machine(&recording, Field::CpuIowait), [40.0]);
}

#[test]
fn mpstat_leaves_the_places_of_all_cpus_blank() {
    let recording = read(
        "18:25:03  CPU CORE SOCK NODE  %usr  %nice  %sys %iowait  %irq  %soft  %steal  %idle\n\
         18:25:04  all                 89.50  0.00  0.50  0.00  0.00    0.00   0.00    10.00\n\
         18:25:04    1   0     0    0  79.50  0.00  0.50  0.00  0.00    0.00   0.00    20.00\n",
    );
    clean(&recording);
    assert_eq!(machine(&recording, Field::CpuUser), [89.5]);
    assert_eq!(values(&recording, Field::CpuUser, &Subject::Cpu(1)), [79.5]);
}

#[test]
fn json_of_mpstat_and_iostat() {
    let head = r#"{"sysstat": {"hosts": [{"nodename": "vm", "sysname": "Linux", "release": "6.18",
        "machine": "x86_64", "number-of-cpus": 2, "date": "11/23/26", "statistics": ["#;
    let tail = "]}]}}";
    let mpstat = r#"{"timestamp": "18:25:02", "cpu-load": [{"cpu": "all", "usr": 99.50, "nice":
        0.00, "sys": 0.50, "iowait": 0.00, "irq": 0.00, "soft": 0.00, "steal": 0.00, "guest":
        0.00, "gnice": 0.00, "idle": 0.00}]}"#;
    let recording = read(&format!("{head}{mpstat}{tail}"));
    assert_eq!(only_kind(&recording), SourceKind::Mpstat);
    assert_eq!(machine(&recording, Field::CpuUser), [99.5]);
    let iostat = |busy: f64| {
        format!(
            r#"{{"avg-cpu":  {{"user": 29.46, "nice": 2.70, "system": 5.31, "iowait": 0.20,
            "steal": 0.02, "idle": 62.31}}, "disk": [{{"disk_device": "vda", "r/s": 64.97,
            "rkB/s": 1.00, "r_await": 1.22, "rareq-sz": 26.91, "aqu-sz": 0.12, "util": {busy}}}]}}"#
        )
    };
    let disk = Subject::Disk("vda".to_owned());
    let two = read(&format!("{head}{},{}{tail}", iostat(0.7), iostat(90.5)));
    assert_eq!(only_kind(&two), SourceKind::Iostat);
    assert_eq!(values(&two, Field::DiskBusy, &disk), [90.5], "the first is since boot");
    assert_eq!(values(&two, Field::DiskReadBytes, &disk), [1024.0]);
    let one = read(&format!("{head}{}{tail}", iostat(0.7)));
    assert_eq!(values(&one, Field::DiskBusy, &disk), [0.7]);
    assert_eq!(machine(&one, Field::CpuKernel), [5.31]);
}

#[test]
fn averages_count_where_there_is_nothing_else() {
    let text = "Linux 3.10.0 (db) \t01/31/2026 \t_x86_64_\t(8 CPU)\n\n\
        23:40:01          CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
        Average:          all      1.00      0.00      2.00      0.00      0.00     97.00\n\
        Average:            0      3.00      0.00      2.00      0.00      0.00     95.00\n";
    let recording = read(text);
    clean(&recording);
    assert_eq!(machine(&recording, Field::CpuUser), [1.0]);
    assert_eq!(values(&recording, Field::CpuUser, &Subject::Cpu(0)), [3.0]);
    assert_eq!(times(&recording, Field::CpuUser), ["2026-01-31 23:40:01"]);
    let row = "23:50:01          all      7.00      0.00      2.00      0.00      0.00     91.00\n";
    let both = read(&text.replacen("Average:", &format!("{row}Average:"), 1));
    assert_eq!(machine(&both, Field::CpuUser), [7.0]);
}

#[test]
fn a_block_may_have_averages_only() {
    let cpu = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle";
    let rows = [
        ("all", "1.00    0.00    2.00    0.00    0.00   12.50    0.00    0.00    0.00   84.50"),
        ("  0", "0.00    0.00    0.20    0.00    0.00   99.80    0.00    0.00    0.00    0.00"),
    ];
    for average in ["Average:", "Durchschn.:", "Moyenne :"] {
        let mut text = format!("$ mpstat -P ALL 5 1 | tail -3\n{average}     {cpu}\n");
        rows.iter().for_each(|(name, row)| text += &format!("{average}     {name}    {row}\n"));
        let recording = read(&text);
        clean(&recording);
        assert_eq!(recording.sources[0].kind, SourceKind::Mpstat);
        assert_eq!(values(&recording, Field::CpuSoftirq, &Subject::Cpu(0)), [99.8]);
        assert_eq!(times(&recording, Field::CpuSoftirq), [""], "nobody knows of when they are");
    }
    let unknown = "Average: CPU %user %nice %system %iowait %steal %idle\n\
                   Average: all 1.00 0.00 2.00 0.00 0.00 97.00\n\n\
                   Average: novelty one two three four five\n\
                   Average: 7 9.00 9.00 9.00 9.00 9.00 9.00\n";
    let recording = read(unknown);
    assert_eq!(machine(&recording, Field::CpuUser), [1.0]);
    assert!(values(&recording, Field::CpuUser, &Subject::Cpu(7)).is_empty());
}

#[test]
fn pidstat_counts_seconds_in_its_header() {
    let text = "Linux 6.18.44 (vm) \t11/25/26 \t_x86_64_\t(2 CPU)\n\n\
        1795571020    UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n\
        1795571021      0      2587    0.00    0.99    0.00    0.00    0.99     0  worker-91\n\n\
        Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n\
        Average:        0      2587    0.00    0.99    0.00    0.00    0.99     -  worker-91\n";
    let recording = read(text);
    clean(&recording);
    let worker = Subject::process(Some(2587), "worker-91");
    assert_eq!(values(&recording, Field::ProcSystem, &worker), [0.99]);
}

#[test]
fn pidstat_with_all_its_options_has_the_policy_beside_the_usual_columns() {
    let recording = read(
        "# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  \
         majflt/s     VSZ     RSS   %MEM   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  cswch/s nvcswch/s \
         threads   fd-nr prio policy  Command\n\
         1709629958    999      8100    9.50   71.25    0.00    1.00   80.75     2   9100.00      \
         0.50 4453984 2590440  31.80    411.81      2.82      0.00     53    700.00    300.00      \
         18       5    0 NORMAL  ingest\n",
    );
    let ingest = Subject::process(Some(8100), "ingest");
    assert_eq!(values(&recording, Field::ProcSystem, &ingest), [71.25]);
    assert_eq!(values(&recording, Field::ProcMinorFaults, &ingest), [9100.0]);
}

#[test]
fn vectors_stand_last_since_12_7() {
    let text = "10:00:01          all      CPU3 INTR\n\
        10:00:02       950.00    120.00 sum\n\
        10:00:02         7.00      7.00 33\n\
        10:00:02       940.00    113.00 LOC\n";
    let recording = read(text);
    clean(&recording);
    assert_eq!(machine(&recording, Field::Interrupts), [950.0]);
    assert_eq!(values(&recording, Field::Interrupts, &Subject::Cpu(3)), [120.0]);
    let vector = Subject::Vector { name: "33".to_owned(), cpu: None };
    assert_eq!(values(&recording, Field::IrqRate, &vector), [7.0]);
}

#[test]
fn extremes_beside_averages_and_seconds_since_1970() {
    let row = "2.00 0.00 1.00 0.00 0.00 0.00 0.00 0.00 0.00 97.00\n";
    let header = "CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n";
    let recording = read(&format!(
        "1790000000 {header}1790000001 all {row}\n\
         Summary: {header}Minimum: all {row}Maximum: all {row}Average: all {row}"
    ));
    clean(&recording);
    assert_eq!(machine(&recording, Field::CpuIdle), [97.0]);
    let recording =
        read(&format!("Summary: {header}Minimum: all {row}Maximum: all {row}Average: all {row}"));
    clean(&recording);
    assert_eq!(machine(&recording, Field::CpuIdle), [97.0]);
}

#[test]
fn groups_of_iostat_are_sums_of_devices_above() {
    let text = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n\
        vdq               5.00        10.00         0.00         10          0\n\
        vdr               7.00        10.00         0.00         10          0\n \
        pool             12.00        20.00         0.00         20          0\n";
    let recording = read(text);
    clean(&recording);
    let disks = recording.hosts[0].series[&Field::DiskTransfers].len();
    assert_eq!(disks, 2);
}

#[test]
fn json_of_pidstat() {
    let recording = read(
        r#"{"sysstat": {"hosts": [{"nodename": "vm", "number-of-cpus": 2, "date": "11/23/26",
        "statistics": [{"timestamp": "1790000002", "task-cpu-load": [
        {"UID": "5", "TGID": "70", "TID": "", "usr": 30.5, "system": 2.0, "wait": 9.0,
        "cpu": 32.5, "cmd": "worker"},
        {"UID": "5", "TGID": "70", "TID": "71", "usr": 30.5, "system": 2.0,
        "cpu": 31.0, "cmd": "pool-1"}],
        "task-memory": [{"UID": "5", "PID": "70", "minflt/s": 3.0, "majflt/s": 1.0,
        "RSS": 64, "cmd": "worker"}],
        "kernel": [{"UID": "5", "PID": "70", "threads": 4, "fd-nr": 8, "cmd": "worker"}]
        }]}]}}"#,
    );
    clean(&recording);
    assert_eq!(only_kind(&recording), SourceKind::Pidstat);
    let worker = Subject::process(Some(70), "worker");
    for (field, wanted) in [
        (Field::ProcCpu, 32.5),
        (Field::ProcRunDelay, 9.0),
        (Field::ProcRss, 65_536.0),
        (Field::ProcThreads, 4.0),
        (Field::OpenFiles, 8.0),
    ] {
        assert_eq!(values(&recording, field, &worker), [wanted], "{field:?}");
    }
    let thread = Subject::process(Some(71), "pool-1");
    assert_eq!(values(&recording, Field::ThreadCpu, &thread), [31.0]);
}

#[test]
fn a_column_without_a_field_hides_no_other() {
    let text = "# Time UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay StkSize StkRef Command\n\
        1790000001 0 42 12.00 4.00 0.00 0 132 24 backup -v\n";
    let recording = read(text);
    clean(&recording);
    let backup = Subject::process(Some(42), "backup");
    assert_eq!(values(&recording, Field::ProcRead, &backup), [12_288.0]);
}
