//! A child that speaks: a line in, a line of JSON out.

use super::program::Program;
use super::protocol::Request;
use crate::child::lines;
use crate::session::BEAT;
use anyhow::{Context, bail};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A child that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// A child that is told to exit has only its memory to give back: that takes seconds.
const END: Duration = Duration::from_secs(60);

/// See the module's text; the child is killed on drop.
#[derive(Debug)]
pub(crate) struct Talk {
    /// The child.
    pub(crate) program: Program,
    name: String,
    patience: Duration,
    input: ChildStdin,
    replies: Receiver<String>,
}

/// What is called while an answer is waited for, with what the child says of its progress; an
/// error ends the wait.
pub(crate) type Beat<'a> = &'a mut dyn FnMut(Option<&str>) -> anyhow::Result<()>;

impl Talk {
    /// Starts it; `name` is what errors call it.
    pub(crate) fn start(name: &str, command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = Program::start(command)?;
        let input = program.0.stdin.take().context("a child without input")?;
        let replies = lines(program.0.stdout.take().context("a child without output")?);
        Ok(Self { program, name: name.into(), patience: PATIENCE, input, replies })
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.input, "{line}").with_context(|| format!("{} is gone", self.name))
    }

    /// Sends a line after some time, whatever is said until then.
    pub(crate) fn send_later(&self, line: &str, after: Duration) -> anyhow::Result<()> {
        let mut to = File::from(self.input.as_fd().try_clone_to_owned()?);
        let line = format!("{line}\n");
        std::thread::spawn(move || {
            std::thread::sleep(after);
            // One that has ended meanwhile needs nothing any more.
            let _ = to.write_all(line.as_bytes());
        });
        Ok(())
    }

    /// Asks it to measure for so long; not every child says something meanwhile.
    pub(crate) fn measure(&mut self, time: Duration) -> anyhow::Result<()> {
        self.patience = PATIENCE.saturating_add(time);
        self.send(&Request::Measure(time.as_secs_f64()).line())
    }

    /// Waits for an event of this kind.
    pub(crate) fn wait(&mut self, event: &str, beat: Beat<'_>) -> anyhow::Result<Value> {
        loop {
            let answer = self.hear(beat)?;
            match answer["event"].as_str() {
                Some(kind) if kind == event => return Ok(answer),
                Some("progress") => beat(Some(&progress(&answer)))?,
                Some("mismatch") => return Err(self.mismatch(&answer)),
                _ => bail!("{} answers {answer}, where '{event}' was due", self.name),
            }
        }
    }

    /// Waits for the next line, whatever it says.
    pub(crate) fn hear(&mut self, beat: Beat<'_>) -> anyhow::Result<Value> {
        let asked = Instant::now();
        loop {
            beat(None)?;
            match self.replies.recv_timeout(BEAT) {
                Ok(line) => {
                    return serde_json::from_str(&line)
                        .with_context(|| format!("{} says what nobody understands", self.name));
                }
                Err(RecvTimeoutError::Timeout) if asked.elapsed() < self.patience => {}
                Err(RecvTimeoutError::Timeout) => bail!("{} hangs", self.name),
                // On Ctrl-C the child ends as well: say the cause, not the symptom.
                Err(RecvTimeoutError::Disconnected) => {
                    beat(None)?;
                    bail!("{} ended early: {}", self.name, self.program.0.wait()?);
                }
            }
        }
    }

    /// The error of a child whose data are not what it wrote.
    pub(crate) fn mismatch(&self, answer: &Value) -> anyhow::Error {
        anyhow::anyhow!(
            "DATA MISMATCH in {}: {answer}. Memory, kernel or hugewise is broken: do not use \
             'manage' here, and report this",
            self.name
        )
    }

    /// Lets it end by itself; one that does not within [`END`] is killed, and an error.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.finish_within(END)
    }

    fn finish_within(mut self, limit: Duration) -> anyhow::Result<()> {
        self.send(&Request::Exit.line())?;
        let until = Instant::now() + limit;
        loop {
            match self.program.0.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("{} ended with {status}", self.name),
                None if Instant::now() >= until => {
                    bail!("{} did not end within {} s", self.name, limit.as_secs())
                }
                None => std::thread::sleep(BEAT / 10),
            }
        }
    }
}

fn progress(answer: &Value) -> String {
    let text = answer["text"].as_str().unwrap_or("working");
    match answer["percent"].as_f64() {
        Some(percent) => format!("{text}, {percent:.0} %"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(script: &str) -> Talk {
        Talk::start("a shell", Command::new("sh").args(["-c", script])).expect("a shell")
    }

    #[test]
    fn a_child_ends_by_itself_or_is_an_error() {
        assert!(talk("read line; test $line = exit").finish().is_ok());
        let error = talk("read line; exit 3").finish().expect_err("failed").to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        let deaf = talk("read line; exec sleep 60");
        let error = deaf.finish_within(Duration::ZERO).expect_err("hangs").to_string();
        assert_eq!(error, "a shell did not end within 0 s");
    }
}
