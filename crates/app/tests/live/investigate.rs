//! `hugewise investigate` on a small service with a fault: the cause is found, what is none is
//! refuted, and everything is as it was, also after a kill.

use crate::init;
use crate::kit::{Said, Scratch, hugewise, skip, trial, unless_busy, wait_for};
use crate::machine::{Settings, Turn, thp};
use crate::shop::Shop;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::process::{Command, Stdio};

/// khugepaged's pace as a hypothesis has it.
const PACE: &str = "12345";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("investigate_finds_a_pool_that_is_too_small", finds_the_pool),
        trial("investigate_is_put_back_after_a_kill", put_back_after_a_kill),
    ]
}

/// More requests than one worker can serve, and two hypotheses.
fn ledger(scratch: &Scratch, shop: &Shop, repetitions: u32) -> anyhow::Result<String> {
    let (address, pool) = (shop.address, shop.pool.display());
    let text = format!(
        r#"
name = "shop"
question = "Why is the shop slow?"
service = {{ target = "http://{address}/", per_s = 60, connections = 50 }}
goal = {{ metric = "p99_us" }}
trials = {{ length_s = 1, settle_ms = 50, repetitions = {repetitions} }}

[[hypothesis]]
name = "khugepaged"
because = "khugepaged takes the CPU from the workers"
gain_percent = 30
set = {{ "khugepaged/scan_sleep_millisecs" = "{PACE}" }}

[[hypothesis]]
name = "pool"
because = "one worker is too few"
gain_percent = 30
apply = ["sh", "-c", "echo 4 > {pool}"]
undo = ["sh", "-c", "echo 1 > {pool}"]
"#
    );
    let path = scratch.join("shop.toml");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

fn arguments(scratch: &Scratch, ledger: &str) -> Vec<String> {
    let (output, state) = (scratch.join("trials"), scratch.join("state"));
    let all = ["investigate", "run", ledger, "--seed", "1", "--json", "--output"];
    let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    all.extend([output.display().to_string(), "--state-dir".into(), state.display().to_string()]);
    all
}

fn verdict<'a>(said: &'a Value, name: &str) -> Option<&'a str> {
    let all = said["hypotheses"].as_array()?;
    all.iter().find(|one| one["name"] == name)?["verdict"].as_str()
}

fn finds_the_pool(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("an emulated CPU is too slow to tell"));
    }
    let (scratch, before) = (Scratch::new()?, Settings::read()?);
    let shop = Shop::open(&scratch)?;
    let said = unless_busy(hugewise(arguments(&scratch, &ledger(&scratch, &shop, 9)?))?)?;
    let json: Value = serde_json::from_str(&said.out).with_context(|| said.err.clone())?;
    ensure!(verdict(&json, "pool") == Some("accepted"), "{json:#}");
    // On a busy machine the other one may stay open, but never be accepted.
    let other = verdict(&json, "khugepaged");
    ensure!(matches!(other, Some("refuted" | "not_told")), "{json:#}");
    ensure!(shop.workers()? == "1", "the pool has {} workers", shop.workers()?);
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    let page = fs::read_to_string(scratch.join("trials/report.html"))?;
    ensure!(page.contains("ACCEPTED: pool"), "{page}");
    let again = hugewise(["investigate", "report", &scratch.join("trials").display().to_string()])?;
    ensure!(again.out.contains("ACCEPTED  pool: one worker is too few"), "{}", again.out);
    Ok(())
}

/// Directories of `investigate run` for what it needs meanwhile.
fn directories() -> anyhow::Result<usize> {
    let names = fs::read_dir(std::env::temp_dir())?.flatten().map(|entry| entry.file_name());
    let is_one = |name: &OsString| name.to_string_lossy().starts_with("hugewise-investigate-");
    Ok(names.filter(is_one).count())
}

fn put_back_after_a_kill(_: &Turn) -> anyhow::Result<()> {
    if init::is_guest() {
        return Err(skip("a guest has no shell"));
    }
    let (scratch, before) = (Scratch::new()?, Settings::read()?);
    let shop = Shop::open(&scratch)?;
    let ledger = ledger(&scratch, &shop, 20)?;
    // Killed within a change by commands, and once more within one of a setting.
    for by_command in [true, false] {
        let mut child = Command::new(init::hugewise())
            .args(arguments(&scratch, &ledger))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(scratch.join("err"))?)
            .spawn()?;
        let changed = wait_for("a change", || {
            let err = || fs::read_to_string(scratch.join("err")).unwrap_or_default();
            if let Some(status) = child.try_wait()? {
                unless_busy(Said { code: status.code(), out: String::new(), err: err() })?;
            }
            match by_command {
                true => Ok(shop.workers()? == "4"),
                false => Ok(thp("khugepaged/scan_sleep_millisecs")? == PACE),
            }
        });
        let _ = child.kill();
        let _ = child.wait();
        changed?;
        let state = scratch.join("state").display().to_string();
        let said = hugewise(["revert", "--all", "--state-dir", &state])?;
        ensure!(said.code == Some(0), "{} {}", said.out, said.err);
        let told = if by_command { "undone by" } else { "scan_sleep_millisecs" };
        ensure!(said.out.contains(told), "{}", said.out);
        let (workers, left) = (shop.workers()?, before.differences());
        ensure!(workers == "1" && left.is_empty(), "{workers} workers, not put back: {left:?}");
    }
    let left = directories()?;
    ensure!(left <= 1, "{left} directories of killed ones are there: each goes with the next one");
    Ok(())
}
