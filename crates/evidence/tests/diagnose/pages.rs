//! Machines whose base pages have 16 or 64 KiB: their recordings say the same as their twins'.

use super::{chain, found, key, read, suffers};
use hugewise_evidence::diagnose::{Diagnosis, Thresholds, diagnose};
use hugewise_evidence::recording::{Field, Recording, Subject};

/// What distributions name kernels by the size of the base page, in KiB; its machine; khugepaged's
/// default; the size of a huge page in KiB.
const KINDS: [(u32, &str, &str, u32, u32); 3] = [
    (4, "6.12.9-1.x86_64", "x86_64", 511, 2048),
    (16, "6.12.9-arm64-16k", "aarch64", 2047, 32_768),
    (64, "5.14.0-503.el9.aarch64+64k", "aarch64", 8191, 524_288),
];

/// Busy swapping and reclaim, as `sar` counts it on such a machine: the same bytes.
fn swapping(page_kib: u32, kernel: &str, machine: &str) -> String {
    let mut text = format!("Linux {kernel} (twin) \t11/29/2026 \t_{machine}_\t(8 CPU)\n\n");
    let part = f64::from(page_kib) / 4.0;
    text.push_str("10:00:00     CPU     %user     %nice   %system   %iowait    %steal     %idle\n");
    for at in 1..7 {
        text += &format!(
            "10:00:{at}0     all      9.00      0.00     44.00     11.00      0.00     36.00\n"
        );
    }
    text.push_str(
        "\n10:00:00     pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s \
         pgsteal/s    %vmeff\n",
    );
    for at in 1..7 {
        let [freed, kswapd, direct, taken] =
            [20_000.0, 14_000.0, 12_000.0, 15_600.0].map(|pages: f64| pages / part);
        text += &format!(
            "10:00:{at}0    802.00   2044.00   7000.00      2.00  {freed:.2}  {kswapd:.2}  \
             {direct:.2}  {taken:.2}     60.00\n"
        );
    }
    text.push_str("\n10:00:00     pswpin/s pswpout/s\n");
    for at in 1..7 {
        text += &format!("10:00:{at}0   {:.2}   {:.2}\n", 1600.0 / part, 6400.0 / part);
    }
    text
}

/// Free memory in pieces of at most 256 KiB, 4 GiB of it, as the kernel lists it.
fn pieces(page_kib: u32) -> String {
    let orders = if page_kib == 4 {
        11
    } else if page_kib == 16 {
        12
    } else {
        14
    };
    let order = (256 / page_kib).ilog2() as usize;
    let counts: Vec<String> =
        (0..orders).map(|at| if at == order { "16384" } else { "0" }.to_owned()).collect();
    format!("$ cat /proc/buddyinfo\nNode 0, zone   Normal {}\n", counts.join(" "))
}

fn settings(most: u32, huge_kib: u32) -> String {
    let thp = "/sys/kernel/mm/transparent_hugepage";
    format!(
        "$ grep -r . {thp}\n{thp}/enabled:[always] madvise never\n\
         {thp}/defrag:[always] defer defer+madvise madvise never\n\
         {thp}/khugepaged/max_ptes_none:{most}\n\n$ cat /proc/meminfo\n\
         MemTotal:       65805176 kB\nMemFree:         4300000 kB\nMemAvailable:    5100112 kB\n\
         AnonPages:      52010020 kB\nPageTables:      9412004 kB\nHugePages_Total:       0\n\
         Hugepagesize:   {huge_kib} kB\n"
    )
}

fn twin(kind: (u32, &str, &str, u32, u32)) -> (Recording, Diagnosis) {
    let (page, kernel, machine, most, huge) = kind;
    let texts = [swapping(page, kernel, machine), pieces(page), settings(most, huge)];
    let names = ["twin.sar", "twin.buddyinfo", "twin.settings"];
    let texts: Vec<(&str, &str)> =
        names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let recording = read(&texts);
    assert!(recording.problems.is_empty(), "{:?}", recording.problems);
    let diagnosis = diagnose(&recording, &Thresholds::default());
    (recording, diagnosis)
}

#[test]
fn twins_with_other_pages_suffer_from_the_same() {
    let [(usual, expected), (of_16, with_16), (of_64, with_64)] = KINDS.map(twin);
    let keys = |diagnosis: &Diagnosis| diagnosis.findings.iter().map(key).collect::<Vec<_>>();
    assert!(suffers(&expected).contains(&"swapping"), "{:?}", keys(&expected));
    assert!(keys(&expected).contains(&"page_tables"), "{:?}", keys(&expected));
    for (recording, diagnosis) in [(of_16, with_16), (of_64, with_64)] {
        assert_eq!(keys(&diagnosis), keys(&expected));
        for field in [Field::SwapIn, Field::SwapOut, Field::Fmfi] {
            let value = |of: &Recording| of.hosts[0].latest(field, &Subject::Machine);
            assert_eq!(value(&recording), value(&usual), "{field:?}");
        }
        for (one, other) in diagnosis.findings.iter().zip(&expected.findings) {
            assert_eq!(one.severity, other.severity, "{}", key(one));
        }
        // Counts of pages are reported as the kernel counts them.
        let swaps = |of: &Diagnosis| {
            let all = chain(found(of, "swapping"));
            let lines = all.lines().filter(|line| !line.starts_with("base pages"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(swaps(&diagnosis), swaps(&expected));
    }
}

#[test]
fn tables_map_as_much_as_their_pages_are_large() {
    let mapped = |kind| chain(found(&twin(kind).1, "page_tables"));
    assert!(mapped(KINDS[0]).contains("in 4 KiB pages"));
    let large = mapped(KINDS[2]);
    assert!(large.contains("in 64 KiB pages") && large.contains("71.8 TiB"), "{large}");
}

#[test]
fn what_the_kernel_keeps_is_counted_in_its_pages() {
    let zones = "Node 0, zone   Normal\n  pages free     43898\n        min      1000\n";
    let of = |before: &str| {
        let recording = read(&[("zones", &format!("{before}{zones}"))]);
        recording.hosts[0].settings["/proc/sys/vm/min_free_kbytes"].text.clone()
    };
    assert_eq!(of(""), "4000");
    assert_eq!(of("$ getconf PAGESIZE\n65536\n$ cat /proc/zoneinfo\n"), "64000");
    assert_eq!(of("$ uname -r\n6.12.9-arm64-16k\n$ cat /proc/zoneinfo\n"), "16000");
}

#[test]
fn an_assumed_size_is_told_where_machines_differ() {
    let problems = |kernel: &str, machine: &str| {
        let text = swapping(4, kernel, machine);
        let problems = read(&[("some.sar", &text)]).problems;
        problems.into_iter().map(|problem| problem.text).collect::<Vec<_>>()
    };
    assert_eq!(problems("6.12.9-1.x86_64", "x86_64"), [""; 0]);
    assert_eq!(problems("5.14.0-503.el9.aarch64+64k", "aarch64"), [""; 0]);
    let told = problems("6.12.9-1", "aarch64");
    assert!(told.len() == 1 && told[0].contains("taken to be of 4 KiB"), "{told:?}");
}
