//! Properties of reading captures: whatever the bytes, nothing panics, reading ends, and every
//! value is a finite number in its field's range.

use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_evidence::recording::{Builder, Field, Recording, Subject, Unit};
use proptest::prelude::*;

/// Three samples of an idle machine with two CPUs, with the files of the whole machine.
const IDLE: &[u8] = include_bytes!("recordings/capture/idle.txt");

/// Two samples with what that machine does not have: a busy process, a cgroup with a quota, a
/// segment, sockets.
const BUSY: &str = "\
hugewise-capture 1 at_ms=1795305600000 utc_offset_s=0 monotonic_ns=1000 host=vm boot=b \
ticks_per_s=100 page_bytes=4096 files=5
@@ 113 /proc/7/stat
7 (a) S 1 1 1 0 -1 0 10 0 1 0 5 6 0 0 20 0 3 0 9 0 25 0 0 0 0 0 0 0 0 0 0 0 0 0 \
17 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0

@@ 41 /proc/7/status
VmPTE:\t 8 kB
RssAnon:\t 4 kB
VmHWM:\t 9 kB

@@ 41 /sys/fs/cgroup/a/cpu.stat
usage_usec 1
nr_periods 1
nr_throttled 0

@@ 58 /proc/sysvipc/shm
key shmid perms size cpid lpid nattch
1 7 600 4096 1 1 12

@@ 66 /proc/net/tcp
0: 0100007F:0016 0100007F:C350 01 00000001:00000002 00:00000000 0

";

/// The only fields that may be above 100 percent: of one CPU, and a process may have several.
const ABOVE_100: [Field; 3] = [Field::ProcCpu, Field::ProcUser, Field::ProcSystem];

/// That sample, and the same two seconds later.
fn busy() -> String {
    format!("{BUSY}{}", BUSY.replace("monotonic_ns=1000", "monotonic_ns=2000001000"))
}

fn check(recording: &Recording) {
    for host in &recording.hosts {
        for (field, subjects) in &host.series {
            for point in subjects.values().flatten().flat_map(|series| &series.points) {
                assert!(point.value.is_finite() && point.value >= 0.0, "{field:?} {point:?}");
                let percent = field.about().unit == Unit::Percent && !ABOVE_100.contains(field);
                assert!(!percent || point.value <= 100.0, "{field:?} {point:?}");
            }
        }
    }
}

fn read(bytes: &[u8]) -> Recording {
    let mut out = Builder::new();
    let _ = out.read("x", bytes);
    let recording = out.finish();
    check(&recording);
    recording
}

/// The lines of a text in another order, some twice.
fn shuffled(text: &[u8], picks: &[usize]) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut all: Vec<u8> = lines.first().copied().unwrap_or_default().to_vec();
    for pick in picks {
        all.extend_from_slice(lines[pick % lines.len()]);
    }
    all
}

#[test]
fn the_samples_read_completely() {
    let recording = read(IDLE);
    assert_eq!(recording.problems, []);
    let host = &recording.hosts[0];
    for (field, values) in [
        (Field::CpuIdle, 2),
        (Field::MemTotal, 3),
        (Field::Faults, 2),
        (Field::TcpOutSegments, 2),
        (Field::PsiMemorySome, 3),
        (Field::Fmfi, 3),
    ] {
        let series = host.series(field, &Subject::Machine);
        assert_eq!(series.map(|series| series.points.len()), Some(values), "{field:?}");
    }
    let vda = Subject::Disk("vda".to_owned());
    assert_eq!(host.series(Field::DiskBusy, &vda).map(|series| series.points.len()), Some(2));
    assert!(host.subjects(Field::SoftirqRate).count() > 2);
    let all: f64 = [
        Field::CpuUser,
        Field::CpuNice,
        Field::CpuSystem,
        Field::CpuIowait,
        Field::CpuIrq,
        Field::CpuSoftirq,
        Field::CpuSteal,
        Field::CpuGuest,
        Field::CpuIdle,
    ]
    .iter()
    .filter_map(|field| Some(host.series(*field, &Subject::Machine)?.points[0].value))
    .sum();
    assert!((all - 100.0).abs() < 1e-9, "{all}");
}

