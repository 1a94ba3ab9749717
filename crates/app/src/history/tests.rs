use super::pack::{pack, unpack};
use super::{Book, DayFile, FrameFile, History, Limits, Ring};
use hugewise_base::units::Bytes;
use hugewise_evidence::recording::readers::capture::sample::{Header, Writer};
use hugewise_scratch::Scratch;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// 2026-11-26 23:59:00 UTC.
const LATE: i64 = 1_795_737_540_000;
const LIMITS: Limits = Limits { days: 7, bytes: Bytes::mib(64) };

/// A sample with some counters that move.
fn sample(at_ms: i64, n: u64) -> Vec<u8> {
    let mut writer = Writer::default();
    let rows = (0..200).map(|row| format!("counter_{row} {}\n", row * 7919 + n * (row % 3)));
    writer.file("/proc/vmstat", rows.collect::<String>().as_bytes());
    writer.finish(&Header { at_ms, monotonic_ns: n, host: Some("db1".into()), ..Header::default() })
}

/// Writes `n` samples, a second apart.
fn record(path: &Path, limits: Limits, from_ms: i64, n: u64) -> Vec<Vec<u8>> {
    let mut book = Book::open(path, limits).expect("a history");
    let texts: Vec<_> =
        (0..n).zip((from_ms..).step_by(1000)).map(|(n, at)| sample(at, n)).collect();
    for text in &texts {
        book.append(text).expect("written");
    }
    texts
}

/// All texts that can be read, and how many cannot.
fn read(path: &Path) -> (Vec<Vec<u8>>, usize) {
    let Ok(mut past) = History::open(path) else { return (Vec::new(), 0) };
    let moments = past.moments().to_vec();
    let texts: Vec<_> =
        moments.iter().filter_map(|at| past.text(*at).ok().map(<[u8]>::to_vec)).collect();
    let failed = moments.len() - texts.len();
    (texts, failed)
}

fn files(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).expect("a directory").flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[test]
fn a_packed_text_is_the_same_again() {
    let (one, two) = (sample(1, 1), sample(2, 2));
    let alone = pack(&one, &[]).expect("packed");
    let after = pack(&two, &one).expect("packed");
    assert!(after.len() * 4 < alone.len(), "{} of {}", after.len(), alone.len());
    assert_eq!(unpack(&alone, &[], one.len()).expect("unpacked"), one);
    assert_eq!(unpack(&after, &one, two.len()).expect("unpacked"), two);
    assert_ne!(unpack(&after, &two, two.len()).ok(), Some(two));
}

