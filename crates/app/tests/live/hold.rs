//! A workload of one trial: `hold`, or another one.
//!
//! Trials say sizes as of x86-64. A program gets as many huge pages as they mean there, and the
//! same part of each ([`crate::machine::here`]).

use crate::init;
use crate::machine::{Memory, here};
use crate::programs;
use anyhow::{Context, bail, ensure};
use hugewise_workloads::protocol::{Event, Report, Request, Span};
use serde::de::DeserializeOwned;
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
    /// What it said when its memory was filled.
    pub(crate) filled: Report,
}

impl Hold {
    /// Starts it with arguments as on the command line, and waits until its memory is filled.
    pub(crate) fn start(args: &str) -> anyhow::Result<Self> {
        Self::start_as(&init::hugewise(), None, args)
    }

    /// Another workload that speaks the same language: `bloat`, `lab`.
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

    /// A program of the tests that speaks the same language, run by this user.
    pub(crate) fn start_program(name: &str, uid: Option<u32>, args: &str) -> anyhow::Result<Self> {
        let mut command = programs::command(name);
        command.args(scaled(args));
        Self::run(command, uid)
    }

    /// Another program file, another user.
    pub(crate) fn start_as(program: &Path, uid: Option<u32>, args: &str) -> anyhow::Result<Self> {
        Self::spawn(program, uid, &format!("hold {args}"))
    }

    fn spawn(program: &Path, uid: Option<u32>, args: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["lab", "workload"]).args(scaled(args));
        Self::run(command, uid)
    }

    fn run(mut command: Command, uid: Option<u32>) -> anyhow::Result<Self> {
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let requests = process.stdin.take().context("no standard input")?;
        let answers = BufReader::new(process.stdout.take().context("no standard output")?);
        let mut hold = Self { process, requests, answers, filled: Report::default() };
        hold.ready()?;
        Ok(hold)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits until its memory is filled.
    pub(crate) fn ready(&mut self) -> anyhow::Result<()> {
        let event = self.event()?;
        let Event::Ready(report) = event else { bail!("not ready: {event:?}") };
        self.filled = report;
        Ok(())
    }

    pub(crate) fn ask(&mut self, request: Request) -> anyhow::Result<Event> {
        self.tell(request)?;
        self.event().with_context(|| format!("no answer to {request:?}"))
    }

    pub(crate) fn tell(&mut self, request: Request) -> anyhow::Result<()> {
        let here = |span: Span| {
            let scale = |n: usize| here::mib(n as u64).try_into().unwrap_or(usize::MAX);
            Span { offset_mib: scale(span.offset_mib), len_kib: scale(span.len_kib) }
        };
        let request = match request {
            Request::Drop(span) => Request::Drop(here(span)),
            Request::Touch(span) => Request::Touch(here(span)),
            other => other,
        };
        writeln!(self.requests, "{}", request.line()).context("the workload has ended")
    }

    /// The next event that is no progress.
    pub(crate) fn event(&mut self) -> anyhow::Result<Event> {
        loop {
            let mut line = String::new();
            self.answers.read_line(&mut line)?;
            let event = serde_json::from_str(&line);
            match event.with_context(|| format!("no event: '{}'", line.trim()))? {
                Event::Progress { .. } => {}
                event => return Ok(event),
            }
        }
    }

    /// Every page that was written holds what was written. Returns their number.
    pub(crate) fn verify(&mut self) -> anyhow::Result<u64> {
        let event = self.ask(Request::Verify)?;
        let Event::Verified { checked } = event else { bail!("DATA CHANGED: {event:?}") };
        ensure!(checked > 0, "nothing was verified");
        Ok(checked)
    }

    /// What a program of the tests answers that is asked for more than the protocol has.
    pub(crate) fn ask_for<T: DeserializeOwned>(&mut self, request: &str) -> anyhow::Result<T> {
        writeln!(self.requests, "{request}").context("the program has ended")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("'{request}': '{}'", line.trim()))
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

/// Arguments of a program, with sizes of this machine.
fn scaled(args: &str) -> Vec<String> {
    let words: Vec<&str> = args.split_whitespace().collect();
    let number = |text: &str, scale: fn(u64) -> u64| text.parse().ok().map(scale);
    let word = |(at, word): (usize, &&str)| {
        let option = at.checked_sub(1).and_then(|before| words.get(before)).copied();
        let number = match (option, word.split_once(':')) {
            (Some("--mib" | "--hot"), _) => number(word, here::mib).map(|mib| mib.to_string()),
            (Some("--pages"), _) => number(word, here::pages).map(|pages| pages.to_string()),
            (Some("--fill"), Some(("sparse", pages))) => {
                number(pages, here::pages).map(|pages| format!("sparse:{pages}"))
            }
            _ => None,
        };
        number.unwrap_or_else(|| (*word).to_owned())
    };
    words.iter().enumerate().map(word).collect()
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
