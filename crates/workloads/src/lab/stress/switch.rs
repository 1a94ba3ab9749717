//! `stress-switch`: pairs of threads, each of which waits for the other.

use super::{Work, together};
use crate::lab::kit::{Clock, Measured, Progress, Verdict, Workload, stamp};
use anyhow::Context;
use hugewise_experiment::kinds::StressSwitch;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::time::Duration;

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
    fn follow(mut self) -> anyhow::Result<Work> {
        let mut word = [0; 8];
        while self.from.read_exact(&mut word).is_ok() {
            // It may have ended meanwhile.
            if self.to.write_all(&word).is_err() {
                break;
            }
        }
        Ok((0, 0))
    }
}

/// What a thread does.
type Worker<'a> = Box<dyn FnOnce() -> anyhow::Result<Work> + Send + 'a>;

/// The pairs, and what they pass.
#[derive(Debug)]
pub(crate) struct Switch {
    workers: usize,
    words: Vec<u64>,
}

impl Switch {
    /// No thread runs yet.
    pub(crate) fn new(params: &StressSwitch) -> Self {
        Self { workers: params.workers, words: Vec::new() }
    }

    fn wrong(&self) -> u64 {
        let right = |(number, word): (usize, &u64)| *word == stamp(number as u64);
        self.words.iter().enumerate().filter(|word| !right(*word)).count() as u64
    }
}

impl Workload for Switch {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        self.words = (0..WORDS).map(|number| stamp(number as u64)).collect();
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let pairs = (0..self.workers).map(|_| ends()).collect::<std::io::Result<Vec<_>>>();
        let (clock, words) = (Clock::start(time), self.words.as_slice());
        let workers = pairs.context("cannot make pipes")?.into_iter().flat_map(|[a, b]| {
            let lead: Worker<'_> = Box::new(move || a.lead(words, clock));
            [lead, Box::new(|| b.follow())]
        });
        together(workers, clock, progress)
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        Ok(Verdict { checked: self.words.len() as u64, wrong: self.wrong() })
    }

    fn corrupt(&mut self) {
        self.words[7] ^= 4;
    }
}
