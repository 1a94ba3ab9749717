//! Experiments of memory that is not a program's alone: merged, forked, text. Each once and small,
//! with all its variants; where time does not matter, its quick form as it is shipped.

use crate::init;
use crate::kit::{
    Said, Scratch, hugewise, promotes, skip, trial, trial_of_newer_kernels, unless_busy, wait_for,
};
use crate::machine::Turn;
use anyhow::{Context, ensure};
use hugewise_lab::shipped;
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use toml::Table;

/// Told that stalls do not matter, and that nobody need be watched first.
const UNPACED: &str = r#"
"controller.lock_share_percent" = 100
"controller.cpu_percent" = 100
"quota.bytes_per_s" = "16 GiB"
"scan.cpu_percent" = 100
"promote.watch_ms" = 0
"#;

/// Switch of same-page merging.
const RUN: &str = "/sys/kernel/mm/ksm/run";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_newer_kernels("lab_ksm_saves_as_much_beside_hugewise", merged),
        trial("lab_ksm_is_put_back_after_a_kill", merging_is_put_back),
        trial("lab_fork_prefork_stays_shared", forked),
        trial("lab_text_becomes_huge", text),
    ]
}

/// Whether an experiment runs as it is shipped: guests are too small for that.
fn is_whole() -> bool {
    init::is_soak() && !init::is_guest()
}

/// A shipped experiment in a directory of its own.
struct Lab {
    scratch: Scratch,
}

impl Lab {
    /// With so much memory, MiB, of which hints mean the second half.
    fn new(name: &str, mib: i64) -> anyhow::Result<Self> {
        promotes()?;
        if !rustix::process::geteuid().is_root() {
            return Err(skip("needs root, for a cgroup and a manager"));
        }
        let mut all: Table = shipped::find(name).context("not shipped")?.parse()?;
        if !is_whole() {
            let mut put = |key: &str, text: &str| -> anyhow::Result<()> {
                all.extend([(key.to_owned(), text.parse::<Table>()?[key].clone())]);
                Ok(())
            };
            put("stop", "stop = { repetitions = 1 }")?;
            put("settle", "settle = { still_s = 0, max_s = 1 }")?;
            put("noise", "noise = { patience_s = 0 }")?;
            put("measure_s", "measure_s = 1")?;
            // ksmd goes over all memory twice, also on an emulated processor.
            put("manage_s", if init::is_guest() { "manage_s = 15" } else { "manage_s = 6" })?;
            all.remove("quick");
            all.remove("warm_mib");
            let workload = all["workload"].as_table_mut().context("a workload")?;
            workload.insert("mib".to_owned(), mib.into());
            let variants = all["variant"].as_array_mut().context("variants")?;
            for manage in variants.iter_mut().filter_map(|variant| variant.get_mut("manage")) {
                hurry(manage, mib)?;
            }
        }
        let scratch = Scratch::new()?;
        fs::write(scratch.join("trial.toml"), toml::to_string(&all)?)?;
        Ok(Self { scratch })
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let path = |name: &str| self.scratch.join(name).display().to_string();
        let words = ["lab", "run", &path("trial.toml"), "--noisy", "--output", &path("out")];
        let mut args: Vec<String> = words.map(str::to_owned).into();
        args.extend(["--state-dir".to_owned(), path("state")]);
        let quick = is_whole().then_some("--quick");
        args.extend(more.iter().copied().chain(quick).map(str::to_owned));
        args
    }

    fn run(&self, more: &[&str]) -> anyhow::Result<Said> {
        unless_busy(hugewise(self.args(more))?)?.expect(0)
    }

    /// A value of the first run of a variant.
    fn value(&self, variant: &str, key: &str) -> anyhow::Result<f64> {
        let path = self.scratch.join(format!("out/runs/0001-{variant}.json"));
        let text = fs::read(&path).with_context(|| format!("no {path:?}"))?;
        let record: Value = serde_json::from_slice(&text)?;
        ensure!(record["outcome"]["result"] == "done", "{variant}: {}", record["outcome"]);
        let values = &record["measured"]["values"];
        values[key].as_f64().with_context(|| format!("{variant}: no {key} in {values}"))
    }
}

/// There is no figure to be had here: a manager without its pace, whose hint fits.
fn hurry(manage: &mut toml::Value, mib: i64) -> anyhow::Result<()> {
    let manage = manage.as_table_mut().context("a manager")?;
    let set = manage.entry("set").or_insert_with(|| Table::new().into());
    set.as_table_mut().context("keys")?.extend(UNPACED.parse::<Table>()?);
    let hint = manage.get_mut("hint").and_then(|hints| hints.get_mut(0)?.as_table_mut());
    hint.map(|hint| hint.insert("from_bytes".to_owned(), format!("{} MiB", mib / 2).into()));
    Ok(())
}

