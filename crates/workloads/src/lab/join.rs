//! `hash-join`: the rows of a large table look their partners up in the hash table of a small one.
//!
//! The rows are read in their order, which costs the TLB nothing; the hash table is read anywhere.
//! So all of what huge pages give lies in the hash table, at the end of the memory.

use super::kit::{
    Clock, HUGE, MIB, Measured, Pace, Progress, Setup, Verdict, Workload, mix, place, stamp,
};
use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::HashJoin as Params;
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::ops::Range;
use std::time::Duration;

/// Words of an entry: its key, never 0, and its value.
const ENTRY: usize = 2;
/// Rows between two looks at the clock.
const BATCH: usize = 4096;

/// Both tables: rows, a gap that keeps the mappings apart, and the hash table.
#[derive(Debug)]
pub(super) struct HashJoin {
    memory: Arena,
    /// How many rows: a word each, the key of the partner.
    rows: usize,
    /// The first word of the hash table.
    table: usize,
    /// Keys in it: half of its entries are empty.
    keys: usize,
    seed: u64,
    /// The row that comes next.
    next: usize,
}

impl HashJoin {
    /// Maps both.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let all = params.mib * MIB;
        let table = (all / 100 * params.table_percent).next_multiple_of(HUGE).min(all);
        let rows = (all - table).next_multiple_of(HUGE).max(HUGE);
        let mut memory = setup.arena(rows + HUGE + table)?;
        // Another advice in between, and the kernel keeps three mappings.
        let between = memory.advise(rows..rows + HUGE, LocalAdvice::NoHugePage);
        between.context("this kernel has no huge pages to refuse")?;
        let word = size_of::<u64>();
        Ok(Self {
            memory,
            rows: rows / word,
            table: (rows + HUGE) / word,
            keys: table / word / ENTRY / 2,
            seed: setup.seed,
            next: 0,
        })
    }

    /// The value of a key; `None` where it has none.
    fn value(table: &[u64], key: u64) -> Option<u64> {
        let entries = table.len() / ENTRY;
        let mut at = place(mix(key), entries);
        loop {
            let entry = &table[at * ENTRY..at * ENTRY + ENTRY];
            if entry[0] == key {
                return Some(entry[1]);
            }
            if entry[0] == 0 {
                return None;
            }
            at = (at + 1) % entries;
        }
    }

    fn insert(table: &mut [u64], key: u64) {
        let entries = table.len() / ENTRY;
        let mut at = place(mix(key), entries);
        while table[at * ENTRY] != 0 {
            at = (at + 1) % entries;
        }
        table[at * ENTRY] = key;
        table[at * ENTRY + 1] = stamp(key);
    }

    /// Looks the partners of some rows up. Returns how many were wrong.
    fn join(&self, rows: Range<usize>) -> u64 {
        let words = self.memory.words();
        let (outer, table) = (&words[rows], &words[self.table..]);
        let wrong = |key: &&u64| Self::value(table, **key) != Some(stamp(**key));
        outer.iter().filter(wrong).count() as u64
    }
}

/// The key with this number: never 0.
fn key(number: usize) -> u64 {
    number as u64 + 1
}

impl Workload for HashJoin {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (rows, keys, mut rng) = (self.rows, self.keys, Rng::new(self.seed));
        let words = self.memory.words_mut();
        let (outer, table) = words.split_at_mut(self.table);
        for number in 0..keys {
            Self::insert(table, key(number));
            if number.is_multiple_of(1 << 18) {
                progress.step(number, keys, "building the hash table");
            }
        }
        for (number, row) in outer[..rows].iter_mut().enumerate() {
            *row = key(place(rng.next(), keys));
            if number.is_multiple_of(1 << 20) {
                progress.step(number, rows, "filling the rows");
            }
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, mut pace) = (Clock::start(time), Pace::start());
        let (mut joined, mut wrong) = (0, 0);
        while clock.runs_with(progress) {
            let end = (self.next + BATCH).min(self.rows);
            wrong += self.join(self.next..end);
            let more = (end - self.next) as u64;
            joined += more;
            pace.add(more);
            self.next = end % self.rows;
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(joined));
        Ok(measured.with_pace("ops_per_s", pace).with_wrong(wrong))
    }

    fn verify(&mut self, progress: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        let table = &self.memory.words()[self.table..];
        for number in 0..self.keys {
            let key = key(number);
            verdict.count(Self::value(table, key) == Some(stamp(key)));
            if number.is_multiple_of(1 << 18) {
                progress.step(number, self.keys, "looking all keys up");
            }
        }
        verdict.add(Verdict { checked: self.rows as u64, wrong: self.join(0..self.rows) });
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let (table, words) = (self.table, self.memory.words_mut());
        let taken = (table..words.len()).step_by(ENTRY).find(|at| words[*at] != 0);
        if let Some(at) = taken {
            words[at + 1] ^= 1;
        }
    }
}
