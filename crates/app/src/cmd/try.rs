//! `hugewise try`.

use crate::cli::{Global, TryArgs};
use crate::environment::Environment;
use crate::session::Session;
use crate::trial::protocol::layout;
use crate::trial::verdict::Verdict;
use crate::trial::{SCHEMA, Trial, schedule, simulated, table};
use crate::{exit, report};
use anyhow::Context;
use hugewise_core::parse::size;
use hugewise_core::units::{Bytes, Geometry};
use hugewise_linux::root::Root;

/// The default size: enough that base pages do not fit into any TLB, and two minutes in all.
const SIZE_MAX: Bytes = Bytes::mib(512);
/// Least size that leaves each part a few regions.
const SIZE_MIN: Bytes = Bytes::mib(32);

/// Runs the command.
pub(crate) fn run(global: &Global, args: &TryArgs) -> anyhow::Result<u8> {
    let root = Root::at(&global.root);
    let environment = Environment::read(&root);
    let size = wanted_size(args, &environment)?;
    if args.rounds == 0 {
        return Err(exit::coded(exit::USAGE, "--rounds is at least 1"));
    }
    // Now, not after two minutes: a report that cannot be written wastes the run.
    let report = std::fs::OpenOptions::new().append(true).create(true).open(&args.report);
    report.with_context(|| format!("cannot write {}", args.report.display()))?;
    let simulated = obstacle(args, &root, &environment, size);
    let parts = layout(size, Geometry::X86_64.huge.0);
    let rows = match &simulated {
        Some(_) => simulated::run(&parts),
        None => schedule::run(
            &mut Session::start("try", "the workload is ended, no setting was changed")?,
            size,
            args.rounds,
        )?,
    };
    let rounds = if simulated.is_some() { 1 } else { args.rounds };
    let trial = Trial { schema: SCHEMA, simulated, size, parts, rounds, environment, rows };
    let verdict = Verdict::of(&trial);
    let page = report::page(&trial, &verdict)?;
    std::fs::write(&args.report, page)
        .with_context(|| format!("cannot write {}", args.report.display()))?;
    if global.json {
        println!("{}", serde_json::to_string(&trial)?);
    } else {
        print!("{}", table::text(&trial, &verdict));
        println!("\nReport: {}", args.report.display());
    }
    Ok(exit::OK)
}

fn wanted_size(args: &TryArgs, environment: &Environment) -> anyhow::Result<Bytes> {
    let Some(text) = &args.size else {
        let quarter = environment.mem_available.map_or(SIZE_MAX, |bytes| bytes.percent(25.0));
        return Ok(quarter.min(SIZE_MAX).max(SIZE_MIN));
    };
    let size = size::parse(text).map_err(|e| exit::coded(exit::USAGE, format!("--size: {e}")))?;
    let size = Bytes(size.bytes());
    if size < SIZE_MIN {
        return Err(exit::coded(exit::USAGE, format!("--size is at least {SIZE_MIN}")));
    }
    Ok(size)
}

/// Why nothing real can be done here; `None` when it can.
fn obstacle(args: &TryArgs, root: &Root, environment: &Environment, size: Bytes) -> Option<String> {
    if args.simulate {
        return Some("--simulate asked for a simulation".into());
    }
    if !root.is_live() {
        return Some("--root names a captured directory".into());
    }
    if !rustix::process::geteuid().is_root() {
        let text = "promoting the memory of a process needs root; run it again as root";
        return Some(text.into());
    }
    match environment.switch().as_deref() {
        None => return Some("this kernel has no transparent huge pages".into()),
        Some("never") => {
            let text = "transparent huge pages are switched off on this machine ('never'), and \
                        that is respected";
            return Some(text.into());
        }
        Some(_) => {}
    }
    if environment.huge_page != Some(Geometry::X86_64.huge) {
        return Some("the bundled workload is made for huge pages of 2 MiB".into());
    }
    // Warming takes half as much again, and others need a rest.
    let needed = size.percent(200.0);
    environment.mem_available.filter(|available| *available < needed).map(|available| {
        format!("it needs {needed} of available memory and {available} are there; see --size")
    })
}
