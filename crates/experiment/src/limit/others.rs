//! What others use of the machine meanwhile: programs whose CPU time does not follow the rate.

use super::fit::follows;
use super::resource::{Program, Resource};
use super::step::{Before, Step};
use hugewise_base::stats::{Interval, mean};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most programs that are named.
const NAMED_MAX: usize = 5;
/// Part of its use that something had before the load began, so that it may be another's: half. A
/// judgement.
const BEFORE_MIN: f64 = 0.5;
/// Programs that use less than that of one CPU are not named.
const CPUS_MIN: f64 = 0.02;

/// What others use of all CPUs while rates are tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// Mean over the rates, percent of all CPUs.
    pub percent: f64,
    /// The least and the most at a rate.
    pub interval: Interval,
    /// Those that use most, with their mean.
    pub programs: Vec<Program>,
}

impl Others {
    /// Part of all CPUs that others leave: on average, at least, at most.
    pub(super) fn leave(others: Option<&Self>) -> [f64; 3] {
        let left = |percent: f64| 1.0 - percent / 100.0;
        others.map_or([1.0; 3], |others| {
            [others.percent, others.interval.high, others.interval.low].map(left)
        })
    }
}

/// Part of all CPUs that others use in each step, beside what they do on the whole.
#[derive(Debug)]
pub(super) struct Shares<'a> {
    cpus: f64,
    names: BTreeSet<&'a str>,
}

impl<'a> Shares<'a> {
    /// `None` where the number of CPUs is not known.
    pub(super) fn of(tried: &'a [Step], before: &Before, cpus: Option<u32>) -> Option<Self> {
        let cpus = f64::from(cpus.filter(|cpus| *cpus > 0)?);
        let all = tried.iter().flat_map(|step| &step.programs).map(|one| one.name.as_str());
        let mut names: BTreeSet<&str> = all.collect();
        names.retain(|name| {
            let points = tried.iter().map(|step| (step.achieved_per_s, used(&step.programs, name)));
            let most = tried.iter().map(|step| used(&step.programs, name)).fold(0.0, f64::max);
            is_anothers(used(&before.programs, name), most, &points.collect::<Vec<_>>(), false)
        });
        Some(Self { cpus, names })
    }

    /// Whether it is a program of others, or a thread of its name.
    pub(super) fn has(&self, resource: &Resource) -> bool {
        match resource {
            Resource::Thread { name } | Resource::OneAtATime { program: name } => {
                self.names.contains(name.as_str())
            }
            _ => false,
        }
    }

    /// What they use at one rate, 0 to 1.
    pub(super) fn at(&self, step: &Step) -> f64 {
        let cpus = self.names.iter().map(|name| used(&step.programs, name)).sum::<f64>();
        cpus / self.cpus
    }

    /// `None` where they use next to nothing.
    pub(super) fn whole(&self, tried: &[Step]) -> Option<Others> {
        let percents: Vec<f64> = tried.iter().map(|step| 100.0 * self.at(step)).collect();
        let mut programs: Vec<Program> = Vec::new();
        for name in &self.names {
            let all: Vec<f64> = tried.iter().map(|step| used(&step.programs, name)).collect();
            programs.push(Program { name: (*name).to_owned(), cpus: mean(&all)? });
        }
        programs.retain(|one| one.cpus >= CPUS_MIN);
        programs.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
        programs.truncate(NAMED_MAX);
        let low = percents.iter().copied().fold(f64::MAX, f64::min);
        let high = percents.iter().copied().fold(0.0, f64::max);
        let interval = Interval::new(low, high)?;
        (!programs.is_empty()).then_some(Others { percent: mean(&percents)?, interval, programs })
    }
}

fn used(programs: &[Program], name: &str) -> f64 {
    programs.iter().find(|one| one.name == name).map_or(0.0, |one| one.cpus)
}

/// Whether something is not what the load fills: its use does not follow the rate. Where it must
/// have been there, or too few rates tell, at least half of it was in use before the load began.
pub(super) fn is_anothers(before: f64, most: f64, rates: &[(f64, f64)], there: bool) -> bool {
    let was_there = before > 0.0 && before >= BEFORE_MIN * most;
    match follows(rates) {
        Some(follows) => !follows && (was_there || !there),
        None => was_there,
    }
}
