//! A `hugewise workload hold` of one trial.

use crate::init;
use crate::machine::Memory;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Ended with the trial.
#[derive(Debug)]
pub(crate) struct Hold {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Hold {
    /// Starts it with arguments as on the command line, and waits until its memory is filled.
    pub(crate) fn start(args: &str) -> anyhow::Result<Self> {
        Self::start_as(&init::hugewise(), None, args)
    }

    /// Another workload that speaks the same language: `bloat`, `shadow`.
    pub(crate) fn start_kind(kind: &str, args: &str) -> anyhow::Result<Self> {
        Self::spawn(&init::hugewise(), None, &format!("{kind} {args}"))
    }

    /// Another workload, and another program file and user.
    pub(crate) fn start_kind_as(
        program: &Path,
        uid: Option<u32>,
        kind: &str,
        args: &str,
    ) -> anyhow::Result<Self> {
        Self::spawn(program, uid, &format!("{kind} {args}"))
    }

    /// Another program file, another user.
    pub(crate) fn start_as(program: &Path, uid: Option<u32>, args: &str) -> anyhow::Result<Self> {
        Self::spawn(program, uid, &format!("hold {args}"))
    }

    fn spawn(program: &Path, uid: Option<u32>, args: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg("workload").args(args.split_whitespace());
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let requests = process.stdin.take().context("no standard input")?;
        let answers = BufReader::new(process.stdout.take().context("no standard output")?);
        let mut hold = Self { process, requests, answers };
        hold.ready()?;
        Ok(hold)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Reads the line that says how many pages are written.
    pub(crate) fn ready(&mut self) -> anyhow::Result<u64> {
        let answer = self.answer()?;
        answer["ready"].as_u64().with_context(|| format!("not ready: {answer}"))
    }

    pub(crate) fn ask(&mut self, request: &str) -> anyhow::Result<Value> {
        self.tell(request)?;
        self.answer().with_context(|| format!("no answer to '{request}'"))
    }

    pub(crate) fn tell(&mut self, request: &str) -> anyhow::Result<()> {
        writeln!(self.requests, "{request}").context("the workload has ended")
    }

    fn answer(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Every page that was written holds what was written. Returns their number.
    pub(crate) fn verify(&mut self) -> anyhow::Result<u64> {
        let answer = self.ask("verify")?;
        let pages = answer["verified"].as_u64();
        let pages = pages.with_context(|| format!("DATA CHANGED: {answer}"))?;
        ensure!(pages > 0, "nothing was verified");
        Ok(pages)
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        Memory::of(self.pid())
    }

    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
