//! Pools under a trail: partial grants, pages in use, crashes, reboots. The kernel is a folder of
//! files here; what a real one does is in the live tests.

use crate::hugetlb::pool::{PoolSize, grow};
use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::files::pool_file;
use hugewise_evidence::hugetlb::grow::Outcome;
use hugewise_evidence::hugetlb::pools::OWNER;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Trail, TrailError};
use hugewise_manager::ownership;
use hugewise_scratch::Scratch;
use std::fs;

struct Fixture {
    dir: Scratch,
    root: Root,
    file: String,
}

impl Fixture {
    fn new() -> Self {
        let dir = Scratch::new();
        let root = Root::at(&dir.join("root"));
        let fixture = Self { dir, root, file: pool_file(Bytes::mib(2)) };
        fixture.put("proc/sys/kernel/random/boot_id", "boot-1\n");
        fixture.pool(0, 0, 0);
        fixture
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.root.path(file);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
        fs::write(path, text).expect("write");
    }

    /// Sets all numbers of the pool: pages in all, free, reserved.
    fn pool(&self, total: u64, free: u64, reserved: u64) {
        for (name, pages) in [
            ("nr_hugepages", total),
            ("free_hugepages", free),
            ("resv_hugepages", reserved),
            ("surplus_hugepages", 0),
        ] {
            self.put(&self.file.replace("nr_hugepages", name), &format!("{pages}\n"));
        }
    }

    fn trail(&self) -> Trail {
        let opened = Trail::open(self.root.clone(), &self.dir.join("state"), OWNER);
        opened.expect("opens")
    }

    fn grown(&self, pages: u64) -> Outcome {
        let wanted = PoolSize { page: Bytes::mib(2), node: None, pages, leave: Bytes(0) };
        let grown = grow(&self.root, &mut self.trail(), wanted, &mut |_| {});
        grown.expect("grows").outcome
    }

    fn pages(&self) -> String {
        self.root.read_line(&self.file).expect("reads")
    }
}

#[test]
fn a_pool_goes_back_to_its_first_size() {
    let fixture = Fixture::new();
    assert_eq!(fixture.grown(300), Outcome::Granted);
    assert_eq!(fixture.grown(500), Outcome::Granted);
    assert_eq!(fixture.pages(), "500");
    fixture.pool(500, 500, 0);
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::PutBack { to, .. }] if to == "0"), "{done:?}");
    assert_eq!(fixture.pages(), "0");
    assert!(fixture.trail().restore().is_empty());
}

#[test]
fn pages_in_use_stay_until_another_time() {
    let fixture = Fixture::new();
    fixture.grown(500);
    // 20 touched and 10 promised.
    fixture.pool(500, 480, 10);
    let done = fixture.trail().restore();
    assert!(
        matches!(&done[..], [Restored::InUse { to, wanted, .. }] if to == "30" && wanted == "0"),
        "{done:?}"
    );
    assert_eq!(fixture.pages(), "30");
    // Their program has ended.
    fixture.pool(30, 30, 0);
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::PutBack { .. }]), "{done:?}");
    assert_eq!(fixture.pages(), "0");
}

#[test]
fn a_crash_between_steps_is_put_back_whatever_was_granted() {
    let fixture = Fixture::new();
    let mut trail = fixture.trail();
    trail.begin(&fixture.file).expect("notes");
    trail.write_step(&fixture.file, "128").expect("writes");
    drop(trail);
    fixture.pool(77, 77, 0);
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::PutBack { .. }]), "{done:?}");
    assert_eq!(fixture.pages(), "0");
}

