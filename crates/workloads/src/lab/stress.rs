//! Stressors: each keeps one part of the machine busy for an exact time.

mod fork;
mod io;
mod net;
mod part;
mod read;
mod switch;

use super::fault::Fresh;
use super::kit::{Clock, MIB, Setup, Verdict, Workload};
use anyhow::bail;
use hugewise_experiment::kinds::BuiltIn;
use part::{Part, Work, stressor};
use std::hint::black_box;

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
