//! Experiments: killed in the middle, put back, and gone on with.

use crate::hold::Hold;
use crate::init;
use crate::kit::{
    PATIENCE, Said, Scratch, hugewise, lab_directories, promotes, skip, trial, trial_of_any_kernel,
    unless_busy, wait_for,
};
use crate::machine::{Settings, Turn, thp};
use anyhow::{Context, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// khugepaged's pace while a run of the variants lasts.
const PACE: &str = "7000";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("lab_a_killed_experiment_is_put_back_and_goes_on", killed_and_resumed),
        trial_of_any_kernel("lab_revert_puts_back_what_a_killed_experiment_left", reverted),
        trial("lab_a_dry_run_changes_nothing", dry_run),
    ]
}

/// Two variants, of which one has a manager; two repetitions, long enough to be killed in the
/// middle of one.
fn experiment(scratch: &Scratch) -> anyhow::Result<String> {
    let text = format!(
        r#"
name = "killed"
question = "What is left?"
measure_s = 3
manage_s = 1
settle = {{ still_s = 1, max_s = 3, within_percent = 5.0 }}
stop = {{ repetitions = 2 }}
settings = {{ "khugepaged/scan_sleep_millisecs" = "{PACE}" }}
workload = {{ kind = "gups", mib = 16 }}

[[variant]]
name = "never"
huge_pages = "never"

[[variant]]
name = "ingens"
huge_pages = "later"
manage = {{ mode = "ingens", keep_settings = true }}
"#
    );
    let path = scratch.join("killed.toml");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

fn arguments(scratch: &Scratch) -> anyhow::Result<Vec<String>> {
    let (output, state) = (scratch.join("results"), scratch.join("state"));
    let all = ["lab", "run", &experiment(scratch)?, "--noisy", "--seed", "1", "--json"];
    let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    all.extend(["--output".into(), output.display().to_string()]);
    all.extend(["--state-dir".into(), state.display().to_string()]);
    Ok(all)
}

/// A running experiment, killed on drop.
struct Lab(Child);

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The runs on disk, by their names, with what tells one writing from another.
fn runs(scratch: &Scratch) -> BTreeMap<String, (u64, i64)> {
    let entries = fs::read_dir(scratch.join("results/runs")).into_iter().flatten().flatten();
    let json = entries.filter(|entry| entry.path().extension().is_some_and(|e| e == "json"));
    let each = json.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Some((name, (metadata.ino(), metadata.mtime_nsec())))
    });
    each.collect()
}

/// Workloads of experiments that were started by a process.
fn workloads() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_ours = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains("workload lab gups")
    };
    pids.filter(is_ours).collect()
}

