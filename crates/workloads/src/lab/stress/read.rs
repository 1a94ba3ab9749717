//! `stress-read`: a file in the page cache, read in small pieces: calls, and nothing else.

use super::part::{Work, together};
use crate::lab::kit::{Clock, Measured, Progress, Setup, Verdict, Workload, stamp};
use anyhow::Context;
use hugewise_experiment::kinds::StressRead;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of a word.
const WORD: usize = 8;

/// The file that all workers read.
#[derive(Debug)]
pub(crate) struct Read {
    path: PathBuf,
    workers: usize,
    words: usize,
    /// Words of a piece.
    piece: usize,
}

impl Read {
    /// Writes nothing yet.
    pub(crate) fn new(params: &StressRead, setup: &Setup) -> anyhow::Result<Self> {
        let path = setup.scratch()?.join(format!("stress-read-{}", std::process::id()));
        let piece = (params.read_bytes / WORD).max(1);
        let words = ((params.file_kib << 10) / WORD).max(piece);
        Ok(Self { path, workers: params.workers, words, piece })
    }

    fn open(&self) -> anyhow::Result<File> {
        File::open(&self.path).with_context(|| format!("cannot open {:?}", self.path))
    }

    /// Reads piece after piece and compares the first word of each.
    fn run(&self, clock: Clock) -> anyhow::Result<Work> {
        let (file, mut buffer) = (self.open()?, vec![0; self.piece * WORD]);
        let (mut reads, mut wrong, mut at) = (0, 0, 0);
        while clock.runs() {
            for _ in 0..64 {
                at = if at + 2 * self.piece > self.words { 0 } else { at + self.piece };
                let read = file.read_exact_at(&mut buffer, (at * WORD) as u64);
                read.with_context(|| format!("cannot read {:?}", self.path))?;
                reads += 1;
                wrong += u64::from(buffer[..WORD] != stamp(at as u64).to_ne_bytes());
            }
        }
        Ok((reads, wrong))
    }
}

impl Workload for Read {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        let bytes: Vec<u8> =
            (0..self.words).flat_map(|at| stamp(at as u64).to_ne_bytes()).collect();
        fs::write(&self.path, bytes).with_context(|| format!("cannot write {:?}", self.path))?;
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, this) = (Clock::start(time), &*self);
        together((0..self.workers).map(|_| move || this.run(clock)), clock, progress)
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let bytes = fs::read(&self.path).with_context(|| format!("cannot read {:?}", self.path))?;
        let mut verdict = Verdict::default();
        for (at, word) in bytes.chunks_exact(WORD).enumerate() {
            verdict.count(word == stamp(at as u64).to_ne_bytes());
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        // What cannot be written is not damaged, which a test would notice.
        let mut bytes = fs::read(&self.path).unwrap_or_default();
        if let Some(byte) = bytes.get_mut(0) {
            *byte ^= 1;
        }
        let _ = fs::write(&self.path, bytes);
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
