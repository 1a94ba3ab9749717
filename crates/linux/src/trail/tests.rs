use super::*;
use hugewise_manager::ownership::OWNER;
use hugewise_scratch::Scratch;

struct Fixture {
    dir: Scratch,
    root: Root,
}

impl Fixture {
    fn new() -> Self {
        let dir = Scratch::new();
        let root = Root::at(&dir.join("root"));
        for (file, value) in [
            ("proc/sys/kernel/random/boot_id", "boot-1\n"),
            (MIN_FREE, "5000\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always\n"),
            ("sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none", "511\n"),
        ] {
            let path = root.path(file);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
            fs::write(path, value).expect("write");
        }
        Self { dir, root }
    }

    fn trail(&self) -> Trail {
        Trail::open(self.root.clone(), &self.dir.join("state"), OWNER).expect("opens")
    }

    fn get(&self, file: &str) -> String {
        self.root.read_line(file).expect("reads")
    }
}

const NONE: &str = "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none";
const ENABLED: &str = "sys/kernel/mm/transparent_hugepage/enabled";

#[test]
fn the_old_value_is_on_disk_and_comes_back_after_a_crash() {
    let fixture = Fixture::new();
    assert_eq!(fixture.trail().set(NONE, "51").expect("sets"), Some("511".into()));
    assert_eq!(fixture.trail().set(NONE, "9").expect("sets"), Some("51".into()));
    // The first trail value is forgotten with the process; the next one reads the file.
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::PutBack { to, .. }] if to == "511"), "{done:?}");
    assert_eq!(fixture.get(NONE), "511");
    assert!(fixture.trail().restore().is_empty(), "the trail is empty now");
}

#[test]
fn a_foreign_change_is_left_alone() {
    let fixture = Fixture::new();
    let mut trail = fixture.trail();
    trail.set(NONE, "51").expect("sets");
    fs::write(fixture.root.path(NONE), "300\n").expect("write");
    let done = trail.restore();
    assert!(matches!(&done[..], [Restored::Foreign { found, .. }] if found == "300"));
    assert_eq!(fixture.get(NONE), "300");
}

#[test]
fn an_earlier_boot_is_forgotten() {
    let fixture = Fixture::new();
    fixture.trail().set(NONE, "51").expect("sets");
    fs::write(fixture.root.path("proc/sys/kernel/random/boot_id"), "boot-2\n").expect("write");
    assert!(matches!(&fixture.trail().restore()[..], [Restored::EarlierBoot { .. }]));
    assert_eq!(fixture.get(NONE), "51");
}

#[test]
fn a_limit_goes_with_its_cgroup_and_keeps_nothing_from_going_back() {
    let owner = Owner { trail: "limits.jsonl", owns: |_| true, over_reboots: false };
    let (fixture, limit) = (Fixture::new(), "sys/fs/cgroup/batch/cpu.max");
    let group = fixture.root.path("sys/fs/cgroup/batch");
    fs::create_dir_all(&group).expect("mkdir");
    fs::write(fixture.root.path(limit), "max 100000\n").expect("write");
    let open = || {
        let state = fixture.dir.join("state");
        Trail::open(fixture.root.clone(), &state, owner).expect("opens")
    };
    let mut trail = open();
    trail.set(limit, "5000 100000").expect("sets");
    trail.set(NONE, "51").expect("sets");
    fs::remove_dir_all(&group).expect("ends");
    let done = trail.restore();
    assert!(
        matches!(&done[..], [Restored::PutBack { .. }, Restored::Gone { file }] if file == limit)
    );
    assert!(open().restore().is_empty(), "nothing stays in the trail");
    // Where there are no cgroups at all, the root is the wrong one.
    fs::create_dir_all(&group).expect("mkdir");
    fs::write(fixture.root.path(limit), "max 100000\n").expect("write");
    trail.set(limit, "5000 100000").expect("sets");
    fs::remove_dir_all(fixture.root.path("sys/fs/cgroup")).expect("removes");
    assert!(matches!(&trail.restore()[..], [Restored::Failed { .. }]));
}

#[test]
fn a_crash_around_the_switch_puts_min_free_back() {
    let fixture = Fixture::new();
    let mut trail = fixture.trail();
    trail.set(ENABLED, "madvise").expect("sets");
    assert_eq!(fixture.get(MIN_FREE), "5000");
    // The kernel raised it, and we were killed before it was put back.
    trail.note(MIN_FREE, "5000", WATCHED).expect("notes");
    fs::write(fixture.root.path(MIN_FREE), "45056\n").expect("write");
    fixture.trail().restore();
    assert_eq!(fixture.get(MIN_FREE), "5000");
    assert_eq!(fixture.get(ENABLED), "always");
}

