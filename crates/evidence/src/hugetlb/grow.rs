//! How a pool is grown: in steps, so that a machine under load is not stalled for long and memory
//! that runs low is seen in time; compacting where huge blocks are missing; and no further than
//! the kernel grants.

use serde::Serialize;

use hugewise_base::units::Bytes;

/// A step. The kernel clears no pages here, but reclaims and compacts for each that is missing
/// (Linux 6.18 mm/hugetlb.c `set_max_huge_pages`): 256 MiB takes well below a second on a machine
/// with free memory.
const STEP: Bytes = Bytes::mib(256);
/// Attempts without any progress, each after a compaction, before the pool is left as it is.
const ATTEMPTS: u32 = 2;

/// What is seen between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Pages of the pool without surplus ones.
    pub pages: u64,
    /// Free memory in blocks of at least the page size, in pages; `None`: not known.
    pub free_blocks: Option<u64>,
    /// Memory that is available to programs; `None`: not known.
    pub available: Option<Bytes>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write this number of pages to the pool's file.
    Write(u64),
    /// Compact memory, then read the pool again.
    Compact,
    /// Nothing more.
    Done(Outcome),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The pool has its size.
    Granted,
    /// The kernel found no more huge blocks, also after compacting.
    NoMoreBlocks,
    /// Another step would leave others less memory than must remain.
    MemoryLow,
    /// The pool has more pages than were written: somebody else sized it, too.
    Changed,
}

impl Outcome {
    /// What it means, and what to do.
    pub const fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Granted => ("granted", ""),
            Self::NoMoreBlocks => (
                "the kernel found no more contiguous memory, also after compacting",
                "stop what can be stopped and apply again, or --persist and reboot",
            ),
            Self::MemoryLow => (
                "another step would have left too little memory for everybody else",
                "stop what can be stopped and apply again, or lower --leave",
            ),
            Self::Changed => {
                ("somebody else sized the pool at the same time", "find out who, then apply again")
            }
        }
    }
}

/// What was done last.
#[derive(Clone, Copy, Debug)]
enum Last {
    Nothing,
    /// A number was written when the pool had this number of pages.
    Wrote {
        before: u64,
    },
    Compacted,
}

/// Steps from one size to another.
#[derive(Clone, Copy, Debug)]
pub struct Grow {
    page: Bytes,
    target: u64,
    leave: Bytes,
    last: Last,
    failures: u32,
}

impl Grow {
    /// To `target` pages of `page`; `leave` must remain available.
    pub fn new(page: Bytes, target: u64, leave: Bytes) -> Self {
        Self { page, target, leave, last: Last::Nothing, failures: 0 }
    }

    /// The next step, after the one before was done.
    pub fn next(&mut self, seen: Seen) -> Step {
        if seen.pages == self.target {
            return Step::Done(Outcome::Granted);
        }
        if seen.pages > self.target {
            // One write is enough: pages in use become surplus ones, which are not counted here.
            return match self.last {
                Last::Nothing => self.write(seen, self.target),
                _ => Step::Done(Outcome::Changed),
            };
        }
        let page = self.page.0.max(1);
        // The last step is as small as what must remain wants it.
        // Who leaves nothing wants what the kernel can find: "available" is an estimate.
        let available = seen.available.filter(|_| self.leave.0 > 0);
        let room = available.map(|available| available.saturating_sub(self.leave).0 / page);
        let step = (STEP.0 / page).max(1).min(self.target - seen.pages);
        let step = step.min(room.unwrap_or(u64::MAX));
        if step == 0 {
            return Step::Done(Outcome::MemoryLow);
        }
        let few = seen.free_blocks.is_some_and(|blocks| blocks < step);
        match self.last {
            Last::Wrote { before } if seen.pages <= before => {
                self.failures += 1;
                if self.failures > ATTEMPTS {
                    return Step::Done(Outcome::NoMoreBlocks);
                }
                self.last = Last::Compacted;
                Step::Compact
            }
            Last::Nothing if few => {
                self.last = Last::Compacted;
                Step::Compact
            }
            Last::Wrote { .. } => {
                self.failures = 0;
                self.write(seen, seen.pages + step)
            }
            Last::Nothing | Last::Compacted => self.write(seen, seen.pages + step),
        }
    }

