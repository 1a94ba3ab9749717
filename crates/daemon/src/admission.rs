//! What must hold before a manager touches anything: a kernel that can do what the mode needs, no
//! other manager, no experiment, processes that exist.

use crate::options::Options;
use crate::privileges::is_root;
use hugewise_base::units::ProcId;
use hugewise_console::exit;
use hugewise_console::say::note;
use hugewise_linux::instance::{InstanceLock, LockError, Role};
use hugewise_linux::probe::{self, Abilities, ProbeChild};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{self, Restored};
use hugewise_linux::{machine, process};
use hugewise_manager::config::{Config, Mode};
use hugewise_manager::ownership;
use hugewise_manager::reason::SkipReason;
use std::collections::BTreeSet;

/// What this kernel can do. An error where the mode must not run, as where nothing can be promoted:
/// then khugepaged must not be kept from it either.
pub(crate) fn able_to(
    mode: Mode,
    root: &Root,
    config: &Config,
    probe: &[&str],
) -> anyhow::Result<Abilities> {
    let able = probe::abilities(root, &ProbeChild::this_program(probe));
    if !matches!(mode, Mode::Ingens | Mode::Auto) || able.promotes != Some(false) {
        return wanted_settings(root, config, mode).map(|_| able);
    }
    let message = "refused: this kernel cannot make a huge page from outside a process (Linux 6.1 \
                   and later can). '--mode guard' leaves that to khugepaged, stops it while memory \
                   is short, and takes waste back; '--mode observe' only looks";
    Err(exit::coded(exit::REFUSED, message))
}

pub(crate) fn wanted_settings(
    root: &Root,
    config: &Config,
    mode: Mode,
) -> anyhow::Result<Vec<ownership::WantedSetting>> {
    let files = machine::thp_files(root, machine::geometry(root));
    ownership::wanted(config, mode, &files).map_err(|reason| {
        let (means, remedy) = reason.text();
        let code = if reason == SkipReason::OperatorNever { exit::REFUSED } else { exit::ERROR };
        exit::coded(code, format!("refused: {means}. {remedy}; or '--mode observe'"))
    })
}

pub(crate) fn lock(root: &Root, options: &Options, role: Role) -> anyhow::Result<InstanceLock> {
    let lock = InstanceLock::take_to_keep(root, &options.state_dir, role).map_err(refused)?;
    lock.remarks().iter().for_each(|remark| note(remark));
    Ok(lock)
}

fn refused(error: LockError) -> anyhow::Error {
    match error {
        LockError::Taken(Role::Lab, holder) => exit::coded(
            exit::REFUSED,
            format!(
                "refused: a 'hugewise lab run' is running ({holder}), and the kernel settings are \
                 now those of its experiment; wait until it ends"
            ),
        ),
        LockError::Taken(..) => exit::coded(exit::REFUSED, error.to_string()),
        LockError::Io(..) if !is_root() => anyhow::Error::new(error).context(
            "managing other programs' memory needs root: run it with sudo, or see with --dry-run \
             what it would do",
        ),
        LockError::Io(..) => anyhow::Error::new(error)
            .context("cannot save the old values: give another directory with '--state-dir'"),
        LockError::Missing(..) => error.into(),
    }
}

/// Refuses beside an experiment, and after one that was killed: the values of its variants would be
/// taken for the operator's, and written back for good in the end. While the lock that is returned
/// is held, none begins.
pub(crate) fn no_experiment(root: &Root, options: &Options) -> anyhow::Result<InstanceLock> {
    let lock = lock(root, options, Role::Lab)?;
    if options.keep_settings {
        return Ok(lock);
    }
    let left = trail::revert(root, &options.state_dir, options.experiments, true)?;
    match left.iter().find_map(still_stands) {
        Some(file) => Err(exit::coded(
            exit::REFUSED,
            format!(
                "refused: an experiment that was killed has left its value in '/{file}'; put the \
                 old one back with 'hugewise revert --all', or go on with the experiment"
            ),
        )),
        None => Ok(lock),
    }
}

/// The file in which a value of an experiment still stands. Pools in use are no manager's matter,
/// and nobody could put them back now.
fn still_stands(step: &Restored) -> Option<&str> {
    match step {
        Restored::PutBack { file, .. } | Restored::Failed { file, .. } => Some(file),
        Restored::Unchanged { .. }
        | Restored::Foreign { .. }
        | Restored::InUse { .. }
        | Restored::Gone { .. }
        | Restored::EarlierBoot { .. } => None,
    }
}

/// Every named pid must be a process that can be managed: a typing error should not wait silently.
/// With their start times, so that a reused pid is not taken for the process that was meant.
pub(crate) fn named_processes(
    root: &Root,
    pids: &[u32],
) -> anyhow::Result<Option<BTreeSet<ProcId>>> {
    let mut named = BTreeSet::new();
    for pid in pids {
        let Some(stat) = process::stat(root, *pid) else {
            anyhow::bail!(
                "there is no process {pid}; look it up with 'pidof' or 'hugewise status'"
            );
        };
        if stat.is_kernel_thread() {
            anyhow::bail!("{pid} is a kernel thread: it has no memory to manage");
        }
        if *pid == std::process::id() || *pid == 1 {
            return Err(exit::coded(exit::REFUSED, format!("process {pid} is never managed")));
        }
        named.insert(ProcId { pid: *pid, start_ticks: stat.starttime });
    }
    Ok((!named.is_empty()).then_some(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_put_back_keeps_a_manager_from_starting() {
        let (file, text) = (String::from("enabled"), String::from("always"));
        let stands = Restored::PutBack { file: file.clone(), from: text.clone(), to: text.clone() };
        assert_eq!(still_stands(&stands), Some("enabled"));
        let failed = Restored::Failed { file: file.clone(), error: text.clone() };
        assert_eq!(still_stands(&failed), Some("enabled"));
        // Settled by itself, or by somebody who knows better.
        for step in [
            Restored::EarlierBoot { file: file.clone() },
            Restored::Gone { file: file.clone() },
            Restored::Unchanged { file: file.clone() },
            Restored::Foreign { file, found: text.clone(), written: text },
        ] {
            assert_eq!(still_stands(&step), None, "{step:?}");
        }
    }
}
