//! `hugewise thp`: settings of transparent huge pages by hand.

use super::revert::{live, said};
use crate::cli::{Global, SettingsRevertArgs, ThpCommand, ThpSetArgs, ThpShowArgs};
use crate::exit::{self, coded};
use crate::hugetlb::revert::Reverted;
use crate::output::Output;
use crate::render::view::thp;
use crate::say::note;
use anyhow::Context;
use hugewise_collect::advice::keep_huge;
use hugewise_collect::hugetlb::kept::KeptFiles;
use hugewise_evidence::hugetlb::files::WantedFile;
use hugewise_linux::instance::{ENDING, Holder, InstanceLock, LockError, Role, held_by};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Trail, TrailError};
use hugewise_manager::ownership::THP_DIR;
use hugewise_manager::thp_settings::{self as settings, Asked, Changed, Shown};
use std::path::Path;

/// Said where the system says no.
pub(super) const ROOT: &str = "settings of huge pages are root's: run it with sudo";

/// Runs the command.
pub(super) fn run(global: &Global, command: &ThpCommand) -> anyhow::Result<Output> {
    match command {
        ThpCommand::Show(args) => show(global, args),
        ThpCommand::Set(args) => set(global, args),
        ThpCommand::Revert(args) => put_back(global, args),
    }
}

/// Keys of all settings that can be written, by name.
fn keys(root: &Root) -> anyhow::Result<Vec<String>> {
    anyhow::ensure!(root.has(THP_DIR), "this kernel has no transparent huge pages: no /{THP_DIR}");
    let mut keys = root.names(THP_DIR, false);
    for folder in root.names(THP_DIR, true) {
        let inner = root.names(settings::file_of(&folder), false);
        keys.extend(inner.iter().map(|name| format!("{folder}/{name}")));
    }
    keys.extend(settings::SYSCTLS.map(|(key, _)| key.to_owned()));
    keys.retain(|key| root.is_setting(settings::file_of(key)));
    Ok(keys)
}

fn text_of(root: &Root, key: &str) -> anyhow::Result<String> {
    let file = settings::file_of(key);
    root.read_line(&file).with_context(|| format!("reading '/{file}'"))
}

fn show(global: &Global, args: &ThpShowArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let trail = seen(&root, &args.state_dir)?;
    let before = |key: &str| {
        let file = settings::file_of(key);
        let entries = trail.iter().flat_map(|trail| trail.entries());
        entries.into_iter().find(|entry| entry.file == file).map(|entry| entry.old.clone())
    };
    let mut all = Vec::new();
    for key in keys(&root)? {
        let Ok(text) = text_of(&root, &key) else { continue };
        let choice = hugewise_base::parse::thp_choice::parse(&text);
        let choices = choice.map_or_else(|_| Vec::new(), |choice| choice.options);
        let value = settings::value_of(&text);
        let before = before(&key).filter(|before| *before != value);
        all.push(Shown { key, value, choices, before });
    }
    if global.json {
        return Output::json(&serde_json::json!({ "schema": 1, "settings": all }), exit::OK);
    }
    Ok(Output::text(thp::shown(&all), exit::OK))
}

/// The trail; `None` where only root may read it.
fn seen(root: &Root, state_dir: &Path) -> anyhow::Result<Option<Trail>> {
    match Trail::existing(root.clone(), state_dir, settings::OWNER) {
        Ok(trail) => Ok(Some(trail)),
        Err(error) if error.is_denied() => {
            note("what 'thp set' changed is for root to see: not shown");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// What is asked for, against what each file takes. Nothing is changed before all of it is right.
fn checked(root: &Root, args: &ThpSetArgs) -> anyhow::Result<Vec<(Asked, String)>> {
    let mut all: Vec<(Asked, String)> = Vec::new();
    for text in &args.settings {
        let asked = settings::asked(text).map_err(|why| coded(exit::USAGE, why))?;
        let file = settings::file_of(&asked.key);
        if !root.is_setting(&file) {
            let why = format!(
                "{}: no such setting ('hugewise thp show' lists what this kernel has)",
                asked.key
            );
            return Err(coded(exit::USAGE, why));
        }
        let now = text_of(root, &asked.key)?;
        let takes = settings::takes(&asked.key, &now, &asked.value);
        takes.map_err(|why| coded(exit::USAGE, why))?;
        if all.iter().any(|(other, _)| other.key == asked.key) {
            return Err(coded(exit::USAGE, format!("{}: given twice", asked.key)));
        }
        all.push((asked, settings::value_of(&now)));
    }
    Ok(all)
}

/// A manager and an experiment set the same files, and put them back.
pub(super) fn alone(
    root: &Root,
    state_dir: &Path,
    dry_run: bool,
) -> anyhow::Result<Option<InstanceLock>> {
    let refused = |what: &str, holder: Holder| {
        let why = format!("refused: {what} is running ({holder}), and sets these settings itself");
        coded(exit::REFUSED, why)
    };
    if let Some(holder) = held_by(Role::Lab).filter(|_| root.is_live()) {
        return Err(refused("an experiment", holder));
    }
    if dry_run {
        return match held_by(Role::Manager).filter(|_| root.is_live()) {
            Some(holder) => Err(refused("a manager", holder)),
            None => Ok(None),
        };
    }
    match InstanceLock::take_from_ending(root, state_dir, Role::Manager, ENDING) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Taken(_, holder)) => Err(refused("a manager", holder)),
        Err(LockError::Io(path, error)) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(anyhow::Error::new(LockError::Io(path, error)).context(ROOT))
        }
        Err(error) => Err(error.into()),
    }
}

