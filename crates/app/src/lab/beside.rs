//! What runs beside a workload: stressors, and fragmenters of memory.

use super::program::Program;
use super::talk::Talk;
use crate::child::this_program;
use crate::session::Session;
use anyhow::Context;
use hugewise_core::lab::kinds::{self, STRESS_NG};
use hugewise_core::lab::spec::Workload;
use std::process::{Command, Stdio};
use std::time::Duration;

/// stress-ng gives back what it took before it ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A stressor; ended when this is dropped.
#[derive(Debug)]
pub(super) enum Stressor {
    /// One of ours.
    Own(#[expect(dead_code, reason = "held, not read")] Talk),
    /// stress-ng.
    StressNg(Program),
}

impl Drop for Stressor {
    fn drop(&mut self) {
        if let Self::StressNg(program) = self {
            // Its workers end with it when it is asked to end, and hardly so when it is killed.
            let _ = program.end(PATIENCE);
        }
    }
}

/// Starts a stressor, for as long as a run may take.
pub(super) fn stress(
    part: &Workload,
    session: &mut Session,
    label: &str,
) -> anyhow::Result<Stressor> {
    if part.kind == STRESS_NG {
        let kind = kinds::find(&part.kind).context("an unknown kind")?;
        let mut command = shim()?;
        command.args(["--end", "term", "--", STRESS_NG]);
        command.args(kind.params(&part.params)?.texts("args"));
        command.args(["--temp-path"]).arg(session.directory());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        return Ok(Stressor::StressNg(Program::start(&mut command)?));
    }
    let mut talk = start(part, session, label)?;
    talk.send("measure 86400")?;
    Ok(Stressor::Own(talk))
}

/// Starts a built-in workload and waits until it is ready: a fragmenter has then done its work.
pub(super) fn start(part: &Workload, session: &mut Session, label: &str) -> anyhow::Result<Talk> {
    let kind = kinds::find(&part.kind).context("an unknown kind")?;
    let params = kind.params(&part.params)?;
    let mut command = this_program()?;
    command.args(["workload", "lab", kind.name, "--params"]);
    command.arg(serde_json::to_string(&params)?);
    command.arg("--scratch").arg(session.directory());
    let mut talk = Talk::start(kind.name, &mut command)?;
    talk.wait("ready", &mut |said| match said {
        Some(text) => session.step(format!("{label}: {}: {text}", kind.name)),
        None => session.beat(),
    })?;
    Ok(talk)
}

fn shim() -> anyhow::Result<Command> {
    let mut command = this_program()?;
    command.args(["workload", "exec", "--parent", &std::process::id().to_string()]);
    Ok(command)
}
