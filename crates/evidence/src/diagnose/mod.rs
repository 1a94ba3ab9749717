//! Diagnosis: why a machine burns CPU in the kernel, waits or stalls.
//!
//! [`nodes`] is a tree of questions, global ones first; [`tree`] asks them about a
//! [`Recording`](super::recording::Recording) and gets [`Answer`]s with evidence; [`finding`]
//! turns the yeses into causes with their chain, what was ruled out, what could not be seen, and
//! what to do. Nothing here reads a file: the same tree serves the live machine, a captured
//! directory and a text from a ticket.

mod answer;
mod cause;
mod consequence;
mod context;
mod explain;
mod explanation;
mod extreme;
mod finding;
mod interval;
mod machine;
mod missing;
mod narrow;
mod nearby;
pub mod node;
pub mod nodes;
mod pressure;
pub mod questions;
mod reading;
mod relate;
mod remedy;
mod supported;
mod threshold;
mod tree;
mod write;

use std::borrow::Cow;

use serde::Serialize;

pub use answer::{Answer, Evidence, Ground, Missing, Verdict};
pub use cause::{About, Cause, Severity};
pub use context::{Context, Line};
pub use finding::{Confidence, Finding, Level, Step, Unseen};
pub use interval::{Episode, INTERVALS_MAX, Interval, apart, episodes, spacing_s};
pub use missing::{OF_MACHINE, RECORDED};
pub use pressure::{Load, Pressure};
pub use reading::Reading;
pub use relate::{Ramp, ramp, rank_correlation};
pub use remedy::{Reach, Remedy, When};
pub use threshold::{Entry, Threshold, Thresholds};
pub use tree::Asked;
pub use write::value as written;

use self::remedy::{MachineFacts, version as remedy_version};
use crate::recording::readers::RED_HAT_THP;
use crate::recording::{Field, LogSummary, Problem, Recording, Source, Unrecognised};

/// Version of the JSON form of a [`Diagnosis`].
pub const SCHEMA: u32 = 1;

/// One machine's answers.
#[derive(Clone, Debug, Serialize)]
pub struct Examined {
    /// Its name, where a source gave one.
    pub host: Option<String>,
    /// Every question, in order.
    pub tree: Vec<Asked>,
    /// The resources under pressure, the most loaded first.
    pub pressure: Vec<Pressure>,
    /// What the machine does, in three lines at most.
    pub doing: Vec<Evidence>,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Version of this form.
    pub schema: u32,
    /// The causes found, the worst first; each before what follows from it.
    pub findings: Vec<Finding>,
    /// The answers by machine.
    pub hosts: Vec<Examined>,
    /// What was read.
    pub sources: Vec<Source>,
    /// Logs in no format of their own: what stands out in them.
    pub logs: Vec<LogSummary>,
    /// Lines that nobody understood.
    pub unrecognised: Vec<Unrecognised>,
    /// What went wrong in reading.
    pub problems: Vec<Problem>,
}

impl Diagnosis {
    /// The worst severity; `None` without findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Whether a resource is under pressure: then nothing found is no all-clear.
    pub fn is_under_pressure(&self) -> bool {
        self.hosts.iter().any(|host| !host.pressure.is_empty())
    }
}

/// The recording as it is diagnosed: a short listing that was made minutes beside the CPU's use
/// belongs to that moment.
pub(crate) fn in_one_moment(recording: &Recording) -> Cow<'_, Recording> {
    nearby::related(recording).0
}

/// Asks the tree about every machine of a recording.
pub fn diagnose(recording: &Recording, thresholds: &Thresholds) -> Diagnosis {
    let (related, nearby) = nearby::related(recording);
    let (recording, nearby) = (related.as_ref(), &nearby);
    let critical = thresholds.get(Threshold::KernelCritical);
    let (mut hosts, mut findings) = (Vec::new(), Vec::new());
    // Once, and not by each machine about all others.
    let alone = |host| Context { nearby, ..Context::alone(recording, host, thresholds) };
    let busy: Vec<Option<Reading>> =
        recording.hosts.iter().map(|host| alone(host).mean_busy()).collect();
    for host in recording.hosts.iter().filter(|host| !host.is_empty()) {
        let cx = Context { busy: &busy, ..alone(host) };
        let tree = tree::walk(&cx);
        let release = cx.setting("kernel").map(|quote| quote.text.as_str());
        let profiled = host.subjects(Field::SymbolPercent).next().is_some();
        let java = cx.setting("java.version").and_then(|quote| remedy::java(&quote.text));
        let linux = release.and_then(remedy::version);
        let red_hat_thp = host.settings.keys().any(|path| path.starts_with(RED_HAT_THP));
        let facts = MachineFacts { linux, java, profiled, red_hat_thp, ..MachineFacts::default() };
        let about = finding::AboutHost { name: host.name.as_ref(), critical, facts };
        findings.extend(finding::findings(&tree, &about));
        let (pressure, doing) = (pressure::pressures(&cx), pressure::doing(&cx));
        hosts.push(Examined { host: host.name.clone(), tree, pressure, doing });
    }
    let mut findings = consequence::linked(findings);
    supported::support(&mut findings, recording);
    Diagnosis {
        schema: SCHEMA,
        findings,
        hosts,
        sources: recording.sources.clone(),
        logs: recording.logs.clone(),
        unrecognised: recording.unrecognised.clone(),
        problems: recording.problems.clone(),
    }
}
