//! A diagnosis of this machine, beside the screen.

use super::sampler::clock;
use crate::capture::{CapturePlan, Stop, live};
use crate::render::view::diagnosis::WATCHED;
use crate::render::view::top::values::{Report, Told};
use hugewise_core::evidence::diagnose::{Diagnosis, Thresholds, diagnose};
use hugewise_core::evidence::recording::Builder;
use hugewise_core::evidence::recording::readers::capture::Capture;
use hugewise_linux::capture::{Options, PROCESSES_MAX};
use hugewise_linux::root::Root;
use std::time::Duration;

/// How long the machine is watched, as by 'hugewise diagnose'.
const WATCH_S: u64 = 10;
/// Most sentences of evidence of a finding.
const EVIDENCE_MAX: usize = 2;

/// Watches, and tells how it goes; `tell` says whether anybody still listens.
pub(super) fn run(root: &Root, tell: impl Fn(Report) -> bool) {
    let options = Options { arguments: false, processes_max: PROCESSES_MAX };
    let length = Duration::from_secs(WATCH_S);
    let plan = CapturePlan { every: Duration::from_secs(1), length, options };
    let (mut builder, mut capture) = (Builder::new(), Capture::new(WATCHED));
    let mut left = WATCH_S;
    let (_, result) = live(root, &plan, &Stop::never(), |text| {
        anyhow::ensure!(tell(Report::Running(left)), "nobody listens");
        left = left.saturating_sub(1);
        capture.take(text, &mut builder);
        Ok(())
    });
    if let Err(error) = result {
        tell(Report::Failed(format!("This machine could not be watched: {error:#}")));
        return;
    }
    capture.end(&mut builder);
    let found = diagnose(&builder.finish(), &Thresholds::default());
    tell(Report::Done { time: clock(), findings: told(&found) });
}

fn told(found: &Diagnosis) -> Vec<Told> {
    let all = found.findings.iter().map(|finding| {
        let last = finding.chain.last();
        let evidence = last.into_iter().flat_map(|step| &step.evidence);
        Told {
            severity: format!("{:?}", finding.severity).to_lowercase(),
            title: finding.title.to_owned(),
            evidence: evidence.take(EVIDENCE_MAX).map(|one| one.text.clone()).collect(),
            remedy: finding.remedies.first().map(|remedy| remedy.what.to_owned()),
        }
    });
    all.collect()
}
