//! Stressors: each keeps one part of the machine busy for an exact time.

mod fork;
mod io;
mod net;
mod read;
mod switch;

use super::fault::Fresh;
use super::kit::{Clock, MIB, Measured, Progress, Setup, Verdict, Workload};
use anyhow::anyhow;
use hugewise_experiment::kinds::{StressCpu, StressVm};
use std::hint::black_box;
use std::time::Duration;

pub(super) use fork::Fork;
pub(super) use io::Io;
pub(super) use net::Net;
pub(super) use read::Read;
pub(super) use switch::Switch;

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

/// Square roots between two looks at the clock; their squares are exact.
const ROOTS: u32 = 4096;

/// Square roots of known squares.
#[derive(Debug)]
pub(super) struct Cpu {
    workers: usize,
    squares: Vec<f64>,
}

impl Cpu {
    /// Nothing is computed yet.
    pub(super) fn new(params: &StressCpu) -> Self {
        Self { workers: params.workers, squares: Vec::new() }
    }

    fn wrong(&self) -> u64 {
        let roots = self.squares.iter().zip(0..ROOTS);
        let wrong = roots.filter(|(square, root)| black_box(**square).sqrt() != f64::from(*root));
        wrong.count() as u64
    }
}

impl Workload for Cpu {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        self.squares = (0..ROOTS).map(|root| f64::from(root) * f64::from(root)).collect();
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, cpu) = (Clock::start(time), &*self);
        let work = || {
            let (mut roots, mut wrong) = (0, 0);
            while clock.runs() {
                wrong += cpu.wrong();
                roots += u64::from(ROOTS);
            }
            Ok((roots, wrong))
        };
        together((0..cpu.workers).map(|_| work), clock, progress)
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        Ok(Verdict { checked: self.squares.len() as u64, wrong: self.wrong() })
    }

    fn corrupt(&mut self) {
        self.squares[7] += 1.0;
    }
}

/// Memory of each worker, mapped anew for each round.
#[derive(Debug)]
pub(super) struct Vm {
    parts: Vec<Fresh>,
}

impl Vm {
    /// Maps nothing yet.
    pub(super) fn new(params: &StressVm, setup: &Setup) -> Self {
        let (bytes, step) = (params.mib * MIB, params.stride_kib << 10);
        let part = |_| Fresh::new(setup, bytes, step.min(bytes), false);
        Self { parts: (0..params.workers).map(part).collect() }
    }
}

/// Rounds of one worker: how often it touched memory, and what was wrong.
fn rounds(part: &mut Fresh, clock: Clock) -> anyhow::Result<Work> {
    let (mut touches, mut wrong) = (0, 0);
    while clock.runs() {
        part.round(Some(clock), |_| {})?;
        touches += part.touched() as u64;
        wrong += part.verify().wrong;
    }
    Ok((touches, wrong))
}

impl Workload for Vm {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let all = self.parts.len();
        for (done, part) in self.parts.iter_mut().enumerate() {
            part.round(None, |_| {})?;
            progress.step(done, all, "touching memory");
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let wrong = self.verify(progress)?.wrong;
        let clock = Clock::start(time);
        let workers = self.parts.iter_mut().map(|part| move || rounds(part, clock));
        Ok(together(workers, clock, progress)?.with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        self.parts.iter().for_each(|part| verdict.add(part.verify()));
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        self.parts.iter_mut().for_each(Fresh::corrupt);
    }
}
