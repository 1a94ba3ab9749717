//! `hugewise revert`.

use crate::cli::{Global, RevertArgs, SettingsRevertArgs};
use crate::exit;
use crate::hugetlb::revert::{Reverted, restore};
use crate::output::Output;
use crate::render::view::revert::text;
use crate::say::note;
use hugewise_base::owner::Owner;
use hugewise_collect::hugetlb::kept::{KeptFiles, RestoredFile};
use hugewise_evidence::advice::change;
use hugewise_evidence::hugetlb::{files, pools};
use hugewise_experiment::settings::LEFT;
use hugewise_lab::change::undo_left;
use hugewise_linux::instance::{ENDING, Holder, InstanceLock, LockError, Role, held_by};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Trail, revert};
use hugewise_linux::{track, worker};
use hugewise_manager::ownership::OWNER;
use hugewise_manager::thp_settings;
use std::time::Duration;

/// Ends what a dry run shows, which reads like what was done.
const PLAN: &str = "Nothing was changed (--dry-run): that is what would happen.\n";

/// Runs the command.
pub(crate) fn run(global: &Global, args: &RevertArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let _locks = if args.settings.dry_run { look(&root)? } else { alone(&root, args)? };
    let experiments = args.experiments || args.all;
    let owners = owners(args);
    let changes = experiments && root.is_live();
    let undone =
        if changes { undo_left(&args.settings.state_dir, args.settings.dry_run) } else { Ok(None) };
    // One that cannot be undone keeps no setting from going back.
    let stuck = undone.as_ref().err().map(|error| format!("{error:#}"));
    stuck.iter().for_each(|why| note(why));
    let undone = undone.ok().flatten();
    // Files first: a reboot in between must not bring the settings again.
    let files = if args.all { by_hand(&root, args)? } else { Vec::new() };
    let steps = revert(&root, &args.settings.state_dir, &owners, args.settings.dry_run)?;
    let mut pools = if args.all {
        Some(restore(&root, &args.settings.state_dir, args.settings.dry_run)?)
    } else {
        None
    };
    if let Some(pools) = &mut pools {
        pools.files.extend(files);
    }
    let nothing = steps.is_empty()
        && undone.is_none()
        && stuck.is_none()
        && pools.as_ref().is_none_or(|pools| pools.is_empty());
    let workers = if root.is_live() { worker::left(&root) } else { Vec::new() };
    let failed = steps.iter().any(|step| matches!(step, Restored::Failed { .. }))
        || stuck.is_some()
        || pools.as_ref().is_some_and(|pools| pools.is_partial());
    let code = if failed { exit::PARTIAL } else { exit::OK };
    if global.json {
        let mut json = serde_json::json!({
            "schema": 1, "dry_run": args.settings.dry_run, "settings": steps,
            "abandoned_pids": workers,
        });
        if experiments {
            json["undone"] = serde_json::json!(undone);
        }
        if let Some(pools) = &pools {
            json["hugetlb"] =
                serde_json::json!({ "settings": pools.settings, "files": pools.files });
        }
        return Output::json(&json, code);
    }
    if !workers.is_empty() {
        note(&waiting(&workers));
    }
    let stays = if args.all { String::new() } else { others(&root, args) };
    if nothing {
        let nothing = nothing_said(args);
        return Ok(Output::text(nothing + &stays, code));
    }
    let verb = if args.settings.dry_run { "would be undone by" } else { "undone by" };
    let command = |what: String| format!("A change of an experiment: {verb} '{what}'\n");
    let undone = undone.map(|what| command(what.escape_debug().to_string())).unwrap_or_default();
    let settings: String = steps.iter().map(|step| format!("{step}\n")).collect();
    let pools = pools.as_ref().map(text).unwrap_or_default();
    let plan = if args.settings.dry_run { PLAN } else { "" };
    let done = undone + &settings + &pools + plan + &stays;
    Ok(Output::text(done, code))
}

/// Whose settings go back, and where below the state directory their trails are.
fn owners(args: &RevertArgs) -> Vec<(Owner, &'static str)> {
    let mut owners = vec![(OWNER, ""), (track::OWNER, "")];
    if args.experiments || args.all {
        owners.extend(LEFT);
    }
    if args.all {
        owners.extend([(thp_settings::OWNER, ""), (change::OWNER, "")]);
    }
    owners
}

fn nothing_said(args: &RevertArgs) -> String {
    let place = args.settings.state_dir.display();
    let whose = match (args.all, args.experiments) {
        (true, _) => "",
        (_, true) => " of a manager or an experiment",
        _ => " of a manager",
    };
    format!("Nothing to put back: '{place}' records no changed setting{whose}.\n")
}

/// A sentence about workers of a manager that has ended, which cannot end yet themselves.
fn waiting(workers: &[u32]) -> String {
    let pids: Vec<_> = workers.iter().map(u32::to_string).collect();
    format!(
        "killed workers of a manager that has ended (pid {}) wait for a lock that somebody holds; \
         they change nothing, and end once it is free",
        pids.join(", ")
    )
}

