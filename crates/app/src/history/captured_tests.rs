//! Captures of earlier builds, read by [`History`].

use super::History;
use hugewise_scratch::Scratch;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const SAMPLE: &str = "hugewise-capture 1 at_ms=1795305600000 utc_offset_s=0 monotonic_ns=5 \
                      files=1\n@@ 27 /proc/loadavg\n1.06 0.75 0.40 2/157 41317\n\n";

/// A captured directory of two samples, as builds before this format wrote it.
fn captured(scratch: &Scratch) -> std::path::PathBuf {
    let path = scratch.join("c");
    fs::create_dir(&path).expect("made");
    let packed = zstd::bulk::compress(SAMPLE.as_bytes(), 3).expect("packed");
    for number in 1..=2 {
        fs::write(path.join(format!("{number:06}.zst")), &packed).expect("written");
    }
    manifest(&path, &json!({"schema": 1, "complete": true, "ended": "time", "samples": 2}));
    path
}

fn manifest(path: &Path, value: &Value) {
    fs::write(path.join("manifest.json"), value.to_string()).expect("written");
}

/// What is wrong with it, and the texts of all samples that can be read.
fn read(path: &Path) -> (Vec<String>, Vec<Vec<u8>>) {
    let mut past = History::open(path).expect("a capture");
    let (mut problems, mut texts) = (past.problems.clone(), Vec::new());
    for moment in past.moments().to_vec() {
        match past.text(moment) {
            Ok(text) => texts.push(text.to_vec()),
            Err(error) => problems.push(format!("{error:#}")),
        }
    }
    (problems, texts)
}

#[test]
fn a_capture_of_an_earlier_build_is_read() {
    let scratch = Scratch::new();
    let path = captured(&scratch);
    assert!(History::is_recording(&path));
    assert_eq!(read(&path), (Vec::new(), vec![SAMPLE.as_bytes().to_vec(); 2]));
    let sample = path.join("000001.zst");
    assert!(History::is_recording(&sample) && !History::is_recording(&path.join("manifest.json")));
    assert_eq!(read(&sample).1, [SAMPLE.as_bytes()]);
}

#[test]
fn what_is_wrong_with_a_capture_is_told() {
    let scratch = Scratch::new();
    let path = captured(&scratch);
    let sample = path.join("000002.zst");
    let whole = fs::read(&sample).expect("read");
    fs::write(&sample, &whole[..whole.len() / 2]).expect("write");
    let (problems, texts) = read(&path);
    assert!(
        problems.iter().any(|p| p.contains("000002.zst' is left out: it is torn")),
        "{problems:?}"
    );
    assert_eq!(texts, [SAMPLE.as_bytes()]);

    fs::remove_file(&sample).expect("removed");
    let (problems, _) = read(&path);
    assert!(problems.iter().any(|p| p.contains("1 of 2 samples are there")), "{problems:?}");
    fs::write(path.join("000009.zst"), "nothing of the kind").expect("write");
    fs::remove_file(path.join("manifest.json")).expect("remove");
    let (problems, _) = read(&path);
    for wanted in ["manifest.json", "between 1 and 9", "it is torn, or no sample"] {
        assert!(problems.iter().any(|p| p.contains(wanted)), "{wanted}: {problems:?}");
    }
}

#[test]
fn a_capture_that_was_killed_is_told() {
    let scratch = Scratch::new();
    let path = captured(&scratch);
    manifest(&path, &json!({"schema": 1, "complete": false, "ended": null, "samples": 0}));
    let (problems, texts) = read(&path);
    assert_eq!(texts.len(), 2);
    assert!(problems[0].contains("did not come to its end"), "{problems:?}");
}

#[test]
fn foreign_directories_and_files_are_refused() {
    let scratch = Scratch::new();
    fs::write(scratch.join("x.txt"), "x").expect("write");
    assert!(
        !History::is_recording(scratch.path()) && !History::is_recording(&scratch.join("x.txt"))
    );
    let error = History::open(scratch.path()).expect_err("no capture").to_string();
    assert!(error.contains("nothing was recorded"), "{error}");
    let packed = zstd::bulk::compress(b"something else", 3).expect("packed");
    fs::write(scratch.join("x.zst"), packed).expect("write");
    let error = History::open(&scratch.join("x.zst")).expect_err("no sample").to_string();
    assert!(error.contains("it is no sample"), "{error}");
    assert!(History::open(&scratch.join("none")).is_err());
}

#[test]
fn what_expands_beyond_any_sample_is_left_out_and_told() {
    let scratch = Scratch::new();
    let bomb = scratch.join("000001.zst");
    // A sample's first line, and then nothing but blanks: 50 MiB in a few KiB.
    let text = [SAMPLE.as_bytes(), &vec![b' '; 50 << 20]].concat();
    fs::write(&bomb, zstd::bulk::compress(&text, 3).expect("packed")).expect("written");
    let error = History::open(&bomb).expect_err("no sample").to_string();
    assert!(error.contains("bytes expand to more than"), "{error}");
}

#[test]
fn what_is_no_file_in_a_capture_is_left_out_and_told() {
    let scratch = Scratch::new();
    let path = captured(&scratch);
    let pipe = rustix::fs::mknodat(
        rustix::fs::CWD,
        path.join("000003.zst"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    );
    pipe.expect("a pipe");
    std::os::unix::fs::symlink("/dev/zero", path.join("000004.zst")).expect("a link");
    let hole = fs::File::create(path.join("000005.zst")).expect("a file");
    hole.set_len(1 << 40).expect("a hole");
    for number in 6..100 {
        fs::write(path.join(format!("{number:06}.zst")), "no sample").expect("written");
    }
    let (problems, texts) = read(&path);
    assert_eq!(texts.len(), 2);
    for wanted in [
        "000003.zst' is left out: not a regular file",
        "000004.zst' is left out: not a regular file",
        "000005.zst' is left out: it is torn, or no sample",
        "more problems like these",
    ] {
        assert!(problems.iter().any(|p| p.contains(wanted)), "{wanted}: {problems:?}");
    }
    assert_eq!(problems.len(), 33);
    assert!(!History::is_recording(&path.join("000003.zst")));
}
