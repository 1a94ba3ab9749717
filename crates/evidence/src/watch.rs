//! When a machine that is watched is worth a closer look: a share of its CPU time jumped, stays
//! high, or creeps up.
//!
//! [`Watch`] gets the counters of `/proc/stat` about once a second, which cost next to nothing, and
//! says so once. A share that raised an alarm raises the next one after it has come down, or after
//! [`AGAIN_S`].

use crate::diagnose::{Threshold, Thresholds};
use hugewise_base::named;
use hugewise_base::parse::proc_stat::CpuTimes;
use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// What counts as now: three looks, so that one bad second is none.
const NOW: usize = 3;
/// What now is compared with: a minute, and of it at least [`BASE_MIN`] looks.
const BASE: usize = 60;
/// Fewer looks say nothing of how a machine usually is.
const BASE_MIN: usize = 15;
/// How many times the usual deviation a jump is: of normally distributed shares one in ten million
/// looks is so far off (6 median deviations are 4 standard deviations and more).
const DEVIATIONS: f64 = 6.0;
/// Looks between those from which a creep is reported: one a minute.
const MINUTE: usize = 60;
/// Minutes that are remembered for it, and the fewest that tell.
const MINUTES: usize = 30;
const MINUTES_MIN: usize = 10;
/// Looks below, after which an alarm is over.
const CALM: usize = 30;
/// After so long an alarm that never ended is raised again, seconds.
const AGAIN_S: u64 = 900;

named! {
    /// A share of all CPUs' time, as `top` names them: `sy`, `wa`, `hi` and `si`, `st`.
    Share,
    Kernel = "kernel": "CPU in the kernel", "";
    Iowait = "iowait": "CPU idle while a disk request was pending", "";
    Interrupts = "interrupts": "CPU in interrupts", "";
    Steal = "steal": "CPU taken by the hypervisor", "";
}

impl Share {
    /// From which value on it is asked why.
    const fn high(self) -> Threshold {
        match self {
            Self::Kernel => Threshold::KernelHigh,
            Self::Iowait => Threshold::IowaitHigh,
            Self::Interrupts => Threshold::InterruptHigh,
            Self::Steal => Threshold::StealHigh,
        }
    }

    fn ticks(self, times: &CpuTimes) -> u64 {
        match self {
            Self::Kernel => times.system,
            Self::Iowait => times.iowait,
            Self::Interrupts => times.irq.saturating_add(times.softirq),
            Self::Steal => times.steal,
        }
    }
}

/// How a share drew attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Far above the last minute, within seconds.
    Jumped,
    /// Above its threshold for some seconds.
    High,
    /// Up, minute after minute.
    Crept,
    /// Never came down since the alarm before.
    StillHigh,
}

/// What drew attention.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alarm {
    /// Of what.
    pub share: Share,
    /// In which way.
    pub how: How,
    /// Where it came from, percent of all CPUs; `None` where that was not seen.
    pub from_percent: Option<f64>,
    /// Where it is, percent of all CPUs.
    pub to_percent: f64,
    /// How long that took, or has lasted, in seconds.
    pub within_s: u64,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { to_percent: to, within_s: s, .. } = self;
        let (share, _) = self.share.text();
        match (self.how, self.from_percent) {
            (How::Jumped, Some(from)) => {
                write!(f, "{share} jumped from {from:.0} to {to:.0} % within {s} s")
            }
            (How::Crept, Some(from)) => {
                write!(f, "{share} crept from {from:.0} to {to:.0} % in {} min", s.div_ceil(60))
            }
            (How::StillHigh, _) => write!(f, "{share} is still at {to:.0} %"),
            _ => write!(f, "{share} has been at {to:.0} % for {s} s"),
        }
    }
}

/// One share over time.
#[derive(Debug, Default)]
struct Course {
    /// Newest last, of the last minute and [`NOW`].
    looks: VecDeque<f64>,
    /// Means of whole minutes, newest last.
    minutes: VecDeque<f64>,
    /// Of the minute that is not over: sum and number of looks.
    minute: (f64, usize),
    raised: Option<Raised>,
}

