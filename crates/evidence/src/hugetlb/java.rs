//! How many HugeTLB pages a Java program takes: heap, code cache, and what its collector reserves
//! beside them.
//!
//! The formulas were found on OpenJDK 17.0.15 (x86-64, pages of 2 MiB) in 60 measured starts and
//! gave 44 others to the page (`docs/measurements.md#java-on-hugetlb`). Every area of at least 2
//! MiB is put on large pages, or not, as a whole; metaspace, class space and thread stacks never
//! are. For 11, 21 and 25 it is never short, and at most 2.6 % more than they took (120 starts at
//! six sizes of the heap); `verify` shows what a running one has.

use hugewise_base::units::Bytes;

/// Name of the part that is the heap.
pub const HEAP: &str = "heap";
/// Size of the pages that the formulas are for, in bytes. The JVM takes no other ones unless
/// `-XX:LargePageSizeInBytes` says so, or the kernel's default is that of a huge page of another
/// size, as 32 MiB on arm64 with base pages of 16 KiB.
pub const PAGE: u64 = 2 << 20;
const GIB: u64 = 1 << 30;
/// Regions that G1 aims at (OpenJDK 17 and 25, as they print `G1HeapRegionSize`).
const G1_REGIONS: u64 = 2048;
/// Smallest region of G1 (the same).
const G1_REGION_MIN: u64 = 1 << 20;
/// Largest region that G1 chooses itself (the same).
const G1_REGION_CHOSEN_MAX: u64 = 32 << 20;
/// Largest region that a flag can set (OpenJDK 25; 32 MiB in 17).
const G1_REGION_MAX: u64 = 512 << 20;
/// Default of `-XX:ReservedCodeCacheSize` (OpenJDK 17, with tiered compilation).
const CODE_CACHE: u64 = 240 << 20;
/// The same without tiered compilation.
const CODE_CACHE_UNTIERED: u64 = 48 << 20;
/// Smaller code caches stay on base pages (measured: 15 MiB does, 16 MiB does not).
const CODE_CACHE_MIN: u64 = 16 << 20;

/// What a Java program needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Whether its flags ask for HugeTLB pages at all.
    pub asks: bool,
    /// Each area with its size; empty where the heap's size is not among the flags.
    pub parts: Vec<(String, Bytes)>,
    /// `-XX:LargePageSizeInBytes`, or else the kernel's default, where that is another size than 2
    /// MiB, for which there is no formula here.
    pub other_page: Option<Bytes>,
    /// Whether it takes System V segments (`-XX:+UseSHM`).
    pub sysv: bool,
}

/// Garbage collectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// Garbage-First.
    G1,
    /// The parallel one.
    Parallel,
    /// The serial one.
    Serial,
    /// Z.
    Z,
    /// Shenandoah.
    Shenandoah,
}

/// The flag of each.
pub const COLLECTORS: [(&str, Collector); 5] = [
    ("-XX:+UseG1GC", Collector::G1),
    ("-XX:+UseParallelGC", Collector::Parallel),
    ("-XX:+UseSerialGC", Collector::Serial),
    ("-XX:+UseZGC", Collector::Z),
    ("-XX:+UseShenandoahGC", Collector::Shenandoah),
];

/// A flag that asks for a collector of which nothing is known here.
pub fn unknown_collector(flags: &[String]) -> Option<&str> {
    // Some flags are about System.gc().
    let asks = |flag: &&str| {
        flag.starts_with("-XX:+Use") && flag.ends_with("GC") && !flag.ends_with("SystemGC")
    };
    let known = |flag: &str| COLLECTORS.iter().any(|(known, _)| *known == flag);
    flags.iter().map(|flag| flag.trim()).filter(asks).find(|flag| !known(flag))
}

#[derive(Clone, Debug)]
struct Flags {
    large: bool,
    transparent: bool,
    sysv: bool,
    heap: Option<u64>,
    young: Option<u64>,
    new_ratio: u64,
    code: Option<u64>,
    /// `-XX:-TieredCompilation`.
    untiered: bool,
    /// `-Xint` or `-XX:TieredStopAtLevel=1`, which `-XX:+TieredCompilation` does not undo.
    simple: bool,
    region: Option<u64>,
    page: Option<u64>,
    collector: Collector,
}

