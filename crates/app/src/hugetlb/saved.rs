//! The plan that `apply` leaves for `verify`.

use crate::exit::{self, coded};
use crate::say::note;
use anyhow::Context;
use hugewise_base::format::Format;
use hugewise_evidence::hugetlb::files::WantedFile;
use hugewise_evidence::hugetlb::plan::{HugetlbPlan, SCHEMA};
use hugewise_linux::trust;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Largest file that can be one.
const BYTES_MAX: u64 = 16 << 20;

/// What was applied.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The plan, with what was seen before.
    pub(crate) plan: HugetlbPlan,
    /// Files that were written for it; none without `--persist`.
    pub(crate) files: Vec<WantedFile>,
}

fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("hugetlb-plan.json")
}

/// Keeps it, in one step.
pub(crate) fn write(state_dir: &Path, saved: &Saved) -> anyhow::Result<()> {
    let path = path(state_dir);
    let new = path.with_extension("new");
    let what = || format!("keeping the plan in '{}'", path.display());
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(0o600).open(&new).with_context(what)?;
    serde_json::to_writer(&mut out, saved).with_context(what)?;
    out.flush().and_then(|()| out.sync_all()).with_context(what)?;
    fs::rename(&new, &path).with_context(what)
}

/// Reads it; `None` where nothing was applied.
pub(crate) fn read(state_dir: &Path) -> anyhow::Result<Option<Saved>> {
    let path = path(state_dir);
    let meta = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.with_context(|| format!("reading '{}'", path.display()))?,
    };
    trust::check("the plan", &path, &meta)?;
    let saved: Saved = parse(&path)?;
    check(&path, &saved.plan)?;
    Ok(Some(saved))
}

/// As [`read`], for who changes nothing: where only root may look, that is said, and what was
/// applied counts as unknown.
pub(crate) fn seen(state_dir: &Path) -> anyhow::Result<Option<Saved>> {
    let denied = |error: &anyhow::Error| {
        let cause = error.downcast_ref::<std::io::Error>();
        cause.is_some_and(|cause| cause.kind() == ErrorKind::PermissionDenied)
    };
    match read(state_dir) {
        Err(error) if denied(&error) => {
            note(
                "what 'hugetlb apply' did before is for root to see: it is not taken into account",
            );
            Ok(None)
        }
        other => other,
    }
}

/// Whether only root may see what was applied.
pub(crate) fn is_hidden(state_dir: &Path) -> bool {
    let denied = |error: std::io::Error| error.kind() == ErrorKind::PermissionDenied;
    fs::metadata(path(state_dir)).err().is_some_and(denied)
        || fs::File::open(path(state_dir)).err().is_some_and(denied)
}

/// Reads the output of `hugetlb plan --json`.
pub(crate) fn read_plan(path: &Path) -> anyhow::Result<HugetlbPlan> {
    let plan: HugetlbPlan = parse(path)?;
    check(path, &plan)?;
    Ok(plan)
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> anyhow::Result<T> {
    let name = path.display();
    let meta = fs::metadata(path).with_context(|| format!("reading '{name}'"))?;
    if !meta.is_file() || meta.len() > BYTES_MAX {
        return Err(coded(exit::ERROR, format!("'{name}' is no file of at most 16 MiB")));
    }
    let text = fs::read_to_string(path).with_context(|| format!("reading '{name}'"))?;
    serde_json::from_str(&text).map_err(|error| {
        let wanted = "wanted the output of 'hugewise hugetlb plan --json'";
        coded(exit::ERROR, format!("'{name}' is no plan: {error}; {wanted}"))
    })
}

fn check(path: &Path, plan: &HugetlbPlan) -> anyhow::Result<()> {
    let format = Format { what: "the plan of pools", version: SCHEMA };
    let name = path.display();
    format.check(plan.schema).map_err(|later| coded(exit::ERROR, format!("'{name}': {later}")))
}

/// Forgets it.
pub(crate) fn remove(state_dir: &Path) -> anyhow::Result<()> {
    let path = path(state_dir);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing '{}'", path.display()))
        }
        _ => Ok(()),
    }
}
