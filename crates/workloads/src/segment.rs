//! `hugewise lab workload segment`: many processes with one System V segment, as a database has
//! them.
//!
//! The first process makes the segment and forks the others; each touches every base page of it. It
//! answers requests ([`crate::protocol`]).

use crate::kit::{MIB, say, serve};
use crate::protocol::{Event, Report, Request};
use anyhow::{Context, ensure};
use clap::Parser;
use hugewise_linux::fork::{PausingChild, touching_child};
use hugewise_linux::prctl;
use hugewise_linux::segment::Segment;
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

/// Arguments of `hugewise lab workload segment`.
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
}

/// Runs the command.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    // First of all: without its parent nobody would end it.
    prctl::set_parent_death_signal().context("cannot ask to end with the parent")?;
    let args = Args::try_parse_from(args)?;
    ensure!(args.processes > 0 && args.mib > 0, "--processes and --mib are 1 or more");
    let segment = Segment::create(args.mib * MIB, args.huge).context("cannot make a segment")?;
    touch(&segment);
    let others = (1..args.processes).map(|_| Other::start(&segment)).collect::<Result<_, _>>()?;
    let others: Vec<Other> = others;
    for other in &others {
        other.wait_until_ready()?;
    }
    say(&Event::Ready(Report::default()))?;
    serve("segment", |asked| {
        let Request::Processes = asked else { return Ok(None) };
        let all = std::iter::once(std::process::id());
        say(&Event::Processes { pids: all.chain(others.iter().map(Other::id)).collect() })?;
        Ok(Some(true))
    })
}

/// Changes a byte of each base page.
pub(super) fn touch(segment: &Segment) {
    for byte in segment.bytes().iter().step_by(rustix::param::page_size()) {
        byte.fetch_add(1, Ordering::Relaxed);
    }
}

/// A process that shares the segment; ended on drop.
///
/// Forked as a database forks its servers, not started anew: a program that starts maps and touches
/// much of its own text, and those page tables would grow with hugewise.
#[derive(Debug)]
pub(super) struct Other {
    process: PausingChild,
    done: PipeReader,
}

impl Other {
    pub(super) fn start(segment: &Segment) -> anyhow::Result<Self> {
        let (done, into) = std::io::pipe().context("cannot make a pipe")?;
        let into = File::from(OwnedFd::from(into));
        let process = touching_child(segment.bytes(), rustix::param::page_size(), &into);
        Ok(Self { process: process.context("cannot start another process")?, done })
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it has touched everything.
    pub(super) fn wait_until_ready(&self) -> anyhow::Result<()> {
        (&self.done).read_exact(&mut [0]).context("another process ended")
    }
}