fn may_merge() -> anyhow::Result<()> {
    if !Path::new(RUN).exists() {
        return Err(skip("this kernel merges no pages (CONFIG_KSM)"));
    }
    if !init::is_guest() && !is_whole() {
        return Err(skip("it merges pages of every program: only in a virtual machine"));
    }
    Ok(())
}

fn merged(_: &Turn) -> anyhow::Result<()> {
    may_merge()?;
    let (lab, before) = (Lab::new("ksm", 128)?, fs::read_to_string(RUN)?);
    lab.run(&["--machine-wide"])?;
    ensure!(fs::read_to_string(RUN)? == before, "the switch of KSM is another");
    let of = |variant: &str, key: &str| lab.value(variant, key);
    let never = of("never", "rss_mib")?;
    ensure!(of("never", "merged_mib")? <= 0.0 && of("huge", "merged_mib")? <= 0.0);
    for variant in ["merged", "both", "both-hinted"] {
        let merged = of(variant, "merged_mib")?;
        ensure!(merged > 0.4 * never, "{variant}: {merged} of {never} MiB are merged");
        if has_group().is_ok() {
            let (held, alone) = (of(variant, "cgroup_mib")?, of("never", "cgroup_mib")?);
            ensure!(held < 0.7 * alone, "{variant}: {held} MiB, {alone} without KSM");
        }
    }
    // How much of what is in use becomes huge beside them depends on who is first.
    ensure!(of("huge", "huge_mib")? > 0.0 && of("merged", "huge_mib")? <= 0.0);
    Ok(())
}

/// An experiment that is killed while KSM runs for it.
fn merging_is_put_back(_: &Turn) -> anyhow::Result<()> {
    may_merge()?;
    let (lab, before) = (Lab::new("ksm", 128)?, fs::read_to_string(RUN)?);
    if before.trim() != "0" {
        return Err(skip("KSM runs here already"));
    }
    let mut child = Command::new(init::hugewise())
        .args(lab.args(&["--machine-wide", "--variant", "never,merged"]))
        .stdin(Stdio::null())
        .stdout(File::create(lab.scratch.join("said"))?)
        .stderr(File::create(lab.scratch.join("err"))?)
        .spawn()?;
    let runs = wait_for("KSM", || Ok(fs::read_to_string(RUN)?.trim() == "1"));
    child.kill()?;
    child.wait()?;
    runs?;
    ensure!(fs::read_to_string(RUN)?.trim() == "1", "it was put back by whom?");
    let state = lab.scratch.join("state").display().to_string();
    hugewise(["revert", "--all", "--state-dir", &state])?.expect(0)?;
    ensure!(fs::read_to_string(RUN)? == before, "KSM still runs");
    Ok(())
}

/// By a memory cgroup all processes of a workload are known, and what they take together.
fn has_group() -> anyhow::Result<()> {
    if init::is_guest() { Err(skip("this guest has no memory cgroups")) } else { Ok(()) }
}

fn forked(_: &Turn) -> anyhow::Result<()> {
    has_group()?;
    let lab = Lab::new("fork-prefork", 64)?;
    // 'always' would be so for every program of this machine.
    lab.run(&["--variant", "never,madvise,hugewise,hugewise-first"])?;
    let never = lab.value("never", "cgroup_mib")?;
    for variant in ["hugewise", "hugewise-first"] {
        let held = lab.value(variant, "cgroup_mib")?;
        ensure!(held < 1.1 * never, "{variant}: {held} MiB, {never} without huge pages");
    }
    let huge = lab.value("hugewise-first", "huge_mib")?;
    ensure!(lab.value("madvise", "huge_mib")? > 0.0 && huge > 0.0, "{huge} MiB");
    ensure!(lab.value("never", "huge_mib")? <= 0.0);
    Ok(())
}

fn text(_: &Turn) -> anyhow::Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return Err(skip("its program is of x86-64 only"));
    }
    has_group()?;
    let lab = Lab::new("text", 8)?;
    lab.run(&[])?;
    ensure!(lab.value("small-pages", "text_huge_mib")? <= 0.0);
    let huge = lab.value("managed", "text_huge_mib")?;
    ensure!(huge >= 8.0, "{huge} MiB of text are huge");
    ensure!(lab.value("managed", "ns_per_call")? > 0.0);
    Ok(())
}
