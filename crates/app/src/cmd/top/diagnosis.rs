//! A diagnosis of this machine, beside the screen.

use super::sampler::clock;
use crate::cmd::watch::watch;
use crate::render::view::top::values::{FindingLine, Report};
use crate::stop::Stop;
use hugewise_evidence::diagnose::{Diagnosis, Thresholds, diagnose};
use hugewise_evidence::recording::Recording;
use hugewise_linux::root::Root;
use std::time::Duration;

/// How long the machine is watched, as by 'hugewise diagnose'.
const WATCH_S: u64 = 10;
/// Most sentences of evidence of a finding.
const EVIDENCE_MAX: usize = 2;

/// Watches, and tells how it goes; `tell` says whether anybody still listens.
pub(super) fn run(root: &Root, tell: impl Fn(Report) -> bool) {
    let watched = watch(root, Duration::from_secs(WATCH_S), &Stop::never(), |samples| {
        let left = WATCH_S.saturating_sub(samples);
        anyhow::ensure!(tell(Report::Running(left)), "nobody listens");
        Ok(())
    });
    let recording = match watched {
        Ok(builder) => builder.finish(),
        Err(error) => {
            tell(Report::Failed(format!("This machine could not be watched: {error:#}")));
            return;
        }
    };
    tell(of(&recording, clock()));
}

/// What is found in a recording.
pub(super) fn of(recording: &Recording, time: String) -> Report {
    let found = diagnose(recording, &Thresholds::default());
    Report::Done { time, findings: told(&found) }
}

fn told(found: &Diagnosis) -> Vec<FindingLine> {
    let all = found.findings.iter().map(|finding| {
        let last = finding.chain.last();
        let evidence = last.into_iter().flat_map(|step| &step.evidence);
        FindingLine {
            severity: finding.severity.label().to_owned(),
            title: finding.title.to_owned(),
            evidence: evidence.take(EVIDENCE_MAX).map(|one| one.text.clone()).collect(),
            remedy: finding.remedies.first().map(|remedy| remedy.what.to_owned()),
        }
    });
    all.collect()
}
