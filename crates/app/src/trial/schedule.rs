//! The rounds: every variant once in each, in an order that rotates, so that neither drift of the
//! machine nor who came first favours one of them.

use super::child::Workload;
use super::manager::{Manager, Task};
use super::protocol::{Reply, Request, Variant};
use super::{Freeing, Promotion, Row, Sample, Tail, Timing};
use crate::child::warm;
use crate::session::Session;
use anyhow::bail;
use hugewise_core::units::Bytes;
use std::time::{Duration, Instant};

/// Windows of random reads in a run, and the length of each in seconds.
const WINDOWS: usize = 6;
const WINDOW_S: f64 = 0.25;
/// Seconds of reads and of small mappings in turn, while the manager works.
const TURN_ACCESS_S: f64 = 0.4;
const TURN_FAULTS_S: f64 = 0.3;
/// Seconds of small mappings with nobody promoting.
const QUIET_FAULTS_S: f64 = 0.8;
/// Share of its memory that the workload frees at the end, percent.
pub(crate) const FREED_PERCENT: u8 = 70;
/// Time in which a manager that was just started sees all of the workload's memory.
const SEEN: Duration = Duration::from_secs(2);
/// Memory counts as settled when it stood still for so long after it moved ...
const STILL: Duration = Duration::from_secs(2);
/// ... within this, and is not waited for any longer than ...
const STILL_WITHIN: Bytes = Bytes::mib(1);
/// ... so.
const SETTLE: Duration = Duration::from_secs(20);
/// Where nobody gives anything back, one look a moment later shows that.
const UNMANAGED: Duration = Duration::from_secs(1);
/// What a run may take beyond the workload itself, in percent: promoted regions move.
const WARM_PERCENT: f64 = 150.0;

/// The order of a round (from 0).
pub(crate) fn order(round: u32) -> [Variant; 3] {
    let mut order = Variant::ALL;
    order.rotate_left(usize::try_from(round % 3).unwrap_or(0));
    order
}

/// Runs all rounds.
pub(crate) fn run(session: &mut Session, size: Bytes, rounds: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for round in 0..rounds {
        for variant in order(round) {
            let name = format!("round {} of {rounds}, {}", round + 1, variant.name());
            let mut run = Run { session, name, variant, last: round + 1 == rounds };
            let mut row = run.run(size)?;
            row.round = round + 1;
            rows.push(row);
        }
    }
    Ok(rows)
}

/// One run of the workload.
struct Run<'a> {
    session: &'a mut Session,
    name: String,
    variant: Variant,
    /// In the last round memory is freed, too: once, for that shows no noise but takes its time.
    last: bool,
}

