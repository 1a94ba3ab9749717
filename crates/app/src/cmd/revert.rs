//! `hugewise revert`.

use crate::cli::{Global, RevertArgs};
use crate::cmd::hugetlb;
use crate::exit;
use crate::lab::stage::put_back;
use hugewise_linux::instance::{ENDING, InstanceLock, LockError};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Scope, Trail};

/// Runs the command.
pub(crate) fn run(global: &Global, args: &RevertArgs) -> anyhow::Result<u8> {
    let root = Root::at(&global.root);
    // A running experiment puts its own values back after each run; a manager's, too, would seem to
    // be somebody else's beside those. Asked before anything is touched, also before the lock that
    // its next manager needs.
    let lab = if args.dry_run { None } else { Some(InstanceLock::take_lab(&root)) };
    if let Some(Err(LockError::LabTaken)) = lab {
        return Err(exit::coded(
            exit::REFUSED,
            "a 'hugewise lab run' is running: it puts its settings back itself; wait for its end",
        ));
    }
    // A living manager would put its own values back at its end, and change them until then.
    let _lock = match InstanceLock::take_from_ending(&root, ENDING) {
        Ok(lock) => Some(lock),
        Err(LockError::Taken) => {
            return Err(exit::coded(
                exit::REFUSED,
                "a manager is running: it puts its settings back when it ends; stop it first",
            ));
        }
        Err(LockError::LabTaken | LockError::NoThp(_) | LockError::Io(..)) => None,
    };
    let mut trail = Trail::existing(root.clone(), &args.state_dir, Scope::Manager)?;
    let mut steps = if args.dry_run { trail.plan() } else { trail.restore() };
    if args.all {
        steps.extend(put_back(&root, &args.state_dir, args.dry_run)?);
    }
    let pools = if args.all {
        Some(hugetlb::revert::restore(&root, &args.state_dir, args.dry_run)?)
    } else {
        None
    };
    let nothing = steps.is_empty() && pools.as_ref().is_none_or(|pools| pools.is_empty());
    if global.json {
        let mut json =
            serde_json::json!({ "schema": 1, "dry_run": args.dry_run, "settings": steps });
        if let Some(pools) = &pools {
            json["hugetlb"] =
                serde_json::json!({ "settings": pools.settings, "files": pools.files });
        }
        println!("{json}");
    } else if nothing {
        println!("Nothing to put back: the trail in '{}' is empty.", args.state_dir.display());
    } else {
        steps.iter().for_each(|step| println!("{}", describe(step)));
        print!("{}", pools.as_ref().map(|pools| pools.text()).unwrap_or_default());
    }
    let failed = steps.iter().any(|step| matches!(step, Restored::Failed { .. }))
        || pools.is_some_and(|pools| pools.is_partial());
    Ok(if failed { exit::PARTIAL } else { exit::OK })
}

/// What became of a setting, in a line.
pub(in crate::cmd) fn describe(step: &Restored) -> String {
    match step {
        Restored::PutBack { file, from, to } => format!("/{file}: '{from}' -> '{to}'"),
        Restored::Unchanged { file } => format!("/{file}: has its old value already"),
        Restored::Foreign { file, found, written } => format!(
            "/{file}: left alone: '{found}' is neither the old value nor hugewise's '{written}'"
        ),
        Restored::InUse { file, from, to, wanted } => format!(
            "/{file}: '{from}' -> '{to}', not '{wanted}': so many pages are in use or reserved; \
             again when their programs have ended"
        ),
        Restored::EarlierBoot { file } => format!("/{file}: of an earlier boot: forgotten"),
        Restored::Failed { file, error } => format!("/{file}: NOT put back: {error}"),
    }
}
