//! A workload in a process of its own: requests to it, events from it.

use crate::program::Program;
use crate::program_output::lines;
use crate::session::BEAT;
use anyhow::{Context, bail};
use hugewise_workloads::protocol::{Event, Report, Request};
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A child that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// A child that is asked to exit has only its memory to give back: that takes seconds.
const END: Duration = Duration::from_secs(60);

/// A workload; killed on drop.
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

    /// Sends a request.
    pub(crate) fn request(&mut self, request: Request) -> anyhow::Result<()> {
        self.send(&request.line())
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.input, "{line}").with_context(|| format!("{} is gone", self.name))
    }

    /// Sends a request after some time, whatever is said until then.
    pub(crate) fn request_later(&self, request: Request, after: Duration) -> anyhow::Result<()> {
        let mut to = File::from(self.input.as_fd().try_clone_to_owned()?);
        let line = format!("{}\n", request.line());
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
        self.request(Request::Measure(time.as_secs_f64()))
    }

    /// Waits for the next event that is no progress; an error where data are wrong.
    pub(crate) fn event(&mut self, beat: Beat<'_>) -> anyhow::Result<Event> {
        loop {
            let answer = self.hear(beat)?;
            match Event::deserialize(&answer) {
                Ok(Event::Progress { percent, text }) => {
                    beat(Some(&format!("{text}, {percent:.0} %")))?;
                }
                Ok(Event::Mismatch { .. }) => return Err(self.mismatch(&answer)),
                Ok(event) => return Ok(event),
                Err(error) => bail!("{} answers {answer}: {error}", self.name),
            }
        }
    }

    /// Waits until it is filled, with what it says then.
    pub(crate) fn ready(&mut self, beat: Beat<'_>) -> anyhow::Result<Report> {
        match self.event(beat)? {
            Event::Ready(report) => Ok(report),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Waits for the answer to [`Talk::measure`].
    pub(crate) fn measured(&mut self, beat: Beat<'_>) -> anyhow::Result<Report> {
        match self.event(beat)? {
            Event::Measured(report) => Ok(report),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Has everything compared with what was written.
    pub(crate) fn verify(&mut self, beat: Beat<'_>) -> anyhow::Result<()> {
        self.request(Request::Verify)?;
        match self.event(beat)? {
            Event::Verified { .. } => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    /// The error of an event that answers something else.
    pub(crate) fn unexpected(&self, event: &Event) -> anyhow::Error {
        anyhow::anyhow!("{} answers {event:?}, where something else was asked", self.name)
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
        self.request(Request::Exit)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(script: &str) -> Talk {
        Talk::start("a shell", Command::new("sh").args(["-c", script])).expect("a shell")
    }

    #[test]
    fn events_are_typed_and_wrong_data_are_an_error() {
        let script = r#"echo '{"event":"progress","percent":5,"text":"busy"}'
            echo '{"event":"ready"}'; read line; echo '{"event":"mismatch","wrong":2,"during":"x"}'
            read line; echo '{"event":"dance"}'"#;
        let (mut talk, mut said) = (talk(script), Vec::new());
        let ready = talk.ready(&mut |text| {
            said.extend(text.map(str::to_owned));
            Ok(())
        });
        assert_eq!(ready.expect("ready"), Report::default());
        assert_eq!(said, ["busy, 5 %"]);
        let error = talk.verify(&mut |_| Ok(())).expect_err("wrong data").to_string();
        assert!(error.starts_with("DATA MISMATCH in a shell"), "{error}");
        let error = talk.verify(&mut |_| Ok(())).expect_err("no event").to_string();
        assert!(error.contains("dance"), "{error}");
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
