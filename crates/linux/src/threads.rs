//! Whether all threads of a program sleep right now: then nobody waits for a lock that is taken.
//!
//! The states of threads are read from `/proc/PID/task/TID/stat`, which takes no lock of the
//! address space (`do_task_stat` in `fs/proc/array.c`).

use crate::root::Root;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The states of more threads are not read: each takes 6 us, all of these as long as a short call
/// (`docs/measurements.md#defaults-by-choice`).
const MOST_THREADS: usize = 32;
/// So long a moment is waited for in which all sleep: programs that serve requests sleep more often
/// (`docs/measurements.md#defaults-by-choice`).
const PATIENCE: Duration = Duration::from_millis(20);
/// Pauses between two readings meanwhile: an eighth of the time so far, within these. Who works for
/// long sleeps for long.
const PAUSES: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(1)];
/// Where no such moment came, it is not waited for in the next call, then in the next 2, up to 2 to
/// this power.
const MOST_DOUBLINGS: u32 = 6;

/// The threads of a process, as they were when their number last changed.
#[derive(Debug)]
pub(crate) struct Threads {
    dir: PathBuf,
    /// Files with their states; `None`: too many, or not listed.
    files: Option<Vec<PathBuf>>,
    /// Links of the directory then, which count threads (`proc_task_getattr` in `fs/proc/base.c`);
    /// 0: they are to be listed.
    links: u64,
    /// Waits in a row that were for nothing, and calls without one until the next.
    misses: u32,
    skips: u32,
}

impl Threads {
    /// Those of process `pid`; nothing is read yet.
    pub(crate) fn of(root: &Root, pid: u32) -> Self {
        let dir = root.path(format!("proc/{pid}/task"));
        Self { dir, files: None, links: 0, misses: 0, skips: 0 }
    }

    /// Whether all of them sleep; `None`: there are too many, or it has ended.
    pub(crate) fn all_sleep(&mut self) -> Option<bool> {
        let links = fs::metadata(&self.dir).ok()?.nlink();
        if links != self.links {
            (self.files, self.links) = (self.list(), links);
        }
        for file in self.files.as_ref()? {
            let Some(sleeps) = sleeps(&fs::read(file).unwrap_or_default()) else {
                // It ended, and another one may have come in its place.
                self.links = 0;
                return Some(false);
            };
            if !sleeps {
                return Some(false);
            }
        }
        Some(true)
    }

    fn list(&self) -> Option<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir).ok()? {
            files.push(entry.ok()?.path().join("stat"));
            if files.len() > MOST_THREADS {
                return None;
            }
        }
        Some(files)
    }

    /// Waits a little for a moment in which all sleep, where there are such moments. Whether time
    /// passed.
    pub(crate) fn await_sleep(&mut self) -> bool {
        let (began, mut waited) = (Instant::now(), Duration::ZERO);
        while self.all_sleep() == Some(false) {
            if let Some(less) = self.skips.checked_sub(1) {
                self.skips = less;
                return false;
            }
            waited = began.elapsed();
            if waited >= PATIENCE {
                self.misses = (self.misses + 1).min(MOST_DOUBLINGS);
                self.skips = 1 << self.misses;
                return true;
            }
            std::thread::sleep((waited / 8).clamp(PAUSES[0], PAUSES[1]));
        }
        (self.misses, self.skips) = (0, 0);
        !waited.is_zero()
    }
}

/// Whether the thread of a stat file neither runs nor could; `None`: there is no state in it. A
/// name may contain anything, also what looks like a state.
fn sleeps(stat: &[u8]) -> Option<bool> {
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(name_ends + 2).map(|state| *state != b'R')
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    #[test]
    fn a_state_follows_the_last_bracket() {
        assert_eq!(sleeps(b"7 (a) R (b) S 1 2"), Some(true));
        assert_eq!(sleeps(b"7 (a) S) R 1 2"), Some(false));
        assert_eq!(sleeps(b"7 (a)"), None);
        assert_eq!(sleeps(b""), None);
    }

    fn of_states(states: &[char]) -> (Scratch, Threads) {
        let scratch = Scratch::new();
        for (tid, state) in states.iter().enumerate() {
            let dir = scratch.path().join(format!("proc/1/task/{tid}"));
            fs::create_dir_all(&dir).expect("a directory");
            fs::write(dir.join("stat"), format!("{tid} (x) {state} 0 0")).expect("a file");
        }
        let threads = Threads::of(&Root::at(scratch.path()), 1);
        (scratch, threads)
    }

    #[test]
    fn one_that_runs_is_enough() {
        assert_eq!(of_states(&['S', 'D', 'T']).1.all_sleep(), Some(true));
        assert_eq!(of_states(&['S', 'R', 'S']).1.all_sleep(), Some(false));
        assert_eq!(of_states(&['S'; MOST_THREADS]).1.all_sleep(), Some(true));
        assert_eq!(of_states(&['S'; MOST_THREADS + 1]).1.all_sleep(), None);
        assert_eq!(of_states(&[]).1.all_sleep(), None);
    }

    #[test]
    fn one_that_ended_is_unknown_until_all_are_listed_again() {
        let (scratch, mut threads) = of_states(&['S', 'S']);
        assert_eq!(threads.all_sleep(), Some(true));
        fs::remove_file(scratch.path().join("proc/1/task/1/stat")).expect("a file");
        assert_eq!(threads.all_sleep(), Some(false));
    }

    #[test]
    fn a_moment_that_never_comes_is_waited_for_less_and_less() {
        let (_scratch, mut threads) = of_states(&['R']);
        let mut waits = 0;
        for _ in 0..100 {
            let before = threads.misses;
            let skips = threads.skips;
            threads.await_sleep();
            waits += u32::from(skips == 0);
            assert!(threads.misses >= before);
        }
        assert!((2..=7).contains(&waits), "{waits}");
    }
}
