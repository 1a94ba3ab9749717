mod delay;

use super::*;
use crate::recording::{Field, Host, Recording, SocketState, Stamp, Subject};

const HEADER: &str = "utc_offset_s=3600 ticks_per_s=100 page_bytes=4096 host=vm boot=b1";

/// A sample `second` seconds after 2026-11-22 00:00:00 UTC.
fn sample(second: i64, words: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let (at, monotonic) = (1_795_305_600_000 + second * 1000, (100 + second) * 1_000_000_000);
    let head = format!(
        "hugewise-capture 1 at_ms={at} monotonic_ns={monotonic} {words} files={}\n",
        files.len()
    );
    let files = files.iter().map(|(path, text)| format!("@@ {} {path}\n{text}\n", text.len()));
    std::iter::once(head).chain(files).collect::<String>().into_bytes()
}

fn read(samples: &[Vec<u8>]) -> Recording {
    let (mut out, mut capture) = (Builder::new(), Capture::new("dir"));
    for sample in samples {
        capture.take(sample, &mut out);
    }
    capture.end(&mut out);
    out.finish()
}

/// Two samples two seconds apart, whose one file has these texts.
fn two(path: &str, first: &str, second: &str) -> Recording {
    let recording =
        read(&[sample(0, HEADER, &[(path, first)]), sample(2, HEADER, &[(path, second)])]);
    assert_eq!(recording.problems, [], "{path}");
    recording
}

fn values(host: &Host, field: Field, subject: &Subject) -> Vec<f64> {
    let series = host.series(field, subject);
    series.map_or_else(Vec::new, |s| s.points.iter().map(|point| point.value).collect())
}

/// The values of the whole machine.
fn machine(recording: &Recording, field: Field) -> Vec<f64> {
    values(&recording.hosts[0], field, &Subject::Machine)
}

fn check(recording: &Recording, subject: &Subject, wanted: &[(Field, f64)]) {
    for (field, value) in wanted {
        let found = values(&recording.hosts[0], *field, subject);
        assert_eq!(found.last(), Some(value), "{field:?} of {subject}: {found:?}");
    }
}

#[test]
fn processor_time_becomes_shares() {
    let recording = two(
        "/proc/stat",
        "cpu 1000 10 500 4000 100 5 20 30 100 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n\
         cpu3 5 5 5 50 5 5 5 5 0 0\nintr 1000 7 8\nctxt 5000\nprocesses 70\nprocs_running 1\n\
         procs_blocked 0\n",
        "cpu 1060 20 560 4100 140 15 40 70 120 3\ncpu0 1 1 101 1 1 1 1 1 0 0\n\
         cpu3 5 5 15 40 5 5 5 5 0 0\nintr 3000 7 8\nctxt 6000\nprocesses 80\nprocs_running 4\n\
         procs_blocked 2\n",
    );
    // 60 + 10 + 60 + 100 + 40 + 10 + 20 + 40 ticks; guests are a part of user and nice.
    let percent = |ticks: f64| ticks / 340.0 * 100.0;
    check(
        &recording,
        &Subject::Machine,
        &[
            (Field::CpuUser, percent(40.0)),
            (Field::CpuNice, percent(8.0)),
            (Field::CpuSystem, percent(60.0)),
            (Field::CpuIdle, percent(100.0)),
            (Field::CpuIowait, percent(40.0)),
            (Field::CpuIrq, percent(10.0)),
            (Field::CpuSoftirq, percent(20.0)),
            (Field::CpuSteal, percent(40.0)),
            (Field::CpuGuest, percent(22.0)),
            (Field::Interrupts, 1000.0),
            (Field::ContextSwitches, 500.0),
            (Field::Forks, 5.0),
            (Field::RunQueue, 3.0),
            (Field::Blocked, 2.0),
            (Field::CpuCount, 2.0),
        ],
    );
    check(&recording, &Subject::Cpu(0), &[(Field::CpuSystem, 100.0), (Field::CpuIdle, 0.0)]);
    // Idle time that went back has not grown.
    check(&recording, &Subject::Cpu(3), &[(Field::CpuSystem, 100.0), (Field::CpuIdle, 0.0)]);
    assert_eq!(machine(&recording, Field::RunQueue), [0.0, 3.0]);
    assert_eq!(machine(&recording, Field::CpuUser).len(), 1);
}

