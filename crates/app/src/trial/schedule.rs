//! The rounds: every variant once in each, in an order that rotates, so that neither drift of the
//! machine nor who came first favours one of them.

use super::child::{Workload, warm};
use super::manager::Manager;
use super::protocol::{Reply, Request, Variant};
use super::session::Session;
use super::{Promotion, Row, Sample, Tail, Timing};
use anyhow::bail;
use hugewise_core::units::Bytes;
use std::time::Duration;

/// Windows of random reads in a run, and the length of each in seconds.
const WINDOWS: usize = 6;
const WINDOW_S: f64 = 0.25;
/// Seconds of reads and of small mappings in turn, while the manager works.
const TURN_ACCESS_S: f64 = 0.4;
const TURN_FAULTS_S: f64 = 0.3;
/// Seconds of small mappings with nobody promoting.
const QUIET_FAULTS_S: f64 = 0.8;
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
            let mut run = Run { session, name, variant };
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
        let verified = workload.ask(self.session, Request::Verify)?;
        let Reply::Verified { words: verified_words } = verified else {
            bail!("the workload answered {verified:?}");
        };
        workload.finish()?;
        let timing = Timing { fill_s, first_touch, access_ns, quiet, verified_words };
        let variant = self.variant;
        Ok(Row { round: 0, variant, memory, timing: Some(timing), promotion })
    }

    /// Lets the manager work, with the workload working meanwhile.
    fn promote(&mut self, workload: &mut Workload, size: Bytes) -> anyhow::Result<Promotion> {
        // The fill took the blocks that were warmed; promoted regions go to other ones.
        self.step("warming free memory")?;
        warm(self.session, size)?;
        self.step("starting the manager")?;
        let mut samples = vec![Sample { at_s: 0.0, huge_percent: workload.memory()?.huge_percent }];
        let mut manager = Manager::start(self.session, workload.pid())?;
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