#[test]
fn names_of_day_files_are_read_only_as_they_are_written() {
    let file = DayFile::of_time(LATE);
    assert_eq!(file.name(), "2026-11-26.1.history");
    assert_eq!(DayFile::parse(&file.name()), Some(file));
    let later = DayFile { piece: 10, ..file };
    assert!(later > DayFile { piece: 9, ..file });
    for wrong in ["2026-11-26.history", "2026-11-26.01.history", "2026-13-01.1.history", "x", ""] {
        assert_eq!(DayFile::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn what_was_recorded_is_read_back_over_midnight_and_in_any_order() {
    let scratch = Scratch::new();
    let path = scratch.join("history");
    let texts = record(&path, LIMITS, LATE, 130);
    assert_eq!(files(&path).len(), 2, "a file a day");
    assert_eq!(read(&path), (texts.clone(), 0));
    let mut past = History::open(&path).expect("a history");
    for at in [129, 0, 61, 60, 59, 119, 3] {
        let moment = past.moments()[at];
        assert_eq!(past.text(moment).expect("whole"), texts[at], "{at}");
    }
    assert_eq!(past.at(LATE + 5999), 5);
    assert_eq!(past.at(0), 0);
    assert_eq!(past.at(i64::MAX), 129);
}

#[test]
fn a_torn_end_is_cut_off_and_the_history_goes_on() {
    let scratch = Scratch::new();
    let path = scratch.join("history");
    let mut texts = record(&path, LIMITS, LATE, 5);
    let file = files(&path).remove(0);
    let whole = fs::read(&file).expect("read");
    fs::write(&file, &whole[..whole.len() - 3]).expect("torn");
    assert_eq!(read(&path), (texts[..4].to_vec(), 0));
    texts.pop();
    texts.extend(record(&path, LIMITS, LATE + 10_000, 3));
    assert_eq!(read(&path), (texts, 0));
    assert!(History::open(&path).expect("a history").problems.is_empty());
}

#[test]
fn the_oldest_make_room() {
    let scratch = Scratch::new();
    let path = scratch.join("history");
    let day_ms = 86_400_000;
    for day in 0..4 {
        record(&path, Limits { days: 2, ..LIMITS }, LATE + day * day_ms, 2);
    }
    let names = |path: &Path| {
        let name = |file: PathBuf| file.file_name().map(|n| n.to_string_lossy().into_owned());
        files(path).into_iter().filter_map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&path), ["2026-11-28.1.history", "2026-11-29.1.history"]);
    let small = Limits { days: 7, bytes: Bytes(40_000) };
    let other = scratch.join("other");
    record(&other, small, LATE, 900);
    let sizes: Vec<u64> =
        files(&other).iter().map(|f| f.metadata().expect("there").len()).collect();
    let all: u64 = sizes.iter().sum();
    assert!(sizes.len() > 3 && all <= 44_000, "{sizes:?}");
    let (texts, failed) = read(&other);
    assert_eq!(failed, 0);
    assert_eq!(texts.last(), Some(&sample(LATE + 899_000, 899)));
}

#[test]
fn one_recorder_writes_to_a_history() {
    let scratch = Scratch::new();
    let path = scratch.join("history");
    let book = Book::open(&path, LIMITS).expect("a history");
    let error = Book::open(&path, LIMITS).expect_err("taken");
    assert_eq!(crate::exit::of_error(&error), crate::exit::REFUSED, "{error:#}");
    drop(book);
    Book::open(&path, LIMITS).expect("free again");
}

#[test]
fn a_clock_that_is_set_back_hides_nothing() {
    let scratch = Scratch::new();
    let path = scratch.join("history");
    let mut book = Book::open(&path, LIMITS).expect("a history");
    let times = [0, 5000, 2000, 7000].map(|ms| LATE + ms);
    for (n, at_ms) in times.into_iter().enumerate() {
        book.append(&sample(at_ms, n as u64)).expect("written");
    }
    let past = History::open(&path).expect("a history");
    let of = |at_ms: i64| past.moments()[past.at(at_ms)].at_ms;
    assert_eq!(times.map(of), times);
    assert_eq!(of(LATE + 4000), LATE + 2000);
}

#[test]
fn a_clock_that_jumps_ahead_deletes_no_more_than_a_day() {
    let scratch = Scratch::new();
    let path = scratch.join("history");
    let limits = Limits { days: 3, ..LIMITS };
    let day_ms = 86_400_000;
    for day in [0, 1, 2, 5000, 3] {
        record(&path, limits, LATE + day * day_ms, 2);
    }
    let past = History::open(&path).expect("a history");
    let days = past.moments().iter().map(|moment| (moment.at_ms - LATE) / day_ms);
    let days: std::collections::BTreeSet<i64> = days.collect();
    assert_eq!(days.into_iter().collect::<Vec<_>>(), [2, 3, 5000]);
}

#[test]
fn a_file_alone_is_read_as_a_history_is() {
    let scratch = Scratch::new();
    let path = scratch.join("piece");
    let mut file = FrameFile::create(&path).expect("it is new");
    let texts: Vec<_> = (0..70).map(|n| sample(LATE + n * 1000, n.unsigned_abs())).collect();
    for text in &texts {
        file.append(text).expect("written");
    }
    assert!(History::is_recording(&path));
    assert_eq!(read(&path), (texts, 0));
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    let error = FrameFile::create(&path).expect_err("it is there");
    assert_eq!(crate::exit::of_error(&error), crate::exit::REFUSED, "{error:#}");
    let link = scratch.join("link");
    std::os::unix::fs::symlink(scratch.join("nowhere"), &link).expect("symlink");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::lchown(&link, Some(65_533), None).expect("root");
        let error = FrameFile::create(&link).expect_err("a stranger's link");
        assert_eq!(crate::exit::of_error(&error), crate::exit::REFUSED, "{error:#}");
    }
    assert!(FrameFile::create(&scratch.join("no/such")).is_err());
}

#[test]
fn what_came_before_an_event_is_written_to_a_file_of_its_own() {
    let scratch = Scratch::new();
    let mut ring = Ring::new(Duration::from_secs(60));
    let texts: Vec<_> = (0..3).map(|n| sample(LATE + n * 1000, n.unsigned_abs())).collect();
    for text in &texts[..2] {
        ring.push(Instant::now(), text).expect("packed");
    }
    ring.push_text(Instant::now(), texts[2].clone());
    let path = ring.save(scratch.path(), SystemTime::UNIX_EPOCH, "kernel-1").expect("written");
    assert_eq!(path, scratch.join("1970-01-01T000000Z-kernel-1.history"));
    assert_eq!(read(&path), (texts, 0));
}

#[test]
fn nothing_recorded_is_said() {
    let scratch = Scratch::new();
    let error = History::open(scratch.path()).expect_err("empty").to_string();
    assert!(error.contains("hugewise record"), "{error}");
    fs::write(scratch.join("2026-11-26.1.history"), "").expect("written");
    let error = History::open(scratch.path()).expect_err("empty").to_string();
    assert!(error.contains("nothing was recorded"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is changed, cut or put in: what is read is what was written, or is missing.
    #[test]
    fn damage_never_changes_a_sample(
        at in any::<proptest::sample::Index>(),
        bytes in proptest::collection::vec(any::<u8>(), 1..100),
        kind in 0..3_u8,
    ) {
        let scratch = Scratch::new();
        let path = scratch.join("history");
        let texts = record(&path, LIMITS, LATE - 3_600_000, 70);
        let file = files(&path).remove(0);
        let mut all = fs::read(&file).expect("read");
        let place = at.index(all.len());
        match kind {
            0 => all[place] ^= bytes[0].max(1),
            1 => all.truncate(place),
            _ => {
                all.splice(place..place, bytes);
            }
        }
        fs::write(&file, all).expect("written");
        let (read, _) = read(&path);
        let mut left = texts.iter();
        for text in &read {
            prop_assert!(left.any(|written| written == text), "a sample that nobody wrote");
        }
        if kind == 0 {
            prop_assert!(read.len() >= 10, "one damaged byte hides {} of 70", 70 - read.len());
        }
    }
}

/// A service that is taken back to an earlier package must cost nothing of what the later one kept.
#[test]
fn a_file_of_a_later_version_is_refused_and_kept() {
    let scratch = Scratch::new();
    let path = scratch.join("history");
    record(&path, LIMITS, LATE, 3);
    let [file] = files(&path).try_into().expect("one file");
    let mut later = fs::read(&file).expect("read");
    later[3] = b'2';
    fs::write(&file, &later).expect("written");
    assert!(History::is_recording(&file));
    let error = History::open(&file).expect_err("a later version").to_string();
    assert!(error.contains("the history has version 2"), "{error}");
    let texts = record(&path, LIMITS, LATE + 3000, 2);
    assert_eq!(fs::read(&file).expect("read"), later, "it is not written to");
    assert_eq!(files(&path).len(), 2);
    let past = History::open(&path).expect("the new file");
    assert_eq!(past.moments().len(), texts.len());
    assert!(past.problems[0].contains("version 2"), "{:?}", past.problems);
}