/// Starts the experiment and kills it in the middle of its second run. The directory that it had.
fn kill_in_second_run(scratch: &Scratch) -> anyhow::Result<PathBuf> {
    let before = lab_directories();
    let child = Command::new(init::hugewise())
        .args(arguments(scratch)?)
        .stdin(Stdio::null())
        .stdout(File::create(scratch.join("out"))?)
        .stderr(File::create(scratch.join("err"))?)
        .spawn()
        .context("cannot start the experiment")?;
    let mut lab = Lab(child);
    wait_for("the second run", || {
        let ended = lab.0.try_wait()?;
        let said = || fs::read_to_string(scratch.join("err")).unwrap_or_default();
        if let Some(status) = ended {
            unless_busy(Said { code: status.code(), out: String::new(), err: said() })?;
            bail!("it ended: {status} {}", said());
        }
        let pace = thp("khugepaged/scan_sleep_millisecs")?;
        Ok(runs(scratch).len() == 1 && pace == PACE && !workloads().is_empty())
    })?;
    let said = hugewise(["status", "--top", "1"])?.out;
    ensure!(said.starts_with("An experiment runs ("), "{said}");
    let made = lab_directories().difference(&before).next().cloned();
    let directory = made.context("the experiment has no directory")?;
    drop(lab);
    ensure!(thp("khugepaged/scan_sleep_millisecs")? == PACE, "nothing was left to put back");
    ensure!(runs(scratch).len() == 1, "the second run was over already");
    // Nothing of it goes on without it.
    let began = Instant::now();
    while !workloads().is_empty() {
        ensure!(began.elapsed() < PATIENCE, "a workload outlives its experiment");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(directory)
}

pub(crate) fn unchanged(settings: &Settings) -> anyhow::Result<()> {
    let differences = settings.differences();
    ensure!(differences.is_empty(), "not as before: {differences:?}");
    Ok(())
}

fn killed_and_resumed(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        // Four runs: a minute of the time that all trials of a guest have.
        return Err(skip("runs of an experiment take too long on an emulated processor"));
    }
    let (scratch, settings) = (Scratch::new()?, Settings::read()?);
    let directory = kill_in_second_run(&scratch)?;
    let first = runs(&scratch);
    ensure!(directory.exists(), "the killed experiment had no directory");
    let said = unless_busy(hugewise(arguments(&scratch)?)?)?;
    unchanged(&settings)?;
    ensure!(!directory.exists(), "{} was left", directory.display());
    let left = "left by an experiment that was killed";
    ensure!(said.err.contains(left), "nothing was put back: {said:#?}");
    ensure!(said.err.contains("continuing the experiment"), "not resumed: {said:#?}");
    let all = runs(&scratch);
    ensure!(all.len() == 4, "{all:?}");
    for (name, written) in &first {
        ensure!(all.get(name) == Some(written), "{name} was run again");
    }
    let order =
        |path: &Path| -> anyhow::Result<Value> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
    for name in all.keys() {
        let record = order(&scratch.join("results/runs").join(name))?;
        ensure!(record["outcome"]["result"] == "done", "{record}");
        let pace = &record["conditions"]["settings"]["khugepaged/scan_sleep_millisecs"];
        ensure!(pace == PACE, "{record}");
    }
    Ok(())
}

fn reverted(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let (scratch, settings) = (Scratch::new()?, Settings::read()?);
    kill_in_second_run(&scratch)?;
    let state = scratch.join("state").display().to_string();
    let revert = |more: &[&str]| -> anyhow::Result<Said> {
        let base = ["revert", "--all", "--state-dir", &state];
        hugewise(base.iter().chain(more).copied())
    };
    // Its own settings are no manager's, but whoever asks is told of them.
    let said = hugewise(["revert", "--state-dir", &state])?.expect(0)?;
    ensure!(said.out.contains("hugewise revert --all"), "{said:#?}");
    let planned = revert(&["--dry-run"])?.expect(0)?;
    ensure!(planned.out.contains("scan_sleep_millisecs"), "{planned:#?}");
    ensure!(thp("khugepaged/scan_sleep_millisecs")? == PACE, "a dry run changed it");
    // A manager would take the variant's value for the machine's own.
    let hold = Hold::start("--mib 8")?;
    let (pid, run_dir) = (hold.pid().to_string(), scratch.join("state/run"));
    let (run_dir, base) = (run_dir.display().to_string(), ["manage", "--mode", "ingens"]);
    let more = ["--for", "1s", "--pid", &pid, "--state-dir", &state, "--run-dir", &run_dir];
    let said = hugewise(base.into_iter().chain(more))?.expect(6)?;
    ensure!(said.err.contains("hugewise revert --all"), "{said:#?}");
    revert(&[])?.expect(0)?;
    unchanged(&settings)
}

fn dry_run(_: &Turn) -> anyhow::Result<()> {
    let (scratch, settings) = (Scratch::new()?, Settings::read()?);
    let mut words = arguments(&scratch)?;
    words.push("--dry-run".into());
    let said = hugewise(&words)?.expect(0)?.json()?;
    ensure!(said["runs"] == 4 && said["settings"][0]["then"] == PACE, "{said}");
    ensure!(!scratch.join("results").exists() && !scratch.join("state").exists(), "files");
    unchanged(&settings)
}
