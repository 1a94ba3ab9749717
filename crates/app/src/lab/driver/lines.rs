//! Programs that answer each line with one line of JSON, and know whether their data are right.

use super::super::run::Run;
use super::super::talk::Talk;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// Longest work without an answer: who is silent for long is taken to hang.
const SLICE: Duration = Duration::from_secs(30);

/// See the module's text; the program is killed on drop.
#[derive(Debug)]
pub(super) struct Lines {
    talk: Talk,
    name: String,
}

impl Lines {
    /// Starts it and waits until it is ready; `name` is what errors call it.
    pub(super) fn start(run: &Run<'_>, name: &str, command: &mut Command) -> anyhow::Result<Self> {
        let mut lines = Self { talk: Talk::start(name, command)?, name: name.into() };
        let first = lines.hear(run)?;
        let ready = !first["ready"].is_null() || first["reply"] == "ready";
        ensure!(ready, "{name} is not ready: {first}");
        Ok(lines)
    }

    /// `hugewise workload hold`, filled.
    pub(super) fn hold(run: &Run<'_>, mib: u64, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = run.own_workload()?;
        command.args(["hold", "--mib", &mib.to_string()]).args(arguments);
        Self::start(run, "hold", &mut command)
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.talk.program.pid()
    }

    /// Sends a line and waits for the answer; an error when the answer says that data are wrong.
    pub(super) fn ask(&mut self, run: &Run<'_>, request: &str) -> anyhow::Result<Value> {
        self.talk.send(request)?;
        self.hear(run)
    }

    /// Lets it work; its operations a second.
    pub(super) fn work(&mut self, run: &Run<'_>, time: Duration) -> anyhow::Result<f64> {
        let (mut left, mut operations) = (time, 0.0);
        while !left.is_zero() {
            let slice = left.min(SLICE);
            let answer = self.ask(run, &format!("work {}", slice.as_secs_f64()))?;
            let rate = answer["ops_per_s"].as_f64();
            let rate = rate.with_context(|| format!("{} says no rate: {answer}", self.name))?;
            operations += rate * slice.as_secs_f64();
            left -= slice;
        }
        Ok(operations / time.as_secs_f64())
    }

    /// Has everything compared with what was written.
    pub(super) fn verify(&mut self, run: &Run<'_>) -> anyhow::Result<()> {
        let answer = self.ask(run, "verify")?;
        let verified = answer["verified"].is_u64() || answer["reply"] == "verified";
        ensure!(verified, "{} does not say that its data are right: {answer}", self.name);
        Ok(())
    }

    /// Lets it end by itself.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.talk.finish()
    }

    fn hear(&mut self, run: &Run<'_>) -> anyhow::Result<Value> {
        let answer = self.talk.hear(&mut |_| run.beat())?;
        if is_wrong(&answer) { Err(self.talk.mismatch(&answer)) } else { Ok(answer) }
    }
}

/// Whether an answer says that memory is not what was written.
fn is_wrong(answer: &Value) -> bool {
    answer["reply"] == "mismatch"
        || !answer["wrong_at"].is_null()
        || answer["wrong"].as_f64().is_some_and(|wrong| wrong > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_data_are_seen_in_every_way_of_saying_it() {
        for answer in [
            json!({ "reply": "mismatch", "words": 3, "during": "access" }),
            json!({ "wrong_at": 0 }),
            json!({ "ops_per_s": 5.0, "wrong": 2 }),
        ] {
            assert!(is_wrong(&answer), "{answer}");
        }
        for answer in [
            json!({ "reply": "verified", "words": 3 }),
            json!({ "verified": 0 }),
            json!({ "ops_per_s": 5.0, "wrong": 0 }),
        ] {
            assert!(!is_wrong(&answer), "{answer}");
        }
    }
}
