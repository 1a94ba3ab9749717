use super::read::{Opened, is_capture, open};
use super::*;
use crate::exit;
use hugewise_scratch::Scratch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const SAMPLE: &str = "hugewise-capture 1 at_ms=1795305600000 utc_offset_s=0 monotonic_ns=5 \
                      files=1\n@@ 27 /proc/loadavg\n1.06 0.75 0.40 2/157 41317\n\n";

fn plan(every_ms: u64, length_ms: u64) -> CapturePlan {
    let (every, length) = (Duration::from_millis(every_ms), Duration::from_millis(length_ms));
    CapturePlan { every, length, options: Options::default() }
}

fn empty_root() -> Scratch {
    let root = Scratch::new();
    fs::create_dir_all(root.join("proc")).expect("mkdir");
    fs::write(root.join("proc/loadavg"), "1.06 0.75 0.40 2/157 41317\n").expect("write");
    root
}

/// A captured directory of two samples.
fn captured(scratch: &Scratch) -> std::path::PathBuf {
    let path = scratch.join("c");
    let root = empty_root();
    let mut directory = Directory::create(&path).expect("it is new");
    let mut manifest = Manifest::new(&Root::at(root.path()), Duration::from_secs(1), false);
    for _ in 0..2 {
        directory.sample(SAMPLE.as_bytes()).expect("written");
        manifest.samples += 1;
    }
    manifest.end(Taken::default(), None);
    directory.manifest(&manifest).expect("written");
    path
}

fn read(path: &Path) -> (anyhow::Result<Opened>, Vec<Vec<u8>>) {
    let mut texts = Vec::new();
    (open(path, |text| texts.push(text.to_vec())), texts)
}

#[test]
fn what_is_written_reads_back() {
    let scratch = Scratch::new();
    let path = captured(&scratch);
    assert!(is_capture(&path));
    let (opened, texts) = read(&path);
    let opened = opened.expect("a capture");
    assert_eq!(opened.problems, [""; 0]);
    assert_eq!((opened.samples, texts.len()), (2, 2));
    assert_eq!(texts[1], SAMPLE.as_bytes());
    assert!(opened.manifest.is_some_and(|m| m.complete && m.samples == 2));
    let sample = path.join("000001.zst");
    assert!(is_capture(&sample) && !is_capture(&path.join(MANIFEST)));
    assert_eq!(read(&sample).1, [SAMPLE.as_bytes()]);
    for (file, mode) in [(&path, 0o700), (&sample, 0o600), (&path.join(MANIFEST), 0o600)] {
        let found = fs::metadata(file).expect("it is there").permissions().mode();
        assert_eq!(found & 0o777, mode, "{}", file.display());
    }
}

#[test]
fn a_directory_in_use_or_of_others_is_refused() {
    let scratch = Scratch::new();
    let path = captured(&scratch);
    let error = Directory::create(&path).expect_err("it holds a capture");
    assert_eq!(exit::of_error(&error), exit::REFUSED);
    let empty = scratch.join("empty");
    fs::create_dir(&empty).expect("mkdir");
    assert!(Directory::create(&empty).is_ok());
    let link = scratch.join("link");
    std::os::unix::fs::symlink(&empty, &link).expect("symlink");
    assert!(Directory::create(&link).is_ok(), "a link of one's own means what it says");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::lchown(&link, Some(65_533), None).expect("root");
        let error = Directory::create(&link).expect_err("a stranger's link");
        assert_eq!(exit::of_error(&error), exit::REFUSED);
        std::os::unix::fs::chown(&empty, Some(65_533), None).expect("root");
        let error = Directory::create(&empty).expect_err("a stranger's directory");
        assert_eq!(exit::of_error(&error), exit::REFUSED);
    }
    assert!(Directory::create(&scratch.join("no/such")).is_err());
    fs::write(scratch.join("file"), "").expect("write");
    assert!(Directory::create(&scratch.join("file")).is_err());
}

#[test]
fn what_is_wrong_with_a_capture_is_told() {
    let scratch = Scratch::new();
    let path = captured(&scratch);
    let sample = path.join("000002.zst");
    let whole = fs::read(&sample).expect("read");
    fs::write(&sample, &whole[..whole.len() / 2]).expect("write");
    let (opened, texts) = read(&path);
    let problems = opened.expect("the rest is there").problems;
    assert!(problems.iter().any(|p| p.contains("000002.zst is torn")), "{problems:?}");
    assert_eq!(texts, [SAMPLE.as_bytes()]);

    fs::rename(&sample, path.join("000009.zst")).expect("rename");
    fs::write(path.join("000009.zst"), "nothing of the kind").expect("write");
    fs::remove_file(path.join(MANIFEST)).expect("remove");
    let problems = read(&path).0.expect("the rest is there").problems;
    for wanted in ["manifest.json cannot be read", "between 1 and 9", "holds no sample"] {
        assert!(problems.iter().any(|p| p.contains(wanted)), "{wanted}: {problems:?}");
    }
}

