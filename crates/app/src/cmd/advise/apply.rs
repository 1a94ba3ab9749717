//! `hugewise advise apply`, `verify` and `revert`.

use super::host::Advised;
use super::rules;
use crate::cli::{AdviseApplyArgs, AdviseVerifyArgs, Global, SettingsRevertArgs};
use crate::cmd::revert::{live, said};
use crate::cmd::thp::{ROOT, alone};
use crate::exit::{self, coded};
use crate::hugetlb::revert::Reverted;
use crate::output::Output;
use crate::render::view::advise::change::{Verified, applied, verified};
use crate::render::view::advise::report::names;
use hugewise_collect::hugetlb::kept::KeptFiles;
use hugewise_evidence::advice::change::{Changes, FILES, OWNER, changes};
use hugewise_evidence::hugetlb::files::WantedFile;
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Trail, TrailError};
use std::collections::BTreeMap;
use std::path::Path;

/// `advise apply`.
pub(super) fn run(global: &Global, args: &AdviseApplyArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    live(&root, args.dry_run)?;
    let book = rules::book(&args.rules)?;
    for id in &args.product {
        if book.product(id).is_none() {
            let text = format!("--product {id}: no such product ('hugewise advise list')");
            return Err(coded(exit::USAGE, text));
        }
    }
    // Before the lock, which makes this process look like a manager.
    let advised = Advised::new(global, &book, &[])?;
    let view = advised.view(&book, global, &args.state_dir);
    let _lock = alone(&root, &args.state_dir, args.dry_run)?;
    let wanted = changes(&view.resolution, &args.product);
    let files = files(&wanted, args.persist);
    if !args.dry_run {
        carry_out(&root, &args.state_dir, &wanted, &files).map_err(|error| {
            match error.is_denied() {
                true => anyhow::Error::new(error).context(ROOT),
                false => anyhow::Error::new(error)
                    .context("not all was done: 'hugewise advise revert' puts back what was"),
            }
        })?;
    }
    let paths: Vec<String> = files.into_iter().map(|file| file.path).collect();
    let code = if wanted.by_hand.is_empty() { exit::OK } else { exit::PARTIAL };
    if global.json {
        let json = serde_json::json!({
            "schema": 1, "dry_run": args.dry_run, "changes": wanted, "files": paths,
            "touched_pids": view.resolution.touched.iter().map(|one| one.pid).collect::<Vec<_>>(),
        });
        return Output::json(&json, code);
    }
    let touched = match wanted.settings.is_empty() {
        true => String::new(),
        false => names(&view.resolution.touched),
    };
    Ok(Output::text(applied(&wanted, &paths, &touched, args.dry_run), code))
}

/// Files that are written: drop-ins, and what sets settings again at boot.
fn files(changes: &Changes, persist: bool) -> Vec<WantedFile> {
    let drop_ins = changes.drop_ins.iter();
    let mut files: Vec<WantedFile> =
        drop_ins.map(|one| WantedFile { path: one.path.clone(), text: one.text.clone() }).collect();
    if persist {
        let again = changes.persistent().into_iter();
        files.extend(again.map(|(path, text)| WantedFile { path: path.to_owned(), text }));
    }
    files
}

fn carry_out(
    root: &Root,
    state_dir: &Path,
    changes: &Changes,
    files: &[WantedFile],
) -> Result<(), TrailError> {
    // Made where there is none, also for files alone.
    let mut trail = Trail::open(root.clone(), state_dir, OWNER)?;
    for change in &changes.settings {
        trail.set(&change.file, &change.to)?;
    }
    let mut kept = KeptFiles::open(root.clone(), state_dir, FILES)?;
    for file in files {
        kept.write(file)?;
    }
    Ok(())
}

/// `advise verify`.
pub(super) fn verify(global: &Global, args: &AdviseVerifyArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let trail = Trail::existing(root.clone(), &args.state_dir, OWNER).map_err(denied)?;
    let kept = KeptFiles::open(root, &args.state_dir, FILES).map_err(denied)?;
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for entry in trail.entries().iter().filter(|entry| entry.new != entry.old && entry.new != "*") {
        last.insert(&entry.file, &entry.new);
    }
    let mut all = Vec::new();
    for (file, wanted) in last {
        let is_right = trail.has_value(file, wanted);
        let actual = trail.current(file);
        let (file, wanted) = (file.to_owned(), Some(wanted.to_owned()));
        all.push(Verified { file, wanted, actual, is_right });
    }
    for entry in kept.entries() {
        let is_right = kept.text(&entry.file)?.is_some_and(|text| text == entry.new);
        let file = entry.file.clone();
        all.push(Verified { file, wanted: None, actual: None, is_right });
    }
    let ok = all.iter().all(|one| one.is_right);
    let code = if ok { exit::OK } else { exit::WARNING };
    match global.json {
        true => Output::json(&serde_json::json!({ "schema": 1, "ok": ok, "changed": all }), code),
        false => Ok(Output::text(verified(&all), code)),
    }
}

fn denied(error: TrailError) -> anyhow::Error {
    match error.is_denied() {
        true => anyhow::Error::new(error).context(ROOT),
        false => error.into(),
    }
}

/// `advise revert`.
pub(super) fn revert(global: &Global, args: &SettingsRevertArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    live(&root, args.dry_run)?;
    let _lock = alone(&root, &args.state_dir, args.dry_run)?;
    let mut trail = Trail::existing(root.clone(), &args.state_dir, OWNER)?;
    let mut kept = KeptFiles::open(root.clone(), &args.state_dir, FILES)?;
    // Files first: a reboot in between must not bring the settings again.
    let done = match args.dry_run {
        true => Reverted { files: kept.plan(), settings: trail.plan() },
        false => Reverted { files: kept.restore(), settings: trail.restore() },
    };
    said(global, args, &done)
}
