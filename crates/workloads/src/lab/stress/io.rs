//! `stress-io`: files, and `sync(2)` after each time they were written.
//!
//! A `sync` waits for everything that anybody has written, and cannot be stopped. So the workers
//! are not waited for when the time is over: what they finish later does not count.

use crate::lab::kit::{Clock, Measured, Progress, Setup, Verdict, Workload, stamp};
use anyhow::Context;
use hugewise_experiment::kinds::StressIo;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a worker and the main thread know of a file.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    words: usize,
    /// How often it was written.
    generation: AtomicU64,
}

impl Target {
    fn content(&self, generation: u64) -> Vec<u8> {
        let word = |at: usize| stamp(generation << 32 | at as u64).to_ne_bytes();
        (0..self.words).flat_map(word).collect()
    }

    fn write(&self) -> anyhow::Result<()> {
        let generation = self.generation.load(Ordering::Acquire) + 1;
        let written = fs::write(&self.path, self.content(generation));
        written.with_context(|| format!("cannot write {:?}", self.path))?;
        self.generation.store(generation, Ordering::Release);
        Ok(())
    }

    fn is_right(&self) -> anyhow::Result<bool> {
        let bytes = fs::read(&self.path);
        let bytes = bytes.with_context(|| format!("cannot read {:?}", self.path))?;
        Ok(bytes == self.content(self.generation.load(Ordering::Acquire)))
    }
}

/// What the workers of one measuring have done.
#[derive(Debug, Default)]
struct Work {
    stop: AtomicBool,
    syncs: AtomicU64,
    wrong: AtomicU64,
}

impl Work {
    fn run(&self, target: &Target) -> anyhow::Result<()> {
        while !self.stop.load(Ordering::Acquire) {
            target.write()?;
            rustix::fs::sync();
            if !target.is_right()? {
                self.wrong.fetch_add(1, Ordering::AcqRel);
            }
            self.syncs.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

/// The workers, each with a file.
#[derive(Debug)]
pub(crate) struct Io {
    targets: Vec<Arc<Target>>,
    /// Those of a measuring that is over may still wait for their last sync.
    workers: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Io {
    /// Writes nothing yet.
    pub(crate) fn new(params: &StressIo, setup: &Setup) -> anyhow::Result<Self> {
        let (folder, words) = (setup.scratch()?, (params.file_kib << 10) / 8);
        let target = |number| {
            let name = format!("stress-io-{}-{number}", std::process::id());
            Arc::new(Target { path: folder.join(name), words, generation: AtomicU64::new(0) })
        };
        let targets = (0..params.workers).map(target).collect();
        Ok(Self { targets, workers: Vec::new() })
    }

    /// Waits for the workers of the last measuring.
    fn finish(&mut self) -> anyhow::Result<()> {
        for worker in self.workers.drain(..) {
            worker.join().map_err(|_| anyhow::anyhow!("a worker has panicked"))??;
        }
        Ok(())
    }
}

impl Workload for Io {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        self.targets.iter().try_for_each(|target| target.write())?;
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        self.finish()?;
        let (work, clock) = (Arc::new(Work::default()), Clock::start(time));
        for target in &self.targets {
            let (work, target) = (Arc::clone(&work), Arc::clone(target));
            self.workers.push(std::thread::spawn(move || work.run(&target)));
        }
        clock.wait(progress);
        work.stop.store(true, Ordering::Release);
        let wrong = work.wrong.load(Ordering::Acquire);
        let rate = clock.rate(work.syncs.load(Ordering::Acquire));
        let measured = Measured::default().with("ops_per_s", rate);
        Ok(measured.with("wall_s", clock.seconds()).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        self.finish()?;
        let mut verdict = Verdict::default();
        for target in &self.targets {
            verdict.count(target.is_right()?);
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        // What cannot be written is not damaged, which a test would notice.
        let _ = self.finish();
        if let Some(target) = self.targets.first() {
            let mut bytes = fs::read(&target.path).unwrap_or_default();
            if let Some(byte) = bytes.get_mut(100) {
                *byte ^= 1;
            }
            let _ = fs::write(&target.path, bytes);
        }
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        let _ = self.finish();
        for target in &self.targets {
            let _ = fs::remove_file(&target.path);
        }
    }
}