/// What 'hugetlb revert' and 'thp revert' put back, or would.
pub(super) fn said(
    global: &Global,
    args: &SettingsRevertArgs,
    done: &Reverted,
) -> anyhow::Result<Output> {
    let code = if done.is_partial() { exit::PARTIAL } else { exit::OK };
    if global.json {
        let (settings, files) = (&done.settings, &done.files);
        let json = serde_json::json!({
            "schema": 1, "dry_run": args.dry_run, "settings": settings, "files": files
        });
        return Output::json(&json, code);
    }
    if done.is_empty() {
        let place = args.state_dir.display();
        let text = format!("Nothing to put back: '{place}' records no changed setting.\n");
        return Ok(Output::text(text, code));
    }
    let mut text = text(done);
    if args.dry_run {
        text += PLAN;
    }
    Ok(Output::text(text, code))
}

/// Refuses to change another tree.
pub(super) fn live(root: &Root, dry_run: bool) -> anyhow::Result<()> {
    if root.is_live() || dry_run {
        return Ok(());
    }
    let message = "--root reads another tree, and nothing is changed there: add --dry-run";
    Err(exit::coded(exit::USAGE, message))
}

/// Puts the files of 'thp set --persist' and 'advise apply' back.
fn by_hand(root: &Root, args: &RevertArgs) -> anyhow::Result<Vec<RestoredFile>> {
    let mut done = Vec::new();
    for owner in [thp_settings::FILES, change::FILES] {
        let mut kept = KeptFiles::open(root.clone(), &args.settings.state_dir, owner)?;
        let is_plan = args.settings.dry_run || !root.is_live();
        done.extend(if is_plan { kept.plan() } else { kept.restore() });
    }
    Ok(done)
}

/// What stays: the operator's until he says so, and what an experiment left, where that was not
/// asked for, until the next one.
fn others(root: &Root, args: &RevertArgs) -> String {
    let any = |owner, below: &str| {
        let trail = Trail::existing(root.clone(), &args.settings.state_dir.join(below), owner);
        trail.is_ok_and(|trail| !trail.entries().is_empty())
    };
    let mut text = String::new();
    let asked = args.experiments;
    if !asked && LEFT.iter().any(|(owner, below)| any(*owner, below)) {
        text += "What an experiment left that was killed stays: 'hugewise revert --all' or the \
                 next 'hugewise lab run' puts it back.\n";
    }
    let by_hand = [
        ("advise apply", "advise revert", change::OWNER, change::FILES),
        ("thp set", "thp revert", thp_settings::OWNER, thp_settings::FILES),
        ("hugetlb apply", "hugetlb revert", pools::OWNER, files::OWNER),
    ];
    for (what, way_back, settings, files) in by_hand {
        let kept = KeptFiles::open(root.clone(), &args.settings.state_dir, files);
        if any(settings, "") || kept.is_ok_and(|kept| !kept.plan().is_empty()) {
            text += &format!(
                "What 'hugewise {what}' changed stays: 'hugewise {way_back}' undoes that.\n"
            );
        }
    }
    text
}

/// The locks of experiments and of managers. A running experiment puts its own values back after
/// each run; a manager's, too, would seem to be somebody else's beside those. So its lock comes
/// first, before the one that its next manager needs. A living manager would put its own values
/// back at its end, and change them until then.
///
/// Nothing but those two keeps settings from going back: no full disk, nobody who cannot be seen.
fn alone(root: &Root, args: &RevertArgs) -> anyhow::Result<Vec<InstanceLock>> {
    let mut locks = Vec::new();
    for (role, patience) in [(Role::Lab, Duration::ZERO), (Role::Manager, ENDING)] {
        match InstanceLock::take_from_ending(root, &args.settings.state_dir, role, patience) {
            Ok(lock) => {
                lock.remarks().iter().for_each(|remark| note(remark));
                locks.push(lock);
            }
            Err(LockError::Taken(role, Holder::Outside)) => note(&unseen(role)),
            Err(LockError::Taken(role, holder)) => return Err(refused(role, holder)),
            Err(LockError::Missing(..)) => {}
            Err(error @ LockError::Io(..)) => note(&format!("{error}: continues without it")),
        }
    }
    Ok(locks)
}

/// What would be refused, for a dry run, which takes no lock.
fn look(root: &Root) -> anyhow::Result<Vec<InstanceLock>> {
    for role in [Role::Lab, Role::Manager].into_iter().filter(|_| root.is_live()) {
        match held_by(role) {
            None => {}
            Some(Holder::Outside) => note(&unseen(role)),
            Some(holder) => return Err(refused(role, holder)),
        }
    }
    Ok(Vec::new())
}

fn unseen(role: Role) -> String {
    let what = if role == Role::Lab { "an experiment" } else { "a manager" };
    format!(
        "outside of this container runs what may be {what}, or a stranger's program that looks \
         like it: settings go back all the same"
    )
}

fn refused(role: Role, holder: Holder) -> anyhow::Error {
    let why = match role {
        Role::Lab => format!(
            "a 'hugewise lab run' is running ({holder}): it puts its settings back itself; wait \
             for its end"
        ),
        Role::Manager | Role::Pools => format!(
            "a manager is running ({holder}): it puts its settings back when it ends; stop it first"
        ),
    };
    exit::coded(exit::REFUSED, why)
}
