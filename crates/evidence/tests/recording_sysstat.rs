//! Recordings of sysstat's tools: those made on one machine read without a word left over, the
//! binary's text and JSON say the same, and so do the texts of all locales.

use std::collections::BTreeMap;

use hugewise_evidence::recording::{Builder, Clock, Field, Host, Recording, Stamp, Subject};

/// Texts of `sar` for runs of stress-ng; the name is the stressor.
const REAL: &[(&str, &str)] = &[
    ("bigheap", include_str!("recordings/real/bigheap.sar")),
    ("brk", include_str!("recordings/real/brk.sar")),
    ("cache", include_str!("recordings/real/cache.sar")),
    ("cpu", include_str!("recordings/real/cpu.sar")),
    ("dentry", include_str!("recordings/real/dentry.sar")),
    ("fault", include_str!("recordings/real/fault.sar")),
    ("fork", include_str!("recordings/real/fork.sar")),
    ("futex", include_str!("recordings/real/futex.sar")),
    ("getdent", include_str!("recordings/real/getdent.sar")),
    ("hdd", include_str!("recordings/real/hdd.sar")),
    ("hddrnd", include_str!("recordings/real/hddrnd.sar")),
    ("hundred", include_str!("recordings/real/hundred.sar")),
    ("idle", include_str!("recordings/real/idle.sar")),
    ("io", include_str!("recordings/real/io.sar")),
    ("iomix", include_str!("recordings/real/iomix.sar")),
    ("key", include_str!("recordings/real/key.sar")),
    ("malloc", include_str!("recordings/real/malloc.sar")),
    ("mmap", include_str!("recordings/real/mmap.sar")),
    ("mremap", include_str!("recordings/real/mremap.sar")),
    ("onecpu", include_str!("recordings/real/onecpu.sar")),
    ("pipe", include_str!("recordings/real/pipe.sar")),
    ("seccomp", include_str!("recordings/real/seccomp.sar")),
    ("sem", include_str!("recordings/real/sem.sar")),
    ("sock", include_str!("recordings/real/sock.sar")),
    ("switch", include_str!("recordings/real/switch.sar")),
    ("timer", include_str!("recordings/real/timer.sar")),
    ("udp", include_str!("recordings/real/udp.sar")),
    ("urandom", include_str!("recordings/real/urandom.sar")),
    ("vm", include_str!("recordings/real/vm.sar")),
    ("yield", include_str!("recordings/real/yield.sar")),
];

/// The same binary printed in other locales, and in other formats of time.
const LOCALES: &[(&str, &str)] = &[
    ("de_DE", include_str!("recordings/sysstat/vm_de_DE.sar")),
    ("fr_FR", include_str!("recordings/sysstat/vm_fr_FR.sar")),
    ("en_US", include_str!("recordings/sysstat/vm_en_US.sar")),
    ("ja_JP", include_str!("recordings/sysstat/vm_ja_JP.sar")),
    ("ko_KR", include_str!("recordings/sysstat/vm_ko_KR.sar")),
    ("zh_CN", include_str!("recordings/sysstat/vm_zh_CN.sar")),
    ("el_GR", include_str!("recordings/sysstat/vm_el_GR.sar")),
    ("iso", include_str!("recordings/sysstat/vm_iso.sar")),
];

fn read(texts: &[(&str, &str)]) -> Recording {
    let mut builder = Builder::new();
    for (name, text) in texts {
        builder.read(name, text.as_bytes()).expect("a text");
    }
    builder.finish()
}

fn only_host(recording: &Recording) -> &Host {
    assert_eq!(recording.hosts.len(), 1);
    recording.hosts.first().expect("a host")
}

fn values(host: &Host, field: Field, subject: &Subject) -> Vec<f64> {
    let series = host.series(field, subject);
    series.map(|series| series.points.iter().map(|point| point.value).collect()).unwrap_or_default()
}

fn times(host: &Host, field: Field) -> Vec<String> {
    let series = host.series(field, &Subject::Machine).expect("a series");
    series.points.iter().map(|point| point.at.expect("a time").to_string()).collect()
}

type Points = Vec<(Option<Stamp>, f64)>;

