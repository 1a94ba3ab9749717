//! Whole looks at this process, with files of `/sys` that are none of the kernel's.

use super::*;
use crate::kdamond::{COUNT, KDAMONDS, MARK_US};
use crate::process;
use hugewise_base::units::Addr;
use hugewise_base::units::Ns;
use hugewise_scratch::Scratch;
use hugewise_sys::memory::{Arena, LocalAdvice};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;

const HUGE: usize = 2 << 20;
const WHOLE: u64 = 512;

struct Fixture {
    scratch: Scratch,
    root: Root,
    pages: PageReader,
    trackers: Trackers,
}

impl Fixture {
    fn new() -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.join("root")).expect("mkdir");
        std::os::unix::fs::symlink("/proc", scratch.join("root/proc")).expect("links");
        let root = Root::at(&scratch.join("root"));
        let pages = PageReader::new(Geometry::X86_64).expect("pages can be counted");
        let trackers = Trackers::new(&scratch.join("state"));
        Self { scratch, root, pages, trackers }
    }

    fn put(&self, file: &str, value: &str) {
        let path = self.root.path(file);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
        fs::write(path, value).expect("write");
    }

    fn get(&self, file: &str) -> String {
        self.root.read_line(file).expect("reads")
    }

    /// DAMON's files, free, with nothing of it set up.
    fn damon(&self) {
        self.put(COUNT, "0");
        let context = format!("{KDAMONDS}/0/contexts/0");
        for file in ["state", "pid", "contexts/nr_contexts"] {
            self.put(&format!("{KDAMONDS}/0/{file}"), "");
        }
        for file in [
            "operations",
            "monitoring_attrs/intervals/sample_us",
            "monitoring_attrs/intervals/aggr_us",
            "monitoring_attrs/intervals/update_us",
            "monitoring_attrs/nr_regions/min",
            "monitoring_attrs/nr_regions/max",
            "targets/nr_targets",
            "targets/0/pid_target",
            "schemes/nr_schemes",
            "schemes/0/action",
        ] {
            self.put(&format!("{context}/{file}"), "");
        }
        for what in ["sz", "nr_accesses", "age"] {
            for end in ["min", "max"] {
                self.put(&format!("{context}/schemes/0/access_pattern/{what}/{end}"), "");
            }
        }
    }

    /// A region as the kernel shows it.
    fn tried(&self, n: u32, [start, end, hits]: [u64; 3]) {
        let folder = format!("{KDAMONDS}/0/contexts/0/schemes/0/tried_regions/{n}");
        let all = [("start", start), ("end", end), ("nr_accesses", hits), ("age", 3)];
        all.iter()
            .for_each(|(file, value)| self.put(&format!("{folder}/{file}"), &value.to_string()));
    }

    fn half(&mut self, pid: u32, by: Tracker, step: Step) -> AccessReport {
        let start_ticks = process::stat(&Root::live(), pid).map_or(0, |stat| stat.starttime);
        let id = ProcId { pid, start_ticks };
        let ask = AccessAsk { target: id, by, step, budget: Ns::s(1), lock: Ns::s(1) };
        self.half_of(&ask)
    }

    fn half_of(&mut self, ask: &AccessAsk) -> AccessReport {
        let mut target = Target::open(&self.root, ask.target);
        let opened = target.as_mut().map_err(|reason| *reason);
        self.trackers.look(&self.root, Geometry::X86_64, &mut self.pages, opened, ask)
    }
}

/// Four regions of base pages, all written.
fn arena() -> Arena {
    let mut arena = Arena::new(4 * HUGE, HUGE).expect("maps");
    arena.advise(0..4 * HUGE, LocalAdvice::NoHugePage).expect("advises");
    arena.as_mut_slice().iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    arena
}

/// Accessed pages of each region of the arena.
fn of_arena(report: &AccessReport, arena: &Arena) -> Vec<(u64, u64)> {
    let end = arena.addr() + arena.len() as u64;
    let inside = |access: &&Access| access.from >= Addr(arena.addr()) && access.to <= Addr(end);
    report.seen.iter().filter(inside).map(|a| (a.least_pages, a.most_pages)).collect()
}

#[test]
fn damon_is_set_up_read_and_given_back() {
    let arena = arena();
    let mut fixture = Fixture::new();
    fixture.damon();
    let pid = std::process::id();
    let begun = fixture.half(pid, Tracker::Damon, Step::Begin);
    assert_eq!(begun.refused, None, "{begun:?}");
    let context = format!("{KDAMONDS}/0/contexts/0");
    for (file, value) in [
        ("operations", "vaddr"),
        ("monitoring_attrs/intervals/update_us", MARK_US),
        ("targets/0/pid_target", &pid.to_string()),
        ("schemes/0/action", "stat"),
        ("schemes/0/access_pattern/sz/max", "18446744073709551615"),
    ] {
        assert_eq!(fixture.get(&format!("{context}/{file}")), value, "{file}");
    }
    let state = format!("{KDAMONDS}/0/state");
    assert_eq!((fixture.get(&state).as_str(), fixture.get(COUNT).as_str()), ("on", "1"));
    let (start, huge) = (arena.addr(), HUGE as u64);
    fixture.tried(0, [start, start + huge, 20]);
    fixture.tried(1, [start + huge, start + 4 * huge, 0]);
    // Cut off: left out.
    fixture.put(&format!("{context}/schemes/0/tried_regions/2/start"), "1");
    let ended = fixture.half(pid, Tracker::Damon, Step::End);
    assert_eq!(ended.refused, None, "{ended:?}");
    assert_eq!(of_arena(&ended, &arena), [(429, WHOLE), (0, 248)]);
    assert_eq!((fixture.get(&state).as_str(), fixture.get(COUNT).as_str()), ("off", "0"));
}

