//! A load generator of others while it runs: without privileges, in a session of its own, and with
//! all that it starts ended with it.

use super::progress::{BEAT, Beat, Progress};
use crate::child::this_program;
use crate::stranger::Runner;
use anyhow::{Context, anyhow, bail};
use hugewise_base::units::Ns;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A generator and what it starts; all of it ends with this.
pub(super) struct Foreign {
    child: Child,
    name: String,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another's.
        if matches!(self.child.try_wait(), Ok(None)) {
            let group = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Foreign {
    /// Starts a program with what `prepare` adds behind it, and writes what it says to a file.
    /// `home` is where it may leave files.
    pub(super) fn start(
        (name, program): (&str, &Path),
        runner: Runner,
        home: &Path,
        output: &Path,
        prepare: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Self> {
        let output = File::create(output)?;
        let mut command = this_program()?;
        command.args(hugewise_workloads::COMMAND).args([
            "exec",
            "--parent",
            &std::process::id().to_string(),
        ]);
        runner.apply(&mut command, home);
        command.arg("--").arg(program);
        prepare(&mut command);
        // The session of its own is a group as well, so that what it starts ends with it.
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().map_err(|error| anyhow!("cannot start {name}: {error}"))?;
        Ok(Self { child, name: name.to_owned() })
    }

    /// Waits for its end, with beats. It is ended when it takes longer, or when a beat says so.
    /// `time` is that of the load.
    pub(super) fn attend(
        mut self,
        time: Ns,
        longest: Duration,
        beat: &mut Beat<'_>,
    ) -> anyhow::Result<ExitStatus> {
        let begin = Instant::now();
        loop {
            let ended = self.child.try_wait();
            if let Some(status) = ended.with_context(|| format!("cannot wait for {}", self.name))? {
                return Ok(status);
            }
            let elapsed = begin.elapsed();
            if elapsed > longest {
                bail!("{} did not end within {} s", self.name, longest.as_secs());
            }
            let at = Ns(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
            // What it has done is in its results only.
            beat(Progress::silent(at, time))?;
            std::thread::sleep(BEAT.min(Duration::from_millis(50)));
        }
    }
}