#[test]
fn times_are_local() {
    let recording = two("/proc/loadavg", "1.5 0.5 0.25 2/157 41\n", "2.5 0.5 0.25 2/158 41\n");
    let host = &recording.hosts[0];
    assert_eq!(host.name.as_deref(), Some("vm"));
    let points = &host.series(Field::Load1, &Subject::Machine).expect("read").points;
    let at: Vec<Option<Stamp>> = points.iter().map(|point| point.at).collect();
    let one = Stamp::midnight(2026, 11, 22).expect("a day").0 + 3600;
    assert_eq!(at, [Some(Stamp(one)), Some(Stamp(one + 2))]);
    assert_eq!(machine(&recording, Field::Tasks), [157.0, 158.0]);
    assert_eq!(recording.sources.len(), 1);
    assert_eq!((recording.sources[0].kind, recording.sources[0].line), (SourceKind::Capture, 1));
    assert_eq!(recording.sources[0].input, "dir");
}

#[test]
fn pressure_is_a_state() {
    let text = "some avg10=1.50 avg60=0.25 avg300=0.00 total=1\n\
                full avg10=0.75 avg60=0.00 avg300=0.00 total=7\n";
    let recording = two("/proc/pressure/memory", text, text);
    assert_eq!(machine(&recording, Field::PsiMemorySome), [1.5, 1.5]);
    assert_eq!(machine(&recording, Field::PsiMemoryFull), [0.75, 0.75]);
    let recording = two("/proc/pressure/cpu", text, text);
    assert_eq!(machine(&recording, Field::PsiCpuSome), [1.5, 1.5]);
}

#[test]
fn vectors_become_rates_by_cpu_and_no_sums() {
    let recording = two(
        "/proc/softirqs",
        "      CPU0   CPU1\n NET_RX:   10  0\n",
        "      CPU0   CPU1\n NET_RX:   30  0\n",
    );
    let vector = |name: &str, cpu| Subject::Vector { name: name.to_owned(), cpu };
    check(&recording, &vector("NET_RX", Some(0)), &[(Field::SoftirqRate, 10.0)]);
    check(&recording, &vector("NET_RX", Some(1)), &[(Field::SoftirqRate, 0.0)]);
    assert_eq!(recording.hosts[0].subjects(Field::SoftirqRate).count(), 2);
    let recording = two(
        "/proc/interrupts",
        "      CPU0   CPU1\n 24:   10  0  PCI-MSI 1-edge virtio\nERR: 0\n",
        "      CPU0   CPU1\n 24:   14  0  PCI-MSI 1-edge virtio\nERR: 0\n",
    );
    check(&recording, &vector("24", Some(0)), &[(Field::IrqRate, 2.0)]);
    assert_eq!(recording.hosts[0].subjects(Field::IrqRate).count(), 1);
}

#[test]
fn memory_is_taken_in_bytes() {
    let text = "MemTotal: 1000 kB\nMemFree: 10 kB\nCommitted_AS: 5 kB\nSUnreclaim: 4 kB\n\
                KernelStack: 3 kB\nHugePages_Total: 4\nHugePages_Free: 3\nHugePages_Rsvd: 1\n\
                HugePages_Surp: 0\nHugepagesize: 2048 kB\nHugetlb: 8192 kB\nMemAvailable: x kB\n";
    let recording = two("/proc/meminfo", text, text);
    let mib = f64::from(1 << 20);
    check(
        &recording,
        &Subject::Machine,
        &[
            (Field::MemTotal, 1_024_000.0),
            (Field::MemFree, 10_240.0),
            (Field::Committed, 5120.0),
            (Field::SlabUnreclaimable, 4096.0),
            (Field::KernelStacks, 3072.0),
            (Field::HugetlbTotal, 8.0 * mib),
            (Field::HugetlbFree, 6.0 * mib),
            (Field::HugetlbReserved, 2.0 * mib),
            (Field::HugetlbSurplus, 0.0),
            (Field::HugetlbPage, 2.0 * mib),
        ],
    );
    assert_eq!(machine(&recording, Field::MemAvailable), [0.0; 0]);
}

