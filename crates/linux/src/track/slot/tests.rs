use super::*;
use crate::kdamond::{MARK_US, is_free};
use hugewise_scratch::Scratch;
use std::fs;

/// A root with DAMON's files as the kernel shows them: `count` threads, the first in `state`.
struct Fixture {
    dir: Scratch,
    root: Root,
}

impl Fixture {
    fn new(count: &str, state: &str) -> Self {
        let dir = Scratch::new();
        let root = Root::at(&dir.join("root"));
        let fixture = Self { dir, root };
        fixture.put("proc/sys/kernel/random/boot_id", "boot-1");
        fixture.put(COUNT, count);
        fixture.put(&format!("{KDAMONDS}/0/state"), state);
        fixture.put(&format!("{KDAMONDS}/0/pid"), "46");
        fixture.put(&format!("{KDAMONDS}/0/contexts/nr_contexts"), "1");
        fixture.put(&format!("{KDAMONDS}/0/contexts/0/targets/nr_targets"), "1");
        fixture.mark("1000000");
        fixture
    }

    fn put(&self, file: &str, value: &str) {
        let path = self.root.path(file);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
        fs::write(path, format!("{value}\n")).expect("write");
    }

    fn mark(&self, value: &str) {
        let intervals = format!("{KDAMONDS}/0/contexts/0/monitoring_attrs/intervals");
        self.put(&format!("{intervals}/update_us"), value);
    }

    fn get(&self, file: &str) -> String {
        self.root.read_line(file).expect("reads")
    }

    fn slot(&self) -> Slot {
        Slot::new(&self.dir.join("state"))
    }

    /// What a manager that was killed leaves: a note, and DAMON set up.
    fn killed(&self) {
        self.put(COUNT, "0");
        let mut slot = self.slot();
        let taken = slot.take(&self.root).expect("free");
        std::mem::forget((slot, taken));
        self.put(&format!("{KDAMONDS}/0/state"), "on");
    }

    fn revert(&self) -> Vec<crate::trail::Restored> {
        let owners = [(OWNER, "")];
        crate::trail::revert(&self.root, &self.dir.join("state"), &owners, false).expect("reads")
    }
}

#[test]
fn what_somebody_has_is_refused_by_name_and_not_touched() {
    for (count, state) in [("1", "on"), ("1", "off"), ("3", "on")] {
        let fixture = Fixture::new(count, state);
        let taken = fixture.slot().take(&fixture.root);
        assert_eq!(taken.map(|_| ()), Err(SkipReason::TrackerBusy), "{count} {state}");
        let left = (fixture.get(COUNT), fixture.get(&format!("{KDAMONDS}/0/state")));
        assert_eq!(left, (count.to_owned(), state.to_owned()));
        assert!(!fixture.dir.join("state").exists(), "nothing was noted");
    }
    let fixture = Fixture::new("0", "off");
    fixture.put("sys/module/damon_stat/parameters/enabled", "Y");
    let (reason, why) = is_free(&fixture.root).expect_err("taken");
    assert_eq!((reason, why.contains("damon_stat")), (SkipReason::TrackerBusy, true));
    let nothing = Scratch::new();
    let (reason, _) = is_free(&Root::at(&nothing)).expect_err("no DAMON");
    assert_eq!(reason, SkipReason::NoMechanism);
}

#[test]
fn what_was_taken_is_given_back() {
    let fixture = Fixture::new("0", "on");
    let mut slot = fixture.slot();
    let taken = slot.take(&fixture.root).expect("free");
    assert_eq!(fixture.get(COUNT), "1");
    let note = fixture.dir.join("state/damon.jsonl");
    assert!(note.exists(), "it is noted before");
    fixture.mark(MARK_US);
    // Taken twice it is not.
    assert_eq!(slot.take(&fixture.root).map(|_| ()), Err(SkipReason::TrackerBusy));
    drop(taken);
    let state = format!("{KDAMONDS}/0/state");
    assert_eq!((fixture.get(COUNT).as_str(), fixture.get(&state).as_str()), ("0", "off"));
    assert!(note.exists(), "as long as the manager lives");
    drop(slot);
    assert!(!note.exists(), "nothing is left to be put back");
}

#[test]
fn what_was_taken_away_meanwhile_is_not_stopped() {
    let fixture = Fixture::new("0", "on");
    let mut slot = fixture.slot();
    let taken = slot.take(&fixture.root).expect("free");
    assert!(!taken.is_ours(), "the mark is another one");
    drop((taken, slot));
    let state = fixture.get(&format!("{KDAMONDS}/0/state"));
    assert_eq!((fixture.get(COUNT).as_str(), state.as_str()), ("1", "on"));
}

#[test]
fn what_a_killed_manager_left_is_stopped_and_put_back() {
    let fixture = Fixture::new("0", "off");
    fixture.killed();
    fixture.mark(MARK_US);
    assert_eq!(fixture.get(COUNT), "1");
    let done = fixture.revert();
    assert!(matches!(&done[..], [crate::trail::Restored::PutBack { .. }]), "{done:?}");
    let state = fixture.get(&format!("{KDAMONDS}/0/state"));
    assert_eq!((fixture.get(COUNT).as_str(), state.as_str()), ("0", "off"));
    assert!(fixture.revert().is_empty());
}

#[test]
fn what_others_set_up_after_a_crash_is_theirs() {
    let fixture = Fixture::new("0", "off");
    fixture.killed();
    // Somebody has cleared it away, and uses DAMON now: there is no mark.
    let done = fixture.revert();
    assert!(matches!(&done[..], [crate::trail::Restored::Foreign { .. }]), "{done:?}");
    let state = fixture.get(&format!("{KDAMONDS}/0/state"));
    assert_eq!((fixture.get(COUNT).as_str(), state.as_str()), ("1", "on"));
}

#[test]
fn what_was_cut_short_while_it_was_set_up_is_put_back() {
    let fixture = Fixture::new("0", "off");
    fixture.killed();
    fixture.put(&format!("{KDAMONDS}/0/state"), "off");
    fixture.put(&format!("{KDAMONDS}/0/contexts/nr_contexts"), "0");
    fixture.revert();
    assert_eq!(fixture.get(COUNT), "0");
}
