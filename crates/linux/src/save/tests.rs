use super::*;
use hugewise_scratch::Scratch;
use std::fs::{self, hard_link};
use std::os::unix::fs::{lchown, symlink};

const STRANGER: u32 = 65_533;

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("readable")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_file_is_whole_or_as_it_was() {
    let scratch = Scratch::new();
    let path = scratch.join("report.html");
    write(&path, b"first").expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
    let draft = Draft::begin(&path).expect("begun");
    assert_eq!(text(&path), "first");
    drop(draft);
    assert_eq!(fs::read_dir(&*scratch).expect("a directory").count(), 1, "a draft was left");
    write(&path, b"second").expect("written");
    assert_eq!(text(&path), "second");
    assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
    assert!(create(&path, b"third").is_err());
    create(&scratch.join("new"), b"third").expect("written");
}

#[test]
fn another_name_of_a_file_is_replaced_and_not_written_through() {
    let scratch = Scratch::new();
    let (precious, path) = (scratch.join("precious"), scratch.join("report.html"));
    fs::write(&precious, "as it was").expect("written");
    hard_link(&precious, &path).expect("linked");
    write(&path, b"new").expect("written");
    assert_eq!((text(&precious).as_str(), text(&path).as_str()), ("as it was", "new"));
    fs::remove_file(&path).expect("removed");
    hard_link(&precious, &path).expect("linked");
    begin_anew(&path).expect("begun").write_all(b"recorded").expect("written");
    assert_eq!((text(&precious).as_str(), text(&path).as_str()), ("as it was", "recorded"));
}

#[test]
fn links_of_our_own_are_followed() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("real")).expect("made");
    symlink("real", scratch.join("folder")).expect("linked");
    symlink("../folder/./file", scratch.join("real/link")).expect("linked");
    write(&scratch.join("folder/link"), b"x").expect("written");
    assert_eq!(text(&scratch.join("real/file")), "x");
    assert!(fs::symlink_metadata(scratch.join("real/link")).expect("there").is_symlink());
    symlink("loop", scratch.join("loop")).expect("linked");
    assert!(write(&scratch.join("loop"), b"x").is_err());
    assert!(write(&scratch.join("real/file/more"), b"x").is_err());
    assert!(write(&scratch.join("missing/file"), b"x").is_err());
    assert!(write(&scratch.join("real"), b"x").is_err_and(|error| error.is_refusal()));
    assert!(write(&scratch.join("real/.."), b"x").is_err());
}

#[test]
fn directories_are_made_on_the_way() {
    let scratch = Scratch::new();
    guarded_directory(&scratch.join("a/b/c"), Some(0o700)).expect("made");
    assert_eq!(fs::metadata(scratch.join("a/b/c")).expect("there").mode() & 0o777, 0o700);
    guarded_directory(&scratch.join("a/b"), None).expect("there");
    assert!(guarded_directory(&scratch.join("a/x"), None).is_err());
    fs::write(scratch.join("file"), "x").expect("written");
    assert!(guarded_directory(&scratch.join("file"), Some(0o700)).is_err());
}

#[test]
fn directories_that_others_change_are_on_no_way() {
    let scratch = Scratch::new();
    let folder = scratch.join("folder");
    fs::create_dir_all(folder.join("below")).expect("made");
    let refused = |path: &Path, why: &str| {
        let error = guarded_directory(path, Some(0o700)).expect_err("refused");
        assert!(error.is_refusal() && error.to_string().contains(why), "{error}");
    };
    let mode = |mode| fs::set_permissions(&folder, Permissions::from_mode(mode)).expect("a mode");
    mode(0o777);
    for path in ["folder", "folder/new", "folder/below", "folder/below/.."] {
        refused(&scratch.join(path), "folder', which others may change (mode 777)");
    }
    assert!(!folder.join("new").exists());
    // In such a one only its owner takes a name away.
    mode(0o1777);
    guarded_directory(&folder.join("below"), None).expect("sticky");
    mode(0o755);
    guarded_directory(&folder.join("below"), None).expect("ours");
    if is_root() {
        lchown(&folder, Some(STRANGER), None).expect("root");
        refused(&folder.join("below"), "folder', which belongs to another user (uid 65533)");
        refused(&folder.join("below/new"), "(uid 65533)");
        // Reading is another thing, and a report is not believed.
        directory(&folder.join("below")).expect("to read");
        write(&folder.join("below/report.html"), b"x").expect("written");
    }
}

#[test]
fn pipes_and_devices() {
    let scratch = Scratch::new();
    let pipe = scratch.join("pipe");
    let mode = Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, mode, 0).expect("a pipe");
    // Nobody reads: an error at once, and no wait.
    let said = write(&pipe, b"x").expect_err("nobody reads").to_string();
    assert!(said.contains("nobody reads"), "{said}");
    let error = begin_anew(&pipe).map(drop).expect_err("no file");
    assert!(error.is_refusal() && error.to_string().contains("a pipe"), "{error}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let mut reader = File::from(rustix::fs::open(&pipe, flags, Mode::empty()).expect("opened"));
    write(&pipe, b"through").expect("written");
    let mut got = [0; 7];
    io::Read::read_exact(&mut reader, &mut got).expect("read");
    assert_eq!(&got, b"through");
    write(Path::new("/dev/null"), b"x").expect("written");
    assert!(begin_anew(Path::new("/dev/null")).is_err_and(|error| error.is_refusal()));
    if is_root() {
        lchown(&pipe, Some(STRANGER), None).expect("root");
        let error = write(&pipe, b"x").expect_err("refused");
        assert!(error.is_refusal() && error.to_string().contains("65533"), "{error}");
    }
}

#[test]
fn an_open_file_is_written_to_by_its_name() {
    let scratch = Scratch::new();
    let file = File::create(scratch.join("out")).expect("made");
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    symlink(&path, scratch.join("stdout")).expect("linked");
    write(Path::new(&path), b"one").expect("written");
    assert_eq!(text(&scratch.join("out")), "one");
    write(&scratch.join("stdout"), b"two").expect("written");
    assert_eq!(text(&scratch.join("out")), "two");
}