#[test]
fn a_torn_line_is_ignored() {
    let fixture = Fixture::new();
    fixture.trail().set(NONE, "51").expect("sets");
    let path = fixture.dir.join("state/trail.jsonl");
    let mut text = fs::read_to_string(&path).expect("reads");
    text.push_str("{\"file\":\"sys/ker");
    fs::write(&path, text).expect("write");
    assert_eq!(fixture.trail().restore().len(), 1);
    assert_eq!(fixture.get(NONE), "511");
}

#[test]
fn a_full_disk_does_not_keep_a_setting_from_going_back() {
    let fixture = Fixture::new();
    let mut trail = fixture.trail();
    trail.set(ENABLED, "madvise").expect("sets");
    trail.path = PathBuf::from("/dev/full/trail.jsonl");
    trail.restore();
    assert_eq!(fixture.get(ENABLED), "always");
}

#[test]
fn a_trail_that_others_can_write_or_that_names_other_files_is_not_followed() {
    let fixture = Fixture::new();
    fixture.trail().set(NONE, "51").expect("sets");
    let path = fixture.dir.join("state/trail.jsonl");
    // As it is, it is followed.
    assert_eq!(fixture.trail().entries().len(), 1);
    let text = fs::read_to_string(&path).expect("reads").replace(NONE, "etc/passwd");
    fs::write(&path, text).expect("write");
    assert!(fixture.trail().entries().is_empty());
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("chmod");
    let opened = Trail::open(fixture.root.clone(), &fixture.dir.join("state"), OWNER);
    assert!(matches!(opened, Err(TrailError::Load { .. })));
}

#[test]
fn nothing_is_written_when_the_trail_cannot_be() {
    let fixture = Fixture::new();
    let mut trail = fixture.trail();
    let path = std::mem::replace(&mut trail.path, PathBuf::from("/dev/full/trail.jsonl"));
    assert!(matches!(trail.set(NONE, "51"), Err(TrailError::Store { .. })));
    assert_eq!(fixture.get(NONE), "511");
    // It was the trail alone that kept it from being written.
    trail.path = path;
    trail.set(NONE, "51").expect("sets");
    assert_eq!(fixture.get(NONE), "51");
}

#[test]
fn one_setting_goes_back_and_the_others_stay() {
    let fixture = Fixture::new();
    let mut trail = fixture.trail();
    trail.set(NONE, "51").expect("sets");
    trail.set(ENABLED, "madvise").expect("sets");
    let done = trail.restore_file(NONE);
    assert!(matches!(&done[..], [Restored::PutBack { to, .. }] if to == "511"), "{done:?}");
    assert_eq!((fixture.get(NONE), fixture.get(ENABLED)), ("511".into(), "madvise".into()));
    assert!(trail.restore_file(NONE).is_empty(), "nothing is left of it");
    // Also after a crash, with what the disk holds.
    let done = fixture.trail().restore();
    assert!(
        matches!(done.last(), Some(Restored::PutBack { to, .. }) if to == "always"),
        "{done:?}"
    );
    assert_eq!((fixture.get(NONE), fixture.get(ENABLED)), ("511".into(), "always".into()));
}

/// What a manager of ea86da4 left, which wrote no versions, and what a later one may write.
#[test]
fn a_trail_without_versions_is_read_and_one_of_a_later_version_is_kept() {
    let fixture = Fixture::new();
    let file = fixture.dir.join("state").join(OWNER.trail);
    drop(fixture.trail());
    fs::write(fixture.root.path(NONE), "51\n").expect("write");
    let old = format!(r#"{{"file":"{NONE}","old":"511","new":"51","boot_id":"boot-1"}}"#);
    fs::write(&file, format!("{old}\n")).expect("write");
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::PutBack { to, .. }] if to == "511"), "{done:?}");
    fixture.trail().set(NONE, "51").expect("sets");
    let written = fs::read_to_string(&file).expect("reads");
    assert!(written.starts_with(r#"{"schema":1,"#), "{written}");
    let later = format!("{written}{{\"schema\":2,\"setting\":\"{NONE}\"}}\n");
    fs::write(&file, &later).expect("write");
    let opened = Trail::open(fixture.root.clone(), &fixture.dir.join("state"), OWNER);
    let error = opened.expect_err("a later version").to_string();
    assert!(error.contains("the settings trail has version 2"), "{error}");
    let state = fixture.dir.join("state");
    revert(&fixture.root, &state, &[(OWNER, "")], false).expect_err("a later version");
    assert_eq!(fs::read_to_string(&file).expect("reads"), later);
    assert_eq!(fixture.get(NONE), "51", "nothing is half applied");
}
