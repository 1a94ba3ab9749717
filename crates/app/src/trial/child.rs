//! The workload's process, as its parent sees it.

use super::protocol::{Parts, Reply, Request, Variant};
use super::{Memory, Tail};
use crate::child::{lines, this_program};
use crate::group::Group;
use crate::session::{BEAT, Session};
use anyhow::{Context, anyhow, bail};
use hugewise_core::parse::smaps;
use hugewise_core::units::Bytes;
use hugewise_linux::root::Root;
use std::io::Write;
use std::ops::Range;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A workload that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running workload; killed on drop.
#[derive(Debug)]
pub(crate) struct Workload {
    child: Child,
    input: ChildStdin,
    replies: Receiver<String>,
    parts: Parts<Range<u64>>,
    // After `child`: a group can only be removed once it is empty (see `drop`).
    group: Option<Group>,
}

impl Workload {
    /// Starts it, with a cgroup of its own where possible.
    pub(crate) fn start(session: &Session, variant: Variant, size: Bytes) -> anyhow::Result<Self> {
        let mut command = this_program()?;
        command.args(["workload", "try", "--variant", variant.name()]);
        command.arg("--bytes").arg(size.0.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the workload")?;
        let input = child.stdin.take().context("the workload has no input")?;
        let output = child.stdout.take().context("the workload has no output")?;
        let replies = lines(output);
        let group = Group::around("try", child.id());
        let parts = Parts::default();
        let mut workload = Self { child, input, replies, parts, group };
        match workload.reply(session)? {
            Reply::Ready { parts } => workload.parts = parts,
            other => bail!("the workload began with {other:?}"),
        }
        Ok(workload)
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it for something and waits for the answer.
    pub(crate) fn ask(&mut self, session: &Session, request: Request) -> anyhow::Result<Reply> {
        self.send(request)?;
        self.reply(session)
    }

    fn send(&mut self, request: Request) -> anyhow::Result<()> {
        let line = format!("{}\n", request.line());
        self.input.write_all(line.as_bytes()).context("the workload is gone")
    }

    fn reply(&mut self, session: &Session) -> anyhow::Result<Reply> {
        let patience = Instant::now() + PATIENCE;
        let line = loop {
            session.beat()?;
            match self.replies.recv_timeout(BEAT) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Timeout) if Instant::now() < patience => {}
                Err(RecvTimeoutError::Timeout) => bail!("the workload hangs"),
                // On Ctrl-C the workload ends as well: say the cause, not the symptom.
                Err(RecvTimeoutError::Disconnected) => {
                    session.beat()?;
                    bail!("the workload ended early: {}", self.child.wait()?);
                }
            }
        };
        match serde_json::from_str(&line).context("the workload says what nobody understands")? {
            Reply::Mismatch { words, during } => Err(anyhow!(
                "DATA MISMATCH: {words} words of the workload are not what it wrote (seen during \
                 {during}). Memory, kernel or hugewise is broken: do not use 'manage' here, and \
                 report this"
            )),
            reply => Ok(reply),
        }
    }

    /// Random reads; their mean, and each batch into `tail`.
    pub(crate) fn access(
        &mut self,
        session: &Session,
        seconds: f64,
        tail: &mut Tail,
    ) -> anyhow::Result<f64> {
        match self.ask(session, Request::Access(seconds))? {
            Reply::Accessed { ns, batches } => {
                tail.access.merge(&batches);
                Ok(ns)
            }
            other => bail!("the workload answered {other:?}"),
        }
    }

    /// Small mappings, touched and unmapped, into `tail`.
    pub(crate) fn faults(
        &mut self,
        session: &Session,
        seconds: f64,
        tail: &mut Tail,
    ) -> anyhow::Result<()> {
        match self.ask(session, Request::Faults(seconds))? {
            Reply::Faulted { fault, map } => {
                tail.fault.merge(&fault);
                tail.map.merge(&map);
                Ok(())
            }
            other => bail!("the workload answered {other:?}"),
        }
    }

    /// Its memory now. Reads smaps: only while it waits for a request, for that takes its lock.
    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        let text = Root::live().read(format!("proc/{}/smaps", self.pid()));
        let entries = smaps::parse(&text.context("cannot read the workload's smaps")?).value;
        let sum = |part: &Range<u64>, bytes: fn(&smaps::SmapsEntry) -> Option<u64>| -> u64 {
            let inside =
                |e: &&smaps::SmapsEntry| part.contains(&e.map.start) && e.map.end <= part.end;
            entries.iter().filter(inside).filter_map(bytes).sum()
        };
        // A part that is not found has unknown huge pages, not none.
        let found = |part: &Range<u64>| entries.iter().any(|e| e.map.start == part.start);
        let parts = [&self.parts.dense, &self.parts.sparse, &self.parts.idle];
        if !parts.into_iter().all(found) {
            bail!("the workload's smaps do not show its memory");
        }
        let huge = |part: &Range<u64>| {
            let bytes = sum(part, |e| e.anon_huge_pages_bytes);
            100.0 * bytes as f64 / (part.end - part.start).max(1) as f64
        };
        Ok(Memory {
            rss: parts.iter().map(|part| Bytes(sum(part, |e| e.rss_bytes))).sum(),
            cgroup: self.group.as_ref().and_then(Group::usage),
            huge_percent: Parts {
                dense: huge(&self.parts.dense),
                sparse: huge(&self.parts.sparse),
                idle: huge(&self.parts.idle),
            },
        })
    }

    /// Lets it end by itself.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.send(Request::Exit)?;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { bail!("the workload ended with {status}") }
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
