//! The kernel's own way to "hot first", from Linux 7.3 on: a scheme of DAMON that collapses what is
//! accessed. What it does to a program beside what `manage` does to the same one.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, promotes, skip, trial};
use crate::machine::{Kernel, Turn, here};
use crate::promote::once;
use crate::track::{KDAMONDS, damon_watches_addresses};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::time::{Duration, Instant};

/// Size of the part that is read all the time, and of the one that nobody reads, MiB.
const MIB: u64 = 32;
/// Base pages of each huge page of the cold part that are there, of 512.
const THERE: u64 = 100;
/// Samples in which memory was accessed, of 20, from which on it is hot: half of them.
const HOT: u32 = 10;
/// An emulated CPU takes a while to go over the hot part, and DAMON to find where it begins.
const TIME: Duration = Duration::from_secs(60);

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("tracking_damos_collapse_bounds_no_growth", bounds_no_growth)]
}

/// DAMON with one scheme, which collapses what was accessed in at least so many samples.
#[derive(Debug)]
struct Scheme;

impl Scheme {
    fn start(pid: u32, accesses: u32) -> anyhow::Result<Self> {
        write("nr_kdamonds", "1")?;
        let scheme = Self;
        write("0/contexts/nr_contexts", "1")?;
        write("0/contexts/0/operations", "vaddr")?;
        write("0/contexts/0/targets/nr_targets", "1")?;
        write("0/contexts/0/targets/0/pid_target", &pid.to_string())?;
        write("0/contexts/0/schemes/nr_schemes", "1")?;
        if write("0/contexts/0/schemes/0/action", "collapse").is_err() {
            ensure!(Kernel::running()? < Kernel(7, 3), "DAMON knows no action 'collapse'");
            return Err(skip("before Linux 7.3 no scheme of DAMON collapses"));
        }
        let any = u32::MAX.to_string();
        for (what, least) in [("sz", 0), ("nr_accesses", accesses), ("age", 0)] {
            let pattern = format!("0/contexts/0/schemes/0/access_pattern/{what}");
            write(&format!("{pattern}/min"), &least.to_string())?;
            write(&format!("{pattern}/max"), &any)?;
        }
        write("0/state", "on")?;
        Ok(scheme)
    }
}

impl Drop for Scheme {
    fn drop(&mut self) {
        let _ = write("0/state", "off");
        let _ = write("nr_kdamonds", "0");
    }
}

fn write(file: &str, value: &str) -> anyhow::Result<()> {
    let path = format!("{KDAMONDS}/{file}");
    fs::write(&path, value).with_context(|| format!("'{value}' to {path}"))
}

/// A program of which one part is full and hot, the other a fifth full and idle.
fn program() -> anyhow::Result<Hold> {
    Hold::start(&format!("--mib {MIB} --fill sparse:{THERE} --hot {MIB}"))
}

/// What became huge, and by how much the program grew, KiB.
#[derive(Debug, Clone, Copy)]
struct Made {
    huge: u64,
    grown: u64,
}

/// What a scheme makes of such a program in at most [`TIME`], or until `wanted` KiB are huge.
fn made_by_scheme(accesses: u32, wanted: u64) -> anyhow::Result<Made> {
    let mut hold = program()?;
    let before = hold.memory()?;
    let scheme = Scheme::start(hold.pid(), accesses)?;
    let began = Instant::now();
    while hold.memory()?.huge < wanted && began.elapsed() < TIME {
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(scheme);
    let after = hold.memory()?;
    hold.verify()?;
    Ok(Made { huge: after.huge, grown: after.anon.saturating_sub(before.anon) })
}

fn bounds_no_growth(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if !init::is_guest() {
        return Err(skip("DAMON is set up for tests in virtual machines only"));
    }
    damon_watches_addresses()?;
    let part = here::mib(MIB) << 10;
    let hot = made_by_scheme(HOT, part)?;
    let all = made_by_scheme(0, 2 * part)?;
    let mut hold = program()?;
    let before = hold.memory()?;
    once(&Scratch::new()?, hold.pid(), "")?;
    let after = hold.memory()?;
    hold.verify()?;
    let ours = Made { huge: after.huge, grown: after.anon.saturating_sub(before.anon) };
    let text = format!(
        "{part} KiB hot, {part} KiB a fifth full: DAMOS of what is hot {hot:?}, of all {all:?}, \
         manage {ours:?}"
    );
    init::say(&text);
    let holes = part / 512 * (512 - THERE);
    ensure!(all.grown * 10 >= holes * 9, "its collapse has a bound of its own: {text}");
    ensure!(hot.huge > 0, "it finds nothing hot: {text}");
    ensure!(ours.huge == part && ours.grown * 100 <= part * 3, "{text}");
    Ok(())
}
