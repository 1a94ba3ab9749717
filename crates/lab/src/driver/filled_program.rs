//! Programs that hold memory, work on it and change it when they are asked to.

use crate::run::Run;
use crate::talk::Talk;
use anyhow::Context;
use hugewise_workloads::protocol::{Event, Request, Span};
use std::process::Command;
use std::time::Duration;

/// Longest work without an answer: who is silent for long is taken to hang.
const SLICE: Duration = Duration::from_secs(30);

/// A program that is filled; killed on drop.
#[derive(Debug)]
pub(super) struct FilledProgram {
    talk: Talk,
    name: String,
}

impl FilledProgram {
    /// Starts it and waits until it is ready; `name` is what errors call it.
    pub(super) fn start(run: &Run<'_>, name: &str, command: &mut Command) -> anyhow::Result<Self> {
        let mut talk = Talk::start(name, command)?;
        talk.ready(&mut |_| run.beat())?;
        Ok(Self { talk, name: name.into() })
    }

    /// `hugewise lab workload hold`, filled.
    pub(super) fn hold(run: &Run<'_>, mib: u64, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = run.own_workload()?;
        command.args(["hold", "--mib", &mib.to_string()]).args(arguments);
        Self::start(run, "hold", &mut command)
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.talk.program.pid()
    }

    /// Has it drop pages.
    pub(super) fn drop_pages(&mut self, run: &Run<'_>, span: Span) -> anyhow::Result<()> {
        self.talk.request(Request::Drop(span))?;
        match self.talk.event(&mut |_| run.beat())? {
            Event::Dropped { .. } => Ok(()),
            other => Err(self.talk.unexpected(&other)),
        }
    }

    /// Lets it work; its operations a second.
    pub(super) fn work(&mut self, run: &Run<'_>, time: Duration) -> anyhow::Result<f64> {
        let (mut left, mut operations) = (time, 0.0);
        while !left.is_zero() {
            let slice = left.min(SLICE);
            self.talk.measure(slice)?;
            let report = self.talk.measured(&mut |_| run.beat())?;
            let rate = report.values.get("ops_per_s");
            let rate = rate.with_context(|| format!("{} says no rate", self.name))?;
            operations += rate * slice.as_secs_f64();
            left -= slice;
        }
        Ok(operations / time.as_secs_f64())
    }

    /// Has everything compared with what was written.
    pub(super) fn verify(&mut self, run: &Run<'_>) -> anyhow::Result<()> {
        self.talk.verify(&mut |_| run.beat())
    }

    /// Lets it end by itself.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.talk.finish()
    }
}
