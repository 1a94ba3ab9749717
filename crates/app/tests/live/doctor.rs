//! `hugewise doctor` on a real kernel: what it says holds there, and it leaves nothing changed.

use super::init;
use super::kit::trial;
use super::machine::{Kernel, Turn};
use super::schemas;
use libtest_mimic::{Completion, Failed, Trial};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("doctor_answers_and_changes_no_setting", changes_nothing),
        trial("doctor_names_the_tier_of_this_kernel", names_the_tier),
        Trial::ignorable_test("doctor_proves_the_tier_of_this_kernel", proves_the_tier),
    ]
}

/// The JSON and the exit code.
fn doctor() -> Result<(Value, i32), Failed> {
    let output = Command::new(init::hugewise()).args(["doctor", "--json"]).output()?;
    let code = output.status.code().ok_or("doctor was killed")?;
    let report = serde_json::from_slice(&output.stdout)?;
    schemas::fits("doctor", &report)?;
    Ok((report, code))
}

fn state<'a>(report: &'a Value, key: &str) -> &'a str {
    let all = report["mechanisms"].as_array().into_iter().flatten();
    all.filter(|m| m["key"] == key).find_map(|m| m["state"].as_str()).unwrap_or("not listed")
}

fn check(holds: bool, what: &str, report: &Value) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what}:\n{report:#}").into()) }
}

/// Text of all THP settings; counters, which others may change, are left out.
fn settings() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for directory in [Path::new(THP).to_owned(), Path::new(THP).join("khugepaged")] {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            let counts = ["pages_collapsed", "full_scans"].iter().any(|c| name.ends_with(c));
            if let (false, Ok(text)) = (counts, fs::read_to_string(&path)) {
                all.insert(name, text);
            }
        }
    }
    all
}

fn changes_nothing(_: &Turn) -> anyhow::Result<()> {
    let before = settings();
    let (report, code) = doctor().map_err(|failed| said(&failed))?;
    // It is our turn: nobody else's test changes one now.
    check(before == settings(), "a setting changed", &report).map_err(|failed| said(&failed))?;
    check(report["schema"] == 1, "schema", &report).map_err(|failed| said(&failed))?;
    check(code == if report["partial"] == true { 5 } else { 0 }, "exit code", &report)
        .map_err(|failed| said(&failed))?;
    let why = "the child's data must never change";
    check(state(&report, "contents_unchanged") != "absent", why, &report)
        .map_err(|failed| said(&failed))
}

/// What is proven by doing must be what this version of the kernel is known to do.
fn names_the_tier(_: &Turn) -> anyhow::Result<()> {
    let (report, _) = doctor().map_err(|failed| said(&failed))?;
    let tier = Kernel::running()?.tier();
    anyhow::ensure!(report["tier"] == tier, "tier {tier} expected: {report:#}");
    // What README says of a guest's kernel.
    if let Ok(said) = std::env::var("HUGEWISE_TIER") {
        anyhow::ensure!(said == tier, "README says tier {said}, but it is {tier}");
    }
    Ok(())
}

fn said(failed: &Failed) -> anyhow::Error {
    anyhow::anyhow!("{}", failed.message().unwrap_or("failed without a word"))
}

/// In a guest we are root, nothing is locked down, and the stock kernel's release can be trusted.
fn proves_the_tier() -> Result<Completion, Failed> {
    if !init::is_guest() {
        return Ok(Completion::ignored_with("changes settings: only in a virtual machine"));
    }
    let proven = proves_it_in_each_mode();
    // What failed in one mode must not be the next trial's mode.
    fs::write(format!("{THP}/enabled"), "madvise")?;
    proven.map(|()| Completion::Completed)
}

fn proves_it_in_each_mode() -> Result<(), Failed> {
    for mode in ["always", "never", "madvise"] {
        fs::write(format!("{THP}/enabled"), mode)?;
        let (report, _) = doctor()?;
        let tier = Kernel::running().map_err(|error| error.to_string())?.tier();
        let what = format!("tier {tier} with THP '{mode}'");
        check(report["tier"] == tier, &what, &report)?;
        check(report["not_proven"] == Value::Array(vec![]), "not proven", &report)?;
        let promotes = if tier == "D" { "absent" } else { "present" };
        check(state(&report, "remote_collapse") == promotes, "remote_collapse", &report)?;
        // Without promotion only memory that was huge from its first touch can show a split.
        if tier != "D" || mode == "always" {
            check(state(&report, "remote_cold") == "present", "remote_cold", &report)?;
            check(state(&report, "contents_unchanged") == "present", "contents", &report)?;
        }
    }
    Ok(())
}