fn points(host: &Host) -> BTreeMap<(Field, Subject), Points> {
    let mut all = BTreeMap::new();
    for (field, subjects) in &host.series {
        for (subject, series) in subjects {
            assert_eq!(series.len(), 1, "{field:?} {subject}");
            let points = series.iter().flat_map(|series| &series.points);
            let points = points.map(|point| (point.at, point.value)).collect();
            all.insert((*field, subject.clone()), points);
        }
    }
    all
}

#[test]
fn real_texts_read_completely() {
    for (name, text) in REAL {
        let recording = read(&[(name, text)]);
        assert_eq!(recording.unrecognised, [], "{name}");
        assert_eq!(recording.problems, [], "{name}");
        assert_eq!(recording.sources.len(), 1, "{name}");
        let host = only_host(&recording);
        assert_eq!(host.name.as_deref(), Some("vm"), "{name}");
        assert_eq!(values(host, Field::CpuCount, &Subject::Machine), [2.0], "{name}");
        for field in [Field::CpuSystem, Field::MemFree, Field::Faults, Field::ContextSwitches] {
            assert_eq!(values(host, field, &Subject::Machine).len(), 6, "{name} {field:?}");
        }
        assert_eq!(values(host, Field::CpuSystem, &Subject::Cpu(1)).len(), 6, "{name}");
        assert_eq!(values(host, Field::DiskBusy, &Subject::Disk("vda".into())).len(), 6, "{name}");
        assert!(host.series.len() > 70, "{name}: {}", host.series.len());
    }
}

#[test]
fn text_and_json_of_one_binary_say_the_same() {
    let pairs = [
        ("vm", include_str!("recordings/real/vm.json")),
        ("hdd", include_str!("recordings/real/hdd.json")),
    ];
    for (name, json) in pairs {
        let text = REAL.iter().find(|(real, _)| *real == name).expect("its text").1;
        let (text, json) = (read(&[(name, text)]), read(&[(name, json)]));
        assert_eq!(json.problems, [], "{name}");
        assert!(json.sources.iter().all(|source| source.clock == Clock::Utc), "{name}");
        let (text, json) = (points(only_host(&text)), points(only_host(&json)));
        for (key, wanted) in &text {
            assert_eq!(json.get(key), Some(wanted), "{name} {key:?}");
        }
        // The text was printed without interrupts and file systems (-I, -F), which the JSON has.
        let more = json.keys().filter(|key| !text.contains_key(*key)).map(|(field, _)| *field);
        let unasked = [Field::IrqRate, Field::Interrupts, Field::FsUsed, Field::FsInodes];
        let more: Vec<Field> = more.filter(|field| !unasked.contains(field)).collect();
        assert_eq!(more, [], "{name}");
    }
}

#[test]
fn every_locale_reads_alike() {
    let (_, first) = LOCALES.first().expect("a locale");
    let first = read(&[("first", first)]);
    let wanted = points(only_host(&first));
    assert_eq!(
        times(only_host(&first), Field::CpuUser)[..2],
        ["2026-11-22 03:43:13", "2026-11-22 03:43:15"]
    );
    assert!(wanted.len() > 35, "{}", wanted.len());
    for (name, text) in LOCALES {
        let recording = read(&[(name, text)]);
        assert_eq!(recording.unrecognised, [], "{name}");
        assert_eq!(recording.problems, [], "{name}");
        assert_eq!(points(only_host(&recording)), wanted, "{name}");
    }
}

#[test]
fn sizes_with_letters_and_names_at_the_end() {
    let text = include_str!("recordings/sysstat/vm_pretty.sar");
    let recording = read(&[("pretty", text)]);
    assert_eq!((recording.unrecognised.len(), recording.problems.len()), (0, 0), "{recording:?}");
    let host = only_host(&recording);
    let free = values(host, Field::MemFree, &Subject::Machine);
    assert!((free[0] / (22.5 * 1024.0 * 1024.0 * 1024.0) - 1.0).abs() < 1e-9);
    let disk = Subject::Disk("vda".into());
    assert_eq!(values(host, Field::DiskRequestBytes, &disk)[0], 217.0 * 1024.0);
    assert_eq!(values(host, Field::CpuUser, &Subject::Machine)[0], 18.7);
}