fn set(global: &Global, args: &ThpSetArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    live(&root, args.dry_run)?;
    let wanted = checked(&root, args)?;
    let _lock = alone(&root, &args.state_dir, args.dry_run)?;
    let (changed, file) = carry_out(&root, args, wanted).map_err(|error| {
        match error.downcast_ref().is_some_and(TrailError::is_denied) {
            true => error.context(ROOT),
            false => error.context("not all was set: 'hugewise thp revert' puts back what was"),
        }
    })?;
    let differs = |change: &Changed| change.now.as_ref().is_some_and(|now| *now != change.to);
    let code = if changed.iter().any(differs) { exit::PARTIAL } else { exit::OK };
    let keep = if changed.iter().any(settings::takes_away) { keep_huge(&root) } else { Vec::new() };
    if global.json {
        let json = serde_json::json!({
            "schema": 1, "dry_run": args.dry_run, "settings": changed, "file": file,
            "keep_huge": keep,
        });
        return Output::json(&json, code);
    }
    Ok(Output::text(thp::changed(&changed, file.as_deref(), &keep, args.dry_run), code))
}

/// Sets what differs; the path of the file that sets it at boot, where one was wanted.
fn carry_out(
    root: &Root,
    args: &ThpSetArgs,
    wanted: Vec<(Asked, String)>,
) -> anyhow::Result<(Vec<Changed>, Option<String>)> {
    let open = || Trail::open(root.clone(), &args.state_dir, settings::OWNER);
    let mut trail = if args.dry_run { None } else { Some(open()?) };
    let mut changed = Vec::new();
    for (Asked { key, value: to }, from) in &wanted {
        if let Some(trail) = trail.as_mut().filter(|_| from != to) {
            trail.set(&settings::file_of(key), to)?;
        }
        let now = match &trail {
            Some(_) => Some(settings::value_of(&text_of(root, key)?)),
            None => None,
        };
        changed.push(Changed { key: key.clone(), from: from.clone(), to: to.clone(), now });
    }
    if !args.persist {
        return Ok((changed, None));
    }
    if trail.is_some() {
        let mut kept = KeptFiles::open(root.clone(), &args.state_dir, settings::FILES)?;
        let all: Vec<Asked> = wanted.into_iter().map(|(asked, _)| asked).collect();
        let text = settings::persistent(&all);
        kept.write(&WantedFile { path: settings::FILE.to_owned(), text })?;
    }
    Ok((changed, Some(format!("/{}", settings::FILE))))
}

fn put_back(global: &Global, args: &SettingsRevertArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    live(&root, args.dry_run)?;
    let _lock = alone(&root, &args.state_dir, args.dry_run)?;
    let mut trail = Trail::existing(root.clone(), &args.state_dir, settings::OWNER)?;
    let mut kept = KeptFiles::open(root.clone(), &args.state_dir, settings::FILES)?;
    // Files first: a reboot in between must not bring the settings again.
    let done = match args.dry_run {
        true => Reverted { files: kept.plan(), settings: trail.plan() },
        false => Reverted { files: kept.restore(), settings: trail.restore() },
    };
    said(global, args, &done)
}