/// An alarm that is not over.
#[derive(Debug)]
struct Raised {
    at: Ns,
    /// Above this it lasts, percent.
    above: f64,
    /// Looks below, one after the other.
    calm: usize,
}

/// Decides from the shares alone; see the module.
#[derive(Debug)]
pub struct Watch {
    thresholds: Thresholds,
    last: Option<(Ns, CpuTimes)>,
    courses: [Course; 4],
}

impl Watch {
    /// Nothing was seen yet.
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds, last: None, courses: Default::default() }
    }

    /// Takes the counters of all CPUs together, which are `cpus`. What drew attention: of several
    /// shares the one that rose most.
    pub fn look(&mut self, at: Ns, times: CpuTimes, cpus: usize) -> Option<Alarm> {
        let (_, before) = self.last.replace((at, times))?;
        let shares = shares(&before, &times)?;
        let mut alarms = Vec::new();
        for ((share, course), value) in Share::ALL.iter().zip(&mut self.courses).zip(shares) {
            let limits = Limits::of(*share, &self.thresholds, cpus);
            alarms.extend(course.look(at, value, *share, &limits));
        }
        let rise = |alarm: &Alarm| alarm.to_percent - alarm.from_percent.unwrap_or(0.0);
        alarms.into_iter().max_by(|a, b| rise(a).total_cmp(&rise(b)))
    }

    /// The latest shares, percent of all CPUs, in the order of [`Share::ALL`].
    pub fn latest(&self) -> Option<[f64; 4]> {
        let latest = self.courses.each_ref().map(|course| course.looks.back().copied());
        let [Some(a), Some(b), Some(c), Some(d)] = latest else { return None };
        Some([a, b, c, d])
    }
}

/// What counts for one share.
#[derive(Debug)]
struct Limits {
    high: f64,
    high_s: usize,
    jump: f64,
    ramp: f64,
    tau: f64,
}

impl Limits {
    fn of(share: Share, thresholds: &Thresholds, cpus: usize) -> Self {
        // On many CPUs one that is lost moves their mean little.
        let half_a_cpu = 50.0 / cpus.max(1) as f64;
        let long = thresholds.get(Threshold::EpisodeFull);
        Self {
            high: thresholds.get(share.high()),
            high_s: (1..=BASE).rev().find(|looks| *looks as f64 <= long).unwrap_or(1),
            jump: thresholds.get(Threshold::WatchJump).min(half_a_cpu.max(JUMP_MIN)),
            ramp: thresholds.get(Threshold::RampPoints),
            tau: thresholds.get(Threshold::RampSteadiness),
        }
    }
}

/// Points of CPU that no jump is below: two looks of an idle machine differ by 1 or 2.
const JUMP_MIN: f64 = 3.0;

impl Course {
    fn look(&mut self, at: Ns, value: f64, share: Share, limits: &Limits) -> Option<Alarm> {
        self.looks.push_back(value);
        if self.looks.len() > BASE + NOW {
            self.looks.pop_front();
        }
        self.minute = (self.minute.0 + value, self.minute.1 + 1);
        let full = self.minute.1 >= MINUTE;
        if full {
            self.minutes.push_back(self.minute.0 / self.minute.1 as f64);
            self.minute = (0.0, 0);
            if self.minutes.len() > MINUTES {
                self.minutes.pop_front();
            }
        }
        if let Some(raised) = &mut self.raised {
            return raised.look(at, value, share).or_else(|| {
                self.forget_when_calm();
                None
            });
        }
        let jumped = self.jumped(limits).map(|(from, to)| (How::Jumped, Some(from), to, NOW));
        let high = || self.high(limits).map(|to| (How::High, None, to, limits.high_s));
        let crept = || full.then(|| self.crept(limits)).flatten();
        let (how, from, to, looks) = jumped.or_else(high).or_else(crept)?;
        let above = from.map_or(limits.high, |from| f64::midpoint(from, to));
        self.raised = Some(Raised { at, above, calm: 0 });
        let within_s = looks as u64;
        Some(Alarm { share, how, from_percent: from, to_percent: to, within_s })
    }