/// What a program with these flags needs, once its heap has its largest size, on a machine whose
/// HugeTLB pages have the size `default` where nothing else is asked for; `None`: not known.
pub fn need(flags: &[String], default: Option<Bytes>) -> Need {
    let flags = read(flags);
    let asked = flags.page.filter(|page| *page > 0).map(Bytes);
    let other_page = match asked {
        Some(page) => Some(page).filter(|page| page.0 >= GIB),
        None => default.filter(|page| page.0 != PAGE && page.0 < GIB),
    };
    let asks = flags.large && !flags.transparent;
    let mut parts = Vec::new();
    if let Some(heap) = flags.heap.filter(|_| other_page.is_none()) {
        let unit = granule(&flags, heap);
        let heap = heap.div_ceil(unit).saturating_mul(unit);
        // Code cannot be in a System V segment, which is never executable.
        let code = flags.code.filter(|code| *code >= CODE_CACHE_MIN && !flags.sysv);
        parts.extend(code.map(|code| ("code cache".to_owned(), Bytes(code))));
        parts.push((HEAP.to_owned(), Bytes(heap)));
        let reserves = reserves(&flags, heap);
        parts.extend(reserves.into_iter().map(|(what, bytes)| (what.to_owned(), Bytes(bytes))));
    }
    Need { asks, parts, other_page, sysv: flags.sysv }
}

/// What the heap's size is rounded up to: G1 has whole regions, each a power of two.
fn granule(flags: &Flags, heap: u64) -> u64 {
    if flags.collector != Collector::G1 {
        return PAGE;
    }
    let chosen = (heap / G1_REGIONS).min(G1_REGION_CHOSEN_MAX);
    let region = flags.region.filter(|region| *region > 0).unwrap_or(chosen);
    region.clamp(G1_REGION_MIN, G1_REGION_MAX).next_power_of_two().max(PAGE)
}

/// What the collector reserves beside the heap.
fn reserves(flags: &Flags, heap: u64) -> Vec<(&'static str, u64)> {
    let large = |what: &'static str, bytes: u64| (bytes >= PAGE).then_some((what, bytes));
    // The old generation's table: a byte for 512, and only whole pages of it.
    let share = heap / flags.new_ratio.saturating_add(1) / PAGE * PAGE;
    let young = flags.young.unwrap_or(share);
    let old_table = heap.saturating_sub(young) / 512 / PAGE * PAGE;
    let all = match flags.collector {
        Collector::G1 => vec![
            large("mark bitmap", heap / 64),
            large("second mark bitmap", heap / 64),
            large("block offset table", heap / 512),
            large("card table", heap / 512),
            large("card counts", heap / 512),
        ],
        Collector::Parallel => {
            let whole = |bytes: u64, least: u64| bytes.is_multiple_of(PAGE) && bytes >= least;
            // Ten pages at least, and whole ones (measured at 23 sizes).
            let bitmap = Some(heap / 32).filter(|bytes| whole(*bytes, 10 * PAGE));
            let table = Some(heap / 512).filter(|bytes| whole(*bytes, 10 * PAGE));
            vec![
                large("start array", old_table),
                bitmap.map(|bytes| ("mark bitmap", bytes)),
                table.map(|bytes| ("compaction table", bytes)),
            ]
        }
        Collector::Serial => vec![large("block offset table", old_table)],
        Collector::Z => Vec::new(),
        // Fitted to four sizes only.
        Collector::Shenandoah => vec![
            Some(("mark bitmap", (heap / 32).max(PAGE))),
            Some(("second mark bitmap", (heap / 32).max(PAGE))),
            Some(("region map", PAGE)),
        ],
    };
    all.into_iter().flatten().collect()
}

fn read(flags: &[String]) -> Flags {
    let mut all = Flags {
        large: false,
        transparent: false,
        sysv: false,
        heap: None,
        young: None,
        new_ratio: 2,
        code: None,
        untiered: false,
        simple: false,
        region: None,
        page: None,
        // The default on machines with two CPUs and 1,792 MiB, and the one that takes most.
        collector: Collector::G1,
    };
    for flag in flags {
        one(&mut all, flag.trim());
    }
    let code = if all.untiered || all.simple { CODE_CACHE_UNTIERED } else { CODE_CACHE };
    all.code = all.code.or(Some(code));
    all
}

