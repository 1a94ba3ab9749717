//! Counts by second and by step.

use crate::load::profile::Profile;
use hugewise_base::stats::Histogram;
use hugewise_base::units::{Ns, saturating_u64};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One second of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Second {
    /// Requests whose intended start lies in it.
    pub offered: u64,
    /// Answers that came in it.
    pub achieved: u64,
    /// Failures that came in it.
    pub failed: u64,
    /// Median latency of requests that should have started in it; `None` when none was answered.
    pub p50: Option<Ns>,
    /// 99 % of them took at most that long.
    pub p99: Option<Ns>,
    /// The longest of them.
    pub max: Option<Ns>,
}

/// One step of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Begin.
    pub begin: Ns,
    /// Duration; zero for a peak.
    pub time: Ns,
    /// Arrivals per second, where the rate stayed the same.
    pub constant_per_s: Option<f64>,
    /// Requests whose intended start lies in it.
    pub offered: u64,
    /// Answers that came in it.
    pub achieved: u64,
    /// Nanoseconds from intended starts in it to the answers.
    pub latency: Histogram,
}

/// Seconds since the begin, as an index.
pub(super) fn second_of(at: Ns) -> usize {
    usize::try_from(saturating_u64(at.as_s())).unwrap_or(usize::MAX)
}

/// A line a second. Only seconds whose requests may still be answered have a histogram.
#[derive(Debug, Default)]
pub(super) struct Seconds {
    closed: Vec<Second>,
    open: VecDeque<(Second, Histogram)>,
    /// How many seconds stay open.
    window: usize,
}

impl Seconds {
    /// Requests are answered, or fail, within `timeout` of their intended start.
    pub(super) fn new(timeout: Ns) -> Self {
        Self { closed: Vec::new(), open: VecDeque::new(), window: second_of(timeout) + 3 }
    }

    /// The second of `at`; the oldest open one when it is closed already.
    fn at(&mut self, at: Ns) -> &mut (Second, Histogram) {
        let index = second_of(at).saturating_sub(self.closed.len());
        while self.open.len() <= index {
            self.open.push_back((Second::default(), Histogram::default()));
        }
        &mut self.open[index]
    }

    fn close(&mut self, now: Ns) {
        while self.closed.len() + self.window < second_of(now) {
            let Some(open) = self.open.pop_front() else { return };
            self.closed.push(summed(open));
        }
    }

    pub(super) fn offered(&mut self, intended: Ns, now: Ns) {
        self.close(now);
        self.at(intended).0.offered += 1;
    }

    pub(super) fn completed(&mut self, intended: Ns, now: Ns, latency: Ns) {
        self.at(intended).1.record(latency.0);
        self.at(now).0.achieved += 1;
    }

    /// How many seconds have a histogram.
    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    pub(super) fn failed(&mut self, now: Ns) {
        self.at(now).0.failed += 1;
    }

    pub(super) fn finish(mut self) -> Vec<Second> {
        self.closed.extend(self.open.into_iter().map(summed));
        self.closed
    }
}

fn summed((second, latency): (Second, Histogram)) -> Second {
    Second {
        p50: latency.quantile(0.5).map(Ns),
        p99: latency.quantile(0.99).map(Ns),
        max: latency.max().map(Ns),
        ..second
    }
}

/// A line a step.
#[derive(Debug, Default)]
pub(super) struct Phases(Vec<PhaseResult>);

impl Phases {
    pub(super) fn new(profile: &Profile) -> Self {
        let line = |phase: &crate::load::profile::Phase| PhaseResult {
            begin: phase.begin,
            time: phase.time,
            constant_per_s: phase.constant_per_s(),
            offered: 0,
            achieved: 0,
            latency: Histogram::default(),
        };
        Self(profile.phases().iter().map(line).collect())
    }

    /// The last step that had begun: at the moment of a peak, what follows the peak.
    fn at(&mut self, at: Ns) -> Option<&mut PhaseResult> {
        let begun = self.0.partition_point(|phase| phase.begin <= at);
        self.0.get_mut(begun.checked_sub(1)?)
    }

    pub(super) fn offered(&mut self, intended: Ns) {
        if let Some(phase) = self.at(intended) {
            phase.offered += 1;
        }
    }

    pub(super) fn completed(&mut self, intended: Ns, now: Ns, latency: Ns) {
        if let Some(phase) = self.at(intended) {
            phase.latency.record(latency.0);
        }
        if let Some(phase) = self.at(now).filter(|phase| now <= phase.begin + phase.time) {
            phase.achieved += 1;
        }
    }

    /// Answers within the time of all steps.
    pub(super) fn achieved(&self) -> u64 {
        self.0.iter().map(|phase| phase.achieved).sum()
    }

    pub(super) fn finish(self) -> Vec<PhaseResult> {
        self.0
    }
}