#[test]
fn damon_is_given_back_when_the_program_ends_or_is_no_longer_asked_about() -> io::Result<()> {
    for ends in [true, false] {
        let mut fixture = Fixture::new();
        fixture.damon();
        let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
        let pid = child.id();
        let begun = loop {
            let begun = fixture.half(pid, Tracker::Damon, Step::Begin);
            // While it is being started it is no target.
            if begun.refused != Some(SkipReason::AddressSpaceChanged) {
                break begun;
            }
        };
        let count = fixture.get(COUNT);
        if !ends {
            fixture.trackers.retain(&BTreeSet::new());
        }
        child.kill()?;
        child.wait()?;
        let ask = AccessAsk {
            target: begun.target,
            by: Tracker::Damon,
            step: Step::End,
            budget: Ns(0),
            lock: Ns(0),
        };
        let ended = fixture.half_of(&ask);
        assert_eq!((begun.refused, count.as_str()), (None, "1"));
        assert_eq!(ended.refused, Some(SkipReason::Gone), "{ended:?}");
        assert_eq!(fixture.get(COUNT), "0");
        let note = fixture.scratch.join("state/damon.jsonl");
        drop(fixture.trackers);
        assert!(!note.exists(), "nothing is left to be put back");
    }
    Ok(())
}

#[test]
fn a_kernel_without_a_file_of_damon_is_named_and_left_as_it_was() {
    let mut fixture = Fixture::new();
    fixture.damon();
    // As before Linux 6.2, or without CONFIG_DAMON_VADDR.
    let operations = format!("{KDAMONDS}/0/contexts/0/operations");
    fs::remove_file(fixture.root.path(operations)).expect("removes");
    let begun = fixture.half(std::process::id(), Tracker::Damon, Step::Begin);
    assert_eq!(begun.refused, Some(SkipReason::NoMechanism));
    assert_eq!(fixture.get(COUNT), "0");
}

#[test]
fn idle_marks_that_are_gone_are_accesses() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let arena = arena();
    let mut fixture = Fixture::new();
    fixture.put("sys/kernel/mm/page_idle/bitmap", "");
    let file = fixture.root.path(offers::IDLE_BITMAP);
    // As large as a machine of 64 GiB needs it, with holes.
    let bitmap = fs::OpenOptions::new().read(true).write(true).open(&file).expect("opens");
    bitmap.set_len((64 << 30) / 4096 / 8).expect("grows");
    let pid = std::process::id();
    let begun = fixture.half(pid, Tracker::IdlePages, Step::Begin);
    assert_eq!(begun.refused, None, "{begun:?}");
    let Some(Begun::IdlePages(marks)) = fixture.trackers.begun.values().next() else {
        panic!("no look has begun");
    };
    let first = marks.frames_of(arena.addr());
    assert!(first.len() >= 8, "too few marks: {}", first.len());
    // Only their bits: a word may hold frames of several regions.
    for frame in first {
        let (at, mut word) = (frame / 64 * 8, [0; 8]);
        bitmap.read_exact_at(&mut word, at).expect("reads");
        let rest = u64::from_ne_bytes(word) & !(1 << (frame % 64));
        bitmap.write_all_at(&rest.to_ne_bytes(), at).expect("writes");
    }
    let ended = fixture.half(pid, Tracker::IdlePages, Step::End);
    let found = of_arena(&ended, &arena);
    assert!(found.len() == 4 && found[0].0 > 300, "{found:?}");
    assert!(found[1..].iter().all(|(least, most)| *least == 0 && *most < 200), "{found:?}");
}

#[test]
fn without_the_bitmap_there_is_no_mechanism() {
    let mut fixture = Fixture::new();
    let begun = fixture.half(std::process::id(), Tracker::IdlePages, Step::Begin);
    assert_eq!(begun.refused, Some(SkipReason::NoMechanism));
    let refused = |tracker| {
        let offers = may_be(&offers(&fixture.root));
        offers.iter().find(|offer| offer.tracker == tracker).and_then(|offer| offer.refused)
    };
    assert_eq!(refused(Tracker::IdlePages), Some(SkipReason::NoMechanism));
    assert_eq!(refused(Tracker::Referenced), None);
}

#[test]
fn an_end_without_a_begin_is_refused() {
    let mut fixture = Fixture::new();
    let ended = fixture.half(std::process::id(), Tracker::Referenced, Step::End);
    assert_eq!(ended.refused, Some(SkipReason::RetryLater));
}
