//! `hash-join`: a hash table that is built once and probed at random.
//!
//! Which rows there are follows from their numbers, so that each probe knows its answer before.

use super::kit::{Clock, MIB, Measured, Progress, Setup, Verdict, Workload, mix, place, stamp};
use hugewise_core::lab::kind::Params;
use hugewise_core::sim::rng::Rng;
use hugewise_linux::memory::Arena;
use std::time::Duration;

/// Words of a row: key and payload. A key of 0 is a free place.
const ROW: usize = 2;
/// Probes between two looks at the clock.
const BATCH: u64 = 1024;

/// See the module's text.
#[derive(Debug)]
pub(super) struct HashJoin {
    table: Arena,
    rows: usize,
    match_percent: u64,
    rng: Rng,
}

impl HashJoin {
    /// Maps the table, which will be half full.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let table = setup.arena(params.size("mib") * MIB)?;
        let rows = table.words().len() / ROW / 2;
        let match_percent = params.count("match_percent");
        Ok(Self { table, rows, match_percent, rng: Rng::new(setup.seed) })
    }
}

/// The key of a row; those from the number of rows on are in no table.
fn key(row: usize) -> u64 {
    // Only 0 is mixed to 0.
    mix(row as u64 + 1)
}

/// First word of the place of `key`, or of the free place where it would go. `None` when there is
/// neither, which only damage can cause.
fn find(table: &[u64], key: u64) -> Option<usize> {
    let places = table.len() / ROW;
    let first = place(mix(key), places);
    let around = (first..places).chain(0..first).map(|place| place * ROW);
    around.into_iter().find(|at| table[*at] == key || table[*at] == 0)
}

/// Whether this row is in the table, with its payload.
fn has(table: &[u64], row: usize) -> bool {
    let key = key(row);
    find(table, key).is_some_and(|at| table[at] == key && table[at + 1] == stamp(key))
}

impl Workload for HashJoin {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (rows, table) = (self.rows, self.table.words_mut());
        let mut lost = 0;
        for row in 0..rows {
            let key = key(row);
            match find(table, key) {
                Some(at) => table[at..at + ROW].copy_from_slice(&[key, stamp(key)]),
                None => lost += 1,
            }
            if row.is_multiple_of(1 << 16) {
                progress.step(row, rows, "building the table");
            }
        }
        Ok(Measured::default().with_wrong(lost))
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, table) = (Clock::start(time), self.table.words());
        let (mut probes, mut wrong) = (0, 0);
        while clock.runs_with(progress) {
            for _ in 0..BATCH {
                let row = place(self.rng.next(), self.rows);
                let right = if self.rng.percent(self.match_percent) {
                    has(table, row)
                } else {
                    let key = key(self.rows + row);
                    find(table, key).is_some_and(|at| table[at] == 0)
                };
                wrong += u64::from(!right);
            }
            probes += BATCH;
        }
        let rate = clock.rate(probes);
        Ok(Measured::default().with("ops_per_s", rate).with_wrong(wrong))
    }

    fn verify(&mut self, progress: &mut Progress) -> anyhow::Result<Verdict> {
        let (mut verdict, table) = (Verdict::default(), self.table.words());
        for row in 0..self.rows {
            verdict.count(has(table, row));
            if row.is_multiple_of(1 << 16) {
                progress.step(row, self.rows, "probing all rows");
            }
        }
        // Nothing else may be in it.
        let used = table.chunks_exact(ROW).filter(|row| row[0] != 0).count();
        verdict.count(used == self.rows);
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let at = find(self.table.words(), key(self.rows / 2)).unwrap_or(0);
        self.table.words_mut()[at + 1] ^= 1 << 7;
    }
}
