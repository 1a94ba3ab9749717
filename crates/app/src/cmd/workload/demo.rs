//! The program that `hugewise try` looks at: memory with a dense, a sparse and an idle part.
//!
//! Every word is checked, while it works and at the end: what a manager does to a program's
//! memory must never show in its data.

mod memory;

use crate::exit;
use crate::trial::protocol::{Reply, Request, Variant};
use anyhow::{Context, bail, ensure};
use clap::Parser;
use hugewise_linux::prctl;
use memory::Memory;
use std::io::{BufRead, Write};
use std::time::Duration;

/// Arguments of `hugewise workload try`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    #[arg(long, value_enum)]
    variant: Variant,
    #[arg(long)]
    bytes: u64,
}

/// `hugewise workload try --variant VARIANT --bytes BYTES`.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    // First of all: a workload without its parent would hold its memory for good.
    prctl::set_parent_death_signal()?;
    let args = Args::try_parse_from(args)?;
    // Under `hugewise` faults give base pages whatever the machine's setting says; after the
    // fill the switch is opened again, or nobody could promote.
    if args.variant != Variant::Always {
        prctl::set_thp_disable(true).context("cannot switch huge pages off for the workload")?;
    }
    let mut memory = Memory::map(args.variant, args.bytes)?;
    say(&Reply::Ready { parts: memory.parts() })?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let Some(request) = Request::parse(&line) else { bail!("no such request: {line}") };
        let reply = match request {
            Request::Exit => break,
            Request::Fill => fill(&mut memory, args.variant)?,
            Request::Access(seconds) => {
                ensure!(!memory.is_freed(), "what is freed cannot be read");
                memory.access(Duration::from_secs_f64(seconds))
            }
            Request::Faults(seconds) => memory::faults(Duration::from_secs_f64(seconds))?,
            Request::Verify => memory.verify(),
            Request::Free(percent) => memory.free(percent)?,
            Request::Corrupt => {
                memory.corrupt();
                continue;
            }
        };
        say(&reply)?;
        if matches!(reply, Reply::Mismatch { .. }) {
            return Ok(exit::ERROR);
        }
    }
    Ok(exit::OK)
}

fn fill(memory: &mut Memory, variant: Variant) -> anyhow::Result<Reply> {
    let reply = memory.fill();
    if variant == Variant::Hugewise {
        prctl::set_thp_disable(false).context("cannot allow huge pages for the workload")?;
    }
    Ok(reply)
}

fn say(reply: &Reply) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, reply)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
