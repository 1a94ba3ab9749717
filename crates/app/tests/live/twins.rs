//! What `record` writes of a machine in a known state, and what `diagnose` says of it: the same,
//! whatever the size of its pages.
//!
//! Recordings that were made this way in guests with base pages of 4 and of 16 KiB are in
//! `crates/app/tests/twins`. `HUGEWISE_KEEP=1` among the words for a guest's kernel prints them.

use crate::compact::fragment;
use crate::init;
use crate::kit::{Scratch, hugewise, skip, trial_of_any_kernel};
use crate::machine::{THP, Turn, geometry, set_in_guest};
use anyhow::{Context, ensure};
use hugewise_base::units::Bytes;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::root::Root;
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const STATES: &str = "states_are_diagnosed_whatever_the_size_of_pages";
/// Bytes of a recording that are printed in a line.
const LINE: usize = 4096;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial_of_any_kernel(STATES, states_are_diagnosed)]
}

/// Records ten seconds. Returns the causes that are found in them.
fn recorded(scratch: &Scratch, name: &str) -> anyhow::Result<BTreeSet<String>> {
    let file = scratch.join(format!("{name}.history"));
    let path = file.to_str().context("a plain path")?;
    hugewise(["record", "--for", "10s", "-o", path])?.expect(0)?;
    let found = hugewise(["diagnose", "--json", path])?.json()?;
    let causes = found["findings"].as_array().context("findings")?;
    let causes: BTreeSet<String> =
        causes.iter().filter_map(|one| one["cause"].as_str().map(str::to_owned)).collect();
    init::say(&format!("{name}: {causes:?}"));
    keep(&file, name)?;
    Ok(causes)
}

/// Prints a recording, where it is to be kept.
fn keep(file: &Path, name: &str) -> anyhow::Result<()> {
    if std::env::var_os("HUGEWISE_KEEP").is_none() {
        return Ok(());
    }
    for piece in fs::read(file)?.chunks(LINE) {
        let mut line = format!("keep {name} ");
        for byte in piece {
            write!(line, "{byte:02x}")?;
        }
        init::say(&line);
    }
    Ok(())
}

/// Takes huge pages and gives them back, until told to end.
fn fault(end: &AtomicBool) -> anyhow::Result<()> {
    let huge = usize::try_from(geometry().huge.0)?;
    while !end.load(Ordering::Relaxed) {
        let mut arena = Arena::new(8 * huge, huge).context("cannot map memory")?;
        arena.advise(0..8 * huge, LocalAdvice::HugePage)?;
        (0..8 * huge).step_by(huge).for_each(|at| arena.set(at, 1));
    }
    Ok(())
}

fn states_are_diagnosed(_: &Turn) -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("it fragments nearly all memory: only in a virtual machine"));
    }
    // Of 1 GiB, what programs live on meanwhile is so large a part that too little is in pieces
    // (`fmfi_high_index` is 0.9).
    let memory = hugewise_linux::machine::sample(&Root::live(), geometry()).mem_total;
    if memory < Some(Bytes::mib(1536)) {
        return Err(skip("needs 2 GiB of memory"));
    }
    let scratch = Scratch::new()?;
    let healthy = recorded(&scratch, "healthy")?;
    let of_memory = ["fragmentation", "compaction", "huge_faults", "low_memory", "memory_short"];
    ensure!(of_memory.iter().all(|cause| !healthy.contains(*cause)), "{healthy:?}");
    let kept = fragment(16)?;
    let fragmented = recorded(&scratch, "fragmented")?;
    ensure!(fragmented.contains("fragmentation"), "{fragmented:?}");
    for file in ["enabled", "defrag"] {
        set_in_guest(&format!("{THP}/{file}"), "always")?;
    }
    let end = AtomicBool::new(false);
    let stalls = std::thread::scope(|scope| {
        let faults = scope.spawn(|| fault(&end));
        let stalls = recorded(&scratch, "stalls");
        end.store(true, Ordering::Relaxed);
        faults.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        stalls
    });
    for file in ["enabled", "defrag"] {
        set_in_guest(&format!("{THP}/{file}"), "madvise")?;
    }
    let stalls = stalls?;
    ensure!(stalls.contains("huge_faults") && stalls.contains("thp_defrag_always"), "{stalls:?}");
    drop(kept);
    Ok(())
}
