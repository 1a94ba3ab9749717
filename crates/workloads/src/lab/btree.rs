//! `btree`: lookups in a packed B+ tree.
//!
//! The leaves are one sorted array of keys and values. Each level above holds the first key of
//! every node below it, up to a level of one node.

use super::kit::{
    Clock, MIB, Measured, Pace, Progress, Setup, Verdict, Workload, mix, nanoseconds, place, stamp,
};
use hugewise_base::rng::Rng;
use hugewise_base::stats::Histogram;
use hugewise_experiment::kinds::Size;
use hugewise_linux::memory::Arena;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Keys of a node: two cache lines.
const NODE: usize = 16;
/// Keys are so far apart, with a random part below that.
const GAP: u64 = 1 << 16;
/// Lookups that are timed together: a clock takes as long as one of them.
const BATCH: u64 = 16;

/// The tree, in one piece of memory.
#[derive(Debug)]
pub(super) struct Btree {
    memory: Arena,
    keys: usize,
    /// Where the words of each level are, the keys of the leaves first.
    levels: Vec<Range<usize>>,
    /// Where the values are.
    values: Range<usize>,
    rng: Rng,
}

impl Btree {
    /// Maps the tree: as many keys as fit.
    pub(super) fn new(params: &Size, setup: &Setup) -> anyhow::Result<Self> {
        let memory = setup.arena(params.mib * MIB)?;
        // A key takes two words and its share of all levels above, 1/15 word and less than a node
        // each.
        let keys = (memory.words().len() * 15 / 31).saturating_sub(NODE * NODE);
        let (mut levels, mut begin, mut len) = (Vec::new(), 0, keys);
        loop {
            levels.push(begin..begin + len);
            begin += len;
            if len <= NODE {
                break;
            }
            len = len.div_ceil(NODE);
        }
        let values = begin..begin + keys;
        Ok(Self { memory, keys, levels, values, rng: Rng::new(setup.seed) })
    }

    fn value(&self, key: u64) -> Option<u64> {
        let words = self.memory.words();
        let mut node = 0;
        let mut found = 0;
        for level in self.levels.iter().rev() {
            let keys = &words[level.clone()];
            let end = keys.len().min(node * NODE + NODE);
            let inside = keys.get(node * NODE..end)?;
            // The last key that is not larger.
            found =
                node * NODE + inside.iter().take_while(|k| **k <= key).count().checked_sub(1)?;
            node = found;
        }
        let leaf = self.levels.first()?.start + found;
        (words[leaf] == key).then(|| words[self.values.start + found])
    }
}

/// The key with this number: larger than the one before.
fn key(number: usize) -> u64 {
    let number = number as u64;
    number * GAP + mix(number) % GAP
}

impl Workload for Btree {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let words = self.memory.words_mut();
        for number in 0..self.keys {
            let key = key(number);
            words[number] = key;
            words[self.values.start + number] = stamp(key);
            if number.is_multiple_of(1 << 18) {
                progress.step(number, self.keys, "filling the leaves");
            }
        }
        for pair in self.levels.windows(2) {
            let (below, above) = (&pair[0], &pair[1]);
            for node in 0..above.len() {
                words[above.start + node] = words[below.start + node * NODE];
            }
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, mut latency) = (Clock::start(time), Histogram::default());
        let (mut lookups, mut wrong, mut pace) = (0, 0, Pace::start());
        while clock.runs_with(progress) {
            let begin = Instant::now();
            for _ in 0..BATCH {
                let key = key(place(self.rng.next(), self.keys));
                wrong += u64::from(self.value(key) != Some(stamp(key)));
            }
            latency.record(nanoseconds(begin.elapsed()) / BATCH);
            lookups += BATCH;
            pace.add(BATCH);
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(lookups));
        Ok(measured.with_pace("ops_per_s", pace).with_latency(latency).with_wrong(wrong))
    }

    fn verify(&mut self, progress: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for number in 0..self.keys {
            let key = key(number);
            verdict.count(self.value(key) == Some(stamp(key)));
            if number.is_multiple_of(1 << 16) {
                progress.step(number, self.keys, "looking all keys up");
            }
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let leaf = self.keys / 2;
        self.memory.words_mut()[leaf] ^= 1;
    }
}
