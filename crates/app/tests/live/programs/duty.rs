//! A program that works a fifth of the time, as a server does with little load: it sleeps, works
//! for a moment, and maps and unmaps memory all the while, for which it needs the lock of its
//! address space.

use super::kit::{MIB, end_with_parent, huge, say_ready};
use anyhow::Context;
use hugewise_linux::memory::Arena;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// How long it works, and how long it sleeps then.
const WORK: Duration = Duration::from_millis(1);
const SLEEP: Duration = Duration::from_millis(4);
/// While it works, it needs the lock once in this time.
const STEP: Duration = Duration::from_micros(50);

/// Fills as many MiB as the argument says, and works until it is killed.
pub(super) fn run(args: &[OsString]) -> anyhow::Result<u8> {
    end_with_parent()?;
    let mib = args.first().and_then(|mib| mib.to_str()).context("how many MiB?")?;
    let len = mib.parse::<usize>()? * MIB;
    let page = rustix::param::page_size();
    let mut memory = Arena::new(len, huge())?;
    (0..len).step_by(page).for_each(|at| memory.set(at, 1));
    say_ready()?;
    loop {
        let ends = Instant::now() + WORK;
        while Instant::now() < ends {
            let mut piece = Arena::new(page, page)?;
            piece.set(0, 1);
            drop(piece);
            let next = Instant::now() + STEP;
            while Instant::now() < next {
                std::hint::spin_loop();
            }
        }
        std::thread::sleep(SLEEP);
    }
}
