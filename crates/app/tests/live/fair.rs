//! Programs that are alike become huge alike.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, promotes, skip, trial};
use crate::machine::Turn;
use crate::manager::Manage;
use anyhow::{Context, ensure};
use hugewise_base::stats::together::jain;
use libtest_mimic::Trial;
use std::time::{Duration, Instant};

/// Regions of each program.
const REGIONS: u64 = 128;
/// From so many huge pages each on they are compared.
const FROM: u64 = 50;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("equal_programs_become_huge_alike", equal_programs_become_huge_alike)]
}

fn equal_programs_become_huge_alike(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("a virtual machine here has too little memory for three programs"));
    }
    let scratch = Scratch::new()?;
    let start = |_| Hold::start(&format!("--mib {}", 2 * REGIONS));
    let mut programs = (0..3).map(start).collect::<anyhow::Result<Vec<_>>>()?;
    let pids = programs.iter().map(|hold| format!("--pid {}", hold.pid())).collect::<Vec<_>>();
    let manager = Manage::new(&scratch, &format!("{} --for 1h", pids.join(" "))).start()?;
    let (began, mut worst, mut compared) = (Instant::now(), 1.0_f64, 0);
    loop {
        let memory = programs.iter().map(Hold::memory).collect::<anyhow::Result<Vec<_>>>()?;
        let huge: Vec<u64> = memory.iter().map(|memory| memory.huge / 2048).collect();
        if huge.iter().all(|huge| *huge == REGIONS) {
            break;
        }
        if huge.iter().all(|huge| *huge >= FROM) {
            let huge: Vec<f64> = huge.iter().map(|huge| *huge as f64).collect();
            let index = jain(&huge).context("none is huge")?;
            (worst, compared) = (worst.min(index), compared + 1);
        }
        ensure!(began.elapsed() < Duration::from_secs(60), "not huge after 60 s: {huge:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("fair: Jain's index {worst:.3} at worst, {compared} times compared");
    ensure!(compared >= 5, "compared only {compared} times");
    ensure!(worst >= 0.98, "Jain's index {worst:.3}");
    programs.iter_mut().try_for_each(|hold| hold.verify().map(|_| ()))?;
    manager.stop()?.expect(0)?;
    Ok(())
}
