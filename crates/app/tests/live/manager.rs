//! A `hugewise manage` of one trial.

use crate::init;
use crate::kit::{PATIENCE, Said, Scratch, json_lines, wait_for};
use crate::schemas;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How to start one. Journal, trail and socket go to the trial's own directory.
#[derive(Debug)]
pub(crate) struct Manage<'a> {
    scratch: &'a Scratch,
    program: PathBuf,
    uid: Option<u32>,
    /// A program and its arguments that start it.
    through: Vec<String>,
    args: Vec<String>,
}

impl<'a> Manage<'a> {
    /// With these arguments, separated by blanks; output is JSON.
    pub(crate) fn new(scratch: &'a Scratch, args: &str) -> Self {
        let args = args.split_whitespace().map(str::to_owned).collect();
        let (program, through) = (init::hugewise(), Vec::new());
        Self { scratch, program, uid: None, through, args }.arg("--json")
    }

    /// Started by another program, as by `setpriv`.
    pub(crate) fn through(mut self, words: &[&str]) -> Self {
        self.through = words.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// One more argument, blanks and all.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Text for people instead of JSON.
    pub(crate) fn text(mut self) -> Self {
        self.args.retain(|arg| arg != "--json");
        self
    }

    /// Run by this user, from a copy that this user may read.
    pub(crate) fn by(mut self, program: &Path, uid: u32) -> Self {
        self.program = program.to_path_buf();
        self.uid = Some(uid);
        self
    }

    fn command(&self) -> Command {
        let mut command = match self.through.split_first() {
            None => Command::new(&self.program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.program);
                command
            }
        };
        let (state, run) = (self.scratch.join("state"), self.scratch.join("run"));
        command.arg("manage").args(&self.args);
        command.arg("--state-dir").arg(state).arg("--run-dir").arg(run);
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self) -> anyhow::Result<Said> {
        Ok(Said::of(&self.command().output().context("cannot run hugewise manage")?))
    }

    /// Starts it.
    pub(crate) fn spawn(&self) -> anyhow::Result<Manager<'a>> {
        let (out, err) = (self.scratch.join("out"), self.scratch.join("err"));
        let process = self
            .command()
            .stdin(Stdio::null())
            .stdout(File::create(out)?)
            .stderr(File::create(err)?)
            .spawn()
            .context("cannot start hugewise manage")?;
        Ok(Manager { process, scratch: self.scratch })
    }

    /// Starts it, and waits until it has begun to journal.
    pub(crate) fn start(&self) -> anyhow::Result<Manager<'a>> {
        let mut manager = self.spawn()?;
        // The first status comes after the first tick: by then everything is set up.
        wait_for("the manager's first tick", || {
            let ended = manager.process.try_wait()?;
            if ended.is_some() {
                let said = manager.said(None);
                said.may_be_refused()?;
                bail!("it ended: {said:#?}");
            }
            Ok(manager.status().is_ok_and(|status| status["schema"].is_u64()))
        })?;
        Ok(manager)
    }
}

/// A running manager, killed when the trial ends early.
#[derive(Debug)]
pub(crate) struct Manager<'a> {
    process: Child,
    scratch: &'a Scratch,
}

impl Manager<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// What the control socket says.
    pub(crate) fn status(&self) -> anyhow::Result<Value> {
        let mut socket = UnixStream::connect(self.scratch.join("run/control.sock"))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.write_all(b"{\"verb\":\"status\"}\n")?;
        let mut reply = String::new();
        socket.read_to_string(&mut reply)?;
        Ok(serde_json::from_str(&reply)?)
    }

    /// Waits until its status fits.
    pub(crate) fn wait(&self, what: &str, fits: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let mut last = Value::Null;
        let result = wait_for(what, || {
            last = self.status()?;
            Ok(fits(&last))
        });
        result.with_context(|| format!("last status: {last}"))?;
        Ok(last)
    }

    /// The process that enters address spaces for it.
    pub(crate) fn worker(&self) -> anyhow::Result<u32> {
        let pid = self.pid();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let mut pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        let is_worker = |pid: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim() == "hugewise-worker"
        };
        pids.find(is_worker).context("the manager has no worker")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.context("no pid")?, signal)?)
    }

    fn end_by(&mut self, signal: Signal) -> anyhow::Result<Said> {
        // Not reaped yet, so the pid is still its own.
        if !self.has_ended()? {
            self.signal(signal)?;
        }
        self.end()
    }

    pub(crate) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.process.try_wait()?.is_some())
    }

    /// Waits for its own end.
    pub(crate) fn end(&mut self) -> anyhow::Result<Said> {
        let status = self.process.wait()?;
        let said = self.said(status.code());
        if said.out.starts_with('{') {
            schemas::fits("manage", &said.json()?).map_err(anyhow::Error::msg)?;
        }
        Ok(said)
    }

    /// SIGTERM, and waits.
    pub(crate) fn stop(mut self) -> anyhow::Result<Said> {
        self.end_by(Signal::TERM)
    }

    /// SIGKILL, and waits.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.end_by(Signal::KILL).map(drop)
    }

    fn said(&self, code: Option<i32>) -> Said {
        let read = |name: &str| {
            let bytes = fs::read(self.scratch.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Said { code, out: read("out"), err: read("err") }
    }
}

impl Drop for Manager<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The journal in a trial's directory; each line is as its schema says.
pub(crate) fn journal(scratch: &Scratch) -> anyhow::Result<Vec<Value>> {
    let lines = json_lines(&scratch.join("state/journal.jsonl"))?;
    schemas::all_fit("journal", &lines).map_err(anyhow::Error::msg)?;
    Ok(lines)
}