#[test]
fn what_files_set_again_after_a_reboot_is_ours_and_what_somebody_set_is_not() {
    let fixture = Fixture::new();
    fixture.grown(500);
    fixture.put("proc/sys/kernel/random/boot_id", "boot-2\n");
    fixture.pool(500, 500, 0);
    let plan = fixture.trail().plan();
    assert!(matches!(&plan[..], [Restored::PutBack { to, .. }] if to == "0"), "{plan:?}");
    fixture.pool(64, 64, 0);
    let plan = fixture.trail().plan();
    assert!(matches!(&plan[..], [Restored::Foreign { found, .. }] if found == "64"), "{plan:?}");
    fixture.pool(0, 0, 0);
    let plan = fixture.trail().plan();
    assert!(matches!(&plan[..], [Restored::Unchanged { .. }]), "{plan:?}");
}

#[test]
fn a_partial_grant_is_ours_and_so_is_the_whole_after_a_reboot() {
    let fixture = Fixture::new();
    let mut trail = fixture.trail();
    trail.begin(&fixture.file).expect("notes");
    fixture.pool(77, 77, 0);
    trail.settle(&fixture.file, "500").expect("notes");
    drop(trail);
    let plan = fixture.trail().plan();
    assert!(matches!(&plan[..], [Restored::PutBack { from, .. }] if from == "77"), "{plan:?}");
    fixture.put("proc/sys/kernel/random/boot_id", "boot-2\n");
    fixture.pool(500, 500, 0);
    let plan = fixture.trail().plan();
    assert!(matches!(&plan[..], [Restored::PutBack { from, .. }] if from == "500"), "{plan:?}");
}

#[test]
fn surplus_pages_are_not_the_pools() {
    let fixture = Fixture::new();
    fixture.pool(40, 10, 10);
    fixture.put(&fixture.file.replace("nr_hugepages", "surplus_hugepages"), "30\n");
    let size = hugewise_linux::pool_size::size(&fixture.root, &fixture.file);
    assert_eq!(size.expect("reads"), 10);
}

#[test]
fn a_trail_of_pools_names_nothing_else() {
    let fixture = Fixture::new();
    fixture.grown(5);
    let path = fixture.dir.join("state").join(OWNER.trail);
    let text = fs::read_to_string(&path).expect("reads");
    for other in ["etc/passwd", "sys/kernel/mm/transparent_hugepage/enabled", "proc/sys/vm/x"] {
        fs::write(&path, text.replace(&fixture.file, other)).expect("write");
        assert!(fixture.trail().entries().is_empty(), "{other}");
    }
}

#[test]
fn what_an_administrator_sets_between_two_applies_comes_back() {
    let fixture = Fixture::new();
    fixture.pool(10, 10, 0);
    assert_eq!(fixture.grown(100), Outcome::Granted);
    fixture.put("proc/sys/kernel/random/boot_id", "boot-2\n");
    fixture.pool(500, 500, 0);
    assert_eq!(fixture.grown(600), Outcome::Granted);
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::PutBack { to, .. }] if to == "500"), "{done:?}");
    assert_eq!(fixture.pages(), "500");
}

#[test]
fn a_limit_that_somebody_set_between_comes_back() {
    let fixture = Fixture::new();
    let group = "proc/sys/vm/hugetlb_shm_group";
    fixture.put(group, "0\n");
    fixture.trail().set(group, "26").expect("sets");
    fixture.put(group, "300\n");
    fixture.trail().set(group, "27").expect("sets");
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::PutBack { to, .. }] if to == "300"), "{done:?}");
}

/// A pool whose share of node 0 is all of it: both folders are one.
fn with_node(fixture: &Fixture) -> String {
    let node = hugewise_evidence::hugetlb::files::node_file(Bytes::mib(2), 0);
    let folder = |file: &str| fixture.root.path(file.trim_end_matches("/nr_hugepages"));
    fs::create_dir_all(folder(&node).parent().expect("has a parent")).expect("mkdir");
    std::os::unix::fs::symlink(folder(&fixture.file), folder(&node)).expect("link");
    node
}

fn apply(fixture: &Fixture, file: &str, pages: &str) {
    let mut trail = fixture.trail();
    trail.begin(file).expect("notes");
    trail.write_step(file, pages).expect("writes");
    trail.settle(file, pages).expect("notes");
}

