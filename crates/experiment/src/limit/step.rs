//! A rate that was tried, and what it showed.

use super::resource::{Program, Queue, Resource, Used, programs, queues, used, vector};
use crate::load::LoadResult;
use hugewise_base::units::{Ns, saturating_u64};
use hugewise_evidence::diagnose::Diagnosis;
use hugewise_evidence::recording::Recording;
use serde::{Deserialize, Serialize};

/// What is used less than this at a rate is not kept: a machine has hundreds of threads that do
/// next to nothing.
const SHARE_MIN: f64 = 0.001;

/// The machine before the load began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// How full resources were.
    pub used: Vec<Used>,
    /// Programs that used CPUs.
    pub programs: Vec<Program>,
}

impl Before {
    /// From what was recorded before the load began.
    pub fn of(recording: &Recording, own_pid: u32) -> Self {
        Self { used: kept(recording, own_pid), programs: programs(recording, own_pid) }
    }
}

/// How full each resource was, without those that are next to idle.
fn kept(recording: &Recording, own_pid: u32) -> Vec<Used> {
    let mut all = used(recording, own_pid);
    all.retain(|_, share| *share >= SHARE_MIN);
    let one = |(resource, share)| {
        let mostly = match resource {
            Resource::Interrupts { cpu } => vector(recording, cpu),
            _ => None,
        };
        Used { resource, share, mostly }
    };
    all.into_iter().map(one).collect()
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Requests in a second that were asked for.
    pub rate_per_s: f64,
    /// Requests in a second that came of it: arrivals are random.
    pub offered_per_s: f64,
    /// Answers in a second.
    pub achieved_per_s: f64,
    /// Median latency.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Ns>,
    /// 99 % of the requests were answered within that time; `None` where more failed.
    #[serde(rename = "p99_ns")]
    pub p99: Option<Ns>,
    /// Requests that failed.
    pub failed: u64,
    /// Mean time from sending to the answer.
    #[serde(rename = "service_ns")]
    pub service: Option<Ns>,
    /// How full resources were.
    pub used: Vec<Used>,
    /// Programs that used CPUs, without the load generator; empty in results of older versions.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Connections that waited to be accepted, the longest queue first; empty also in results of
    /// older versions.
    #[serde(default)]
    pub queues: Vec<Queue>,
    /// What `diagnose` finds meanwhile, the most important first.
    pub findings: Vec<String>,
}

impl Step {
    /// What a load of one constant rate gave, what was recorded meanwhile, and what is found in
    /// that. `alone` is the time of a request at the lowest rate: the last ones sent within the
    /// step are answered that much after it.
    pub fn of(
        rate_per_s: f64,
        load: &LoadResult,
        alone: Option<Ns>,
        seen: (&Recording, &Diagnosis),
        own_pid: u32,
    ) -> Self {
        let seconds = load.time.as_s().max(0.001);
        let answered: u64 = load.phases.iter().map(|phase| phase.achieved).sum();
        let service = load.service.as_ref().and_then(|all| all.mean());
        let service = service.map(|ns| Ns(saturating_u64(ns)));
        let tail = alone.or(service).map_or(0.0, Ns::as_s).min(seconds / 2.0);
        let offered = load.intended.unwrap_or(0) as f64 / seconds;
        Self {
            rate_per_s,
            offered_per_s: offered,
            achieved_per_s: (answered as f64 / (seconds - tail)).min(offered),
            p50: load.quantile(0.5),
            p99: load.quantile(0.99),
            failed: load.failures(),
            service,
            used: kept(seen.0, own_pid),
            programs: programs(seen.0, own_pid),
            queues: queues(seen.0),
            findings: seen.1.findings.iter().map(|one| one.title.to_owned()).collect(),
        }
    }
}
