//! `hugewise lab run`.

use super::prepare::{Prepared, planned, prepare};
use super::{report, setup};
use crate::cli::{Global, LabRunArgs};
use crate::cmd::revert::describe;
use crate::environment::{Environment, utc};
use crate::exit;
use crate::lab::engine;
use crate::lab::stage::Stage;
use crate::lab::stale;
use crate::lab::store::Store;
use crate::session::Session;
use hugewise_core::lab::check::Checked;
use hugewise_core::lab::record::{Plan, SCHEMA};
use hugewise_linux::instance::{InstanceLock, LockError};
use hugewise_linux::root::Root;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What an interruption leaves behind.
const AFTERWARDS: &str = "the runs so far are kept and every setting is as it was; the same \
                          command goes on";

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabRunArgs) -> anyhow::Result<u8> {
    let prepared = prepare(&args.which)?;
    if args.dry_run {
        setup::tell(global, &prepared)?;
        return Ok(exit::OK);
    }
    permitted(args, &prepared)?;
    let root = Root::live();
    let _lock = InstanceLock::take_lab(&root).map_err(refused)?;
    // A manager of the whole machine would be part of every variant.
    drop(InstanceLock::take(&root).map_err(refused)?);
    stale::clear(&root);
    let directory = directory(args, &prepared.checked);
    let store = Store::create(&directory)?;
    let (plan, resumed) = plan(args, prepared, &store)?;
    let checked = planned(&plan)?;
    let session = Session::start("lab", AFTERWARDS)?;
    let (mut stage, left) = Stage::open(&checked, session, &args.state_dir, args.noisy)?;
    for step in &left {
        eprintln!("hugewise: left by an experiment that was killed: {}", describe(step));
    }
    if resumed {
        eprintln!("hugewise: going on with the experiment in {}", directory.display());
    }
    engine::run(&checked, &plan, &store, &mut stage)?;
    // Before the report is written every setting is as it was.
    drop(stage);
    report::tell(global, &directory)
}

/// Refuses what touches programs outside the experiment, and what cannot run at all.
fn permitted(args: &LabRunArgs, prepared: &Prepared) -> anyhow::Result<()> {
    let wide = prepared.checked.machine_wide();
    if let Some((key, value)) = wide.first().filter(|_| !args.machine_wide) {
        let message = format!(
            "{key} = {value} would change the memory of every program of this machine: give \
             --machine-wide where that may be"
        );
        return Err(exit::coded(exit::REFUSED, message));
    }
    match prepared.missing.is_empty() {
        true => Ok(()),
        false => {
            let message = format!("skipped: {}", prepared.missing.join("; "));
            Err(exit::coded(exit::PARTIAL, message))
        }
    }
}

fn refused(error: LockError) -> anyhow::Error {
    match error {
        LockError::Taken | LockError::LabTaken => exit::coded(exit::REFUSED, error.to_string()),
        LockError::NoThp(_) | LockError::Io(..) => error.into(),
    }
}

fn directory(args: &LabRunArgs, checked: &Checked) -> PathBuf {
    let quick = if args.which.quick { "-quick" } else { "" };
    let name = format!("{}{quick}", checked.experiment.name);
    args.output.clone().unwrap_or_else(|| Path::new("hugewise-lab").join(name))
}

/// The plan of what is in the directory already, or a new one; and whether it is the former.
fn plan(args: &LabRunArgs, prepared: Prepared, store: &Store) -> anyhow::Result<(Plan, bool)> {
    if let Some(mut old) = store.plan()? {
        if old.text != prepared.text || old.quick != args.which.quick {
            anyhow::bail!(
                "{} holds another experiment, or this one before its file was changed: give \
                 another directory by --output, or move that one away",
                store.directory().display()
            );
        }
        if args.which.repetitions.is_some() && args.which.repetitions != old.repetitions {
            old.repetitions = args.which.repetitions;
            store.begin(&old)?;
        }
        return Ok((old, true));
    }
    let environment = Environment::read(&Root::live());
    let plan = Plan {
        schema: SCHEMA,
        text: prepared.text,
        quick: args.which.quick,
        seed: args.seed.unwrap_or_else(seed),
        repetitions: args.which.repetitions,
        without: prepared.without,
        began: utc(SystemTime::now()),
        environment: serde_json::to_value(environment)?,
    };
    store.begin(&plan)?;
    Ok((plan, false))
}

/// Another one each time.
fn seed() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(time.subsec_nanos()) ^ time.as_secs().rotate_left(20)
}