#[test]
fn a_capture_that_was_killed_is_told() {
    let scratch = Scratch::new();
    let path = scratch.join("c");
    let root = empty_root();
    let mut directory = Directory::create(&path).expect("it is new");
    let manifest = Manifest::new(&Root::at(root.path()), Duration::from_secs(1), false);
    directory.manifest(&manifest).expect("written");
    directory.sample(SAMPLE.as_bytes()).expect("written");
    let opened = read(&path).0.expect("a capture");
    assert_eq!(opened.samples, 1);
    assert!(opened.problems[0].contains("did not come to its end"), "{:?}", opened.problems);
}

#[test]
fn foreign_directories_and_files_are_refused() {
    let scratch = Scratch::new();
    fs::write(scratch.join("x.txt"), "x").expect("write");
    let error = read(scratch.path()).0.expect_err("no capture");
    assert!(error.to_string().contains("is no directory of 'hugewise capture'"), "{error}");
    let packed = zstd::bulk::compress(b"something else", 3).expect("packed");
    fs::write(scratch.join("x.zst"), packed).expect("write");
    let error = read(&scratch.join("x.zst")).0.expect_err("no sample");
    assert!(error.to_string().contains("is no sample"), "{error}");
    assert!(read(&scratch.join("none")).0.is_err());
}

#[test]
fn what_expands_beyond_any_sample_is_cut_and_told() {
    let scratch = Scratch::new();
    let bomb = scratch.join("000001.zst");
    // A sample's first line, and then nothing but blanks: 50 MiB in a few KiB.
    let text = [SAMPLE.as_bytes(), &vec![b' '; 50 << 20]].concat();
    fs::write(&bomb, zstd::bulk::compress(&text, 3).expect("packed")).expect("written");
    let packed = fs::metadata(&bomb).expect("it is there").len();
    let (opened, texts) = read(&bomb);
    let problems = opened.expect("a sample").problems;
    assert!(problems[0].contains("is cut here") && problems[0].contains("expand"), "{problems:?}");
    assert!(texts[0].len() as u64 <= packed * 200 + (4 << 20) + 1, "{packed}: {}", texts[0].len());
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
    let (opened, texts) = read(&path);
    let opened = opened.expect("a capture");
    assert_eq!((opened.samples, texts.len()), (2, 2));
    for wanted in [
        "000003.zst is left out: cannot read",
        "000004.zst is left out: cannot read",
        "000005.zst holds no sample",
        "more problems like these",
    ] {
        assert!(opened.problems.iter().any(|p| p.contains(wanted)), "{:?}", opened.problems);
    }
    assert_eq!(opened.problems.len(), 33);
    assert!(!is_capture(&path.join("000003.zst")));
}

#[test]
fn samples_are_taken_at_once_and_until_the_time_is_up() {
    let root = empty_root();
    let root = Root::at(root.path());
    let mut texts = Vec::new();
    let (taken, result) = live(&root, &plan(200, 600), &Stop::never(), |text| {
        texts.push(text.to_vec());
        Ok(())
    });
    result.expect("nothing went wrong");
    // Fewer on a machine that is busy: those that are late are left out.
    assert!((2..=4).contains(&texts.len()), "{}", texts.len());
    assert_eq!((taken.samples, taken.stopped), (texts.len() as u64, false));
    assert!(taken.unreadable.iter().any(|file| file.path == "/proc/stat"));
}

#[test]
fn an_error_ends_sampling() {
    let root = empty_root();
    let (taken, result) = live(&Root::at(root.path()), &plan(1, 1000), &Stop::never(), |_| {
        anyhow::bail!("no space left")
    });
    assert_eq!((taken.samples, result.is_err()), (0, true));
}

#[test]
fn samples_that_were_missed_are_left_out() {
    let plan = plan(1000, 10_000);
    let s = Duration::from_secs;
    assert_eq!(next(s(0), &plan, Duration::from_millis(20)), s(1));
    assert_eq!(next(s(1), &plan, s(2)), s(2));
    assert_eq!(next(s(1), &plan, Duration::from_millis(4500)), s(5));
}
