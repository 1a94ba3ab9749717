//! Watches the machine while loads run on it, in the way in which `diagnose` watches it.

use super::stressors::Load;
use crate::cmd::watch::watch;
use crate::progress;
use crate::stop::Stop;
use hugewise_evidence::recording::Recording;
use hugewise_experiment::spec::{Noise, Settle};
use hugewise_lab::session::Session;
use hugewise_lab::settle::settle;
use hugewise_lab::stressor::Stressor;
use hugewise_linux::root::Root;
use std::time::Duration;

/// What an interruption leaves behind.
const AFTERWARDS: &str = "nothing runs any more, and nothing was written";
/// A load has come to its pace by then.
const WARM_UP: Duration = Duration::from_secs(1);

/// The machine, and what is needed to run loads on it.
#[derive(Debug)]
pub(super) struct Watcher {
    root: Root,
    session: Session,
    length: Duration,
    cpus: u64,
}

impl Watcher {
    /// Watches for so long each time. Ctrl-C ends it from now on.
    pub(super) fn start(root: Root, length: Duration) -> anyhow::Result<Self> {
        let session = Session::start("lab", AFTERWARDS, progress::line())?;
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        Ok(Self { root, session, length, cpus })
    }

    /// The machine.
    pub(super) const fn root(&self) -> &Root {
        &self.root
    }

    /// Seconds of a watch.
    pub(super) const fn seconds(&self) -> f64 {
        self.length.as_secs_f64()
    }

    /// An error after Ctrl-C.
    pub(super) fn beat(&self) -> anyhow::Result<()> {
        self.session.beat()
    }

    /// Waits until others leave the machine alone; what disturbs nevertheless.
    pub(super) fn settle(&mut self, noisy: bool) -> anyhow::Result<Vec<String>> {
        self.session.step("waiting for a quiet machine".to_owned())?;
        let (rule, noise) = (Settle::default(), Noise::default());
        Ok(settle(&self.root, &self.session, (&rule, &noise), noisy)?.noisy)
    }

    /// What is seen while these run side by side. All of them have ended when it returns.
    pub(super) fn watch(&mut self, label: &str, loads: &[&Load]) -> anyhow::Result<Recording> {
        let mut running = Vec::new();
        self.session.step(format!("{label}: starting"))?;
        for (number, load) in loads.iter().enumerate() {
            let scratch = self.session.directory().join(format!("load-{number}"));
            let what = (load.kind, load.params(&self.root, self.cpus), load.huge_pages);
            running.push(Stressor::start(what, &mut self.session, label, &scratch)?);
        }
        if !loads.is_empty() {
            self.session.sleep(WARM_UP)?;
        }
        let seen = self.sample(label, &mut running);
        drop(running);
        let scratch = self.session.directory();
        for number in 0..loads.len() {
            let _ = std::fs::remove_dir_all(scratch.join(format!("load-{number}")));
        }
        seen
    }

    fn sample(&mut self, label: &str, running: &mut [Stressor]) -> anyhow::Result<Recording> {
        let (session, seconds) = (&mut self.session, self.length.as_secs());
        // The session knows of signals; it is asked at each sample.
        let watched = watch(&self.root, self.length, &Stop::never(), |samples| {
            session.step(format!("{label}: {samples} of {seconds} s"))?;
            running.iter_mut().try_for_each(Stressor::check)
        });
        Ok(watched?.finish())
    }
}
