//! Collapses under a program that checks its memory all the time.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Said, Scratch, actions, number, promotes, skip, trial};
use crate::machine::{Turn, here};
use crate::manager::{Manage, journal};
use crate::programs::Counts;
use crate::shaker::Shaker;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A user that nobody else uses: a rule finds stress-ng's processes by it.
const USER: u32 = 65_532;
/// Fewer collapses show nothing.
const ENOUGH: u64 = 1_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("stress_ng_finds_no_wrong_bit", stress_ng_finds_no_wrong_bit),
        trial("writers_find_no_wrong_word", writers_find_no_wrong_word),
    ]
}

/// Two writers, each with a copy of what it wrote, while their regions are promoted and split at
/// random. A third of the pages is zero at any time: those that a split takes away.
fn writers_find_no_wrong_word(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let (least, most) = match (init::is_soak(), init::is_guest()) {
        (true, false) => (50_000, Duration::from_secs(600)),
        // An emulated guest beside a busy host takes its time: it ends as soon as it has enough.
        // Of larger huge pages fewer are as much memory.
        (soak, true) => {
            let most = Duration::from_secs(if soak { 900 } else { 180 });
            ((200 * 2048 / here::huge_kib()).max(50), most)
        }
        (false, false) => (ENOUGH, Duration::from_secs(60)),
    };
    // With its copy at most half a GiB: a guest has little memory, and blocks must stay free.
    let mib = (256 * 2048 / here::huge_kib()).min(64);
    let mut writers = Hold::start_program("shadow", None, &format!("--mib {mib} --advise huge"))?;
    let mut shaker = Shaker::new(1)?;
    let began = Instant::now();
    while shaker.done.split < least && began.elapsed() < most {
        shaker.shake(writers.pid());
    }
    let done = shaker.done;
    writers.verify()?;
    let counts: Counts = writers.ask_for("counts")?;
    println!("writers: {} s, {done:?}, {counts:?}", began.elapsed().as_secs());
    ensure!(counts.mismatches == 0, "DATA CHANGED: {counts:?}");
    ensure!(counts.updates > 100_000 || init::is_guest(), "{counts:?}");
    ensure!(done.split >= least && done.promoted >= least / 2, "too few: {done:?}");
    ensure!(done.partial > 0, "no partially mapped block was split: {done:?}");
    Ok(())
}

fn stress_ng(folder: &Path, seconds: u64) -> anyhow::Result<Child> {
    // Without --vm-madvise it advises at random, also against huge pages.
    let args = "--vm 2 --vm-bytes 2400M --vm-keep --vm-method all --vm-madvise normal --verify \
        --metrics --oomable";
    let mut command = Command::new("stress-ng");
    command.args(args.split_whitespace()).arg("--temp-path").arg(folder);
    command.args(["--timeout", &format!("{seconds}s")]).uid(USER).gid(USER);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match command.current_dir(folder).spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(skip("no stress-ng: install Debian's package of that name"))
        }
        other => other.context("cannot start stress-ng"),
    }
}

fn stress_ng_finds_no_wrong_bit(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("needs stress-ng, which a virtual machine does not hold"));
    }
    let scratch = Scratch::new()?;
    let folder = scratch.join("stress-ng");
    fs::create_dir(&folder)?;
    chown(&folder, Some(USER), Some(USER))?;
    let config = scratch.join("hugewise.toml");
    let rule = format!(
        "[select]\ndefault = \"exclude\"\n\n[[rule]]\nuser = \"#{USER}\"\naction = \"manage\"\n\n\
         [controller]\nlock_share_percent = 100\ncpu_percent = 100\n\n\
         [quota]\nbytes_per_s = \"4 GiB\"\n\n\
         [scan]\ninterval_ms = 100\nlist_interval_ms = 200\ncpu_percent = 50\n"
    );
    fs::write(&config, rule)?;
    let args = format!("--for 1h --keep-settings --config {}", config.display());
    let mut collapses = 0;
    let mut shaker = Shaker::new(2)?;
    // A busy machine may need a second round.
    for seconds in if init::is_soak() { vec![300] } else { vec![30, 60, 120] } {
        let mut stress = stress_ng(&folder, seconds)?;
        let manager = Manage::new(&scratch, &args).start()?;
        // Besides the manager, which promotes: somebody who splits what is huge, at random.
        while stress.try_wait()?.is_none() {
            shaker.shake_user(USER);
        }
        let said = Said::of(&stress.wait_with_output()?);
        let status = manager.stop()?.expect(0)?.json()?;
        let said = said.expect(0)?;
        let all = format!("{}{}", said.out, said.err);
        let words = ["fail:", "error detected", "bit error", "incorrect"];
        ensure!(!words.iter().any(|word| all.contains(word)), "wrong memory: {all}");
        ensure!(all.contains("successful run completed"), "{all}");
        collapses += number(&status, "/promoted")?;
        println!("stress-ng: {collapses} collapses after {seconds} s; {:?}", shaker.done);
        let shaken = shaker.done.promoted.min(shaker.done.split);
        if collapses >= ENOUGH / 10 && shaken >= ENOUGH {
            break;
        }
    }
    let journaled = actions(&journal(&scratch)?, "promoted");
    println!("stress-ng: {journaled} collapses inside its memory");
    ensure!(journaled == collapses && collapses >= ENOUGH / 10, "{journaled} collapses only");
    ensure!(shaker.done.promoted >= ENOUGH, "{:?}", shaker.done);
    ensure!(shaker.done.split >= ENOUGH, "{:?}", shaker.done);
    Ok(())
}
