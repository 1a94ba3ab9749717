//! Properties of the readers of sysstat's tools and vmstat: whatever the text, reading ends, and
//! every value is a number.

use hugewise_evidence::recording::{Builder, Recording};
use proptest::prelude::*;
use proptest::sample::Index;

/// A text of every format.
const SAMPLES: &[&str] = &[
    include_str!("recordings/real/hdd.sar"),
    include_str!("recordings/real/vm.json"),
    include_str!("recordings/sysstat/vm_fr_FR.sar"),
    include_str!("recordings/sysstat/vm_ko_KR.sar"),
    include_str!("recordings/sysstat/vm_el_GR.sar"),
    include_str!("recordings/sysstat/vm_pretty.sar"),
    include_str!("recordings/sysstat/all.mpstat"),
    include_str!("recordings/sysstat/hdd.iostat"),
    include_str!("recordings/sysstat/hdd.pidstat"),
    include_str!("recordings/sysstat/hdd.vmstat"),
    include_str!("recordings/sysstat/002_e950a442f470f4d6_part.txt"),
    include_str!("recordings/sysstat/003_80b3d735f18cc1a9_part.txt"),
];

/// Lines to put into other texts.
const LINES: &[&str] = &[
    "",
    "...",
    "Average:          all     18.75",
    "99:99:99 all 1 2 3",
    "10:00:01 AM       LINUX RESTART",
    "Linux 6.1 (x) \t01/02/03 \t_x86_64_\t(2 CPU)",
    "Linux 6.1 (x",
    "10:00:01 CPU %user %nice %system %iowait %steal %idle",
    "10:00:01 all nan -nan - inf 1e9 99999999999999999999999999999999",
    "Device r/s w/s",
    "avg-cpu:  %user %idle",
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st",
    "1767225600 0 7 1.00",
    "午後03時02分03秒",
    "\u{feff}\u{a0}",
];

fn read(bytes: &[u8]) -> Recording {
    let mut builder = Builder::new();
    // Refusing is as good as reading.
    let _ = builder.read("a", bytes);
    builder.finish()
}

fn check(recording: &Recording) {
    let series = recording.hosts.iter().flat_map(|host| host.series.values());
    for series in series.flat_map(|subjects| subjects.values()).flatten() {
        assert!(recording.source(series.source).is_some());
        assert!(!series.points.is_empty());
        assert!(series.points.iter().all(|point| point.value.is_finite() && point.value >= 0.0));
    }
}

fn sample() -> impl Strategy<Value = &'static str> {
    prop::sample::select(SAMPLES)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&read(&bytes));
    }

    #[test]
    fn arbitrary_text(text in "([0-9]{2}[:.][0-9]{2}:[0-9]{2}[ \t]+)?\\PC{0,80}\n?") {
        check(&read(text.as_bytes()));
    }

    #[test]
    fn words_of_the_tools(
        rows in prop::collection::vec(
            (0..24_u32, 0..60_u32, prop::collection::vec("%idle|%user|CPU|all|DEV|PID|INTR|Command|\
             tps|rkB/s|[0-9]{1,3}|[0-9],[0-9]{2}|sda|-|nan|AM|TGID|kbmemfree|kbswpused|x", 0..8)),
            0..30,
        ),
    ) {
        let mut text = String::new();
        for (hour, minute, words) in rows {
            text.push_str(&format!("{hour:02}:{minute:02}:00 {}\n", words.join(" ")));
        }
        check(&read(text.as_bytes()));
    }

    #[test]
    fn flipped_and_cut(
        text in sample(),
        flips in prop::collection::vec((any::<Index>(), any::<u8>()), 0..20),
        end in any::<Index>(),
    ) {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        check(&read(&bytes));
    }

    #[test]
    fn lines_put_in_and_shuffled(
        text in sample(),
        other in sample(),
        extra in prop::collection::vec((any::<Index>(), prop::sample::select(LINES)), 0..20),
        swaps in prop::collection::vec((any::<Index>(), any::<Index>()), 0..40),
    ) {
        let mut lines: Vec<&str> = text.lines().take(300).chain(other.lines().take(100)).collect();
        for (at, line) in extra {
            lines.insert(at.index(lines.len()), line);
        }
        for (one, two) in swaps {
            let count = lines.len();
            lines.swap(one.index(count), two.index(count));
        }
        check(&read(lines.join("\n").as_bytes()));
    }
}
