//! What stressors share: workers, each with a part of its own, and the time in which they run.

use crate::lab::kit::{Clock, Measured, Progress, Verdict, Workload};
use anyhow::anyhow;
use std::fmt::Debug;
use std::time::Duration;

/// What a worker came to: how often it did its work, and what was wrong.
pub(super) type Work = (u64, u64);

/// Runs the workers, each on a thread of its own, until the time is over; their work together.
pub(super) fn together<W>(
    workers: impl Iterator<Item = W>,
    clock: Clock,
    progress: &mut Progress,
) -> anyhow::Result<Measured>
where
    W: FnOnce() -> anyhow::Result<Work> + Send,
{
    let results = std::thread::scope(|scope| {
        let workers: Vec<_> = workers.map(|worker| scope.spawn(worker)).collect();
        clock.wait(progress);
        workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
    });
    let (mut done, mut wrong) = (0, 0);
    for result in results {
        let one = result.map_err(|_| anyhow!("a worker has panicked"))??;
        (done, wrong) = (done + one.0, wrong + one.1);
    }
    let measured = Measured::default().with("ops_per_s", clock.rate(done));
    Ok(measured.with("wall_s", clock.seconds()).with_wrong(wrong))
}

/// What one worker works on.
pub(super) trait Part: Debug + Send {
    /// Writes it for the first time.
    fn fill(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Works until the time is over.
    fn run(&mut self, clock: Clock) -> anyhow::Result<Work>;

    /// Compares it with what was written.
    fn verify(&self) -> Verdict;

    /// Damages it, for tests.
    fn corrupt(&mut self);
}

/// A stressor: its workers, each with a part of its own.
#[derive(Debug)]
struct Stressor<P>(Vec<P>);

impl<P: Part> Workload for Stressor<P> {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let all = self.0.len();
        for (done, part) in self.0.iter_mut().enumerate() {
            part.fill()?;
            progress.step(done, all, "filling");
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let clock = Clock::start(time);
        together(self.0.iter_mut().map(|part| move || part.run(clock)), clock, progress)
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        self.0.iter().for_each(|part| verdict.add(part.verify()));
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        self.0.iter_mut().for_each(Part::corrupt);
    }
}

/// Workers, each of which has what `part` makes for its number.
pub(super) fn stressor<P: Part + 'static>(
    workers: usize,
    part: impl FnMut(usize) -> anyhow::Result<P>,
) -> anyhow::Result<Box<dyn Workload>> {
    Ok(Box::new(Stressor((0..workers).map(part).collect::<anyhow::Result<Vec<P>>>()?)))
}