#[test]
fn views_of_one_pool_go_back_in_any_mixture() {
    let mixtures: [&[(bool, &str)]; 5] = [
        &[(false, "50"), (true, "100")],
        &[(true, "50"), (false, "100")],
        &[(false, "50"), (true, "100"), (false, "200")],
        &[(true, "50"), (false, "100"), (true, "70")],
        &[(false, "50"), (true, "7")],
    ];
    for mixture in mixtures {
        let fixture = Fixture::new();
        let node = with_node(&fixture);
        fixture.pool(7, 7, 0);
        // Files do not follow each other here as the kernel's do; none is in use.
        let free = fixture.root.path(fixture.file.replace("nr_hugepages", "free_hugepages"));
        fs::remove_file(free).expect("removes");
        for (of_node, pages) in mixture {
            apply(&fixture, if *of_node { &node } else { &fixture.file }, pages);
        }
        let foreign = |step: &Restored| matches!(step, Restored::Foreign { .. });
        assert!(!fixture.trail().plan().iter().any(foreign), "{mixture:?}");
        let done = fixture.trail().restore();
        assert!(!done.iter().any(foreign), "{mixture:?}: {done:?}");
        assert_eq!(fixture.pages(), "7", "{mixture:?}: {done:?}");
        assert!(fixture.trail().entries().is_empty());
    }
}

#[test]
fn a_share_that_somebody_changed_is_left_alone_with_its_pool() {
    let fixture = Fixture::new();
    let node = with_node(&fixture);
    apply(&fixture, &fixture.file, "50");
    apply(&fixture, &node, "100");
    fixture.pool(70, 70, 0);
    let done = fixture.trail().restore();
    assert!(matches!(&done[..], [Restored::Foreign { .. }, Restored::Foreign { .. }]), "{done:?}");
    assert_eq!(fixture.pages(), "70");
}

#[test]
fn putting_back_never_makes_a_pool_larger_than_it_is() {
    let fixture = Fixture::new();
    fixture.grown(64);
    // 36 more are surplus, and all are in use.
    fixture.pool(100, 0, 0);
    fixture.put(&fixture.file.replace("nr_hugepages", "surplus_hugepages"), "36\n");
    let plan = fixture.trail().plan();
    assert!(matches!(&plan[..], [Restored::InUse { to, .. }] if to == "64"), "{plan:?}");
}

#[test]
fn numbers_that_make_no_sense_do_not_end_it() {
    let fixture = Fixture::new();
    fixture.pool(u64::MAX, 0, u64::MAX);
    assert_eq!(hugewise_linux::pool_size::floor(&fixture.root, &fixture.file), Some(u64::MAX));
}

#[test]
fn nothing_is_begun_in_a_directory_that_others_can_write() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    let state = fixture.dir.join("state");
    fs::create_dir_all(&state).expect("mkdir");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o1777)).expect("chmod");
    for scope in [OWNER, ownership::OWNER] {
        let opened = Trail::open(fixture.root.clone(), &state, scope);
        assert!(matches!(opened, Err(TrailError::Store { .. })));
    }
    assert_eq!(fs::read_dir(&state).expect("lists").count(), 0);
}

#[test]
fn a_damaged_line_is_told_and_nothing_is_overwritten() {
    let fixture = Fixture::new();
    fixture.grown(5);
    let path = fixture.dir.join("state").join(OWNER.trail);
    let text = fs::read_to_string(&path).expect("reads").replacen('{', "[", 1);
    fs::write(&path, &text).expect("write");
    let state = fixture.dir.join("state");
    let open = Trail::open(fixture.root.clone(), &state, OWNER).err();
    let existing = Trail::existing(fixture.root.clone(), &state, OWNER).err();
    for error in [open, existing] {
        let error = error.expect("an error").to_string();
        assert!(error.contains("line 1 is damaged"), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).expect("reads"), text);
}
