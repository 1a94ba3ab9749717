//! `stress-switch`: pairs of threads, each of which waits for the other.

use super::part::{Part, Work};
use crate::lab::kit::{Clock, Verdict, stamp};
use anyhow::Context;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

/// Words that are passed; after the last comes the first.
const WORDS: usize = 64;

/// One thread's ends of two pipes.
#[derive(Debug)]
struct End {
    from: PipeReader,
    to: PipeWriter,
}

/// Two ends that belong together.
fn ends() -> std::io::Result<[End; 2]> {
    let ((from_a, to_b), (from_b, to_a)) = (pipe()?, pipe()?);
    Ok([End { from: from_a, to: to_a }, End { from: from_b, to: to_b }])
}

impl End {
    /// Passes words to the other thread until the time is over, and waits for each to come back.
    fn lead(mut self, words: &[u64], clock: Clock) -> anyhow::Result<Work> {
        let (mut passes, mut wrong) = (0, 0);
        for (number, word) in words.iter().enumerate().cycle() {
            self.to.write_all(&word.to_ne_bytes()).context("cannot write to a pipe")?;
            let mut back = [0; 8];
            self.from.read_exact(&mut back).context("cannot read from a pipe")?;
            passes += 1;
            wrong += u64::from(u64::from_ne_bytes(back) != stamp(number as u64));
            if !clock.runs() {
                break;
            }
        }
        Ok((passes, wrong))
    }

    /// Gives each word back, until the other thread has ended.
    fn follow(mut self) {
        let mut word = [0; 8];
        while self.from.read_exact(&mut word).is_ok() {
            // It may have ended meanwhile.
            if self.to.write_all(&word).is_err() {
                break;
            }
        }
    }
}

/// What a pair passes.
#[derive(Debug)]
pub(super) struct Words(Vec<u64>);

impl Words {
    /// No thread runs yet.
    pub(super) fn new() -> Self {
        Self((0..WORDS).map(|number| stamp(number as u64)).collect())
    }
}

impl Part for Words {
    fn run(&mut self, clock: Clock) -> anyhow::Result<Work> {
        let [a, b] = ends().context("cannot make pipes")?;
        std::thread::scope(|scope| {
            scope.spawn(|| b.follow());
            a.lead(&self.0, clock)
        })
    }

    fn verify(&self) -> Verdict {
        let mut verdict = Verdict::default();
        let words = self.0.iter().enumerate();
        words.for_each(|(number, word)| verdict.count(*word == stamp(number as u64)));
        verdict
    }

    fn corrupt(&mut self) {
        self.0[7] ^= 4;
    }
}