#[test]
fn counters_of_paging_become_rates() {
    let recording = two(
        "/proc/vmstat",
        "pgfault 100\npgpgin 10\npswpout 4\nallocstall_normal 5\nallocstall_movable 1\n\
         pgscan_kswapd 1000\npgscan_direct 0\npgsteal_kswapd 500\npgsteal_direct 0\noom_kill 0\n\
         thp_fault_fallback 9\npgscan_direct_throttle 7\npgfree 3\n",
        "pgfault 300\npgpgin 12\npswpout 6\nallocstall_normal 6\nallocstall_movable 2\n\
         pgscan_kswapd 1100\npgscan_direct 100\npgsteal_kswapd 550\npgsteal_direct 0\noom_kill 1\n\
         thp_fault_fallback 29\npgscan_direct_throttle 9\npgfree 2\n",
    );
    check(
        &recording,
        &Subject::Machine,
        &[
            (Field::Faults, 100.0),
            (Field::PageIn, 1024.0),
            (Field::SwapOut, 4096.0),
            (Field::AllocStall, 1.0),
            (Field::ScanKswapd, 50.0),
            (Field::ScanDirect, 50.0),
            (Field::Steal, 25.0),
            (Field::ReclaimEfficiency, 25.0),
            (Field::OomKills, 0.5),
            (Field::ThpFaultFallback, 10.0),
        ],
    );
    // A counter that went back gives no rate, one that is not there no 0.
    assert_eq!(machine(&recording, Field::PagesFreed), [0.0; 0]);
    assert_eq!(machine(&recording, Field::MajorFaults), [0.0; 0]);
}

#[test]
fn counters_by_zone_of_old_kernels_are_added_up() {
    let recording = two(
        "/proc/vmstat",
        "pgscan_direct_normal 10\npgscan_direct_dma32 10\npgscan_direct_throttle 1000\n",
        "pgscan_direct_normal 14\npgscan_direct_dma32 12\npgscan_direct_throttle 9000\n",
    );
    assert_eq!(machine(&recording, Field::ScanDirect), [3.0]);
}

