//! `stress-cpu`, `stress-io`, `stress-vm`: one part of the machine busy for an exact time.

mod io;

use super::fault::Fresh;
use super::kit::{Clock, MIB, Measured, Progress, Setup, Verdict, Workload};
use hugewise_core::experiment::kinds::{StressCpu, StressVm};
use std::hint::black_box;
use std::time::Duration;

pub(super) use io::Io;

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
            (roots, wrong)
        };
        let results = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..cpu.workers).map(|_| scope.spawn(work)).collect();
            clock.wait(progress);
            workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
        });
        let (mut roots, mut wrong) = (0, 0);
        for result in results {
            let one = result.map_err(|_| anyhow::anyhow!("a worker has panicked"))?;
            (roots, wrong) = (roots + one.0, wrong + one.1);
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(roots));
        Ok(measured.with("wall_s", clock.seconds()).with_wrong(wrong))
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
fn rounds(part: &mut Fresh, clock: Clock) -> anyhow::Result<(u64, u64)> {
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
        let mut wrong = self.verify(progress)?.wrong;
        let clock = Clock::start(time);
        let results = std::thread::scope(|scope| {
            let parts = self.parts.iter_mut();
            let workers: Vec<_> =
                parts.map(|part| scope.spawn(move || rounds(part, clock))).collect();
            clock.wait(progress);
            workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
        });
        let mut touches = 0;
        for result in results {
            let one = result.map_err(|_| anyhow::anyhow!("a worker has panicked"))??;
            (touches, wrong) = (touches + one.0, wrong + one.1);
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(touches));
        Ok(measured.with("wall_s", clock.seconds()).with_wrong(wrong))
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
