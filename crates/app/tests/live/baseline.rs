//! The settings that trials begin with, whatever an earlier run or an operator left.
//!
//! A manager changes nothing where its values stand already: trials that look for a change would
//! fail there.

use crate::init;
use crate::kit::hugewise;
use crate::machine::{THP, selected};
use anyhow::ensure;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of a trial's directory, before the process id of its run.
pub(crate) const SCRATCH: &str = "hugewise-live-";

/// khugepaged may look at one page an hour, and whenever somebody wakes it: it would promote
/// workloads while a trial looks at them (8 regions at once with its defaults).
pub(crate) const CALM: [(&str, &str); 2] =
    [("khugepaged/pages_to_scan", "1"), (SCAN_SLEEP, "3600000")];

const MAX_PTES_NONE: &str = "khugepaged/max_ptes_none";
const SCAN_SLEEP: &str = "khugepaged/scan_sleep_millisecs";
/// The kernel's default of `max_ptes_none` where pages have 4 KiB: all but one.
const ALL_BUT_ONE: u64 = 511;
/// The kernel's default of `scan_sleep_millisecs`.
const AWAKE_MS: &str = "10000";
/// What a manager parks khugepaged with.
const PARKED_MS: &str = "4294967295";

/// The kernel's defaults and a calm khugepaged, until dropped. What was found stands in a file
/// meanwhile, from which the next run puts it back if this one is killed.
#[derive(Debug)]
pub(crate) struct Baseline {
    notes: Option<File>,
}

impl Baseline {
    /// Puts back what killed runs left, then changes what a manager would leave as it is. A fresh
    /// guest needs neither, and without root nothing can be changed: trials that need it say so.
    /// `notes` is this run's alone, and keeps what was found.
    pub(crate) fn establish(notes: &File) -> anyhow::Result<Self> {
        if init::is_guest() {
            return Ok(Self { notes: None });
        }
        for folder in left_by_the_dead() {
            settle(&folder);
        }
        let user = rustix::process::geteuid();
        if !user.is_root() {
            return Ok(Self { notes: None });
        }
        let owner = notes.metadata()?.uid();
        ensure!(owner == user.as_raw(), "the file of notes belongs to user {owner}: remove it");
        let baseline = Self { notes: Some(notes.try_clone()?) };
        baseline.put_back()?;
        let changes = changes();
        let found: String =
            changes.iter().map(|(file, old, _)| format!("{file} {old}\n")).collect();
        (&*notes).write_all(found.as_bytes())?;
        notes.sync_all()?;
        for (file, _, new) in changes {
            write(file, &new);
        }
        Ok(baseline)
    }

    /// What the notes say goes back, and they are empty.
    fn put_back(&self) -> anyhow::Result<()> {
        let Some(mut notes) = self.notes.as_ref() else { return Ok(()) };
        let mut found = String::new();
        notes.rewind()?;
        notes.read_to_string(&mut found)?;
        for (file, value) in found.lines().filter_map(|line| line.split_once(' ')) {
            write(file, value);
        }
        Ok(notes.set_len(0)?)
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            eprintln!("settings are not put back: {error:#}");
        }
    }
}

/// Files below the directory of transparent huge pages, what they have to go back to, and what
/// trials begin with.
fn changes() -> Vec<(&'static str, String, String)> {
    let mut changes = Vec::new();
    if let Ok(value) = read(MAX_PTES_NONE)
        && value.parse::<u64>().is_ok_and(|pages| pages < ALL_BUT_ONE)
    {
        changes.push((MAX_PTES_NONE, value, ALL_BUT_ONE.to_string()));
    }
    for (file, calm) in CALM {
        let Ok(found) = read(file) else { continue };
        // Nobody parks khugepaged but a manager, and none is running: this is never put back.
        let is_parked = file == SCAN_SLEEP && found == PARKED_MS;
        let old = if is_parked { AWAKE_MS.to_owned() } else { found };
        if is_parked {
            eprintln!("{file} was {PARKED_MS}, by a killed manager: it goes to {AWAKE_MS}");
        }
        changes.push((file, old, calm.to_owned()));
    }
    changes
}

fn read(file: &str) -> std::io::Result<String> {
    Ok(selected(&fs::read_to_string(format!("{THP}/{file}"))?))
}

fn write(file: &str, value: &str) {
    if let Err(error) = fs::write(format!("{THP}/{file}"), value) {
        eprintln!("cannot write '{value}' to {THP}/{file}: {error}");
    }
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
    let trails = ["trail.jsonl", "damon.jsonl", "hugetlb.jsonl", "hugetlb-files.jsonl"];
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