    fn forget_when_calm(&mut self) {
        if self.raised.as_ref().is_some_and(|raised| raised.calm >= CALM) {
            self.raised = None;
            // The course that led there is reported.
            self.minutes.clear();
        }
    }

    /// The mean of the latest looks; `None` of fewer.
    fn mean(&self, latest: usize) -> Option<f64> {
        let skip = self.looks.len().checked_sub(latest)?;
        Some(self.looks.iter().skip(skip).sum::<f64>() / latest as f64)
    }

    /// From where to where, when that is far more than usual.
    fn jumped(&self, limits: &Limits) -> Option<(f64, f64)> {
        let base = self.looks.len().checked_sub(NOW).filter(|base| *base >= BASE_MIN)?;
        let mut before: Vec<f64> = self.looks.iter().take(base).copied().collect();
        let usual = median(&mut before);
        let mut off: Vec<f64> = before.iter().map(|value| (value - usual).abs()).collect();
        let far = limits.jump.max(DEVIATIONS * median(&mut off));
        let now = self.mean(NOW)?;
        (now - usual >= far).then_some((usual, now))
    }

    fn high(&self, limits: &Limits) -> Option<f64> {
        self.mean(limits.high_s).filter(|mean| *mean >= limits.high)
    }

    /// By Kendall's tau over the means of minutes, and by their ends.
    fn crept(&self, limits: &Limits) -> Option<(How, Option<f64>, f64, usize)> {
        let minutes: Vec<f64> = self.minutes.iter().copied().collect();
        let (first, last) = (minutes.first_chunk::<3>()?, minutes.last_chunk::<3>()?);
        if minutes.len() < MINUTES_MIN || tau(&minutes) < limits.tau {
            return None;
        }
        let mean = |three: &[f64; 3]| three.iter().sum::<f64>() / 3.0;
        let (from, to) = (mean(first), mean(last));
        let looks = minutes.len() * MINUTE;
        (to - from >= limits.ramp).then_some((How::Crept, Some(from), to, looks))
    }
}

impl Raised {
    fn look(&mut self, at: Ns, value: f64, share: Share) -> Option<Alarm> {
        self.calm = if value < self.above { self.calm + 1 } else { 0 };
        let within_s = at.0.saturating_sub(self.at.0) / 1_000_000_000;
        if self.calm > 0 || within_s < AGAIN_S {
            return None;
        }
        self.at = at;
        Some(Alarm { share, how: How::StillHigh, from_percent: None, to_percent: value, within_s })
    }
}

/// Shares of the time between two looks, percent of all CPUs; `None` when none has passed.
fn shares(before: &CpuTimes, now: &CpuTimes) -> Option<[f64; 4]> {
    // 'guest' is a part of 'user'.
    let all =
        |t: &CpuTimes| [t.user, t.nice, t.system, t.idle, t.iowait, t.irq, t.softirq, t.steal];
    let grown = all(now).into_iter().zip(all(before)).map(|(now, old)| now.saturating_sub(old));
    let passed = grown.fold(0_u64, u64::saturating_add);
    let percent = |share: Share| {
        let ticks = share.ticks(now).saturating_sub(share.ticks(before));
        100.0 * ticks as f64 / passed as f64
    };
    let all = [Share::Kernel, Share::Iowait, Share::Interrupts, Share::Steal];
    (passed > 0).then(|| all.map(percent))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Kendall's tau of values against their order: 1 where each is above all before it.
fn tau(values: &[f64]) -> f64 {
    let mut sum = 0_i64;
    for (at, later) in values.iter().enumerate() {
        for earlier in &values[..at] {
            sum += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    let pairs = values.len() * values.len().saturating_sub(1) / 2;
    if pairs == 0 { 0.0 } else { sum as f64 / pairs as f64 }
}

#[cfg(test)]
mod tests;
