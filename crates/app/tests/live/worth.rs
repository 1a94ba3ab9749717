//! What is accessed most becomes huge first.

use crate::hold::Hold;
use crate::kit::{Scratch, promotes, trial_of_any_kernel};
use crate::machine::Turn;
use crate::manager::{Manage, journal};
use crate::promote::{FAST, MIB, is_covered};
use anyhow::ensure;
use libtest_mimic::Trial;
use serde_json::Value;

/// The hot part begins here, and lies at the end of the memory. It is larger than what the TLB
/// covers with base pages, or nothing would be gained.
const HOT_MIB: u64 = MIB / 2;
/// Its regions.
const HOT_REGIONS: u64 = (MIB - HOT_MIB) / 2;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial_of_any_kernel("worth_what_is_hinted_to_be_hot_comes_first", hot_comes_first)]
}

/// A configuration whose hints say that only the end of a program's largest mapping is in use.
fn hinted(scratch: &Scratch) -> anyhow::Result<String> {
    let path = scratch.join("hugewise.toml");
    // By number: a virtual machine knows no names of users.
    let user = format!("[[hint]]\nuser = \"#{}\"\n", rustix::process::getuid().as_raw());
    let hot = format!("from_bytes = \"{HOT_MIB} MiB\"\naccessed_percent = 100\n");
    std::fs::write(&path, format!("{user}{hot}{user}accessed_percent = 0\n"))?;
    Ok(path.display().to_string())
}

/// Offsets of what was promoted, in MiB, in that order.
fn promoted(journal: &[Value]) -> Vec<u64> {
    let done = journal.iter().filter(|r| r["record"] == "action" && r["result"] == "promoted");
    done.filter_map(|record| record["offset_bytes"].as_u64()).map(|bytes| bytes >> 20).collect()
}

fn run(scratch: &Scratch, hold: &mut Hold, more: &str) -> anyhow::Result<Vec<Value>> {
    let (pid, config) = (hold.pid(), hinted(scratch)?);
    // Its CPU time, which is none, stays unknown: listed once it counts as one core in use.
    let listed_once = "--set scan.list_interval_ms=60000";
    let args =
        format!("--pid {pid} --once --keep-settings --config {config} {FAST} {listed_once} {more}");
    let status = Manage::new(scratch, &args).run()?.expect(0)?.json()?;
    is_covered(hold, &status)?;
    journal(scratch)
}

fn hot_comes_first(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let journal = run(&scratch, &mut hold, "")?;
    let order = promoted(&journal);
    let hot = order.iter().take_while(|offset| **offset >= HOT_MIB).count();
    ensure!(hot as u64 == HOT_REGIONS, "the hot half first, then the rest: {order:?}");
    let gains = journal.iter().filter_map(|record| record["outlook"]["gain_ns_per_s"].as_u64());
    let gains: Vec<_> = gains.collect();
    ensure!(gains.first() > gains.last(), "hot memory gains more: {gains:?}");
    // The control: by utilization all are alike, and the first comes first.
    let (scratch, mut hold) = (Scratch::new()?, Hold::start(&format!("--mib {MIB}"))?);
    let journal = run(&scratch, &mut hold, "--set policy.active=utilization")?;
    ensure!(promoted(&journal).first() == Some(&0), "{journal:?}");
    Ok(())
}