impl Run<'_> {
    fn step(&mut self, what: &str) -> anyhow::Result<()> {
        self.session.step(format!("{}: {what}", self.name))
    }

    fn run(&mut self, size: Bytes) -> anyhow::Result<Row> {
        self.step("warming free memory")?;
        warm(self.session, size.percent(WARM_PERCENT))?;
        self.step("filling")?;
        let mut workload = Workload::start(self.session, self.variant, size)?;
        let filled = workload.ask(self.session, Request::Fill)?;
        let Reply::Filled { seconds: fill_s, first_touch } = filled else {
            bail!("the workload answered {filled:?}");
        };
        let promotion = match self.variant {
            Variant::Hugewise => Some(self.promote(&mut workload, size)?),
            Variant::Never | Variant::Always => None,
        };
        self.step("measuring")?;
        self.session.sleep(Duration::from_millis(200))?;
        let (mut quiet, mut access_ns) = (Tail::default(), Vec::new());
        for _ in 0..WINDOWS {
            access_ns.push(workload.access(self.session, WINDOW_S, &mut quiet)?);
        }
        workload.faults(self.session, QUIET_FAULTS_S, &mut quiet)?;
        let memory = workload.memory()?;
        self.step("comparing every word")?;
        let verified_words = self.verify(&mut workload)?;
        let freeing = if self.last { Some(self.free(&mut workload)?) } else { None };
        workload.finish()?;
        let timing = Timing { fill_s, first_touch, access_ns, quiet, verified_words };
        let variant = self.variant;
        Ok(Row { round: 0, variant, memory, timing: Some(timing), promotion, freeing })
    }

    fn verify(&mut self, workload: &mut Workload) -> anyhow::Result<u64> {
        match workload.ask(self.session, Request::Verify)? {
            Reply::Verified { words } => Ok(words),
            other => bail!("the workload answered {other:?}"),
        }
    }

    /// Lets the workload free most of its memory, and a manager give back what is still held.
    fn free(&mut self, workload: &mut Workload) -> anyhow::Result<Freeing> {
        let managed = self.variant == Variant::Hugewise;
        let manager = managed.then(|| Manager::start(self.session, workload.pid(), Task::GiveBack));
        let mut manager = manager.transpose()?;
        if managed {
            self.step("starting the manager")?;
            self.session.sleep(SEEN)?;
        }
        self.step(&format!("freeing {FREED_PERCENT} %"))?;
        let before = workload.memory()?;
        let freed = workload.ask(self.session, Request::Free(FREED_PERCENT))?;
        let Reply::Freed { .. } = freed else { bail!("the workload answered {freed:?}") };
        let after = workload.memory()?;
        let begin = Instant::now();
        let settled = match &mut manager {
            Some(manager) => self.settle(workload, manager, after.physical())?,
            None => self.session.sleep(UNMANAGED).map(|()| true)?,
        };
        let (later, seconds) = (workload.memory()?, begin.elapsed().as_secs_f64());
        let given_back = match &mut manager {
            Some(manager) => {
                manager.stop(self.session)?;
                Some(manager.given_back(seconds, settled)?)
            }
            None => None,
        };
        self.step("comparing every word that was kept")?;
        let verified_words = Some(self.verify(workload)?);
        Ok(Freeing { percent: FREED_PERCENT, before, after, later, given_back, verified_words })
    }

    /// Waits until memory has moved and stands still again; whether that came in time.
    fn settle(
        &mut self,
        workload: &Workload,
        manager: &mut Manager,
        after: Bytes,
    ) -> anyhow::Result<bool> {
        let begin = Instant::now();
        let (mut last, mut moved) = (after, None);
        while begin.elapsed() < SETTLE {
            if manager.ended()? {
                bail!("'hugewise manage' ended before it was told to");
            }
            self.session.sleep(Duration::from_millis(250))?;
            let now = workload.memory()?.physical();
            if now.0.abs_diff(last.0) > STILL_WITHIN.0 {
                (last, moved) = (now, Some(Instant::now()));
            }
            if moved.is_some_and(|moved| moved.elapsed() >= STILL) {
                return Ok(true);
            }
            self.step(&format!("giving back, {now} are in use"))?;
        }
        Ok(false)
    }

    /// Lets the manager work, with the workload working meanwhile.
    fn promote(&mut self, workload: &mut Workload, size: Bytes) -> anyhow::Result<Promotion> {
        // The fill took the blocks that were warmed; promoted regions go to other ones.
        self.step("warming free memory")?;
        warm(self.session, size)?;
        self.step("starting the manager")?;
        let mut samples = vec![Sample { at_s: 0.0, huge_percent: workload.memory()?.huge_percent }];
        let mut manager = Manager::start(self.session, workload.pid(), Task::Promote)?;
        let mut tail = Tail::default();
        loop {
            let ended = manager.ended()?;
            let huge_percent = workload.memory()?.huge_percent;
            let dense = huge_percent.dense;
            samples.push(Sample { at_s: manager.age_s(), huge_percent });
            if ended {
                return manager.report(samples, tail);
            }
            self.step(&format!("promoting, {dense:.0} % of the dense part is huge"))?;
            workload.access(self.session, TURN_ACCESS_S, &mut tail)?;
            workload.faults(self.session, TURN_FAULTS_S, &mut tail)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_comes_first_equally_often() {
        for variant in Variant::ALL {
            let first = (0..3).filter(|round| order(*round)[0] == variant).count();
            assert_eq!(first, 1, "{variant:?}");
            assert!((0..9).all(|round| order(round).contains(&variant)));
        }
    }
}
