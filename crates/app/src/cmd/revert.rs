//! `hugewise revert`.

use crate::cli::{Global, RevertArgs};
use crate::exit;
use hugewise_linux::instance::{InstanceLock, LockError};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Trail};

/// Runs the command.
pub(crate) fn run(global: &Global, args: &RevertArgs) -> anyhow::Result<u8> {
    let root = Root::at(&global.root);
    // A living manager would put its own values back at its end, and change them until then.
    let _lock = match InstanceLock::take(&root) {
        Ok(lock) => Some(lock),
        Err(LockError::Taken) => {
            return Err(exit::coded(
                exit::REFUSED,
                "a manager is running: it puts its settings back when it ends; stop it first",
            ));
        }
        Err(LockError::NoThp(_) | LockError::Io(..)) => None,
    };
    let mut trail = Trail::existing(root, &args.state_dir)?;
    let steps = if args.dry_run { trail.plan() } else { trail.restore() };
    if global.json {
        let json = serde_json::json!({ "schema": 1, "dry_run": args.dry_run, "settings": steps });
        println!("{json}");
    } else if steps.is_empty() {
        println!("Nothing to put back: the trail in '{}' is empty.", args.state_dir.display());
    } else {
        steps.iter().for_each(|step| println!("{}", describe(step)));
    }
    let failed = steps.iter().any(|step| matches!(step, Restored::Failed { .. }));
    Ok(if failed { exit::PARTIAL } else { exit::OK })
}

fn describe(step: &Restored) -> String {
    match step {
        Restored::PutBack { file, from, to } => format!("/{file}: '{from}' -> '{to}'"),
        Restored::Unchanged { file } => format!("/{file}: has its old value already"),
        Restored::Foreign { file, found, written } => format!(
            "/{file}: left alone: '{found}' is neither the old value nor hugewise's '{written}'"
        ),
        Restored::EarlierBoot { file } => format!("/{file}: of an earlier boot: forgotten"),
        Restored::Failed { file, error } => format!("/{file}: NOT put back: {error}"),
    }
}
