//! `hugewise workload segment`: many processes with one System V segment, as a database has them.
//!
//! The first process makes the segment and starts the others, which attach it by its number; each
//! touches every base page of it. It answers requests ([`crate::protocol`]).

use crate::kit::{MIB, request, say, unknown};
use crate::protocol::{Event, Report, Request};
use anyhow::{Context, ensure};
use clap::Parser;
use hugewise_core::base::exit;
use hugewise_linux::prctl;
use hugewise_linux::segment::Segment;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

/// Arguments of `hugewise workload segment`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    /// Size, MiB
    #[arg(long, default_value_t = 2)]
    mib: usize,
    /// Processes that attach it, the first one included
    #[arg(long, default_value_t = 1)]
    processes: usize,
    /// On HugeTLB pages
    #[arg(long)]
    huge: bool,
    /// Attach this segment, instead of making one
    #[arg(long)]
    attach: Option<i32>,
}

/// Runs the command.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    // First of all: without its parent nobody would end it.
    prctl::set_parent_death_signal().context("cannot ask to end with the parent")?;
    let args = Args::try_parse_from(args)?;
    if let Some(id) = args.attach {
        let segment = Segment::attach(id).context("cannot attach the segment")?;
        touch(&segment);
        say(&Event::Ready(Report::default()))?;
        // Nothing is ever said: its end is the parent's wish.
        std::io::stdin().read_to_end(&mut Vec::new())?;
        return Ok(exit::OK);
    }
    ensure!(args.processes > 0 && args.mib > 0, "--processes and --mib are 1 or more");
    let segment = Segment::create(args.mib * MIB, args.huge).context("cannot make a segment")?;
    touch(&segment);
    let mut others = Vec::new();
    // Those that were started end with their standard input, also if the next one fails.
    for _ in 1..args.processes {
        others.push(Other::start(segment.id())?);
    }
    for other in &mut others {
        other.wait_until_ready()?;
    }
    say(&Event::Ready(Report::default()))?;
    obey(&others)?;
    for mut other in others {
        other.end()?;
    }
    Ok(exit::OK)
}

fn obey(others: &[Other]) -> anyhow::Result<()> {
    for line in std::io::stdin().lines() {
        let line = line?;
        match request("segment", &line)? {
            Request::Exit => break,
            Request::Processes => {
                let all = std::iter::once(std::process::id());
                say(&Event::Processes { pids: all.chain(others.iter().map(Other::id)).collect() })?;
            }
            _ => return Err(unknown("segment", &line)),
        }
    }
    Ok(())
}

/// Changes a byte of each base page.
pub(super) fn touch(segment: &Segment) {
    for byte in segment.bytes().iter().step_by(rustix::param::page_size()) {
        byte.fetch_add(1, Ordering::Relaxed);
    }
}

/// A process that attached the segment, too.
#[derive(Debug)]
pub(super) struct Other {
    process: Child,
}

impl Other {
    pub(super) fn start(id: i32) -> anyhow::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.args(["workload", "segment", "--attach", &id.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = command.spawn().context("cannot start another process")?;
        Ok(Self { process })
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it has touched everything.
    pub(super) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let out = self.process.stdout.take().context("no standard output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let ready = matches!(serde_json::from_str(&line), Ok(Event::Ready(_)));
        ensure!(ready, "another process ended: '{}'", line.trim());
        Ok(())
    }

    /// Ends it and waits for that.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        drop(self.process.stdin.take());
        self.process.wait()?;
        Ok(())
    }
}