/// The last flag of a kind wins, as in the JVM itself.
fn one(all: &mut Flags, flag: &str) {
    let value =
        |names: &[&str]| names.iter().find_map(|name| flag.strip_prefix(name)).and_then(jvm_size);
    if let Some(heap) = value(&["-Xmx", "-XX:MaxHeapSize="]) {
        all.heap = Some(heap);
    } else if let Some(young) = value(&["-Xmn", "-XX:MaxNewSize="]) {
        all.young = Some(young);
    } else if let Some(code) = value(&["-XX:ReservedCodeCacheSize="]) {
        all.code = Some(code);
    } else if let Some(page) = value(&["-XX:LargePageSizeInBytes="]) {
        all.page = Some(page);
    } else if let Some(region) = value(&["-XX:G1HeapRegionSize="]) {
        all.region = Some(region);
    } else if let Some(ratio) = flag.strip_prefix("-XX:NewRatio=").and_then(|r| r.parse().ok()) {
        all.new_ratio = ratio;
    }
    match flag {
        "-XX:+UseLargePages" => all.large = true,
        "-XX:-UseLargePages" => all.large = false,
        "-XX:+UseTransparentHugePages" => all.transparent = true,
        "-XX:-UseTransparentHugePages" => all.transparent = false,
        "-XX:+UseSHM" => all.sysv = true,
        "-XX:-UseSHM" => all.sysv = false,
        "-XX:-TieredCompilation" => all.untiered = true,
        "-XX:+TieredCompilation" => all.untiered = false,
        "-Xint" | "-XX:TieredStopAtLevel=1" => all.simple = true,
        _ => {
            let chosen = COLLECTORS.iter().find(|(known, _)| *known == flag);
            all.collector = chosen.map_or(all.collector, |(_, collector)| *collector);
        }
    }
}

