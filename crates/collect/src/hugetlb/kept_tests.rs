use super::*;
use hugewise_evidence::hugetlb::files::{self, OWNER};
use hugewise_scratch::Scratch;
use std::os::unix::fs::{MetadataExt, symlink};

struct Fixture {
    dir: Scratch,
    root: Root,
}

impl Fixture {
    fn new() -> Self {
        let dir = Scratch::new();
        let root = Root::at(&dir.join("root"));
        fs::create_dir_all(root.path("etc/sysctl.d")).expect("mkdir");
        Self { dir, root }
    }

    fn files(&self) -> KeptFiles {
        KeptFiles::open(self.root.clone(), &self.dir.join("state"), OWNER).expect("opens")
    }

    fn get(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.root.path(file)).ok()
    }
}

fn wanted(path: &str, text: &str) -> WantedFile {
    WantedFile { path: path.into(), text: text.into() }
}

const UNIT: &str = "etc/systemd/system/db.service.d/90-hugewise-hugetlb.conf";

#[test]
fn what_was_not_there_goes_away_with_its_folders() {
    let fixture = Fixture::new();
    let mut files = fixture.files();
    assert!(files.write(&wanted(files::SYSCTL, "a = 1\n")).expect("writes"));
    assert!(files.write(&wanted(UNIT, "[Service]\n")).expect("writes"));
    assert!(!files.write(&wanted(UNIT, "[Service]\n")).expect("is there"));
    assert_eq!(fixture.get(files::SYSCTL).as_deref(), Some("a = 1\n"));
    // A new process reads the trail from disk.
    let done = fixture.files().restore();
    assert!(done.iter().all(|d| matches!(d, RestoredFile::Removed { .. })), "{done:?}");
    assert!(!fixture.root.has(files::SYSCTL) && !fixture.root.has("etc/systemd"));
    assert!(fixture.root.has("etc/sysctl.d"), "was there before");
    assert!(fixture.files().restore().is_empty());
}

#[test]
fn what_was_there_comes_back_to_the_byte() {
    let fixture = Fixture::new();
    let path = fixture.root.path(files::SYSCTL);
    let old = b"# mine \xff\nvm.nr_hugepages = 7";
    fs::write(&path, old).expect("write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("chmod");
    let mut files = fixture.files();
    files.write(&wanted(files::SYSCTL, "one\n")).expect("writes");
    files.write(&wanted(files::SYSCTL, "two\n")).expect("writes");
    let done = fixture.files().restore();
    assert!(matches!(&done[..], [RestoredFile::PutBack { .. }]), "{done:?}");
    assert_eq!(fs::read(&path).expect("reads"), old);
    assert_eq!(fs::metadata(&path).expect("is there").mode() & 0o7777, 0o640);
}

#[test]
fn what_somebody_edited_is_left_alone() {
    let fixture = Fixture::new();
    fixture.files().write(&wanted(files::SYSCTL, "one\n")).expect("writes");
    fs::write(fixture.root.path(files::SYSCTL), "mine\n").expect("write");
    let done = fixture.files().restore();
    assert!(matches!(&done[..], [RestoredFile::Foreign { .. }]), "{done:?}");
    assert_eq!(fixture.get(files::SYSCTL).as_deref(), Some("mine\n"));
}

#[test]
fn a_crash_between_note_and_file_changes_nothing() {
    let fixture = Fixture::new();
    let mut files = fixture.files();
    let (file, new) = (files::LIMITS.to_owned(), "x\n".to_owned());
    files.note(Entry { file, old: None, new, made: vec![] }).expect("notes");
    let path = fixture.root.path(files::LIMITS);
    fs::create_dir_all(path.parent().expect("has one")).expect("mkdir");
    fs::write(beside(&path), "half").expect("write");
    let done = fixture.files().restore();
    assert!(matches!(&done[..], [RestoredFile::Unchanged { .. }]), "{done:?}");
    assert!(!beside(&path).exists());
}

#[test]
fn links_and_other_files_are_refused() {
    let fixture = Fixture::new();
    let target = fixture.dir.join("secret");
    fs::write(&target, "secret\n").expect("write");
    symlink(&target, fixture.root.path(files::SYSCTL)).expect("links");
    let error = fixture.files().write(&wanted(files::SYSCTL, "x\n")).expect_err("refused");
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert_eq!(fs::read_to_string(&target).expect("reads"), "secret\n");
    assert!(fixture.files().write(&wanted("etc/passwd", "x\n")).is_err());
}

#[test]
fn a_trail_that_others_can_write_is_not_followed() {
    let fixture = Fixture::new();
    fixture.files().write(&wanted(files::SYSCTL, "x\n")).expect("writes");
    let trail = fixture.dir.join("state").join(OWNER.trail);
    fs::set_permissions(&trail, fs::Permissions::from_mode(0o666)).expect("chmod");
    let opened = KeptFiles::open(fixture.root.clone(), &fixture.dir.join("state"), OWNER);
    assert!(matches!(opened, Err(TrailError::Load { .. })));
}

#[test]
fn a_torn_line_does_not_spoil_the_next_and_a_damaged_one_is_told() {
    let fixture = Fixture::new();
    fixture.files().write(&wanted(files::SYSCTL, "a = 1\n")).expect("writes");
    let path = fixture.dir.join("state").join(OWNER.trail);
    let whole = fs::read_to_string(&path).expect("reads");
    fs::write(&path, format!("{whole}{{\"file\":")).expect("write");
    fixture.files().write(&wanted(UNIT, "[Service]\n")).expect("writes");
    assert_eq!(fixture.files().entries().len(), 2);
    let text = format!("x{}", fs::read_to_string(&path).expect("reads"));
    fs::write(&path, &text).expect("write");
    let error = KeptFiles::open(fixture.root.clone(), &fixture.dir.join("state"), OWNER);
    let error = error.expect_err("damaged").to_string();
    assert!(error.contains("line 1 is damaged"), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("reads"), text);
}