#[test]
fn a_paste_in_prose() {
    let text = include_str!("recordings/sysstat/003_80b3d735f18cc1a9_part.txt");
    let recording = read(&[("003", text)]);
    assert_eq!(recording.problems, []);
    let host = only_host(&recording);
    let kernel = values(host, Field::CpuKernel, &Subject::Machine);
    assert_eq!(kernel.len(), 21);
    assert!((kernel.iter().sum::<f64>() - 366.50).abs() < 1e-9);
    let clocks = times(host, Field::CpuKernel);
    assert_eq!((clocks[0].as_str(), clocks[7].as_str()), ("07:30:01", "08:40:02"));
    assert_eq!((kernel[7], values(host, Field::CpuIdle, &Subject::Machine)[7]), (69.21, 10.29));
    let free = values(host, Field::MemFree, &Subject::Machine);
    assert_eq!((free.len(), free[5], free[12]), (15, 1_157_520.0 * 1024.0, 4_787_684.0 * 1024.0));
    assert_eq!(values(host, Field::Cached, &Subject::Machine)[14], 7_041_712.0 * 1024.0);
    assert_eq!(times(host, Field::MemFree)[14], "11:10:01");
    // The prose stays with those who can tell what it is.
    assert_eq!(recording.unrecognised.len(), 4, "{:?}", recording.unrecognised);
}

#[test]
fn reports_after_dots_are_intervals() {
    let text = include_str!("recordings/sysstat/002_e950a442f470f4d6_part.txt");
    let recording = read(&[("002", text)]);
    assert_eq!(recording.problems, []);
    let host = only_host(&recording);
    assert_eq!(host.name.as_deref(), Some("lenvo-nfs-server"));
    let disk = Subject::Disk("sda".into());
    for (field, wanted) in [
        (Field::DiskReadMerges, [0.0, 0.0]),
        (Field::DiskWriteMerges, [0.0, 18.0]),
        (Field::DiskReads, [94.0, 137.0]),
        (Field::DiskWrites, [39.0, 173.0]),
        (Field::DiskReadBytes, [13_444.0 * 1024.0, 17_712.0 * 1024.0]),
        (Field::DiskWriteBytes, [19_968.0 * 1024.0, 43_056.0 * 1024.0]),
        (Field::DiskRequestBytes, [502.44 * 512.0, 392.05 * 512.0]),
        (Field::DiskQueue, [108.43, 129.46]),
        (Field::DiskAwait, [410.8, 601.1]),
        (Field::DiskReadAwait, [52.0, 38.8]),
        (Field::DiskWriteAwait, [1275.59, 1046.38]),
        (Field::DiskBusy, [100.0, 115.9]),
    ] {
        assert_eq!(values(host, field, &disk), wanted, "{field:?}");
    }
    assert_eq!(recording.unrecognised.len(), 1, "{:?}", recording.unrecognised);
}

#[test]
fn the_other_tools_read_completely() {
    let vda = Subject::Disk("vda".into());
    let writer = Subject::process(Some(4797), "stress-ng-hdd");
    for (name, text, field, subject, count) in [
        (
            "mpstat",
            include_str!("recordings/sysstat/hdd.mpstat"),
            Field::CpuSoftirq,
            Subject::Cpu(1),
            5,
        ),
        (
            "mpstat -A",
            include_str!("recordings/sysstat/all.mpstat"),
            Field::SoftirqRate,
            Subject::Vector { name: "NET_RX".into(), cpu: Some(1) },
            2,
        ),
        ("iostat", include_str!("recordings/sysstat/hdd.iostat"), Field::DiskBusy, vda, 5),
        (
            "vmstat",
            include_str!("recordings/sysstat/hdd.vmstat"),
            Field::CpuKernel,
            Subject::Machine,
            5,
        ),
        ("pidstat", include_str!("recordings/sysstat/hdd.pidstat"), Field::ProcSystem, writer, 5),
    ] {
        let recording = read(&[(name, text)]);
        assert_eq!(recording.unrecognised, [], "{name}");
        assert_eq!(recording.problems, [], "{name}");
        assert_eq!(recording.sources.len(), 1, "{name}");
        let host = only_host(&recording);
        assert_eq!(values(host, field, &subject).len(), count, "{name}");
    }
}
