//! The settings that trials begin with, whatever an earlier run or an operator left.
//!
//! A manager changes nothing where its values stand already: trials that look for a change would
//! fail there.

use crate::init;
use crate::kit::hugewise;
use crate::machine::{THP, selected};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of a trial's directory, before the process id of its run.
pub(crate) const SCRATCH: &str = "hugewise-live-";

const MAX_PTES_NONE: &str = "khugepaged/max_ptes_none";
const SCAN_SLEEP: &str = "khugepaged/scan_sleep_millisecs";
/// The kernel's default of `max_ptes_none` where pages have 4 KiB: all but one.
const ALL_BUT_ONE: u64 = 511;
/// The kernel's default of `scan_sleep_millisecs`.
const AWAKE_MS: &str = "10000";
/// What a manager parks khugepaged with.
const PARKED_MS: &str = "4294967295";

/// The kernel's defaults, until dropped.
#[derive(Debug)]
pub(crate) struct Baseline {
    /// Files below the directory of transparent huge pages, and what they had.
    found: Vec<(&'static str, String)>,
}

impl Baseline {
    /// Puts back what killed runs left, then changes what a manager would leave as it is. A fresh
    /// guest needs neither.
    pub(crate) fn establish() -> Self {
        let mut baseline = Self { found: Vec::new() };
        if init::is_guest() {
            return baseline;
        }
        for folder in left_by_the_dead() {
            settle(&folder);
        }
        if let Ok(value) = read(MAX_PTES_NONE)
            && value.parse::<u64>().is_ok_and(|pages| pages < ALL_BUT_ONE)
            && write(MAX_PTES_NONE, &ALL_BUT_ONE.to_string())
        {
            baseline.found.push((MAX_PTES_NONE, value));
        }
        // Nobody parks khugepaged but a manager, and none is running: this is never put back.
        if read(SCAN_SLEEP).is_ok_and(|value| value == PARKED_MS) && write(SCAN_SLEEP, AWAKE_MS) {
            eprintln!("{SCAN_SLEEP} was {PARKED_MS}, by a killed manager: it stays at {AWAKE_MS}");
        }
        baseline
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        for (file, value) in &self.found {
            write(file, value);
        }
    }
}

fn read(file: &str) -> std::io::Result<String> {
    Ok(selected(&fs::read_to_string(format!("{THP}/{file}"))?))
}

/// Whether it was written. Without privileges it is not: trials that need it then say so.
fn write(file: &str, value: &str) -> bool {
    let written = fs::write(format!("{THP}/{file}"), value);
    if let Err(error) = &written {
        eprintln!("cannot write '{value}' to {THP}/{file}: {error}");
    }
    written.is_ok()
}

/// Directories of trials whose process is gone. Those of other users are theirs: a trail is
/// believed.
fn left_by_the_dead() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let own = entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user);
        own && process(&entry.file_name())
            .is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
    left.map(|entry| entry.path()).collect()
}

/// The process id in `hugewise-live-PID-COUNT`.
fn process(name: &OsStr) -> Option<u32> {
    let (pid, _) = name.to_str()?.strip_prefix(SCRATCH)?.split_once('-')?;
    pid.parse().ok()
}

/// Does what the operator of a killed manager should, and removes the directory. What cannot be
/// settled stays, and is said: it is no fault of the trial that comes next.
fn settle(folder: &Path) {
    let state = folder.join("state");
    let trails = ["trail.jsonl", "hugetlb.jsonl", "hugetlb-files.jsonl"];
    let reverted = match trails.iter().any(|name| state.join(name).exists()) {
        true => revert(&state),
        false => Ok(()),
    };
    let removed = reverted.and_then(|()| Ok(fs::remove_dir_all(folder)?));
    if let Err(error) = removed {
        eprintln!("an earlier run was killed; {} stays: {error:#}", folder.display());
    }
}

fn revert(state: &Path) -> anyhow::Result<()> {
    let args = ["revert", "--all", "--state-dir"].map(OsStr::new);
    let args = args.into_iter().chain([state.as_os_str()]);
    let said = hugewise(args)?.expect(0)?;
    eprintln!("an earlier run was killed; put back: {}", said.out.trim());
    Ok(())
}