/// A size as the JVM reads it: digits and one of `k m g t`, powers of 1024.
pub(crate) fn jvm_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)?.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1_u64 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(flags: &str) -> u64 {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        need(&flags, None).parts.iter().map(|(_, bytes)| bytes.0.div_ceil(PAGE)).sum()
    }

    /// Measured on OpenJDK 17.0.15: the smallest pools with which everything is on large pages.
    #[test]
    fn measured_starts_come_out_to_the_page() {
        let heaps =
            ["64m", "256m", "384m", "512m", "768m", "1g", "1280m", "1536m", "2g", "3g", "4g", "6g"];
        let table = [
            ("G1", [152, 252, 318, 384, 516, 651, 786, 918, 1182, 1713, 2244, 3306]),
            ("Parallel", [152, 248, 312, 376, 516, 648, 780, 913, 1177, 1706, 2234, 3292]),
            ("Serial", [152, 248, 312, 376, 504, 632, 760, 889, 1145, 1658, 2170, 3196]),
            ("Z", [152, 248, 312, 376, 504, 632, 760, 888, 1144, 1656, 2168, 3192]),
        ];
        for (collector, measured) in table {
            for (heap, measured) in heaps.iter().zip(measured) {
                let flags = format!("-XX:+UseLargePages -XX:+Use{collector}GC -Xmx{heap}");
                assert_eq!(pages(&flags), measured, "{flags}");
            }
        }
    }

    /// Pages in use after a start of OpenJDK 11.0.13, 21.0.8 and 25.0.2. From 20 on G1 has one mark
    /// bitmap, of which 25 has less for Parallel, too; Z takes the rest of its heap as it grows.
    #[test]
    fn other_versions_take_no_more() {
        let heaps = ["64m", "256m", "512m", "768m", "1g", "1536m"];
        let table = [
            ("11 G1", [152, 252, 384, 516, 651, 918]),
            ("11 Parallel", [152, 248, 376, 516, 648, 913]),
            ("11 Serial", [152, 248, 376, 504, 632, 888]),
            ("11 Shenandoah", [155, 253, 385, 517, 649, 913]),
            ("21 G1", [152, 250, 380, 510, 642, 904]),
            ("21 Parallel", [152, 248, 376, 516, 648, 913]),
            ("21 Serial", [152, 248, 376, 504, 632, 889]),
            ("21 Shenandoah", [155, 257, 393, 529, 665, 937]),
            ("25 G1", [152, 250, 380, 510, 642, 904]),
            ("25 Parallel", [152, 248, 376, 504, 632, 901]),
            ("25 Serial", [152, 248, 376, 504, 632, 889]),
            ("25 Shenandoah", [155, 257, 393, 529, 665, 937]),
        ];
        for (which, measured) in table {
            let (version, collector) = which.split_once(' ').expect("two words");
            for (heap, measured) in heaps.iter().zip(measured) {
                let flags = format!("-XX:+UseLargePages -XX:+Use{collector}GC -Xmx{heap}");
                let planned = pages(&flags);
                assert!(planned >= measured, "{version} {flags}: {planned} of {measured}");
                let idle = (planned - measured) as f64 / planned as f64;
                assert!(idle <= 0.026, "{version} {flags}: {planned} for {measured}");
            }
        }
    }

    #[test]
    fn flags_that_change_the_need() {
        let g1 = "-Xmx512m";
        for (flags, measured) in [
            (format!("{g1} -XX:ReservedCodeCacheSize=15m"), 264),
            (format!("{g1} -XX:ReservedCodeCacheSize=241m"), 385),
            (format!("{g1} -XX:-TieredCompilation"), 288),
            (format!("{g1} -XX:+UseSHM"), 264),
            (format!("{g1} -XX:+UseSHM -XX:-UseSHM"), 384),
            (format!("{g1} -XX:-TieredCompilation -XX:+TieredCompilation"), 384),
            (format!("{g1} -XX:TieredStopAtLevel=1 -XX:+TieredCompilation"), 288),
            ("-Xmx500m -XX:G1HeapRegionSize=32m".into(), 384),
            ("-Xmx1000m -XX:G1HeapRegionSize=16m".into(), 640),
            ("-XX:+UseSerialGC -Xmx2g -XX:NewRatio=8".into(), 1145),
            ("-XX:+UseSerialGC -Xmx2148m -Xmn100m".into(), 120 + 1074 + 2),
            ("-XX:+UseSerialGC -Xmx2g -Xmn1200m".into(), 1144),
            ("-XX:+UseParallelGC -Xmx3g -Xmn100m".into(), 120 + 1536 + 48 + 2),
        ] {
            assert_eq!(pages(&flags), measured, "{flags}");
        }
    }

    /// `MaxHeapSize` as OpenJDK 17.0.15 and 25 print it with `-XX:+PrintFlagsFinal`, in MiB.
    #[test]
    fn a_heap_of_g1_has_whole_regions() {
        for (flags, measured) in [
            ("-Xmx5001m", 5004),
            ("-Xmx8193m", 8200),
            ("-Xms64m -Xmx9001m", 9008),
            ("-Xmx500m -XX:G1HeapRegionSize=512k", 500),
            ("-Xmx500m -XX:G1HeapRegionSize=9m", 512),
            ("-Xmx5001m -XX:+UseSerialGC", 5002),
        ] {
            let given: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
            let parts = need(&given, None).parts;
            let heap = parts.iter().find(|(what, _)| what == HEAP).map(|(_, bytes)| *bytes);
            assert_eq!(heap, Some(Bytes::mib(measured)), "{flags}");
        }
    }

    #[test]
    fn who_asks() {
        let need = |flags: &str| {
            let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
            super::need(&flags, None)
        };
        assert!(need("-Xmx1g -XX:+UseLargePages").asks);
        assert!(!need("-Xmx1g").asks);
        assert!(!need("-Xmx1g -XX:+UseLargePages -XX:+UseTransparentHugePages").asks);
        assert!(!need("-XX:+UseLargePages -XX:-UseLargePages").asks);
        assert!(need("-XX:+UseLargePages").parts.is_empty());
        let other = need("-Xmx4g -XX:+UseLargePages -XX:LargePageSizeInBytes=1g");
        assert_eq!((other.other_page, other.parts.len()), (Some(Bytes(1 << 30)), 0));
        let on_16k = |flags: &[&str]| {
            let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            super::need(&flags, Some(Bytes::mib(32)))
        };
        assert_eq!(on_16k(&["-Xmx1g"]).other_page, Some(Bytes::mib(32)));
        assert_eq!(on_16k(&["-Xmx1g", "-XX:LargePageSizeInBytes=2m"]).other_page, None);
    }

    #[test]
    fn sizes_as_the_jvm_reads_them() {
        assert_eq!(jvm_size("512m"), Some(512 << 20));
        assert_eq!(jvm_size("4G"), Some(4 << 30));
        assert_eq!(jvm_size("1048576"), Some(1 << 20));
        for bad in ["", "m", "1.5g", "4GB", "99999999999999t", "-1g"] {
            assert_eq!(jvm_size(bad), None, "{bad}");
        }
    }
}
