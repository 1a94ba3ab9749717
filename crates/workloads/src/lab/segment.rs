//! `shared-segment`: one System V segment in many processes, each with page tables of its own.

use super::kit::{Clock, MIB, Measured, PAGE, Progress, Verdict, Workload, mib, sized};
use anyhow::Context;
use hugewise_experiment::kinds::{SegmentPages, SharedSegment as Params};
use hugewise_linux::fork::{PausingChild, touching_child};
use hugewise_linux::segment::Segment;
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Touches between two looks at the clock.
const BATCH: usize = 1024;

/// A process that shares the segment; ended on drop.
///
/// Forked as a database forks its servers, not started anew: a program that starts maps and touches
/// much of its own text, and those page tables would grow with hugewise.
#[derive(Debug)]
struct Other {
    process: PausingChild,
    done: PipeReader,
}

impl Other {
    fn start(segment: &Segment) -> anyhow::Result<Self> {
        let (done, into) = std::io::pipe().context("cannot make a pipe")?;
        let into = File::from(OwnedFd::from(into));
        let process = touching_child(segment.bytes(), PAGE, &into);
        Ok(Self { process: process.context("cannot start another process")?, done })
    }

    /// Waits until it has touched everything.
    fn wait_until_ready(&self) -> anyhow::Result<()> {
        (&self.done).read_exact(&mut [0]).context("another process ended")
    }
}

/// The segment, and the other processes that attached it.
#[derive(Debug)]
pub(super) struct SharedSegment {
    segment: Segment,
    processes: usize,
    others: Vec<Other>,
    /// Touches of this process after the fill, whole rounds and a part of one.
    touches: usize,
}

impl SharedSegment {
    /// Makes the segment.
    pub(super) fn new(params: &Params) -> anyhow::Result<Self> {
        let (bytes, huge) = (params.mib * MIB, params.pages == SegmentPages::HugeTlb);
        let what = if huge { " (are there enough HugeTLB pages?)" } else { "" };
        let segment = Segment::create(bytes, huge);
        let segment = segment.with_context(|| format!("cannot make a segment{what}"))?;
        Ok(Self { segment, processes: params.processes, others: Vec::new(), touches: 0 })
    }

    fn pages(&self) -> usize {
        self.segment.bytes().len() / PAGE
    }

    /// What the first byte of a page holds: one for each touch of it.
    fn expected(&self, page: usize) -> u8 {
        let rounds = self.touches / self.pages();
        let more = usize::from(page < self.touches % self.pages());
        (self.processes + rounds + more).to_ne_bytes()[0]
    }

    fn page_tables_mib(&self) -> anyhow::Result<f64> {
        let pids = self.others.iter().map(|other| other.process.id()).chain([std::process::id()]);
        let mut bytes = 0;
        for pid in pids {
            bytes += sized(Path::new(&format!("/proc/{pid}/status")), "VmPTE")?;
        }
        Ok(mib(bytes))
    }
}

impl Workload for SharedSegment {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        for byte in self.segment.bytes().iter().step_by(PAGE) {
            byte.fetch_add(1, Ordering::Relaxed);
        }
        for other in 1..self.processes {
            self.others.push(Other::start(&self.segment)?);
            progress.step(other, self.processes, "starting processes");
        }
        for other in &self.others {
            other.wait_until_ready()?;
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, pages) = (Clock::start(time), self.pages());
        let (mut touches, mut wrong) = (0, 0);
        while clock.runs_with(progress) {
            for _ in 0..BATCH {
                let page = self.touches % pages;
                let expected = self.expected(page);
                let held = self.segment.bytes()[page * PAGE].fetch_add(1, Ordering::Relaxed);
                wrong += u64::from(held != expected);
                self.touches += 1;
            }
            touches += BATCH as u64;
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(touches));
        Ok(measured.with("page_tables_mib", self.page_tables_mib()?).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for page in 0..self.pages() {
            let held = self.segment.bytes()[page * PAGE].load(Ordering::Relaxed);
            verdict.count(held == self.expected(page));
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let middle = self.pages() / 2 * PAGE;
        self.segment.bytes()[middle].fetch_xor(1, Ordering::Relaxed);
    }
}