    fn write(&mut self, seen: Seen, pages: u64) -> Step {
        self.last = Last::Wrote { before: seen.pages };
        Step::Write(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that has a number of huge blocks, and more after each compaction.
    struct Kernel {
        pages: u64,
        blocks: u64,
        by_compaction: u64,
        /// What somebody else makes of the pool after a write.
        changed: Option<u64>,
        available: Bytes,
        done: Vec<Step>,
    }

    impl Kernel {
        fn new(blocks: u64, by_compaction: u64) -> Self {
            let available = Bytes(100 << 30);
            Self { pages: 0, blocks, by_compaction, changed: None, available, done: Vec::new() }
        }

        fn run(&mut self, target: u64, leave: Bytes) -> Outcome {
            let mut grow = Grow::new(Bytes::mib(2), target, leave);
            for _ in 0..10_000 {
                let (pages, free_blocks) = (self.pages, Some(self.blocks));
                let step = grow.next(Seen { pages, free_blocks, available: Some(self.available) });
                self.done.push(step);
                match step {
                    Step::Done(outcome) => return outcome,
                    Step::Compact => self.blocks += std::mem::take(&mut self.by_compaction),
                    Step::Write(wanted) if wanted > self.pages => {
                        let more = (wanted - self.pages).min(self.blocks);
                        self.pages += more;
                        self.blocks -= more;
                        self.available = self.available.saturating_sub(Bytes::mib(2 * more));
                    }
                    Step::Write(wanted) => self.pages = self.changed.unwrap_or(wanted),
                }
            }
            panic!("no end: {:?}", &self.done[..20]);
        }

        fn compactions(&self) -> usize {
            self.done.iter().filter(|step| **step == Step::Compact).count()
        }
    }

    #[test]
    fn grows_in_steps_and_never_beyond() {
        let mut kernel = Kernel::new(10_000, 0);
        assert_eq!(kernel.run(6144, Bytes(0)), Outcome::Granted);
        assert_eq!((kernel.pages, kernel.compactions()), (6144, 0));
        assert_eq!(kernel.done.len(), 6144 / 128 + 1);
        assert_eq!(kernel.run(6144, Bytes(0)), Outcome::Granted);
    }

    #[test]
    fn compacts_first_where_blocks_are_missing() {
        let mut kernel = Kernel::new(10, 500);
        assert_eq!(kernel.run(300, Bytes(0)), Outcome::Granted);
        assert_eq!(kernel.done[0], Step::Compact);
    }

    #[test]
    fn takes_what_there_is_and_says_so() {
        let mut kernel = Kernel::new(200, 0);
        assert_eq!(kernel.run(6144, Bytes(0)), Outcome::NoMoreBlocks);
        assert_eq!((kernel.pages, kernel.compactions()), (200, 2));
    }

    #[test]
    fn stops_before_memory_runs_low() {
        let mut kernel = Kernel::new(100_000, 0);
        kernel.available = Bytes((4 << 30) + (3 << 20));
        assert_eq!(kernel.run(6144, Bytes(3 << 30)), Outcome::MemoryLow);
        assert_eq!(kernel.pages, 513);
    }

    #[test]
    fn shrinks_at_once_and_does_not_fight_with_others() {
        let mut kernel = Kernel::new(1000, 0);
        kernel.pages = 500;
        assert_eq!(kernel.run(80, Bytes(0)), Outcome::Granted);
        assert_eq!(kernel.done, [Step::Write(80), Step::Done(Outcome::Granted)]);
        (kernel.pages, kernel.changed) = (500, Some(200));
        assert_eq!(kernel.run(80, Bytes(0)), Outcome::Changed);
        assert_eq!(kernel.pages, 200);
    }
}