#[test]
fn the_busy_sample_reads_completely() {
    let recording = read(busy().as_bytes());
    assert_eq!(recording.problems, []);
    let host = &recording.hosts[0];
    let cgroup = Subject::Cgroup("/a".to_owned());
    assert!(host.series(Field::ProcCpu, &Subject::process(Some(7), "a")).is_some());
    assert!(host.series(Field::CgroupThrottled, &cgroup).is_none());
    assert!(host.series(Field::SegmentBytes, &Subject::Segment("7".to_owned())).is_some());
    assert_eq!(host.sockets.len(), 1);
}

#[test]
fn every_prefix_is_survived_and_adds_nothing() {
    for text in [BUSY.as_bytes(), &IDLE[..6000]] {
        let mut most = 0;
        for end in 0..text.len() {
            let recording = read(&text[..end]);
            let values: usize = recording.hosts.iter().map(|host| host.series.len()).sum();
            assert!(values >= most, "{end}: what was complete stays so");
            most = values;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        line in any::<bool>(),
    ) {
        read(&bytes);
        let head: &[u8] = if line {
            b"hugewise-capture 1 at_ms=1 monotonic_ns=1\n@@ "
        } else {
            b"hugewise-capture "
        };
        read(&[head, &bytes].concat());
    }

    #[test]
    fn no_flipped_bytes_panic(
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..20),
        cut in any::<usize>(),
        busy in any::<bool>(),
    ) {
        let mut bytes = if busy { self::busy().into_bytes() } else { IDLE.to_vec() };
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] ^= byte;
        }
        let cut = cut % (2 * bytes.len());
        bytes.truncate(cut.max(100));
        read(&bytes);
    }

    /// Digits only: lengths stay right, numbers do not.
    #[test]
    fn no_other_digits_panic(
        digits in proptest::collection::vec(b'0'..=b'9', 1..60),
        step in 1..97_usize,
    ) {
        let mut bytes = IDLE.to_vec();
        let mut digits = digits.into_iter().cycle();
        let mut count = 0_usize;
        let starts: Vec<bool> = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .flat_map(|line| {
                let own = line.starts_with(b"@@ ") || line.starts_with(b"hugewise-capture ");
                line.iter().map(move |_| own)
            })
            .collect();
        for (byte, own) in bytes.iter_mut().zip(starts) {
            if !own && byte.is_ascii_digit() {
                count += 1;
                if count.is_multiple_of(step) {
                    *byte = digits.next().unwrap_or(b'9');
                }
            }
        }
        read(&bytes);
    }

    #[test]
    fn no_inserted_or_shuffled_lines_panic(
        picks in proptest::collection::vec(any::<usize>(), 0..300),
        at in any::<usize>(),
        line in "[ -~]{0,60}\n",
    ) {
        read(&shuffled(IDLE, &picks));
        let at = at % IDLE.len();
        let inserted = [&IDLE[..at], line.as_bytes(), &IDLE[at..]].concat();
        read(&inserted);
    }

    /// Samples may be handed over one by one, in any order.
    #[test]
    fn no_order_of_samples_panics(picks in proptest::collection::vec(0..4_usize, 0..8)) {
        let text = IDLE;
        let starts: Vec<usize> = text
            .windows(17)
            .enumerate()
            .filter(|(_, window)| *window == b"hugewise-capture ")
            .map(|(at, _)| at)
            .collect();
        let (mut out, mut capture) = (Builder::new(), Capture::new("x"));
        for pick in picks {
            let from = starts.get(pick).copied().unwrap_or(text.len());
            let to = starts.get(pick + 1).copied().unwrap_or(text.len());
            capture.take(&text[from..to], &mut out);
        }
        capture.end(&mut out);
        check(&out.finish());
    }
}
