//! Tests of the readers of GC logs.

use super::*;
use crate::recording::readers::check::{all_understood, read, values};

fn java(recording: &crate::recording::Recording, field: Field) -> Vec<f64> {
    values(recording, field, &Subject::process(None, "java"))
}

fn near(found: &[f64], wanted: &[f64]) {
    let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(close && found.len() == wanted.len(), "{found:?} {wanted:?}");
}

#[test]
fn jdk_8_with_dates() {
    let recording = read(
        "2020-12-26T00:12:28.123+0800: 12.345: [GC (Allocation Failure) [PSYoungGen: \
            65536K->10720K(76288K)] 65536K->10728K(251392K), 0.0123456 secs] [Times: user=0.05 \
            sys=0.90, real=0.95 secs]\n\
             2020-12-26T00:12:29.000+0800: 13.222: Total time for which application threads were \
             stopped: 3.1000000 seconds, Stopping threads took: 0.0001000 seconds\n\
             2020-12-26T00:12:30.000+0800: 14.222: [CMS-concurrent-mark: 0.100/0.100 secs] \
             [Times: user=9.99 sys=9.99, real=0.10 secs]\n\
             2020-12-26T00:12:31.000+0800: 15.222: [Full GC (Ergonomics) 1K->1K(2K), 0,5000000 \
             secs]\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[12.3456, 500.0]);
    near(&java(&recording, Field::GcSystem), &[900.0]);
    near(&java(&recording, Field::Safepoint), &[3100.0]);
    near(&java(&recording, Field::SafepointReach), &[0.1]);
    assert_eq!(recording.sources[0].clock, Clock::Local);
    let subject = Subject::process(None, "java");
    let point = recording.hosts[0].series(Field::GcPause, &subject).expect("it").points[0];
    assert_eq!(point.at.expect("a time").to_string(), "2020-12-26 00:12:28");
}

#[test]
fn what_full_collections_leave() {
    let mib = 1_048_576.0;
    for (line, wanted) in [
        (
            "[9.1s][info][gc] GC(7) Pause Full (G1 Compaction Pause) 6141M->6109M(6144M) 4.5ms",
            Some((6109.0 * mib, 6144.0 * mib)),
        ),
        (
            "12.3: [Full GC (Ergonomics) [PSYoungGen: 102400K->0K(204800K)] [ParOldGen: \
             1048000K->1047552K(1048576K)] 1150400K->1047552K(1253376K), [Metaspace: \
             35000K->35000K(35100K)], 1.5 secs]",
            Some((1023.0 * mib, 1024.0 * mib)),
        ),
        ("[9.1s][info][gc] GC(8) Pause Young (Normal) 6141M->6109M(6144M) 4.5ms", None),
        ("[9.1s][info][gc] GC(9) Pause Full (System.gc()) 3M->1M(8M) 1.5ms", None),
    ] {
        let recording = read(line);
        let of = |field| java(&recording, field).first().copied();
        assert_eq!(of(Field::GcHeapAfter).zip(of(Field::GcHeapSize)), wanted, "{line}");
    }
}

fn parts(recording: &crate::recording::Recording, field: Field) -> Vec<(String, f64)> {
    let all = recording.hosts.iter().flat_map(|host| host.subjects(field));
    let name = |subject: &Subject| subject.to_string().replace("java, ", "");
    all.map(|(subject, series)| (name(subject), series[0].points[0].value)).collect()
}

fn named(all: &[(&str, f64)]) -> Vec<(String, f64)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn what_is_printed_inside_a_pause_hides_it_not() {
    let recording = read(
        "{Heap before GC invocations=3 (full 0):\n par new generation total 500K, used 400K \
         [0x00000000, 0x00000001, 0x00000002)\n}\n\
         4.100: #3: [GC (Allocation Failure) 4.100: [ParNew\nDesired survivor size 11 bytes, new \
         threshold 6 (max 6)\n- age   1:   100 bytes,   100 total\n\
         : 900K->100K(1000K), 2.5 secs]4.101: [CMS4.102: [CMS-concurrent-sweep: 0.1/30.2 secs] \
         [Times: user=9.00 sys=9.00, real=30.20 secs]\n (concurrent mode failure)[YG occupancy: 5 \
         K (9 K)]: 800K->700K(2000K), 20.25 secs] 900K->700K(3000K), [Metaspace: \
         5K->5K(9K)], 22.75 secs] [Times: user=21.50 sys=0.50, real=22.75 secs]\n\
         30.000: Total time for which application threads were stopped: 22.7600000 seconds, \
         Stopping threads took: 0.0100000 seconds\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[22_750.0]);
    near(&java(&recording, Field::GcSystem), &[500.0]);
    near(&java(&recording, Field::GcTimed), &[22_750.0]);
    assert_eq!(
        parts(&recording, Field::GcTrouble),
        named(&[("concurrent mode failure", 22_750.0)])
    );
    assert_eq!(parts(&recording, Field::GcPart), named(&[("CMS", 20_250.0), ("ParNew", 2500.0)]));
    assert_eq!(parts(&recording, Field::GcCause), named(&[("Allocation Failure", 22_750.0)]));
}

#[test]
fn a_histogram_of_classes_has_brackets_of_its_own() {
    let recording = read(
        "9.500: [Full GC (System.gc()) 9.500: [Class Histogram (before full gc):\n num     \
         #instances         #bytes  class name\n----------------------------------------------\n   \
         1:          12       3400  [C\n   2:           7        900  [Ljava.lang.Object;\n\
         Total            19       4300\n, 3.25 secs]12.750: [Tenured: 30K->20K(90K), 0.5 secs] \
         60K->20K(120K), 3.75 secs] [Times: user=3.70 sys=0.01, real=3.75 secs]\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[3750.0]);
    near(&java(&recording, Field::GcUser), &[3700.0]);
    assert_eq!(parts(&recording, Field::GcTrouble), named(&[("class histogram", 3750.0)]));
    let all = [("Class Histogram", 3250.0), ("Tenured", 500.0)];
    assert_eq!(parts(&recording, Field::GcPart), named(&all));
    assert_eq!(parts(&recording, Field::GcKind), named(&[("Full", 3750.0)]));
    assert_eq!(parts(&recording, Field::GcCause), named(&[("System.gc()", 3750.0)]));
}

#[test]
fn details_of_g1_follow_its_pause() {
    let recording = read(
        "7.000: [GC pause (G1 Humongous Allocation) (young) (initial-mark) 7.000: [G1Ergonomics \
         (CSet Construction) start choosing CSet, target pause time: 99.00 ms]\n (to-space \
         exhausted), 4.0000000 secs]\n   [Parallel Time: 900.5 ms, GC Workers: 2]\n      [Object \
         Copy (ms): Min: 700.0, Avg: 750.0, Max: 800.5, Diff: 100.5, Sum: 1500.0]\n      [GC \
         Worker Total (ms): Min: 890.0, Avg: 895.0, Max: 900.0, Diff: 10.0]\n   [Other: 3099.5 \
         ms]\n      [Evacuation Failure: 2950.5 ms]\n   [Eden: 24.0M(24.0M)->0.0B(13.0M) Heap: \
         60.0M(64.0M)->50.0M(64.0M)]\n [Times: user=1.50 sys=0.25, real=4.00 secs]\n\
         12.000: [GC cleanup 60M->60M(64M), 0.0020000 secs]\n [Times: user=0.01 sys=0.00, \
         real=0.00 secs]\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[4000.0, 2.0]);
    near(&java(&recording, Field::GcUser), &[1500.0, 10.0]);
    let trouble = named(&[("to-space exhausted", 4000.0)]);
    assert_eq!(parts(&recording, Field::GcTrouble), trouble);
    let found = parts(&recording, Field::GcPart);
    assert!(found.contains(&("Evacuation Failure".to_owned(), 2950.5)), "{found:?}");
    assert!(found.contains(&("Object Copy".to_owned(), 800.5)), "{found:?}");
    let cause = parts(&recording, Field::GcCause);
    assert_eq!(cause, named(&[("G1 Humongous Allocation", 4000.0)]));
}

#[test]
fn a_log_that_breaks_off_takes_nothing_that_follows() {
    let recording = read(
        "3.000: [GC (Allocation Failure) 3.001: [ParNew\n\
         5.000: [GC (Allocation Failure) 90K->50K(120K), 0.2500000 secs]\n",
    );
    near(&java(&recording, Field::GcPause), &[250.0]);
    let text = "3.000: [Full GC (Ergonomics) [PSYoungGen: 1K\n".to_owned();
    let rest = "words of somebody\n".repeat(100);
    let recording = read(&(text + &rest));
    assert!(recording.hosts[0].subjects(Field::GcPause).next().is_none());
    assert!(!recording.unrecognised.is_empty());
}

#[test]
fn phases_of_unified_logging_are_parts_of_their_pause() {
    let recording = read(
        "[5000ms] GC(9) Pause Full (Metadata GC Threshold)\n\
         [5000ms] GC(9) Phase 1: Mark live objects\n\
         [8000ms] GC(9) Phase 1: Mark live objects 3000.5ms\n\
         [8500ms] GC(9) Phase 2: Compact heap 450.0ms\n\
         [8600ms] GC(9) Pause Full (Metadata GC Threshold) 90M->40M(128M) 3600.5ms\n\
         [8600ms] GC(9) User=3.25s Sys=0.10s Real=3.60s\n\
         [9000ms] GC(10) Pause Young (Mixed) (G1 Evacuation Pause) (Evacuation Failure: \
         Allocation) 90M->80M(128M) 500.0ms\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[3600.5, 500.0]);
    near(&java(&recording, Field::GcUser), &[3250.0]);
    let all = [("Compact heap", 450.0), ("Mark live objects", 3000.5)];
    assert_eq!(parts(&recording, Field::GcPart)[1..], named(&all)[1..]);
    assert_eq!(parts(&recording, Field::GcTrouble), named(&[("to-space exhausted", 500.0)]));
    let kinds = named(&[("Full", 3600.5), ("Mixed", 500.0)]);
    assert_eq!(parts(&recording, Field::GcKind), kinds);
    let causes = named(&[("G1 Evacuation Pause", 500.0), ("Metadata GC Threshold", 3600.5)]);
    assert_eq!(parts(&recording, Field::GcCause), causes);
}

#[test]
fn g1_of_jdk_8_over_several_lines() {
    let recording = read(
        "1.500: [GC pause (G1 Evacuation Pause) (young), 0.0456 secs]\n   \
             [Parallel Time: 40.0 ms, GC Workers: 4]\n   [Eden: 24.0M(24.0M)->0.0B(13.0M)]\n \
             [Times: user=0.10 sys=0.02, real=0.05 secs]\n\
             2.000: [GC concurrent-root-region-scan-start]\nhello from the program\n\
             2.500: [GC remark, 0.0100 secs]\n",
    );
    near(&java(&recording, Field::GcPause), &[45.6, 10.0]);
    near(&java(&recording, Field::GcUser), &[100.0]);
    assert_eq!(recording.sources.len(), 1);
    assert_eq!(recording.sources[0].clock, Clock::Uptime);
    assert_eq!(recording.unrecognised[0].start, "hello");
}

#[test]
fn unified_logging() {
    let recording = read(
        "[2026-11-22T03:43:10.123+0000][12.345s][info][gc,start    ] GC(3) Pause Young \
            (Normal) (G1 Evacuation Pause)\n\
             [2026-11-22T03:43:10.123+0000][12.345s][info][gc          ] GC(3) Pause Young \
             (Normal) (G1 Evacuation Pause) 12M->3M(64M) 3.456ms\n\
             [2026-11-22T03:43:10.123+0000][12.345s][info][gc,cpu      ] GC(3) User=0.05s \
             Sys=0.90s Real=0.95s\n\
             [2026-11-22T03:43:10.123+0000][12.345s][info][safepoint   ] Safepoint \
             \"G1CollectForAllocation\", Time since last: 1000 ns, Reaching safepoint: 2500000 \
             ns, Cleanup: 5 ns, At safepoint: 500000 ns, Total: 3000005 ns\n\
             [2026-11-22T03:43:11.123+0000][13.345s][info][gc          ] GC(4) Concurrent Mark \
             Cycle 10.0ms\n\
             [2026-11-22T03:43:11.123+0000][13.345s][info][gc,cpu      ] GC(4) User=9.05s \
             Sys=9.90s Real=0.95s\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[3.456]);
    near(&java(&recording, Field::GcSystem), &[900.0]);
    near(&java(&recording, Field::Safepoint), &[3.000_005]);
    near(&java(&recording, Field::SafepointReach), &[2.5]);
}

#[test]
fn pauses_of_zgc_are_phases() {
    let recording = read(
        "[0.500s][info][gc,phases] GC(0) Y: Pause Mark Start 0.012ms\n\
             [0.501s][info][gc,phases] GC(0) Y: Concurrent Mark 5.000ms\n\
             [0.502s][info][gc,phases] GC(1) Pause Mark End 0,020ms\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[0.012, 0.02]);
}

#[test]
fn uptime_only_and_the_sentence_of_jdk_11() {
    let recording = read(
        "[0.521s][info][safepoint] Application time: 0.1 seconds\n\
             [1.521s][info][safepoint] Total time for which application threads were stopped: \
             0.0012 seconds, Stopping threads took: 0.0010 seconds\n",
    );
    near(&java(&recording, Field::Safepoint), &[1.2]);
    assert_eq!(recording.sources[0].clock, Clock::Uptime);
    let subject = Subject::process(None, "java");
    let point = recording.hosts[0].series(Field::Safepoint, &subject).expect("it").points[0];
    assert_eq!(point.at, Some(Stamp(1)));
}

#[test]
fn a_young_collection_before_a_remark_is_part_of_that() {
    let recording = read(
        "5.000: [GC (CMS Final Remark) [YG occupancy: 1 K (9 K)]{Heap before GC invocations=2 \
         (full 1):\n par new generation total 9K, used 1K [0x01, 0x02, 0x03)\n\
         5.001: [GC (CMS Final Remark) 5.001: [ParNew: 5K->1K(9K), 0.2 secs] 15K->11K(90K), 0.25 \
         secs] [Times: user=0.20 sys=0.00, real=0.25 secs]\nHeap after GC invocations=3 (full 1):\n\
         \x20par new generation total 9K, used 1K [0x01, 0x02, 0x03)\n}\n\
         5.250: [Rescan (parallel) , 1.5 secs][1 CMS-remark: 10K(80K)] 11K(90K), 2.0 secs] [Times: \
         user=2.10 sys=0.00, real=2.00 secs]\n",
    );
    near(&java(&recording, Field::GcPause), &[2000.0]);
    near(&java(&recording, Field::GcUser), &[2100.0]);
    assert_eq!(recording.unrecognised, []);
}

#[test]
fn pauses_of_shenandoah_on_jdk_8_end_in_milliseconds() {
    let recording = read(
        "2022-03-04T05:06:07.800+0800: 2.469: [Pause Init Mark (process weakrefs), start]\n\
         2022-03-04T05:06:07.900+0800: 2.472: [Pause Init Mark (process weakrefs), 3.250 ms]\n\
         2022-03-04T05:06:08.000+0800: 2.480: [Concurrent marking (process weakrefs), 9.500 ms]\n",
    );
    all_understood(&recording);
    near(&java(&recording, Field::GcPause), &[3.25]);
}