#[test]
fn fragmentation_is_counted_at_the_size_of_a_huge_page() {
    let zones = "Node 0, zone Normal 512 0 0 0 0 0 0 0 0 0 1\n";
    let size = ("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "4194304\n");
    let files = [("/proc/buddyinfo", zones), size];
    let recording = read(&[sample(0, HEADER, &files[..1]), sample(1, HEADER, &files)]);
    // 512 of 1536 pages are in blocks that are too small for 2 MiB, and for 4 MiB.
    assert_eq!(machine(&recording, Field::Fmfi), [1.0 / 3.0; 2]);
    assert_eq!(machine(&recording, Field::FreeHugeBlocks), [2.0, 1.0]);
}

#[test]
fn disks_are_computed_as_iostat_does() {
    let recording = two(
        "/proc/diskstats",
        "8 0 sda 100 10 8000 400 200 20 16000 900 0 700 1300 0 0 0 0 0 0\n\
         8 1 sda1 100 10 8000 400 200 20 16000 900 0 700 1300 0 0 0 0 0 0\n\
         7 0 loop0 5 0 0 0 5 0 0 0 0 0 0\n8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n\
         8 32 sdc 9 0 0 0 9 0 0 0 0 0 0\n",
        "8 0 sda 140 14 8800 600 220 60 32000 1500 0 1700 4300 20 0 4000 100 0 0\n\
         8 1 sda1 140 14 8800 600 220 60 32000 1500 0 1700 4300 0 0 0 0 0 0\n\
         7 0 loop0 9 0 0 0 9 0 0 0 0 0 0\n8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n\
         8 32 sdc 3 0 0 0 9 0 0 0 0 0 0\n",
    );
    let sda = Subject::Disk("sda".to_owned());
    check(
        &recording,
        &sda,
        &[
            (Field::DiskReads, 20.0),
            (Field::DiskWrites, 10.0),
            (Field::DiskTransfers, 40.0),
            (Field::DiskReadBytes, 800.0 * 512.0 / 2.0),
            (Field::DiskWriteBytes, 16_000.0 * 512.0 / 2.0),
            (Field::DiskReadMerges, 2.0),
            (Field::DiskWriteMerges, 20.0),
            (Field::DiskQueue, 1.5),
            (Field::DiskBusy, 50.0),
            (Field::DiskReadAwait, 5.0),
            (Field::DiskWriteAwait, 30.0),
            (Field::DiskAwait, 900.0 / 80.0),
            (Field::DiskRequestBytes, 20_800.0 * 512.0 / 80.0),
            (Field::DiskReadRequestBytes, 800.0 * 512.0 / 40.0),
            (Field::DiskWriteRequestBytes, 16_000.0 * 512.0 / 20.0),
        ],
    );
    // No partition, no loop device, none without a request, none whose counters went back.
    assert_eq!(recording.hosts[0].subjects(Field::DiskReads).count(), 1);
}

#[test]
fn an_idle_disk_has_no_mean_time() {
    let text = "8 0 sda 100 10 8000 400 200 20 16000 900 0 700 1300 0 0 0 0 0 0\n";
    let recording = two("/proc/diskstats", text, text);
    let sda = Subject::Disk("sda".to_owned());
    check(&recording, &sda, &[(Field::DiskReads, 0.0), (Field::DiskBusy, 0.0)]);
    assert_eq!(values(&recording.hosts[0], Field::DiskAwait, &sda), [0.0; 0]);
}

#[test]
fn interfaces_have_rates_and_a_speed() {
    let dev = |rx: u32, tx: u32| {
        format!(
            "eth0: {rx} 10 1 2 0 0 0 0 {tx} 20 3 4 0 0 0 0\n\
             eth1: {rx} 10 1 2 0 0 0 0 {tx} 20 3 4 0 0 0 0\n\
             lo: {rx} 10 1 2 0 0 0 0 {tx} 20 3 4 0 0 0 0\n"
        )
    };
    let files = |dev: &str| {
        let state = |name: &str, file: &str| format!("/sys/class/net/{name}/{file}");
        let paths = [
            (state("eth0", "speed"), "1000\n"),
            (state("eth0", "operstate"), "up\n"),
            (state("eth1", "speed"), "1000\n"),
            (state("eth1", "operstate"), "down\n"),
            (state("lo", "speed"), "-1\n"),
            ("/proc/net/dev".to_owned(), dev),
        ];
        let paths: Vec<(&str, &str)> = paths.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        sample(i64::from(dev.contains(": 0 ")) * -4, HEADER, &paths)
    };
    let recording = read(&[files(&dev(0, 0)), files(&dev(100_000_000, 300_000_000))]);
    assert_eq!(recording.problems, []);
    let eth0 = Subject::Interface("eth0".to_owned());
    check(
        &recording,
        &eth0,
        &[
            (Field::NetRxBytes, 25e6),
            (Field::NetTxBytes, 75e6),
            (Field::NetRxPackets, 0.0),
            (Field::NetErrors, 0.0),
            (Field::NetSpeed, 125e6),
            (Field::NetBusy, 60.0),
        ],
    );
    assert_eq!(recording.hosts[0].subjects(Field::NetSpeed).count(), 1);
    assert_eq!(recording.hosts[0].subjects(Field::NetRxBytes).count(), 3);
}

#[test]
fn receiving_and_tcp_become_rates() {
    let recording = two(
        "/proc/net/softnet_stat",
        "00000010 00000000 00000000 0 0 0 0 0 0 0 0 0 00000001\n",
        "00000030 00000002 00000004 0 0 0 0 0 0 0 0 0 00000001\n",
    );
    check(
        &recording,
        &Subject::Cpu(1),
        &[
            (Field::SoftnetPackets, 16.0),
            (Field::SoftnetDropped, 1.0),
            (Field::SoftnetSqueezed, 2.0),
        ],
    );
    let recording = two(
        "/proc/net/snmp",
        "Tcp: MaxConn ActiveOpens PassiveOpens InSegs OutSegs RetransSegs\nTcp: -1 1 2 3 4 5\n",
        "Tcp: MaxConn ActiveOpens PassiveOpens InSegs OutSegs RetransSegs\nTcp: -1 3 6 9 12 15\n",
    );
    check(
        &recording,
        &Subject::Machine,
        &[
            (Field::TcpActiveOpens, 1.0),
            (Field::TcpPassiveOpens, 2.0),
            (Field::TcpInSegments, 3.0),
            (Field::TcpOutSegments, 4.0),
            (Field::TcpRetransmits, 5.0),
        ],
    );
    let text = |n: u32| format!("TcpExt: ListenOverflows\nTcpExt: {n}\n");
    let recording = two("/proc/net/netstat", &text(1), &text(7));
    assert_eq!(machine(&recording, Field::TcpListenOverflows), [3.0]);
}

#[test]
fn sockets_are_those_of_the_last_sample_that_has_them() {
    let row = |queue: &str| {
        format!(
            "  sl  local_address rem_address   st tx_queue rx_queue\n\
             \x20 0: 0100007F:0016 00000000:0000 0A 00000000:00000002 0\n\
             \x20 1: 0100007F:0016 0100007F:C350 01 {queue} 0\n"
        )
    };
    let files = |at, queue: &str| sample(at, HEADER, &[("/proc/net/tcp", &row(queue))]);
    let recording = read(&[
        files(0, "00000000:00000001"),
        files(1, "00000009:00000000"),
        sample(2, HEADER, &[("/proc/loadavg", "1 2 3 1/2 3\n")]),
    ]);
    let sockets = &recording.hosts[0].sockets;
    assert_eq!(sockets.len(), 2);
    assert_eq!((sockets[0].state, sockets[0].receive_queue), (SocketState::Listen, 2));
    assert_eq!((sockets[1].state, sockets[1].send_queue), (SocketState::Established, 9));
    assert_eq!((sockets[1].remote.as_str(), &sockets[1].program), ("127.0.0.1:50000", &None));
}

/// A process's stat: state, flags, faults, CPU ticks, start.
fn stat(state: char, flags: u32, counts: [u32; 4], start: u32) -> String {
    let [minor, major, user, system] = counts;
    format!(
        "7 (a b) {state} 1 1 1 0 -1 {flags} {minor} 0 {major} 0 {user} {system} 0 0 20 0 3 0 \
         {start} 0 25 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}

#[test]
fn processes_have_states_and_rates() {
    let status = "Name:\ta b\nVmPTE:\t 8 kB\nRssAnon:\t 4 kB\nRssFile:\t 8 kB\nRssShmem:\t 12 kB\n";
    let files = |stat: &str, io: &str, at| {
        sample(
            at,
            HEADER,
            &[("/proc/7/stat", stat), ("/proc/7/status", status), ("/proc/7/io", io)],
        )
    };
    let first = files(&stat('S', 0, [100, 10, 50, 20], 9), "read_bytes: 0\nwrite_bytes: 8192\n", 0);
    let second =
        files(&stat('D', 0, [300, 14, 150, 60], 9), "read_bytes: 4096\nwrite_bytes: 8192\n", 2);
    // The same id, another process.
    let third = files(&stat('S', 0, [900, 90, 900, 900], 500), "read_bytes: 1\n", 4);
    let recording = read(&[first, second, third]);
    assert_eq!(recording.problems, []);
    let host = &recording.hosts[0];
    let subject = Subject::process(Some(7), "a b");
    for (field, wanted) in [
        (Field::ProcCpu, vec![70.0]),
        (Field::ProcUser, vec![50.0]),
        (Field::ProcSystem, vec![20.0]),
        (Field::ProcMinorFaults, vec![100.0]),
        (Field::ProcMajorFaults, vec![2.0]),
        (Field::ProcRead, vec![2048.0]),
        (Field::ProcWrite, vec![0.0]),
        (Field::ProcBlocked, vec![0.0, 1.0, 0.0]),
        (Field::ProcThreads, vec![3.0; 3]),
        (Field::ProcRss, vec![24.0 * 1024.0; 3]),
        (Field::ProcShmem, vec![12.0 * 1024.0; 3]),
        (Field::ProcPageTables, vec![8.0 * 1024.0; 3]),
    ] {
        assert_eq!(values(host, field, &subject), wanted, "{field:?}");
    }
}

#[test]
fn a_process_without_status_is_counted_in_pages_and_the_kernels_have_no_memory() {
    let user = stat('S', 0, [0; 4], 1);
    let recording = two("/proc/7/stat", &user, &user);
    let subject = Subject::process(Some(7), "a b");
    assert_eq!(values(&recording.hosts[0], Field::ProcRss, &subject), [25.0 * 4096.0; 2]);
    let kernel = stat('S', 0x20_0000, [0; 4], 1);
    let recording = two("/proc/7/stat", &kernel, &kernel);
    assert!(recording.hosts[0].series(Field::ProcRss, &subject).is_none());
    assert!(recording.hosts[0].series(Field::ProcCpu, &subject).is_some());
}

#[test]
fn cgroups_have_throttling_and_reclaim() {
    let path = "/sys/fs/cgroup/jobs/a/cpu.stat";
    let first = "usage_usec 1\nnr_periods 10\nnr_throttled 1\n";
    let recording = two(path, first, "usage_usec 2\nnr_periods 30\nnr_throttled 16\n");
    let jobs = Subject::Cgroup("/jobs/a".to_owned());
    check(&recording, &jobs, &[(Field::CgroupThrottled, 75.0)]);
    let recording = two("/sys/fs/cgroup/cpu/jobs/a/cpu.stat", first, first);
    // Without a period there is no share of them.
    assert!(recording.hosts[0].series(Field::CgroupThrottled, &jobs).is_none());
    let path = "/sys/fs/cgroup/memory.stat";
    let recording = two(path, "anon 1\npgscan_direct 10\n", "anon 1\npgscan_direct 30\n");
    check(&recording, &Subject::Cgroup("/".to_owned()), &[(Field::CgroupScanDirect, 10.0)]);
}

#[test]
fn segments_and_settings_are_taken_as_they_are() {
    let shm = "  key shmid perms size cpid lpid nattch\n 1 7 600 4096 1 1 12\n";
    let recording = two("/proc/sysvipc/shm", shm, shm);
    let segment = Subject::Segment("7".to_owned());
    check(&recording, &segment, &[(Field::SegmentBytes, 4096.0), (Field::SegmentAttached, 12.0)]);
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let recording = two(path, "[always] madvise never\n", "always [madvise] never\n");
    assert_eq!(recording.hosts[0].settings[path].text, "always [madvise] never");
    let recording = two("/proc/sys/vm/swappiness", "60\n", "60\n");
    assert_eq!(recording.hosts[0].settings["/proc/sys/vm/swappiness"].text, "60");
}

#[test]
fn a_restart_is_told_and_gives_no_rate() {
    let other_boot = HEADER.replace("b1", "b2");
    let text = |n: u32| format!("ctxt {n}\n");
    let files = |at, words: &str, n| sample(at, words, &[("/proc/stat", &text(n))]);
    let recording = read(&[
        files(0, HEADER, 100),
        files(2, HEADER, 300),
        files(4, &other_boot, 900),
        files(6, &other_boot, 904),
        // The clock of the machine went back: another boot that does not say so.
        files(5, &other_boot, 990),
        // Twice the same moment.
        files(5, &other_boot, 999),
    ]);
    assert_eq!(machine(&recording, Field::ContextSwitches), [100.0, 2.0]);
    assert_eq!(recording.hosts[0].restarts.len(), 2);
}

#[test]
fn samples_of_another_machine_are_kept_apart() {
    let other = HEADER.replace("host=vm", "host=db");
    let text = |n: u32| format!("ctxt {n}\n");
    let files = |at, words: &str, n| sample(at, words, &[("/proc/stat", &text(n))]);
    let recording = read(&[
        files(0, HEADER, 1),
        files(2, HEADER, 3),
        files(4, &other, 10),
        files(6, &other, 30),
    ]);
    let rates: Vec<_> = recording
        .hosts
        .iter()
        .map(|host| values(host, Field::ContextSwitches, &Subject::Machine))
        .collect();
    assert_eq!(rates, [[1.0], [10.0]]);
    assert_eq!(recording.sources.len(), 2);
}

#[test]
fn one_sample_has_states_and_says_what_it_lacks() {
    let text = sample(0, HEADER, &[("/proc/loadavg", "1 2 3 1/2 3\n"), ("/proc/stat", "ctxt 5\n")]);
    let recording = read(std::slice::from_ref(&text));
    assert_eq!(machine(&recording, Field::Load5), [2.0]);
    assert_eq!(machine(&recording, Field::ContextSwitches), [0.0; 0]);
    assert!(recording.problems[0].text.contains("one sample only"));
    // As a file of its own, it is known by its first line, whatever bytes it holds.
    let mut out = Builder::new();
    let with_zeros =
        sample(0, HEADER, &[("/proc/7/cmdline", "a\0b\0"), ("/proc/loadavg", "1 2 3 1/2 3\n")]);
    out.read("one.txt", &with_zeros).expect("a capture");
    let recording = out.finish();
    assert_eq!(machine(&recording, Field::Load1), [1.0]);
    assert_eq!(recording.unrecognised, []);
}

#[test]
fn several_samples_in_one_text_are_read_in_turn() {
    let file = |n: u32| format!("ctxt {n}\n");
    let text = [
        sample(0, HEADER, &[("/proc/stat", &file(1))]),
        b"hugewise-capture 9 of the future\n@@ 1 x\nx\n".to_vec(),
        sample(2, HEADER, &[("/proc/stat", &file(9))]),
    ]
    .concat();
    let mut out = Builder::new();
    out.read("all.txt", &text).expect("a capture");
    let recording = out.finish();
    assert_eq!(machine(&recording, Field::ContextSwitches), [4.0]);
    assert_eq!(recording.problems.len(), 1);
    assert!(
        recording.problems[0].text.contains("the capture has version 9"),
        "{:?}",
        recording.problems
    );
}

#[test]
fn a_torn_sample_and_a_file_without_sense_are_told_once() {
    let whole = sample(0, HEADER, &[("/proc/loadavg", "1 2 3 1/2 3\n"), ("/proc/stat", "cpu x\n")]);
    let torn = &whole[..whole.len() - 4];
    let recording = read(&[torn.to_vec(), whole.clone(), whole]);
    assert_eq!(machine(&recording, Field::Load1), [1.0; 3]);
    let texts: Vec<&str> = recording.problems.iter().map(|p| p.text.as_str()).collect();
    assert!(
        texts[0].starts_with("sample 1 is not complete: after 1 files: /proc/stat"),
        "{texts:?}"
    );
    assert_eq!(texts.iter().filter(|text| text.starts_with("stat line 1")).count(), 1);
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let recording = read(&[]);
    assert!(recording.problems[0].text.contains("no sample"));
    assert_eq!(recording.problems[0].input, "dir");
    let without_time = sample(0, "host=vm", &[("/proc/loadavg", "1 2 3 1/2 3\n")]);
    let recording = read(&[without_time.clone(), without_time]);
    assert!(recording.problems.iter().any(|p| p.text.contains("without local time")));
    assert_eq!(machine(&recording, Field::Load1), [1.0; 2]);
}

#[test]
fn a_thread_is_the_same_only_if_it_started_then() {
    let line = |ticks: u64, start: u64| {
        format!(
            "78 (io worker) R 1 7 7 0 -1 64 0 0 0 0 {ticks} 10 0 0 20 0 9 0 {start} 0 0 0 0 0 0 0 \
             0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
        )
    };
    let path = "/proc/77/task/78/stat";
    let thread = Subject::process(Some(78), "io worker");
    let same = two(path, &line(100, 5), &line(290, 5));
    check(&same, &thread, &[(Field::ThreadCpu, 95.0)]);
    for (first, second) in [(line(100, 5), line(290, 6)), (line(100, 5), line(90, 5))] {
        let other = two(path, &first, &second);
        assert_eq!(values(&other.hosts[0], Field::ThreadCpu, &thread), [0.0; 0]);
    }
    // What is no thread, or was cut, says nothing.
    for path in ["/proc/77/task/x/stat", "/proc/77/task/78/comm", "/proc/77/task/78"] {
        two(path, "1", "2");
    }
    two("/proc/77/task/78/stat", "78 (io", "78 (io worker) R");
}

#[test]
fn chains_of_calls_are_added_up_over_samples() {
    let first =
        "# cpu-clock frequency_hz=97 lost=0\ndd;do_syscall_64;ksys_read;vfs_read 30\ndd 20\n";
    let second = "# cpu-clock frequency_hz=97 lost=0\ndd;do_syscall_64;ksys_read;vfs_read 50\n";
    let recording = two(stacks::PATH, first, second);
    let values = |field, subject: &Subject| values(&recording.hosts[0], field, subject);
    let read = |path: &str| Subject::Calls { program: "dd".to_owned(), path: path.to_owned() };
    assert_eq!(values(Field::PathPercent, &read("read() > vfs_read")), [80.0]);
    assert_eq!(values(Field::EntryPercent, &read("read()")), [80.0]);
    let function = |name: &str| Subject::Symbol(name.to_owned());
    assert_eq!(values(Field::SymbolPercent, &function("vfs_read")), [80.0]);
    assert_eq!(values(Field::SymbolPercent, &function("do_syscall_64")), [0.0; 0]);
    assert_eq!(values(Field::WithinPercent, &function("do_syscall_64")), [80.0]);
}
