//! What logs of programs say while something was found, where both are about the same: that is no
//! cause of its own, and supports the finding.

use hugewise_base::count::times;

use super::answer::{Evidence, Ground};
use super::finding::Finding;
use super::interval::Interval;
use crate::recording::{LogSummary, Observation, Recording, Stamp, Topic};

/// Most messages that are named with a finding.
const NAMED_MAX: usize = 2;

/// What the questions are about whose ids begin so.
const TOPICS: [(&str, Topic); 7] = [
    ("disk.", Topic::Storage),
    ("io.", Topic::Storage),
    ("remote.", Topic::Storage),
    ("files.", Topic::Storage),
    ("network.", Topic::Network),
    ("memory.", Topic::Memory),
    ("resident.", Topic::Memory),
];

/// Adds to each finding what the logs of its machine say of the same at the same time.
pub(super) fn support(findings: &mut [Finding], recording: &Recording) {
    for finding in findings {
        let Some(step) = finding.chain.last_mut() else { continue };
        let topic = TOPICS.iter().find(|(start, _)| step.node.starts_with(start));
        let Some((_, topic)) = topic else { continue };
        let of_host = |log: &&LogSummary| {
            let source = recording.source(log.source);
            let host = source.and_then(|source| recording.hosts.get(source.host));
            host.is_some_and(|host| host.name == finding.host)
        };
        let mut named = 0;
        for log in recording.logs.iter().filter(of_host) {
            for one in log.observations.iter().filter(|one| one.topic == Some(*topic)) {
                let Some(at) = span(one).filter(|at| within(&finding.intervals, at)) else {
                    continue;
                };
                if named < NAMED_MAX {
                    step.evidence.push(evidence(log, one, at));
                    named += 1;
                }
            }
        }
    }
}

/// When it was written, as an interval that holds the first line.
fn span(one: &Observation) -> Option<Interval> {
    let from = one.first.map(|first| Stamp(first.0.saturating_sub(1)));
    Some(Interval { from: Some(from?), to: Some(one.last?) })
}

/// Whether a time is one of a finding: both have to be known.
fn within(intervals: &[Interval], at: &Interval) -> bool {
    intervals.iter().any(|interval| interval.from.or(interval.to).is_some() && interval.meets(at))
}

fn evidence(log: &LogSummary, one: &Observation, at: Interval) -> Evidence {
    let message = one.message.as_deref().unwrap_or_default();
    let text = format!(
        "a log says at the same time: {} {}: '{message}'",
        one.what.label(),
        times(one.lines)
    );
    Evidence {
        ground: Ground::Observed,
        text,
        source: Some(log.source),
        field: None,
        subject: None,
        value: None,
        at: Some(at),
    }
}
