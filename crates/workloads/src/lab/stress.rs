//! Stressors: each keeps one part of the machine busy for an exact time.

mod fork;
mod io;
mod net;
mod read;
mod switch;

use super::fault::Fresh;
use super::kit::{Clock, MIB, Measured, Progress, Setup, Verdict, Workload};
use anyhow::{anyhow, bail};
use hugewise_experiment::kinds::BuiltIn;
use std::fmt::Debug;
use std::hint::black_box;
use std::time::Duration;

/// What a worker came to: how often it did its work, and what was wrong.
type Work = (u64, u64);

/// Runs the workers, each on a thread of its own, until the time is over; their work together.
fn together<W>(
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
trait Part: Debug + Send {
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
fn stressor<P: Part + 'static>(
    workers: usize,
    part: impl FnMut(usize) -> anyhow::Result<P>,
) -> anyhow::Result<Box<dyn Workload>> {
    Ok(Box::new(Stressor((0..workers).map(part).collect::<anyhow::Result<Vec<P>>>()?)))
}

/// The workload of a kind that keeps a part of the machine busy.
pub(super) fn make(task: &BuiltIn, setup: &Setup) -> anyhow::Result<Box<dyn Workload>> {
    match task {
        BuiltIn::StressCpu(params) => {
            stressor(params.workers, |_| Ok(Squares((0..ROOTS).map(square).collect())))
        }
        BuiltIn::StressVm(params) => {
            let (bytes, step) = (params.mib * MIB, params.stride_kib << 10);
            stressor(params.workers, |_| Ok(Fresh::new(setup, bytes, step.min(bytes), false)))
        }
        BuiltIn::StressNet(params) => {
            stressor(params.workers, |_| net::Pair::new(params.datagram_bytes))
        }
        BuiltIn::StressFork(params) => {
            stressor(params.workers, |number| fork::Memory::new(setup, params.pages, number))
        }
        BuiltIn::StressSwitch(params) => stressor(params.workers, |_| Ok(switch::Words::new())),
        BuiltIn::StressIo(params) => Ok(Box::new(io::Io::new(params, setup)?)),
        BuiltIn::StressRead(params) => Ok(Box::new(read::Read::new(params, setup)?)),
        _ => bail!("this kind is no stressor"),
    }
}

/// Square roots between two looks at the clock; their squares are exact.
const ROOTS: u32 = 4096;

/// Square roots of known squares.
#[derive(Debug)]
struct Squares(Vec<f64>);

fn square(root: u32) -> f64 {
    f64::from(root) * f64::from(root)
}

impl Part for Squares {
    fn run(&mut self, clock: Clock) -> anyhow::Result<Work> {
        let (mut roots, mut wrong) = (0, 0);
        while clock.runs() {
            wrong += self.verify().wrong;
            roots += u64::from(ROOTS);
        }
        Ok((roots, wrong))
    }

    fn verify(&self) -> Verdict {
        let roots = self.0.iter().zip(0..ROOTS);
        let wrong = roots.filter(|(square, root)| black_box(**square).sqrt() != f64::from(*root));
        Verdict { checked: u64::from(ROOTS), wrong: wrong.count() as u64 }
    }

    fn corrupt(&mut self) {
        self.0[7] += 1.0;
    }
}

/// Memory that is mapped anew for each round.
impl Part for Fresh {
    fn fill(&mut self) -> anyhow::Result<()> {
        self.round(None, |_| {}).map(drop)
    }

    fn run(&mut self, clock: Clock) -> anyhow::Result<Work> {
        let (mut touches, mut wrong) = (0, Self::verify(self).wrong);
        while clock.runs() {
            self.round(Some(clock), |_| {})?;
            touches += self.touched() as u64;
            wrong += Self::verify(self).wrong;
        }
        Ok((touches, wrong))
    }

    fn verify(&self) -> Verdict {
        Self::verify(self)
    }

    fn corrupt(&mut self) {
        Self::corrupt(self);
    }
}
